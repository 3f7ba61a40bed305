"""Data movement by DMA: element counts, memories, types, descriptors, transposition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.nki import kit
from rules.nki.kit import at_least, check, register
from rules.nki.operands import SBUF
from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import Check, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation

OFF_CHIP: Final = (Buffer.HBM, Buffer.SHARED_HBM)
REACHED: Final = (Buffer.SBUF, Buffer.HBM, Buffer.SHARED_HBM)

# ----------------------------------------------------------------------------- element counts


def _dma_size(op: Operation, target: Target) -> Iterator[Check]:
    if op.name == "isa.dma_compute":
        yield from _compute_sizes(op)
        return
    dst_role, src_role = "dst", kit.described(op).footprint.reads[0].role
    dst, src = op.view(dst_role), op.view(src_role)
    if dst is None or src is None:
        return
    equal = E.eq(dst.elements, src.elements)
    text = f"elements of {dst_role} == elements of {src_role}"
    if op.name == "language.store" and not at_least(op.api, "0.2"):
        equal = E.or_(equal, kit.broadcastable(src.shape, dst.shape))
        facts: tuple[str, ...] = ("L23",)
    else:
        facts = ("L23",) if op.name == "language.store" else ("D01", "DCP01")
    yield check(
        op,
        src_role,
        equal,
        text,
        f"{src_role} and {dst_role} have different numbers of elements",
        *facts,
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
                "DCM02",
                values=(
                    ("elements of dst", dst.elements),
                    (f"elements of srcs[{position}]", source.elements),
                ),
                about=("dst",),
                views=(source,),
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
        facts=("D01", "DCP01", "L23", "DCM02"),
        on="operation",
        operations=("isa.dma_copy", "isa.dma_compute", "language.store"),
        check=_dma_size,
        sources=("NKI ISA dma_copy, tile size", "NKI ISA dma_compute, tile size"),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copy_tiles(x):
    rows, columns = x.shape
    assert rows == 200 and columns == 96
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for start in range(0, rows, 128):
        tile = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        height = min(128, rows - start)
        nisa.dma_copy(dst=tile, src=x[start : start + height, :])
        nisa.dma_copy(dst=out[start : start + height, :], src=tile[0:height, :])
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copy_tiles(x):
    rows, columns = x.shape
    assert rows == 200 and columns == 96
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for start in range(0, rows, 128):
        height = min(128, rows - start)
        tile = nl.ndarray((height, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[start : start + height, :])
        nisa.dma_copy(dst=out[start : start + height, :], src=tile)
    return out
""",
    )
)

# ----------------------------------------------------------------------------- memories


def _dma_buffers(op: Operation, target: Target) -> Iterator[Check]:
    strict = at_least(op.api, "0.3")
    for role in ("dst", "src", "srcs"):
        value = op.value(role)
        views = value if isinstance(value, tuple) else (value,)
        for view in views:
            if not isinstance(view, View):
                continue
            if role == "src" and not strict:
                continue  # before 0.3 the compiler moved PSUM sources to SBUF by itself
            found = kit.buffer_check(
                op,
                role,
                view,
                REACHED,
                f"{role} is in {kit.BUFFER_WORDS[view.buffer]}, which DMA cannot reach",
                *(("B27", "DCP02") if role == "src" else ("D02", "BUF35")),
                help=("copy the tile to SBUF with nisa.tensor_copy first",),
            )
            if found is not None:
                yield found


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
        on="operation",
        operations=("isa.dma_copy", "isa.dma_compute"),
        check=_dma_buffers,
        sources=("NKI ISA dma_copy, memory types", "NKI migration guide 0.3, dma_copy"),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def direct_store(left_t, right):
    assert left_t.shape == (72, 24) and right.shape == (72, 360)
    out = nl.ndarray((24, 360), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((72, 24), dtype=nl.bfloat16, buffer=nl.sbuf)
    b = nl.ndarray((72, 360), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    product = nl.ndarray((24, 360), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=product, stationary=a, moving=b, accumulate=False)
    nisa.dma_copy(dst=out, src=product)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def staged_store(left_t, right):
    assert left_t.shape == (72, 24) and right.shape == (72, 360)
    out = nl.ndarray((24, 360), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((72, 24), dtype=nl.bfloat16, buffer=nl.sbuf)
    b = nl.ndarray((72, 360), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    product = nl.ndarray((24, 360), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=product, stationary=a, moving=b, accumulate=False)
    staged = nl.ndarray((24, 360), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=staged, src=product)
    nisa.dma_copy(dst=out, src=staged)
    return out
""",
    )
)


def _load_store(op: Operation, target: Target) -> Iterator[Check]:
    if op.name == "language.store":
        dst, value = op.view("dst"), op.view("value")
        if dst is not None:
            found = kit.buffer_check(
                op, "dst", dst, OFF_CHIP, "nl.store writes to HBM, and dst is not there", "L21"
            )
            if found is not None:
                yield found
        if value is not None:
            beta = not at_least(op.api, "0.2")
            found = kit.buffer_check(
                op,
                "value",
                value,
                (Buffer.SBUF, Buffer.PSUM) if beta else SBUF,
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
    name = op.name.rpartition(".")[2]
    fact = "L24" if name == "load_transpose2d" else "L20"
    found = kit.buffer_check(
        op, "src", src, OFF_CHIP, f"nl.{name} reads from HBM, and src is not there", fact
    )
    if found is not None:
        yield found
    if name == "load":
        if not at_least(op.api, "0.2"):
            return  # Beta 1 makes a column of a one-dimensional source
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
        on="operation",
        operations=("language.load", "language.store", "language.load_transpose2d"),
        check=_load_store,
        sources=("NKI language load, store, load_transpose2d",),
        failing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def reload(x):
    assert x.shape == (100, 70)
    out = nl.ndarray((100, 70), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    again = nl.load(tile)
    nl.store(out, again)
    return out
""",
        passing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def reload(x):
    assert x.shape == (100, 70)
    out = nl.ndarray((100, 70), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    again = nl.copy(tile)
    nl.store(out, again)
    return out
""",
    )
)

# ----------------------------------------------------------------------------- types


def _dma_dtype(op: Operation, target: Target) -> Iterator[Check]:
    dst, src = op.view("dst"), op.view("src")
    if dst is None or src is None:
        return
    same = dst.dtype.same(src.dtype)
    names = f"{kit.dtype_words(src.dtype)} and {kit.dtype_words(dst.dtype)}"
    if op.name == "isa.dma_transpose":
        yield check(
            op,
            "dst",
            same,
            f"dtype of dst == dtype of src (they are {names})",
            "a DMA transpose does not convert: dst has another dtype than src",
            "DTR03",
            about=("dst", "src"),
        )
        return
    if kit.choice(op.value("dge_mode")) == "hwdge" and at_least(op.api, "0.3"):
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
    known = dst.dtype.name is not None and src.dtype.name is not None
    if not target.has(Capability.MX_MATMUL) and not known:
        return  # only trn3 has packed types: an input of free type has none of them
    packed = E.or_(dst.dtype.among(kit.PACKED), src.dtype.among(kit.PACKED))
    yield check(
        op,
        "dst",
        E.or_(same, E.not_(packed)),
        f"dtypes are equal, or none is packed (they are {names})",
        "DMA cannot convert packed x4 elements",
        "D12",
        about=("dst", "src"),
        help=("quantize with nisa.quantize_mx, or view one side with the other's dtype",),
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
        on="operation",
        operations=("isa.dma_copy", "isa.dma_transpose"),
        check=_dma_dtype,
        sources=("NKI DMA overview", "NKI migration guide 0.3, dge_mode type matching"),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def cast_on_the_way(x):
    assert x.shape == (128, 128) and x.dtype == nl.float32
    out = nl.ndarray((128, 128), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 128), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x, dge_mode=nisa.dge_mode.hwdge)
    nisa.dma_copy(dst=out, src=tile)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def cast_on_the_way(x):
    assert x.shape == (128, 128) and x.dtype == nl.float32
    out = nl.ndarray((128, 128), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x, dge_mode=nisa.dge_mode.hwdge)
    nisa.dma_copy(dst=out, src=tile)
    return out
""",
    )
)

# ----------------------------------------------------------------------------- descriptors


def _dge_mode(op: Operation, target: Target) -> Iterator[Check]:
    mode = kit.choice(op.value("dge_mode"))
    if mode is None and "dge_mode" in op.operands:
        return
    indirect = [role for role in ("dst", "src") if (v := op.view(role)) is not None and v.indirect]
    if mode == "hwdge":
        yield check(
            op,
            "dge_mode",
            E.truth(target.has(Capability.HARDWARE_DESCRIPTORS)),
            f"the target is trn2 or newer (it is {target.name})",
            f"{target.name} has no hardware descriptor engine",
            "D03",
            "H74",
            about=(),
        )
    if mode in ("hwdge", "none") and indirect:
        vector = any(_gathers(op.view(role)) for role in indirect)
        yield check(
            op,
            "dge_mode",
            E.truth(not vector),
            "gather and scatter use dge_mode unknown or swdge",
            f"dge_mode {mode} cannot gather or scatter",
            *(("D06", "D08") if mode == "hwdge" else ("D06", "D07")),
            about=tuple(indirect),
            help=("leave dge_mode open, or use nisa.dge_mode.swdge",),
        )
    trigger = kit.engine(op)
    if op.name == "isa.dma_copy" and trigger not in (None, "unknown"):
        yield check(
            op,
            "engine",
            E.truth(trigger in ("sync", "scalar") and mode == "hwdge"),
            "engine is sync or scalar, with dge_mode hwdge",
            f"engine {trigger} cannot trigger this DMA",
            "D05",
            about=(),
            help=("an engine is chosen together with dge_mode=nisa.dge_mode.hwdge only",),
        )


def _gathers(view: View | None) -> bool:
    return view is not None and view.indirect and "vector" in view.reason


register(
    Rule(
        id="dge-mode",
        code="NKI505",
        family="dma",
        summary="the way descriptors are generated can do what the copy asks for",
        reason=(
            "Descriptors are computed ahead of time, by software on the GpSimd, or by hardware "
            "triggered from the Sync or Scalar engine (trn2 and newer). Only software can follow "
            "an index per row, and only the hardware way lets the call choose an engine."
        ),
        facts=("D03", "D05", "D06", "D07", "D08", "H74", "DCP04"),
        on="operation",
        operations=("isa.dma_copy", "isa.dma_transpose"),
        check=_dge_mode,
        sources=("NKI ISA dma_copy", "NKI descriptor generation guide"),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def vector_queue(x):
    assert x.shape == (80, 512)
    out = nl.ndarray((80, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((80, 512), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(
        dst=tile, src=x, dge_mode=nisa.dge_mode.hwdge, engine=nisa.engine.vector
    )
    nisa.dma_copy(dst=out, src=tile)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def scalar_queue(x):
    assert x.shape == (80, 512)
    out = nl.ndarray((80, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((80, 512), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(
        dst=tile, src=x, dge_mode=nisa.dge_mode.hwdge, engine=nisa.engine.scalar
    )
    nisa.dma_copy(dst=out, src=tile)
    return out
""",
    )
)


def _dma_priority(op: Operation, target: Target) -> Iterator[Check]:
    value = op.value("priority")
    level = kit.as_expr(value)
    if level is None:
        return
    fact = "K12" if op.name.startswith("collectives.") else "D09"
    yield check(
        op,
        "priority",
        E.and_(E.ge(level, 0), E.le(level, 3)),
        "0 <= priority <= 3",
        "there is no such DMA priority",
        fact,
        values=(("priority", level),),
        about=(),
    )
    yield check(
        op,
        "priority",
        E.truth(target.has(Capability.DMA_PRIORITIES)),
        f"the target is trn3 or newer (it is {target.name})",
        f"{target.name} has no DMA priorities",
        fact,
        "H88",
        about=(),
        help=("leave priority out",),
    )


register(
    Rule(
        id="dma-priority",
        code="NKI506",
        family="dma",
        summary="DMA priorities are 0 to 3, on trn3 and newer",
        reason=(
            "The DMA engines of the fourth generation sort traffic into four classes, 0 being the "
            "highest. Earlier engines have a single one."
        ),
        facts=("D09", "K12", "H88"),
        on="operation",
        operations=(
            "isa.dma_copy",
            "isa.dma_transpose",
            "collectives.all_reduce",
            "collectives.all_gather",
            "collectives.reduce_scatter",
            "collectives.all_to_all",
            "collectives.collective_permute",
        ),
        check=_dma_priority,
        sources=("NKI ISA dma_copy", "Trainium3 architecture, DMA traffic shaping"),
        failing="""\
# target: trn3
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def urgent(x):
    assert x.shape == (128, 700)
    out = nl.ndarray((128, 700), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 700), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x, priority=4)
    nisa.dma_copy(dst=out, src=tile)
    return out
""",
        passing="""\
# target: trn3
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def urgent(x):
    assert x.shape == (128, 700)
    out = nl.ndarray((128, 700), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 700), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x, priority=0)
    nisa.dma_copy(dst=out, src=tile)
    return out
""",
    )
)


def _oob_mode(op: Operation, target: Target) -> Iterator[Check]:
    if kit.choice(op.value("oob_mode")) != "skip":
        return
    value = op.value("srcs")
    sources = value if isinstance(value, tuple) else (op.view("src"),)
    views = [view for view in (op.view("dst"), *sources) if isinstance(view, View)]
    if not views:
        return
    yield check(
        op,
        "oob_mode",
        E.truth(any(view.indirect for view in views)),
        "an operand is addressed at run time",
        "oob_mode skip has nothing to skip: every address of this DMA is static",
        {"isa.dma_transpose": "DTR11", "isa.dma_compute": "DCM09"}.get(op.name, "D10"),
        about=(),
        severity=None if op.name != "isa.dma_copy" else "warning",
    )


register(
    Rule(
        id="oob-mode",
        code="NKI507",
        family="dma",
        summary="oob_mode skip goes with addresses that are known at run time only",
        reason=(
            "Skipping elements whose address is out of range is a feature of indirect accesses. "
            "On static addresses it hides a mistake that could be found before running."
        ),
        facts=("D10", "DTR11", "DCM09"),
        on="operation",
        operations=("isa.dma_copy", "isa.dma_transpose", "isa.dma_compute"),
        check=_oob_mode,
        sources=("NKI ISA dma_transpose", "NKI 0.4 release notes, dma_compute"),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def lenient(x):
    assert x.shape == (64, 130)
    out = nl.ndarray((64, 130), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((64, 130), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x, oob_mode=nisa.oob_mode.skip)
    nisa.dma_copy(dst=out, src=tile)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def strict(x):
    assert x.shape == (64, 130)
    out = nl.ndarray((64, 130), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((64, 130), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x, oob_mode=nisa.oob_mode.error)
    nisa.dma_copy(dst=out, src=tile)
    return out
""",
    )
)

# ----------------------------------------------------------------------------- transposing DMA

_AXES: Final = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}


def _dma_transpose_shape(op: Operation, target: Target) -> Iterator[Check]:
    src, dst = op.view("src"), op.view("dst")
    if src is None or not at_least(op.api, "0.2"):
        return
    if op.value("axes") is not None and kit.integers(op.value("axes")) is None:
        return
    given = kit.integers(op.value("axes"))
    rank = src.rank
    expected = _AXES.get(rank)
    yield check(
        op,
        "src",
        E.truth(expected is not None),
        "rank of src is 2, 3 or 4",
        "a DMA transposes tensors of 2, 3 or 4 dimensions",
        "DTR01",
        values=(("rank of src", E.const(rank)),),
    )
    if expected is None:
        return
    if given is not None:
        matches = len(given) == rank and all(
            axis is E.const(want) for axis, want in zip(given, expected, strict=True)
        )
        yield check(
            op,
            "axes",
            E.truth(matches),
            f"axes == {expected}",
            "a DMA transposes by exchanging the first and the last axis",
            "DTR01",
            about=(),
        )
    if dst is None or not at_least(op.api, "0.4"):
        return
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
        on="operation",
        operations=("isa.dma_transpose",),
        check=_dma_transpose_shape,
        sources=("NKI ISA dma_transpose", "NKI migration guide 0.4"),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def turn(x):
    assert x.shape == (64, 96) and x.dtype == nl.bfloat16
    out = nl.ndarray((64, 96), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    turned = nl.ndarray((64, 96), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_transpose(dst=turned, src=x, priority=None)  # priority: NKI 0.4 and newer
    nisa.dma_copy(dst=out, src=turned)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def turn(x):
    assert x.shape == (64, 96) and x.dtype == nl.bfloat16
    out = nl.ndarray((96, 64), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    turned = nl.ndarray((96, 64), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_transpose(dst=turned, src=x, priority=None)  # priority: NKI 0.4 and newer
    nisa.dma_copy(dst=out, src=turned)
    return out
""",
    )
)


def _dma_transpose_buffers(op: Operation, target: Target) -> Iterator[Check]:
    src, dst = op.view("src"), op.view("dst")
    if not at_least(op.api, "0.2"):
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
        on="operation",
        operations=("isa.dma_transpose",),
        check=_dma_transpose_buffers,
        sources=("NKI ISA dma_transpose",),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def turn_in_memory(x):
    assert x.shape == (48, 80) and x.dtype == nl.float16
    out = nl.ndarray((80, 48), dtype=nl.float16, buffer=nl.shared_hbm)
    nisa.dma_transpose(dst=out, src=x)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def turn_on_chip(x):
    assert x.shape == (48, 80) and x.dtype == nl.float16
    out = nl.ndarray((80, 48), dtype=nl.float16, buffer=nl.shared_hbm)
    turned = nl.ndarray((80, 48), dtype=nl.float16, buffer=nl.sbuf)
    nisa.dma_transpose(dst=turned, src=x)
    nisa.dma_copy(dst=out, src=turned)
    return out
""",
    )
)


def _dma_transpose_size(op: Operation, target: Target) -> Iterator[Check]:
    src = op.view("src")
    mode = kit.choice(op.value("dge_mode"))
    if src is None or src.rank not in _AXES or not at_least(op.api, "0.2"):
        return
    first, last = src.shape[0], src.shape[-1]
    width = src.dtype.among(frozenset(c for c in dt.ITEMSIZE if dt.ITEMSIZE[c] == 2))
    widths = f"dtype of src has 2 bytes (it is {kit.dtype_words(src.dtype)})"
    values = (("first dimension of src", first), ("last dimension of src", last))
    if src.indirect:
        yield check(
            op,
            "src",
            E.truth(
                mode in (None, "unknown", "swdge") and target.has(Capability.INDIRECT_TRANSPOSE)
            ),
            "dge_mode is unknown or swdge, on trn2 or newer",
            "an indirect DMA transpose needs software descriptors, on trn2 or newer",
            "DTR07",
            "H75",
        )
        yield check(
            op, "src", width, widths, "an indirect DMA transpose moves 2-byte elements", "DTR07"
        )
        yield check(
            op,
            "src",
            E.and_(kit.divisible(first, 16), E.le(last, 128)),
            "first dimension of src is a multiple of 16 and last dimension of src <= 128",
            "the source does not fit an indirect DMA transpose",
            "DTR08",
            values=values,
        )
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
    if mode != "hwdge":
        return
    yield check(op, "src", width, widths, "a hardware DMA transpose moves 2-byte elements", "DTR06")
    if at_least(op.api, "0.6"):
        yield check(
            op,
            "src",
            E.le(last, 128),
            "last dimension of src <= 128",
            "the rows of src are too long for a hardware DMA transpose",
            "DTR06",
            values=values,
        )
        if src.rank > 2:
            rows = E.and_(
                kit.one_of(first, (1, 2, 4, 8, 16)), kit.divisible(first * src.shape[-2], 16)
            )
            text = "first dimension of src is 1, 2, 4, 8 or 16 and fills rows of 16"
        else:
            rows, text = E.eq(first, 16), "first dimension of src == 16"
    else:
        yield check(
            op,
            "src",
            kit.divisible(last, 128),
            "last dimension of src is a multiple of 128",
            "the rows of src do not suit a hardware DMA transpose",
            "DTR06",
            values=values,
        )
        rows, text = E.eq(first, 16), "first dimension of src == 16"
    yield check(
        op,
        "src",
        rows,
        text,
        "the source does not fit a hardware DMA transpose",
        "DTR05",
        values=values,
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
        facts=("DTR04", "DTR05", "DTR06", "DTR07", "DTR08", "H75", "OQ17"),
        on="operation",
        operations=("isa.dma_transpose",),
        check=_dma_transpose_size,
        sources=("NKI ISA dma_transpose", "NKI 0.6 release notes"),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def turn_fast(x):
    assert x.shape == (24, 128) and x.dtype == nl.bfloat16
    out = nl.ndarray((128, 24), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    turned = nl.ndarray((128, 24), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_transpose(dst=turned, src=x, dge_mode=nisa.dge_mode.hwdge)
    nisa.dma_copy(dst=out, src=turned)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def turn_fast(x):
    assert x.shape == (16, 128) and x.dtype == nl.bfloat16
    out = nl.ndarray((128, 16), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    turned = nl.ndarray((128, 16), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_transpose(dst=turned, src=x, dge_mode=nisa.dge_mode.hwdge)
    nisa.dma_copy(dst=out, src=turned)
    return out
""",
    )
)

# ----------------------------------------------------------------------------- computing DMA


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
    scales = op.value("scales")
    if isinstance(scales, (tuple, list)):
        numbers = [kit.constant(scale) for scale in scales]
        if None not in numbers:
            yield check(
                op,
                "scales",
                E.truth(all(number == 1 for number in numbers)),
                "every scale is 1.0",
                "DMA cannot scale its sources",
                "DCM01",
                about=(),
            )
    sources = op.value("srcs")
    if not isinstance(sources, tuple):
        return
    yield check(
        op,
        "srcs",
        E.truth(1 <= len(sources) <= 16),
        "1 to 16 sources",
        "a computing DMA takes 1 to 16 sources",
        "DCM10",
        values=(("sources", E.const(len(sources))),),
        about=(),
    )
    if any(isinstance(source, View) and source.indirect for source in sources):
        yield check(
            op,
            "srcs",
            E.truth(len(sources) == 2 and op.value("unique_indices") is not False),
            "2 sources, with unique indices",
            "an indirect computing DMA takes two sources and unique indices",
            "DCM04",
            values=(("sources", E.const(len(sources))),),
            about=(),
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
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def largest(a, b):
    assert a.shape == (128, 44) and b.shape == (128, 44)
    assert a.dtype == nl.float32 and b.dtype == nl.float32
    out = nl.ndarray((128, 44), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_compute(dst=out, srcs=[a, b], reduce_op=nl.maximum)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def total(a, b):
    assert a.shape == (128, 44) and b.shape == (128, 44)
    assert a.dtype == nl.float32 and b.dtype == nl.float32
    out = nl.ndarray((128, 44), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_compute(dst=out, srcs=[a, b], reduce_op=nl.add)
    return out
""",
    )
)
