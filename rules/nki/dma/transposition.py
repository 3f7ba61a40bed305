"""Transpositions by DMA."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.nki import kinds, kit
from rules.nki.dma import twins
from rules.nki.dma.memories import OFF_CHIP, REACHED
from rules.nki.kit import check, register
from rules.nki.operands.memories import SBUF
from rules.nki.samples import variants
from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.hardware.targets import Target, needing
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation

_HALVES: Final = frozenset(code for code, size in dt.ITEMSIZE.items() if size == 2)
_POSITIONS: Final = dt.codes("uint32")


def _dma_transpose_shape(op: Operation, target: Target) -> Iterator[Check]:
    src, dst = op.view("src"), op.view("dst")
    if src is None or not op.known("axes"):
        return
    rank, described = src.rank, kit.described(op)
    expected = described.turns.get(rank)
    ranks = kit.alternatives(sorted(described.turns))
    yield check(
        op,
        "src",
        E.truth(expected is not None),
        f"rank of src is {ranks}",
        f"a DMA transposes tensors of {ranks} dimensions",
        described.turned,
        values=(("rank of src", E.const(rank)),),
    )
    if expected is None:
        return
    if op.value("axes") is not None:
        given = kit.integers(op.value("axes"))
        matches: Bool = E.FALSE
        if given is not None and len(given) == rank:
            matches = E.and_(*map(E.eq, given, expected))
        yield check(
            op,
            "axes",
            matches,
            f"axes == {expected}",
            "a DMA transposes by exchanging the first and the last axis",
            described.turned,
            about=(),
        )
    pads_until = kit.described(op).pads_until
    if dst is None or (dst.rank < rank and not op.generation.at_least(pads_until)):
        return  # lower ranks were padded then
    target_shape = tuple(src.shape[axis] for axis in expected)
    values = (("rank of dst", E.const(dst.rank)), ("rank of src", E.const(rank)))
    yield check(
        op,
        "dst",
        kit.same_shape(dst.shape, target_shape),
        f"the shape of dst is that of src with its axes in the order {expected}",
        "dst does not have the transposed shape of src",
        "DTR02",
        values=values
        if dst.rank != rank
        else tuple((f"dimension {k} of dst", size) for k, size in enumerate(dst.shape))
        + tuple((f"dimension {k} of src", size) for k, size in enumerate(src.shape)),
        about=("dst", "src"),
    )


_DMA_TRANSPOSE_SHAPE = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def turn(x):
    assert x.shape == (64, 96) and x.dtype == nl.bfloat16
-    out = nl.ndarray((64, 96), dtype=nl.bfloat16, buffer=nl.shared_hbm)
-    turned = nl.ndarray((64, 96), dtype=nl.bfloat16, buffer=nl.sbuf)
+    out = nl.ndarray((96, 64), dtype=nl.bfloat16, buffer=nl.shared_hbm)
+    turned = nl.ndarray((96, 64), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_transpose(dst=turned, src=x, priority=None)  # priority: NKI 0.4 and newer
    nisa.dma_copy(dst=out, src=turned)
    return out
"""
)


register(
    Rule(
        id="dma-transpose-shape",
        code="NKI508",
        family="dma",
        summary="a DMA transpose exchanges first and last axis, exactly",
        reason=(
            "The transposing DMA knows one permutation per rank: the first axis and the last are "
            "exchanged. From NKI 0.4 on the destination has the permuted shape, with the same "
            "rank; lower ranks are no longer padded."
        ),
        facts=("DTR01", "DTR02"),
        on=On.OPERATION,
        concerns=kinds.TRANSPOSES_BY_DMA,
        check=_dma_transpose_shape,
        sources=("NKI ISA dma_transpose", "NKI migration guide 0.4"),
        failing=_DMA_TRANSPOSE_SHAPE.failing,
        passing=_DMA_TRANSPOSE_SHAPE.passing,
    )
)


def _dma_transpose_buffers(op: Operation, target: Target) -> Iterator[Check]:
    src, dst = op.view("src"), op.view("dst")
    if op.generation.fits_tiles:
        return
    if src is not None:
        found = kit.buffer_check(
            op,
            "src",
            src,
            OFF_CHIP if src.indirect else REACHED,
            f"a DMA transpose cannot read {kit.BUFFER_WORDS[src.buffer]}",
            "BUF36",
        )
        if found is not None:
            yield found
    if dst is None:
        return
    found = kit.buffer_check(
        op,
        "dst",
        dst,
        SBUF,
        f"a DMA transpose writes SBUF, and dst is in {kit.BUFFER_WORDS[dst.buffer]}",
        "BUF36",
        *(("OQ13",) if dst.buffer.off_chip else ()),
        severity="warning" if dst.buffer.off_chip else None,
    )
    if found is not None:
        yield found


_DMA_TRANSPOSE_BUFFERS = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
-def turn_in_memory(x):
+def turn_on_chip(x):
    assert x.shape == (48, 80) and x.dtype == nl.float16
    out = nl.ndarray((80, 48), dtype=nl.float16, buffer=nl.shared_hbm)
-    nisa.dma_transpose(dst=out, src=x)
+    turned = nl.ndarray((80, 48), dtype=nl.float16, buffer=nl.sbuf)
+    nisa.dma_transpose(dst=turned, src=x)
+    nisa.dma_copy(dst=out, src=turned)
    return out
"""
)


register(
    Rule(
        id="dma-transpose-buffers",
        code="NKI509",
        family="dma",
        summary="a DMA transpose reads HBM or SBUF and writes SBUF",
        reason=(
            "The transposing DMA writes rows across the partitions of SBUF. Other destinations are "
            "not documented as working."
        ),
        facts=("BUF36", "OQ13"),
        on=On.OPERATION,
        concerns=kinds.TRANSPOSES_BY_DMA,
        check=_dma_transpose_buffers,
        sources=("NKI ISA dma_transpose",),
        failing=_DMA_TRANSPOSE_BUFFERS.failing,
        passing=_DMA_TRANSPOSE_BUFFERS.passing,
    )
)


def _dma_transpose_size(op: Operation, target: Target) -> Iterator[Check]:
    src = op.view("src")
    mode = kit.choice(op.value("dge_mode"))
    if src is None or src.rank not in kit.described(op).turns or op.generation.fits_tiles:
        return
    if src.indirect:
        yield from _indirect(op, src, mode, target)
        return
    yield check(
        op,
        "dge_mode",
        E.truth(mode in (None, "unknown", "hwdge")),
        "dge_mode is unknown or hwdge",
        f"a direct DMA transpose cannot use dge_mode {mode}",
        "DTR04",
        about=(),
    )
    if mode == "hwdge":
        yield _two_bytes(op, src, "a hardware DMA transpose", "DTR06")
        yield from _by_hardware(op, src, target)


def _two_bytes(op: Operation, src: View, what: str, fact: str) -> Check:
    return check(
        op,
        "src",
        src.dtype.among(_HALVES),
        f"dtype of src has 2 bytes (it is {kit.dtype_words(src.dtype)})",
        f"{what} moves 2-byte elements",
        fact,
    )


def _ends(src: View) -> tuple[tuple[str, Expr], ...]:
    return (("first dimension of src", src.shape[0]), ("last dimension of src", src.shape[-1]))


def _indirect(op: Operation, src: View, mode: str | None, target: Target) -> Iterator[Check]:
    rows, columns = target.transpose_dma_rows, target.transpose_dma_columns
    able = needing(Capability.INDIRECT_DMA)
    yield check(
        op,
        "src",
        E.truth(mode in (None, "unknown", "swdge") and target.has(Capability.INDIRECT_DMA)),
        f"dge_mode is unknown or swdge, on {able}",
        f"an indirect DMA transpose needs software descriptors, on {able}",
        "DTR07",
        "H75",
    )
    yield _two_bytes(op, src, "an indirect DMA transpose", "DTR07")
    yield check(
        op,
        "src",
        E.and_(kit.divisible(src.shape[0], rows), E.le(src.shape[-1], columns)),
        f"first dimension of src is a multiple of {rows} and last dimension of src <= {columns}",
        "the source does not fit an indirect DMA transpose",
        "DTR08",
        values=_ends(src),
    )
    if src.rows_from is not None:
        yield from _indices(op, src, src.rows_from, target)


def _indices(op: Operation, src: View, indices: View, target: Target) -> Iterator[Check]:
    """The indices of rows are read column by column, from a tile of full columns."""
    rows, fact = target.transpose_dma_rows, kit.described(op).flattens
    count = src.shape[0]
    found = kit.buffer_check(
        op, "src", indices, SBUF, "the indices of a DMA transpose are not in SBUF", fact
    )
    if found is not None:
        yield found
    shaped = E.truth(indices.rank == len(("partition", "column")))
    fits = E.and_(
        shaped,
        kit.divisible(indices.partitions, rows),
        E.le(rows, indices.partitions),
        E.le(indices.partitions, target.partitions),
        E.or_(E.eq(indices.free, 1), E.eq(indices.partitions, target.partitions)),
        E.ge(indices.elements, count),
    )
    yield check(
        op,
        "src",
        fits,
        f"the indices are in a multiple of {rows} partitions, in all {target.partitions} if they "
        f"have several columns, and at least as many as rows",
        "the indices do not fit an indirect DMA transpose",
        fact,
        values=(
            ("partitions of the indices", indices.partitions),
            ("columns of the indices", indices.free),
            ("rows of src", count),
        ),
        views=(indices,),
    )
    yield check(
        op,
        "src",
        indices.dtype.among(_POSITIONS),
        f"dtype of the indices is uint32 (it is {kit.dtype_words(indices.dtype)})",
        "the indices of a DMA transpose are uint32",
        fact,
        views=(indices,),
    )


def _by_hardware(op: Operation, src: View, target: Target) -> Iterator[Check]:
    """Blocks of so many rows and columns; later rows may be shorter, and lie in planes."""
    rows, columns = target.transpose_dma_rows, target.transpose_dma_columns
    first, last = src.shape[0], src.shape[-1]
    since = kit.described(op).shortens_since
    shorter = bool(since) and op.generation.at_least(since)
    yield check(
        op,
        "src",
        E.le(last, columns) if shorter else kit.divisible(last, columns),
        f"last dimension of src {'<=' if shorter else 'is a multiple of'} {columns}",
        "the rows of src are too long for a hardware DMA transpose"
        if shorter
        else "the rows of src do not suit a hardware DMA transpose",
        "DTR06",
        values=_ends(src),
    )
    if shorter and src.rank > 2:
        parts = [k for k in range(1, rows + 1) if rows % k == 0]
        fills = E.and_(kit.one_of(first, parts), kit.divisible(first * src.shape[-2], rows))
        text = f"is {kit.alternatives(parts)} and fills rows of {rows}"
    else:
        fills, text = E.eq(first, rows), f"== {rows}"
    yield check(
        op,
        "src",
        fills,
        f"first dimension of src {text}",
        "the source does not fit a hardware DMA transpose",
        "DTR05",
        values=_ends(src),
    )


_DMA_TRANSPOSE_SIZE = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def turn_fast(x):
-    assert x.shape == (24, 128) and x.dtype == nl.bfloat16
-    out = nl.ndarray((128, 24), dtype=nl.bfloat16, buffer=nl.shared_hbm)
-    turned = nl.ndarray((128, 24), dtype=nl.bfloat16, buffer=nl.sbuf)
+    assert x.shape == (16, 128) and x.dtype == nl.bfloat16
+    out = nl.ndarray((128, 16), dtype=nl.bfloat16, buffer=nl.shared_hbm)
+    turned = nl.ndarray((128, 16), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_transpose(dst=turned, src=x, dge_mode=nisa.dge_mode.hwdge)
    nisa.dma_copy(dst=out, src=turned)
    return out
"""
)


register(
    Rule(
        id="dma-transpose-size",
        code="NKI510",
        family="dma",
        summary="a DMA transpose with chosen descriptors has the block sizes they work on",
        reason=(
            "Hardware descriptors transpose blocks of 16 rows of 2-byte elements. Software "
            "descriptors follow an index per row, also 16 rows at a time. With dge_mode left open "
            "the compiler picks what fits."
        ),
        facts=("DTR04", "DTR05", "DTR06", "DTR07", "DTR08", "DTR09", "H75", "OQ17"),
        twins=twins.TRANSPOSED,
        on=On.OPERATION,
        concerns=kinds.TRANSPOSES_BY_DMA,
        check=_dma_transpose_size,
        sources=("NKI ISA dma_transpose", "NKI 0.6 release notes"),
        failing=_DMA_TRANSPOSE_SIZE.failing,
        passing=_DMA_TRANSPOSE_SIZE.passing,
    )
)
