"""Moving data in PPL: transfers, transpositions, gathering, quantisation (catalogue, e.5, e.6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.tpu.ppl_kit import (
    AXES,
    INT4,
    INT8,
    INT16,
    INT32,
    bits,
    check,
    dtype_words,
    elementwise,
    equal,
    example,
    function,
    local,
    mode,
    number,
    one_of,
    product,
    tensors,
)
from verifier.dialects.names import PPL
from verifier.hardware import dtypes as dt
from verifier.hardware.chips import Chip
from verifier.hardware.memories import Buffer
from verifier.rulebase import Check, Rule, register
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation

_LOADS: Final = frozenset(
    {"dma.load", "dma.load_compact", "dma.load_transpose", "dma.load_transpose_cw"}
    | {"dma.load_transpose_nc"}
)
_STORES: Final = frozenset(
    {"dma.store", "dma.store_transpose", "dma.store_transpose_cw", "dma.store_transpose_nc"}
)
_SDMA: Final = frozenset({"sdma.move", "sdma.transpose", "sdma.transpose_nc"})
#: element by element, whatever the shapes
_COUNTED: Final = frozenset(
    {"dma.load", "dma.load_compact", "dma.store", "dma.move", "sdma.move", "dma.reduce"}
)
#: destination (N, W, H, C), and (C, N, H, W)
_SWAP_CW: Final = frozenset(
    {"dma.load_transpose_cw", "dma.store_transpose_cw", "dma.transpose_cw"}
    | {"tiu.transpose_cw", "tiu.transpose_wc"}
)
_SWAP_NC: Final = frozenset(
    {"dma.load_transpose_nc", "dma.store_transpose_nc", "dma.transpose_nc", "sdma.transpose_nc"}
)
_CHOSEN: Final = frozenset(
    {"dma.load_transpose", "dma.store_transpose", "dma.transpose", "sdma.transpose"}
)

UINT8_16: Final = dt.codes("uint8", "uint16")
#: group sizes of quantised weights (TPU-D19)
GROUPS: Final = (32, 64, 128, 256)


def memories(op: Operation, chip: Chip) -> Iterator[Check]:
    """Transfers go from the memory, and to the memory, that their name says."""
    name = function(op)
    source, target = op.view("src"), op.view("dst")
    if name in _LOADS and source is not None and target is not None:
        yield _place(op, "dst", target, local(target), "local", "TPU-F01")
        yield _place(op, "src", source, not local(source), "global", "TPU-F01")
    if name in _STORES and source is not None and target is not None:
        yield _place(op, "src", source, local(source), "local", "TPU-F01")
        yield _place(op, "dst", target, not local(target), "global", "TPU-F01")
    if name in _SDMA:
        for role, view in tensors(op):
            yield _place(op, role, view, not local(view), "global or L2", "TPU-G01")
    if name == "dma.reduce" and target is not None:
        yield _place(op, "dst", target, not local(target), "global or L2", "TPU-F12")
    if op.engine == "tiu":
        for role, view in tensors(op):
            yield _place(op, role, view, local(view), "local", "TPU-A12")
    if name in ("dma.mask_select", "dma.nonzero") and target is not None:
        yield _place(op, "dst", target, not local(target), "global", "TPU-F10")


def _place(op: Operation, role: str, view: View, fine: bool, where: str, fact: str) -> Check:
    is_in = {Buffer.LOCAL: "local memory", Buffer.L2: "L2"}.get(view.buffer, "global memory")
    return check(
        op,
        role,
        E.truth(fine),
        f"{role} is in {where} memory",
        f"{role} of `pl.{function(op)}` is in {is_in}",
        fact,
        help=(f"`pl.{function(op)}` wants it in {where} memory",),
    )


def counts(op: Operation, chip: Chip) -> Iterator[Check]:
    """As many elements arrive as leave, in the order that the function says."""
    name = function(op)
    source, target = op.view("src"), op.view("dst")
    if source is None or target is None:
        return
    a, b = source.shape, target.shape
    if name in _COUNTED:
        yield check(
            op,
            "src",
            E.eq(product(a), product(b)),
            "as many elements in src as in dst",
            f"`pl.{name}` moves between tensors of different size",
            "TPU-F01",
            values=(("elements of src", product(a)), ("elements of dst", product(b))),
            views=(target,),
        )
    order: tuple[int, ...] | None = None
    if name in _SWAP_CW or (name in _CHOSEN and mode(op, "trans_mode") != "NC_TRANS"):
        order = (0, 3, 2, 1)
    elif name in _SWAP_NC or name in _CHOSEN:
        order = (1, 0, 2, 3)
    if order is not None:
        for position, axis in enumerate(order):
            yield check(
                op,
                "dst",
                E.eq(b[position], a[axis]),
                f"{AXES[position]} of dst == {AXES[axis]} of src",
                f"{AXES[position]} of the result of `pl.{name}` is not {AXES[axis]} of its source",
                "TPU-E04" if axis in (1, 3) else "TPU-F06",
                "TPU-F07",
                values=(
                    (f"{AXES[position]} of dst", b[position]),
                    (f"{AXES[axis]} of src", a[axis]),
                ),
                views=(source,),
            )
    if name in ("tiu.transpose_cw", "tiu.transpose_wc", "tiu.move_cross_lane"):
        yield check(
            op,
            "dst",
            E.truth(source.storage is not target.storage),
            "dst is not src",
            f"`pl.{name}` cannot work in place",
            "TPU-E02" if name.endswith("lane") else "TPU-E05",
        )


def broadcasts(op: Operation, chip: Chip) -> Iterator[Check]:
    """One channel is spread over lanes."""
    source, target = op.view("src"), op.view("dst")
    if source is None or target is None:
        return
    a, b = source.shape, target.shape
    fact = "TPU-E01" if op.engine == "tiu" else "TPU-F08"
    yield check(
        op,
        "src",
        E.eq(a[1], 1),
        "c of src == 1",
        f"`pl.{function(op)}` repeats one channel; the source has several",
        fact,
        values=(("c of src", a[1]),),
    )
    for position in (0, 2, 3):
        yield check(
            op,
            "dst",
            E.eq(a[position], b[position]),
            f"{AXES[position]} of dst == {AXES[position]} of src",
            f"`pl.{function(op)}` repeats along c only",
            fact,
            values=((f"{AXES[position]} of dst", b[position]),),
            views=(source,),
        )
    yield check(
        op,
        "dst",
        E.le(b[1], chip.lanes),
        f"c of dst <= {chip.lanes}",
        f"`pl.{function(op)}` reaches the lanes of {chip.name} once",
        fact,
        values=(("c of dst", b[1]),),
    )
    wanted = number(op, "npu_num")
    if wanted is not None and op.operands["npu_num"].given:
        yield check(
            op,
            "npu_num",
            E.and_(E.ge(wanted, 0), E.le(wanted, chip.lanes)),
            f"0 <= npu_num <= {chip.lanes}",
            f"{chip.name} has {chip.lanes} lanes",
            fact,
            values=(("npu_num", wanted),),
        )


def gathers(op: Operation, chip: Chip) -> Iterator[Check]:
    """Tables, indices and results of gathering and scattering go together."""
    name = function(op)
    table, index, target = op.view("param"), op.view("index"), op.view("dst")
    if table is None or index is None or target is None:
        return
    p, i, d = table.shape, index.shape, target.shape
    # scattering swaps the parts: the source has one row per index, the result is the table
    gathered, whole = (target, table) if "gather" in name else (table, target)
    g, t = gathered.shape, whole.shape
    if name in ("dma.gather_h", "dma.scatter_h", "tiu.gather_h", "tiu.scatter_h"):
        fact = "TPU-F09" if op.engine == "dma" else "TPU-E08"
        yield equal(op, "index", "h of index", i[2], "h of the gathered rows", g[2], fact)
        yield equal(op, "index", "w of index", i[3], "1", E.const(1), fact)
        yield equal(op, "param", "w of the table", t[3], "w of the rows", g[3], fact)
        wanted = dt.codes("uint32") if op.engine == "dma" else UINT8_16
    elif name in ("tiu.gather_w", "tiu.scatter_w"):
        fact, wanted = "TPU-E06", UINT8_16
        yield equal(op, "param", "h of the table", t[2], "1", E.const(1), fact)
    else:
        fact, wanted = "TPU-E07", dt.codes("uint16")
        yield equal(op, "index", "w of index", i[3], "2", E.const(2), fact)
        yield equal(op, "index", "c of index", i[1], "h * w of the rows", g[2] * g[3], fact)
    yield check(
        op,
        "index",
        index.dtype.among(wanted),
        f"index is {dtype_words(wanted)}",
        f"indices of `pl.{name}` are of type {index.dtype.name or 'another'}",
        fact,
        help=("give the pointer its type with `ptr.set_dtype(...)`",)
        if index.storage.kind == "input"
        else (),
    )
    yield check(
        op,
        "dst",
        target.dtype.same(table.dtype),
        "dst has the dtype of the table",
        f"`pl.{name}` moves elements of one type to another",
        fact,
        views=(table,),
    )
    if op.engine == "dma":
        yield _most(op, p[1], "c of param", fact)
        yield _most(op, d[1], "c of dst", fact)


def _most(op: Operation, size: Expr, what: str, fact: str) -> Check:
    return check(op, "dst", E.le(size, 65535), f"{what} <= 65535", f"{what} is too large", fact)


def quantisation(op: Operation, chip: Chip) -> Iterator[Check]:
    """Types of quantised data, and groups of weights that share a scale."""
    name = function(op)
    source, target = op.view("src"), op.view("dst")
    if source is None or target is None:
        return
    wide, narrow = INT8 | INT16 | INT32, INT4 | INT8 | INT16
    rows = {
        "tiu.rq0": (wide, narrow, "TPU-E14"),
        "tiu.rq1": (wide, narrow, "TPU-E15"),
        "tiu.dq0": (narrow, dt.codes("float32"), "TPU-E16"),
        "tiu.dq1": (narrow, wide, "TPU-E17"),
        "tiu.dq2": (INT4 | INT8, dt.codes("float16", "bfloat16"), "TPU-E18"),
    }
    taken, made, fact = rows[name]
    for role, view, codes in (("src", source, taken), ("dst", target, made)):
        yield check(
            op,
            role,
            view.dtype.among(codes),
            f"{role} is {dtype_words(codes)}",
            f"{role} of `pl.{name}` is of type {view.dtype.name or 'another'}",
            fact,
        )
    size = number(op, "gsize")
    if name == "tiu.dq2" and size is not None:
        yield check(
            op,
            "gsize",
            one_of(size, GROUPS),
            f"gsize is one of {', '.join(map(str, GROUPS))}",
            "weights are not quantised in groups of that size",
            "TPU-E18",
            "TPU-D19",
            values=(("gsize", size),),
        )
        yield check(
            op,
            "src",
            E.eq(E.mod(source.shape[3], size), 0),
            "w of src % gsize == 0",
            "the last group of weights is not full",
            "TPU-E18",
            values=(("w of src", source.shape[3]), ("gsize", size)),
            given=(E.ge(size, 1),),
        )
    shift = number(op, "shift")
    if shift is not None:
        yield check(
            op,
            "shift",
            E.and_(E.ge(shift, -128), E.le(shift, 127)),
            "-128 <= shift <= 127",
            "the shift does not fit its field",
            fact,
            values=(("shift", shift),),
        )


def others(op: Operation, chip: Chip) -> Iterator[Check]:
    """Reversal, selection, sorting."""
    name = function(op)
    source = op.view("src")
    if name == "dma.reverse":
        axis = number(op, "dim")
        if axis is not None:
            fits = E.and_(E.ge(axis, 0), E.le(axis, 3))
            if local(source):
                fits = E.eq(axis, 1)
            yield check(
                op,
                "dim",
                fits,
                "dim is 1 for local tensors, 0 to 3 for others",
                "this axis cannot be reversed",
                "TPU-F11",
                values=(("dim", axis),),
            )
    if name == "hau.topk" and source is not None:
        count = number(op, "K")
        length = product(source.shape)
        if count is not None:
            yield check(
                op,
                "K",
                E.and_(E.ge(count, 1), E.le(count, length)),
                "1 <= K <= elements",
                "`pl.topk` picks more elements than there are",
                "TPU-G02",
                values=(("K", count), ("elements", length)),
            )
        wanted = INT32 | dt.codes("float32")
        yield check(
            op,
            "src",
            source.dtype.among(wanted),
            f"src is {dtype_words(wanted)}",
            f"`pl.topk` does not sort {source.dtype.name or 'elements like that'}",
            "TPU-G02",
        )
    counted = op.view("dst_cnt")
    if counted is not None:
        yield check(
            op,
            "dst_cnt",
            counted.dtype.among(dt.codes("uint16")),
            "counts are uint16",
            f"counts of `pl.{name}` are of type {counted.dtype.name or 'another'}",
            "TPU-E10",
            "TPU-E11",
        )
    if name == "tiu.arange_broadcast":
        target = op.view("dst")
        if target is not None:
            yield equal(
                op, "dst", "c of dst", target.shape[1], "lanes", E.const(chip.lanes), "TPU-E13"
            )


def spacing(op: Operation, chip: Chip) -> Iterator[Check]:
    """Transfers step over at most 128 bytes along w."""
    if op.engine not in ("dma", "sdma"):
        return
    most = 128 if op.engine == "dma" else 64
    for role, view in tensors(op):
        if view.strides is None:
            continue
        step = view.strides[3]
        size = E.ceildiv(step * bits(view.dtype), 8)
        yield check(
            op,
            role,
            E.or_(E.le(view.shape[3], 1), E.and_(E.ne(step, 0), E.le(size, most))),
            f"0 < bytes between elements of {role} <= {most}",
            f"elements of {role} lie too far apart for a transfer",
            "TPU-F02",
            values=((f"stride of w of {role}", step),),
        )


_LOADED: Final = elementwise("pl.tiu.fadd(b, a, 1.0)")
_TURNED: Final = elementwise(
    "pl.tiu.transpose_wc(b, a)", shape="[1, rows, 1, 40]", result="[1, 40, 1, rows]"
)
_SPREAD: Final = elementwise(
    "row = a.sub_view([1, 1, 1, 96], [0, 0, 0, 0])\npl.tiu.broadcast(b, row)"
)
_PICKED: Final = example(
    """
table = pl.gtensor([1, 1, 500, 32], pl.GLOBAL, src_ptr)
target = pl.gtensor([1, 1, count, 32], pl.GLOBAL, out_ptr)
index_ptr.set_dtype(pl.pu32_t)
index = pl.gtensor([1, 1, count, 1], pl.GLOBAL, index_ptr)
pl.dma.gather_h(target, table, index)
""",
    "out_ptr, src_ptr, index_ptr, count",
    "count: 1..900, out_ptr: fp16[1, 1, count, 32], src_ptr: fp16[1, 1, 500, 32], "
    "index_ptr: uint32[1, 1, count, 1]",
)
_SCALED: Final = elementwise(
    "pl.tiu.rq1(b, a, pl.RM_HALF_TO_EVEN, multiplier=3, shift=-4, offset=0)",
    dtype="int32",
    out="int8",
)
_SORTED: Final = example(
    """
values = pl.gtensor([1, 1, 1, 300], pl.GLOBAL, src_ptr)
target = pl.gtensor([1, 1, 1, best], pl.GLOBAL, out_ptr)
pl.topk(target, values, best, True)
""",
    "out_ptr, src_ptr, best: pl.constexpr",
    "best: 1..300, out_ptr: fp32[1, 1, 1, best], src_ptr: fp32[1, 1, 1, 300]",
)
_SPACED: Final = example(
    """
source = pl.gtensor([1, 16, 1, 640], pl.GLOBAL, src_ptr)
target = pl.gtensor([1, 16, 1, 10], pl.GLOBAL, out_ptr)
a = pl.make_tensor([1, 16, 1, 10], pl.float16)
part = source.sub_view([1, 16, 1, 10], [0, 0, 0, 0])
pl.dma.load(a, part.view(shape=[1, 16, 1, 10], stride=[10240, 640, 640, 64]))
pl.dma.store(target, a)
""",
    "out_ptr, src_ptr",
    "out_ptr: fp16[1, 16, 1, 10], src_ptr: fp16[1, 16, 1, 640]",
)

for _id, _code, _summary, _reason, _facts, _check, _operations, _failing, _passing in (
    (
        "ppl-transfer-memory",
        "PPL070",
        "transfers and computation find their operands in the right memory",
        "`load` goes to local memory and `store` from it; computation works on local memory only; "
        "the system DMA does not reach it.",
        ("TPU-F01", "TPU-F10", "TPU-F12", "TPU-G01", "TPU-A12"),
        memories,
        (),
        _LOADED.replace("pl.dma.store(target, b)", "pl.dma.load(target, b)"),
        _LOADED,
    ),
    (
        "ppl-transfer-size",
        "PPL071",
        "as many elements arrive as leave, in the order that the function says",
        "Shapes of source and destination may differ, their counts may not: the transfer runs "
        "on one of them.",
        ("TPU-F01", "TPU-F06", "TPU-F07", "TPU-E02", "TPU-E04", "TPU-E05"),
        counts,
        (),
        _TURNED.replace("pl.dma.load(a, source)", "pl.dma.load(a, target)").replace(
            "[1, rows, 1, 40], pl.float16", "[1, rows, 1, 41], pl.float16"
        ),
        _TURNED,
    ),
    (
        "ppl-broadcast",
        "PPL072",
        "what is spread over lanes has one channel and goes round once",
        "Lane 0 is copied to the lanes that the destination has; a second slot per lane is not "
        "written.",
        ("TPU-E01", "TPU-F08"),
        broadcasts,
        ("ppl.tiu.broadcast", "ppl.dma.broadcast", "ppl.dma.load_broadcast"),
        _SPREAD.replace("pl.tiu.broadcast(b, row)", "pl.tiu.broadcast(b, row, npu_num=65)"),
        _SPREAD,
    ),
    (
        "ppl-gather",
        "PPL073",
        "tables, indices and results of a gather go together",
        "Indices are unsigned and of a fixed width; one index stands for one row.",
        ("TPU-E06", "TPU-E07", "TPU-E08", "TPU-F09"),
        gathers,
        (
            *("ppl.dma.gather_h", "ppl.dma.scatter_h", "ppl.tiu.gather_h", "ppl.tiu.scatter_h"),
            *("ppl.tiu.gather_w", "ppl.tiu.scatter_w", "ppl.tiu.gather_hw", "ppl.tiu.scatter_hw"),
        ),
        _PICKED.replace("pl.pu32_t", "pl.pi32_t"),
        _PICKED,
    ),
    (
        "ppl-quantisation",
        "PPL074",
        "quantised data has the types, and groups the sizes, that the functions know",
        "Requantisation goes from wide to narrow integers, dequantisation back; shifts have eight "
        "bits; groups of weights have 32 to 256 elements.",
        ("TPU-E14", "TPU-E15", "TPU-E16", "TPU-E17", "TPU-E18", "TPU-D19"),
        quantisation,
        tuple(f"ppl.tiu.{name}" for name in ("rq0", "rq1", "dq0", "dq1", "dq2")),
        _SCALED.replace("shift=-4", "shift=-130"),
        _SCALED,
    ),
    (
        "ppl-selection",
        "PPL075",
        "reversal, selection and sorting get operands that they take",
        "Local tensors are reversed along c only; counts are uint16; no more elements are picked "
        "than there are.",
        ("TPU-E10", "TPU-E11", "TPU-E13", "TPU-F11", "TPU-G02"),
        others,
        (),
        _SORTED.replace("1..300", "1..301"),
        _SORTED,
    ),
    (
        "ppl-transfer-spacing",
        "PPL076",
        "transfers step over at most 128 bytes between elements",
        "The field for the step along w is small; the system DMA reaches 64 bytes.",
        ("TPU-F02",),
        spacing,
        (),
        _SPACED.replace("640", "650").replace("64]", "65]"),
        _SPACED,
    ),
):
    register(
        Rule(
            id=_id,
            code=_code,
            family=PPL,
            summary=_summary,
            reason=_reason,
            facts=_facts,
            on="operation",
            operations=_operations,
            check=_check,
            failing=_failing,
            passing=_passing,
            dialects=(PPL,),
        )
    )
