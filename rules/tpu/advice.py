"""Remarks: what is right by the rules, and still not what it looks like."""

from __future__ import annotations

from collections.abc import Iterable

from rules.tpu import flow
from rules.tpu.examples import pair
from verifier.dialects.names import OKK
from verifier.hardware.chips import Chip
from verifier.rulebase import COMPILED, On, Rule, register
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.instruction import Trait
from verifier.symbolic.trace import Trace


def assertions_log(trace: Trace, chip: Chip) -> Iterable[Check]:
    """The first assertion of the device's own kind, once per kernel."""
    found = [op for op in flow.in_order(trace) if Trait.LOGS in op.traits]
    for op in found[:1]:
        more = len(found) - 1
        others = f", nor do the {more} others" if more > 1 else ", nor does the other" * more
        yield Check(
            predicate=E.FALSE,
            span=op.span,
            text="what the kernel relies on is checked where it runs",
            message=f"this assertion does not stop the kernel on the device{others}: it only logs",
            facts=("OKK-X09", "BUG-05"),
            help=(
                "check it on the host before the launch, or return on the device; here it is "
                "taken for granted",
            ),
            severity="note",
            path=(),
            order=op.order,
        )


_LOGGED = pair(
    "halved",
    "rows: int, x: okk.SystemAddr, y: okk.SystemAddr",
    """\
@@
okk.initialize()
shape = okk.dim4(1, 4, rows, 3)
okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
okk.bdc_mul_C(0, 0, 0.5, shape, None, None)
okk.gdma_32bit_cpy_L2S(y, 0, shape, None, None)
okk.poll()
""",
    "okk.okkernel_assert(rows >= 1)\nokk.okkernel_assert(rows <= 600)",
    "assert 1 <= rows <= 600",
)

register(
    Rule(
        id="okk-assert-logs",
        code="OKK501",
        family=OKK,
        summary="OKKERNEL_ASSERT stops a kernel in the functional model only",
        reason=(
            "On the device the macro writes a line to the log and goes on. What it states is an "
            "assumption of the kernel, which the host has to check."
        ),
        facts=("OKK-X09", "BUG-05"),
        on=On.TRACE,
        check=assertions_log,
        replayed=COMPILED,
        severity="note",
        dialects=(OKK,),
        sources=("okk.h",),
        failing=_LOGGED[0],
        passing=_LOGGED[1],
    )
)
