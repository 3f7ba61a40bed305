"""Transfers that fold what they move."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kinds, kit
from rules.nki.dma import twins
from rules.nki.kit import check, register
from rules.nki.samples import variants
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.roles import Takes
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
    yield from _gathering(op, [source for source in sources if isinstance(source, View)])


def _gathering(op: Operation, sources: list[View]) -> Iterator[Check]:
    """Rows are added where an index says, in HBM; or rows that an index names, to a tile."""
    dst = op.view("dst")
    if dst is None or all(view.rows_from is None for view in (dst, *sources)):
        return
    again = [source for source in sources if source.storage is dst.storage]
    others = [source for source in sources if source.storage is not dst.storage]
    if dst.rows_from is not None:
        held = all(source.buffer is Buffer.SBUF for source in others)
        same = any(source.rows_from is dst.rows_from for source in again)
        right, fact = dst.buffer.off_chip and same and held, "DCM05"
        text = "dst is in HBM, one source is the same rows of it, the other is in SBUF"
    else:
        named = all(source.rows_from is not None and source.buffer.off_chip for source in others)
        right, fact = dst.buffer is Buffer.SBUF and bool(again) and named, "DCM06"
        text = "dst is in SBUF and one of the sources, the other is rows of HBM that an index names"
    yield check(
        op,
        "srcs",
        E.truth(right and bool(others)),
        text,
        "a computing DMA does not add rows that an index names in this form",
        fact,
        views=(dst, *sources),
    )


_DMA_COMPUTE = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def total(a, b):
    assert a.shape == (128, 44) and b.shape == (128, 44)
    assert a.dtype == nl.float32 and b.dtype == nl.float32
    out = nl.ndarray((128, 44), dtype=nl.float32, buffer=nl.shared_hbm)
-    nisa.dma_compute(dst=out, srcs=[a, b], reduce_op=nl.add, scales=[1.0, 0.5])
+    nisa.dma_compute(dst=out, srcs=[a, b], reduce_op=nl.add, scales=[1.0, 1.0])
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
        facts=("DCM01", "DCM04", "DCM05", "DCM06", "DCM10"),
        twins=twins.COMPUTED,
        on=On.OPERATION,
        concerns=kinds.both(kinds.by_dma, kinds.taking("srcs", Takes.TILES)),
        check=_dma_compute,
        sources=("NKI ISA dma_compute",),
        failing=_DMA_COMPUTE.failing,
        passing=_DMA_COMPUTE.passing,
    )
)
