"""DMA that converts: allowed in part, and seldom meant."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kinds
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import On, Replayed, Rule, Shown, register
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.instruction import Trait
from verifier.symbolic.trace import Operation


def _store_conversion(op: Operation, target: Target) -> Iterator[Check]:
    """A tile that leaves SBUF has the dtype of the tensor it is stored to, for every input."""
    dst, src = op.view("dst"), op.view("src")
    if dst is None or src is None or op.generation.fits_transfers:
        return
    if src.buffer is not Buffer.SBUF or not dst.buffer.off_chip:
        return
    same = dst.dtype.same(src.dtype)
    if same is E.TRUE or same is E.FALSE:
        return  # converting between two dtypes that are written down is meant
    yield Check(
        predicate=same,
        span=op.span_of("src"),
        text=f"dtype of `{src.name}` == dtype of `{dst.name}`",
        message=f"the DMA converts `{src.name}` on its way to `{dst.name}`",
        facts=("NKI-DCP03", "NKI-D04"),
        notes=(
            Note(src.storage.argument_spans.get("dtype", src.storage.span), "the tile's dtype"),
            Note(dst.storage.argument_spans.get("dtype", dst.storage.span), "the result's dtype"),
        ),
        help=(f"allocate `{src.name}` with dtype={dst.name}.dtype and let the engine convert",),
    )


_KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def halve(x):
    rows, cols = x.shape
    assert rows <= 128 and cols <= 6000
    y = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.sbuf)
    half = nl.ndarray((rows, cols), dtype=DTYPE, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=half, data=tile, op0=nl.multiply, operand0=0.5)
    nisa.dma_copy(dst=y, src=half)
    return y
"""

register(
    Rule(
        id="dma-store-conversion",
        code="NKI591",
        family="dma",
        summary="a tile that is stored by DMA has the dtype of the tensor it goes to",
        reason=(
            "Descriptors generated in hardware cannot convert: a DMA between different dtypes is "
            "either rejected or sent through the slower software path, and the converted bytes "
            "travel at the wider size. Compute engines convert for nothing when they write the "
            "tile. A staging tile that is always float32 shows this for every other input dtype."
        ),
        facts=("NKI-DCP03",),
        on=On.OPERATION,
        concerns=kinds.with_traits(Trait.DMA, Trait.COPIES),
        check=_store_conversion,
        severity="warning",
        remark=True,
        infer_dtypes=False,
        replayed=Replayed(
            Shown.NEVER,
            why="a dtype that is written down and one of an input look alike in a run",
        ),
        sources=("NKI ISA dma_copy", "NKI migration guide 0.3"),
        failing=_KERNEL.replace("DTYPE", "nl.float32"),
        passing=_KERNEL.replace("DTYPE", "x.dtype"),
    )
)
