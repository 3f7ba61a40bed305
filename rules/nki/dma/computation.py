"""Transfers that fold what they move."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kit
from rules.nki.kit import check, register
from rules.nki.samples import variants
from verifier.hardware.targets import Target
from verifier.rulebase import Check, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation


def _scales(op: Operation) -> Iterator[Check]:
    """None, or a one for each source."""
    scales = op.value("scales")
    if isinstance(scales, (Expr, Bool, float, bool)):
        yield check(
            op,
            "scales",
            E.FALSE,
            "scales is a list",
            "`scales` has one number for each source, in a list",
            "DCM01",
            about=(),
        )
    if isinstance(scales, (tuple, list)):
        numbers = [scale for scale in scales if kit.is_number(scale)]
        if len(numbers) == len(scales):
            yield check(
                op,
                "scales",
                E.and_(*(kit.equals(scale, 1) for scale in numbers)),
                "every scale is 1.0",
                "DMA cannot scale its sources",
                "DCM01",
                about=(),
            )
        sources = op.value("srcs")
        if scales and isinstance(sources, tuple):
            given = E.const(len(scales))
            yield check(
                op,
                "scales",
                E.eq(given, len(sources)),
                "as many scales as sources",
                "`scales` has one number for each source",
                "DCM01",
                values=(("scales", given), ("sources", E.const(len(sources)))),
                about=(),
            )


def _dma_compute(op: Operation, target: Target) -> Iterator[Check]:
    operator = kit.operator_name(op.value("reduce_op"))
    if operator is not None:
        yield check(
            op,
            "reduce_op",
            E.truth(operator == "add"),
            "reduce_op is add",
            f"DMA cannot reduce with {operator}",
            "DCM01",
            about=(),
        )
    yield from _scales(op)
    sources = op.value("srcs")
    if not isinstance(sources, tuple):
        return
    given, limit = E.const(len(sources)), kit.role(op, "srcs").count
    if limit is not None:
        yield check(
            op,
            "srcs",
            limit.holds(given),
            f"{limit.least} to {limit.most} sources",
            f"a computing DMA takes {limit.least} to {limit.most} sources",
            limit.fact,
            values=(("sources", given),),
            about=(),
        )
    if any(isinstance(source, View) and source.indirect for source in sources):
        absent = kit.is_absent(op, "unique_indices")
        unique = E.TRUE if absent else kit.flag(op, "unique_indices")
        yield check(
            op,
            "srcs",
            E.and_(E.truth(len(sources) == 2), unique),
            "2 sources, with unique indices",
            "an indirect computing DMA takes two sources and unique indices",
            "DCM04",
            values=(("sources", given),),
            about=(),
        )


_DMA_COMPUTE = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
-def largest(a, b):
+def total(a, b):
    assert a.shape == (128, 44) and b.shape == (128, 44)
    assert a.dtype == nl.float32 and b.dtype == nl.float32
    out = nl.ndarray((128, 44), dtype=nl.float32, buffer=nl.shared_hbm)
-    nisa.dma_compute(dst=out, srcs=[a, b], reduce_op=nl.maximum)
+    nisa.dma_compute(dst=out, srcs=[a, b], reduce_op=nl.add)
    return out
"""
)


register(
    Rule(
        id="dma-compute",
        code="NKI511",
        family="dma",
        summary="a computing DMA adds up to sixteen sources, unscaled",
        reason=(
            "The DMA engines can add elements on their way. Addition of up to sixteen equally "
            "sized sources is all they do, two of them when one is gathered."
        ),
        facts=("DCM01", "DCM04", "DCM10"),
        on="operation",
        operations=("isa.dma_compute",),
        check=_dma_compute,
        sources=("NKI ISA dma_compute",),
        failing=_DMA_COMPUTE.failing,
        passing=_DMA_COMPUTE.passing,
    )
)
