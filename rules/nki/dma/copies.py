"""Sizes, memories and element types of what is copied."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kinds, kit
from rules.nki.dma.memories import OFF_CHIP, REACHED
from rules.nki.kit import check, register
from rules.nki.operands.memories import SBUF
from rules.nki.samples import variants
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.instruction import Trait
from verifier.symbolic.roles import Takes
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation


def _dma_size(op: Operation, target: Target) -> Iterator[Check]:
    dst_role, src_role = "dst", kit.described(op).footprint.reads[-1].role
    if kit.role(op, src_role).takes is Takes.TILES:
        yield from _compute_sizes(op)
        return
    dst, src = op.view(dst_role), op.view(src_role)
    if dst is None or src is None:
        return
    equal = E.eq(dst.elements, src.elements)
    text = f"elements of {dst_role} == elements of {src_role}"
    until = kit.described(op).repeats_until
    if until and not op.generation.at_least(until):
        equal = E.or_(equal, kit.broadcastable(src.shape, dst.shape))
    yield check(
        op,
        src_role,
        equal,
        text,
        f"{src_role} and {dst_role} have different numbers of elements",
        *kit.described(op).counted,
        values=(
            (f"elements of {dst_role}", dst.elements),
            (f"elements of {src_role}", src.elements),
        ),
        about=(dst_role, src_role),
        help=("cut both sides to the same size; the last tile is often a smaller one",),
    )


def _compute_sizes(op: Operation) -> Iterator[Check]:
    dst, sources = op.view("dst"), op.value("srcs")
    if dst is None or not isinstance(sources, tuple):
        return
    for position, source in enumerate(sources):
        if isinstance(source, View):
            yield check(
                op,
                "srcs",
                E.eq(dst.elements, source.elements),
                f"elements of srcs[{position}] == elements of dst",
                f"srcs[{position}] and dst have different numbers of elements",
                *kit.described(op).counted,
                values=(
                    ("elements of dst", dst.elements),
                    (f"elements of srcs[{position}]", source.elements),
                ),
                about=("dst",),
                views=(source,),
            )


_DMA_SIZE = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copy_tiles(x):
    rows, columns = x.shape
    assert rows == 200 and columns == 96
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for start in range(0, rows, 128):
-        tile = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        height = min(128, rows - start)
+        tile = nl.ndarray((height, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[start : start + height, :])
-        nisa.dma_copy(dst=out[start : start + height, :], src=tile[0:height, :])
+        nisa.dma_copy(dst=out[start : start + height, :], src=tile)
    return out
"""
)


register(
    Rule(
        id="dma-size",
        code="NKI501",
        family="dma",
        summary="a DMA moves as many elements as it has room for",
        reason=(
            "A DMA walks two access patterns at once, one for reading and one for writing. Their "
            "shapes may differ, their element counts may not: either the rest of the destination "
            "keeps what it had, or the source runs out."
        ),
        facts=("D01", "DCP01"),
        on=On.OPERATION,
        enforces=lambda i: i.counted,
        check=_dma_size,
        sources=("NKI ISA dma_copy, tile size", "NKI ISA dma_compute, tile size"),
        failing=_DMA_SIZE.failing,
        passing=_DMA_SIZE.passing,
    )
)


def _dma_buffers(op: Operation, target: Target) -> Iterator[Check]:
    staged = op.generation.fits_transfers
    for role in ("dst", "src", "srcs"):
        value = op.value(role)
        views = value if isinstance(value, tuple) else (value,)
        for view in views:
            if not isinstance(view, View):
                continue
            if role == "src" and staged:
                continue  # it is moved to SBUF before
            found = kit.buffer_check(
                op,
                role,
                view,
                REACHED,
                f"{role} is in {kit.BUFFER_WORDS[view.buffer]}, which DMA cannot reach",
                *(("B27", "DCP02", "BUF35") if role == "src" else ("D02", "BUF35")),
                help=("copy the tile to SBUF with nisa.tensor_copy first",),
            )
            if found is not None:
                yield found


_DMA_BUFFERS = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
-def direct_store(left_t, right):
+def staged_store(left_t, right):
    assert left_t.shape == (72, 24) and right.shape == (72, 360)
    out = nl.ndarray((24, 360), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((72, 24), dtype=nl.bfloat16, buffer=nl.sbuf)
    b = nl.ndarray((72, 360), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    product = nl.ndarray((24, 360), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=product, stationary=a, moving=b, accumulate=False)
-    nisa.dma_copy(dst=out, src=product)
+    staged = nl.ndarray((24, 360), dtype=nl.float32, buffer=nl.sbuf)
+    nisa.tensor_copy(dst=staged, src=product)
+    nisa.dma_copy(dst=out, src=staged)
    return out
"""
)


register(
    Rule(
        id="dma-buffers",
        code="NKI502",
        family="dma",
        summary="DMA moves data between HBM and SBUF, not from or to PSUM",
        reason=(
            "The DMA engines have ports to HBM and SBUF. PSUM belongs to the compute engines: a "
            "result in PSUM is copied to SBUF by one of them before it can leave the chip."
        ),
        facts=("D02", "DCP02", "B27", "DCM03", "BUF35"),
        on=On.OPERATION,
        concerns=lambda i: kinds.by_dma(i) and Trait.TURNS not in i.traits,
        check=_dma_buffers,
        sources=("NKI ISA dma_copy, memory types", "NKI migration guide 0.3, dma_copy"),
        failing=_DMA_BUFFERS.failing,
        passing=_DMA_BUFFERS.passing,
    )
)


def _load_store(op: Operation, target: Target) -> Iterator[Check]:
    if kit.described(op).role("value") is not None:
        dst, value = op.view("dst"), op.view("value")
        if dst is not None:
            found = kit.buffer_check(
                op, "dst", dst, OFF_CHIP, "nl.store writes to HBM, and dst is not there", "L21"
            )
            if found is not None:
                yield found
        if value is not None:
            found = kit.buffer_check(
                op,
                "value",
                value,
                (Buffer.SBUF, Buffer.PSUM) if op.generation.fits_tiles else SBUF,
                f"nl.store cannot read {kit.BUFFER_WORDS[value.buffer]}",
                "L21",
                help=("copy the tile to SBUF first",),
            )
            if found is not None:
                yield found
        return
    src = op.view("src")
    if src is None:
        return
    name = kit.described(op).short
    taken = kit.described(op).role("src")
    tiles = taken is not None and taken.column
    fact = "L20" if tiles else "L24"
    found = kit.buffer_check(
        op, "src", src, OFF_CHIP, f"nl.{name} reads from HBM, and src is not there", fact
    )
    if found is not None:
        yield found
    if tiles:
        if op.generation.fits_tiles:
            return  # a one-dimensional source becomes a column
        yield check(
            op,
            "src",
            E.truth(src.rank >= 2),
            "rank of src >= 2",
            "nl.load makes a tile, and src has no free axis",
            "L20",
            values=(("rank of src", E.const(src.rank)),),
            help=("index or reshape the source to two dimensions",),
        )
        return
    yield check(
        op,
        "src",
        E.truth(src.rank == 2 and not src.indirect),
        "src is two-dimensional",
        "nl.load_transpose2d transposes a two-dimensional source",
        "L24",
        values=(("rank of src", E.const(src.rank)),),
    )


_LOAD_STORE_OPERANDS = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def reload(x):
    assert x.shape == (100, 70)
    out = nl.ndarray((100, 70), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
-    again = nl.load(tile)
+    again = nl.copy(tile)
    nl.store(out, again)
    return out
"""
)


register(
    Rule(
        id="load-store-operands",
        code="NKI503",
        family="dma",
        summary="nl.load reads HBM into a tile, nl.store writes a tile to HBM",
        reason=(
            "nl.load makes an SBUF tile of the shape of its source, so the source is a tensor in "
            "HBM with a partition and a free axis. nl.store is the way back. Values that already "
            "are on chip are used as they are, or copied by a compute engine."
        ),
        facts=("L20", "L21", "L24"),
        on=On.OPERATION,
        concerns=kinds.both(kinds.with_traits(Trait.DMA, Trait.LANGUAGE), kinds.moves),
        check=_load_store,
        sources=("NKI language load, store, load_transpose2d",),
        failing=_LOAD_STORE_OPERANDS.failing,
        passing=_LOAD_STORE_OPERANDS.passing,
    )
)


def _summed(op: Operation) -> Iterator[Check]:
    """What a DMA folds it computes with, as float32."""
    for role, view in (*op.writes, *op.reads):
        yield check(
            op,
            role,
            E.not_(view.dtype.among(kit.PACKED)),
            f"{role} is not packed (it is {kit.dtype_words(view.dtype)})",
            "DMA cannot compute with packed x4 elements",
            "D12",
            help=("quantize with nisa.quantize_mx what was computed",),
        )


def _dma_dtype(op: Operation, target: Target) -> Iterator[Check]:
    (read, *_), instruction = kit.described(op).footprint.reads, kit.described(op)
    if not kinds.moves(instruction):
        yield from _summed(op)
        return
    dst, src = op.view("dst"), op.view(read.role)
    if dst is None or src is None or kit.made_as_needed(op):
        return
    same = dst.dtype.same(src.dtype)
    names = f"{kit.dtype_words(src.dtype)} and {kit.dtype_words(dst.dtype)}"
    keeps_type = instruction.keeps_type
    if keeps_type:
        yield check(
            op,
            "dst",
            same,
            f"dtype of dst == dtype of src (they are {names})",
            "a DMA transpose does not convert: dst has another dtype than src",
            keeps_type,
            about=("dst", "src"),
        )
        return
    if kit.choice(op.value("dge_mode")) == "hwdge" and not op.generation.fits_transfers:
        yield check(
            op,
            "dst",
            same,
            f"dtype of dst == dtype of src (they are {names})",
            "the hardware descriptor engine does not convert: dst has another dtype than src",
            "D04",
            about=("dst", "src"),
            help=("view one side with the other's dtype, or leave dge_mode open",),
        )
        return
    packed = E.or_(dst.dtype.among(kit.PACKED), src.dtype.among(kit.PACKED))
    yield check(
        op,
        "dst",
        E.or_(same, E.not_(packed)),
        f"dtypes are equal, or none is packed (they are {names})",
        "DMA cannot convert packed x4 elements",
        "D12",
        about=("dst", read.role),
        help=("quantize with nisa.quantize_mx, or view one side with the other's dtype",),
    )


_DMA_DTYPE = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def cast_on_the_way(x):
    assert x.shape == (128, 128) and x.dtype == nl.float32
    out = nl.ndarray((128, 128), dtype=nl.bfloat16, buffer=nl.shared_hbm)
-    tile = nl.ndarray((128, 128), dtype=nl.bfloat16, buffer=nl.sbuf)
+    tile = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x, dge_mode=nisa.dge_mode.hwdge)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
)


register(
    Rule(
        id="dma-dtype",
        code="NKI504",
        family="dma",
        summary="where DMA cannot convert, source and destination have one dtype",
        reason=(
            "DMA converts through float32, element by element. Packed x4 elements have no float32 "
            "value, descriptors made by hardware have no conversion, and a transposing DMA moves "
            "bits only."
        ),
        facts=("D04", "D12", "DTR03"),
        on=On.OPERATION,
        concerns=lambda i: (
            Trait.DMA in i.traits and bool(i.footprint.reads) and not kinds.exchanges(i)
        ),
        check=_dma_dtype,
        sources=("NKI DMA overview", "NKI migration guide 0.3, dge_mode type matching"),
        failing=_DMA_DTYPE.failing,
        passing=_DMA_DTYPE.passing,
    )
)
