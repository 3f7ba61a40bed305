"""Whether a kernel stores anything at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rules.memory.outputs import no_buffer_written
from rules.tpu import kit
from rules.tpu.examples import pair
from verifier.dialects.names import OKK
from verifier.hardware.chips import Chip
from verifier.records import replace
from verifier.rulebase import Monitor, On, Replayed, Rule, Shown, register
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.memory.events import Wasted
from verifier.symbolic.trace import Trace


def some_store(trace: Trace, chip: Chip) -> Iterable[Check]:
    """One check per kernel: some operation that it comes to writes to system memory."""
    if trace.dies or trace.opaque_return:  # what it would have stored is not known
        return
    stores = any(touch.writes for op in trace.operations for touch, _ in kit.system(op))
    reason = ""
    if trace.unmodelled:
        reason = f"`{trace.unmodelled[0][0]}` has no model: it may write to a buffer"
    orders = [*(op.order for op in trace.operations), *(entry.order for entry in trace.ledger)]
    yield replace(
        _something(trace.kernel, trace.span),
        predicate=E.truth(stores),
        exact=not reason,
        reason=reason,
        path=(),
        order=max(orders, default=0) + 1,
    )


def _something(kernel: str, span: Span) -> Check:
    return replace(
        no_buffer_written(kernel, span),
        facts=("BUG-04",),
        help=("store the result to system memory, in a place that is come to",),
    )


def wasted(event: Wasted, chip: Chip) -> Iterator[Check]:
    """A run has stored nothing: of other inputs that may be otherwise."""
    yield _something(event.kernel, event.span)


_PAIR = pair(
    "rectified",
    "pieces: int, x: okk.SystemAddr, y: okk.SystemAddr",
    """\
assert 1 <= pieces <= 30
okk.initialize()
shape = okk.dim4(1, 50, 6, 6)
for i in range(@@):
    okk.gdma_32bit_cpy_S2L(0, x + i * 7200, shape, None, None)
    okk.bdc_relu(0, 0, shape, None, None)
    okk.gdma_32bit_cpy_L2S(y + i * 7200, 0, shape, None, None)
okk.poll()
""",
    "-pieces",
    "pieces",
)

register(
    Rule(
        id="okk-no-output",
        code="OKK405",
        family=OKK,
        summary="a kernel stores something",
        silent=True,
        reason=(
            "A kernel returns nothing: what it does not store to system memory nobody ever sees. "
            "Where no store is come to, whatever the input (there is none, its loop has no "
            "iteration, its condition does not hold), every output stays as it was."
        ),
        facts=("BUG-04",),
        on=On.TRACE,
        check=some_store,
        monitors=(Monitor(Wasted, wasted, meant=True),),
        replayed=Replayed(Shown.AT_THE_END, whole=True),
        dialects=(OKK,),
        sources=("OKKernel manual, demo",),
        failing=_PAIR[0],
        passing=_PAIR[1],
    )
)
