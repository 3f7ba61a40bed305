"""Moving data in PPL: transfers, transpositions, gathering, quantisation (catalogue, e.5, e.6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.tpu.ppl_dtypes import types
from rules.tpu.ppl_kit import (
    bits,
    check,
    described,
    elementwise,
    equal,
    example,
    function,
    having,
    local,
    mode,
    number,
    one_of,
    product,
    same,
    tensors,
)
from verifier.dialects.names import PPL
from verifier.hardware import dtypes as dt
from verifier.hardware.chips import Chip
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.rulebase import On, Rule, register
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Expr
from verifier.symbolic.instruction import Instruction, Picks, Trait
from verifier.symbolic.lanes import AXES
from verifier.symbolic.roles import Counted, Crossed, Permuted, Spread
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation


def memories(op: Operation, chip: Chip) -> Iterator[Check]:
    """Operands are in the memories that their function reaches."""
    for role in described(op).roles:
        view = op.view(role.name)
        if view is None or role.memories is None:
            continue
        inside = Buffer.LOCAL in role.memories.buffers
        where = "local" if inside else "global or L2"
        fact = role.memories.facts[0]
        yield _place(op, role.name, view, local(view) is inside, where, fact)


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
    instruction = described(op)
    for role in instruction.roles:
        view, shape = op.view(role.name), role.shape
        of = op.view(shape.of) if shape is not None and not isinstance(shape, Crossed) else None
        if view is None or of is None:
            continue
        if isinstance(shape, Counted):
            yield _count(op, role.name, view, of, shape)
        elif isinstance(shape, Permuted):
            yield from _order(op, role.name, view, of, shape)
    source, target = op.view("src"), op.view("dst")
    if instruction.moves_out and source is not None and target is not None:
        yield check(
            op,
            "dst",
            E.truth(source.storage is not target.storage),
            "dst is not src",
            f"`pl.{function(op)}` cannot work in place",
            instruction.moves_out,
        )


def _count(op: Operation, role: str, view: View, of: View, shape: Counted) -> Check:
    mine, wanted = product(view.shape), product(of.shape)
    return check(
        op,
        role,
        E.eq(mine, wanted),
        f"as many elements in {role} as in {shape.of}",
        f"`pl.{function(op)}` moves between tensors of different size",
        shape.fact,
        values=((f"elements of {role}", mine), (f"elements of {shape.of}", wanted)),
        views=(of,),
    )


def _order(op: Operation, role: str, view: View, of: View, shape: Permuted) -> Iterator[Check]:
    for position, axis in enumerate(shape.order(op)):
        mine, wanted = f"{AXES[position]} of {role}", f"{AXES[axis]} of {shape.of}"
        yield check(
            op,
            role,
            E.eq(view.shape[position], of.shape[axis]),
            f"{mine} == {wanted}",
            f"{AXES[position]} of the result of `pl.{function(op)}` is not {AXES[axis]} of its "
            "source",
            shape.fact,
            values=((mine, view.shape[position]), (wanted, of.shape[axis])),
            views=(of,),
        )


def broadcasts(op: Operation, chip: Chip) -> Iterator[Check]:
    """One channel is spread over lanes."""
    source, target = op.view("src"), op.view("dst")
    if source is None or target is None:
        return
    a, b = source.shape, target.shape
    fact = "TPU-E01" if op.engine is Engine.TIU else "TPU-F08"
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
        yield check(
            op,
            "npu_num",
            E.or_(E.eq(wanted, 0), E.ge(wanted, b[1])),
            "npu_num >= c of dst",
            f"`pl.{function(op)}` fills fewer lanes than dst has channels: the others keep what "
            "they held",
            fact,
            values=(("npu_num", wanted), ("c of dst", b[1])),
        )


def gathers(op: Operation, chip: Chip) -> Iterator[Check]:
    """Tables, indices and results of gathering and scattering go together."""
    yield from types(op, chip)
    table, index, target = op.view("param"), op.view("index"), op.view("dst")
    if table is None or index is None or target is None:
        return
    i = index.shape
    # scattering swaps the parts: the source has one row per index, the result is the table
    scatters = Trait.SCATTERS in op.traits
    g, t = (table.shape, target.shape) if scatters else (target.shape, table.shape)
    role = described(op).role("index")
    assert role is not None and role.dtypes is not None
    fact = role.dtypes.fact
    picks = described(op).picks
    if picks is Picks.ROWS:
        yield equal(op, "index", "h of index", i[2], "h of the gathered rows", g[2], fact)
        yield equal(op, "index", "w of index", i[3], "1", E.const(1), fact)
        yield equal(op, "param", "w of the table", t[3], "w of the rows", g[3], fact)
    elif picks is Picks.COLUMNS:
        yield equal(op, "param", "h of the table", t[2], "1", E.const(1), fact)
        general = same(i, (E.const(1), g[3], E.const(1), E.const(1)))
        batched = E.and_(
            E.or_(E.eq(i[0], 1), E.eq(i[0], g[0])), same(i[1:], (g[1], E.const(1), g[3]))
        )
        yield check(
            op,
            "index",
            E.or_(general, batched),
            "index is [1, w, 1, 1], or has one row for each channel",
            "the indices do not go with the gathered columns",
            fact,
            values=(*zip((f"{axis} of index" for axis in AXES), i, strict=True), ("w", g[3])),
            views=(target,),
        )
    else:
        yield equal(op, "index", "w of index", i[3], "2", E.const(2), fact)
        yield equal(op, "index", "c of index", i[1], "h * w of the rows", g[2] * g[3], fact)
    for axis in (0, 1):
        if picks is not Picks.ROWS:
            mine, theirs = f"{AXES[axis]} of the rows", f"{AXES[axis]} of the table"
            yield equal(op, "dst", mine, g[axis], theirs, t[axis], fact)
    if op.engine is Engine.DMA:
        yield _most(op, table.shape[1], "c of param", chip.axis_max, fact)
        yield _most(op, target.shape[1], "c of dst", chip.axis_max, fact)


def _most(op: Operation, size: Expr, what: str, most: int, fact: str) -> Check:
    return check(op, "dst", E.le(size, most), f"{what} <= {most}", f"{what} is too large", fact)


def quantisation(op: Operation, chip: Chip) -> Iterator[Check]:
    """Types of quantised data, and groups of weights that share a scale."""
    yield from types(op, chip)
    source, size = op.view("src"), number(op, "gsize")
    if source is not None and size is not None:
        yield check(
            op,
            "gsize",
            one_of(size, chip.scale_groups),
            f"gsize is one of {', '.join(map(str, chip.scale_groups))}",
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
    for each in described(op).roles:
        if each.barred is not None and op.value(each.name) is not None:
            name = mode(op, each.name)
            yield check(
                op,
                each.name,
                E.truth(name not in each.barred.members),
                f"{each.name} is none of {', '.join(each.barred.members)}",
                f"`pl.{name}` is no way to round here",
                each.barred.fact,
            )
    role, shift = described(op).role("shift"), number(op, "shift")
    if role is not None and role.value is not None and shift is not None:
        limit = role.value
        yield check(
            op,
            "shift",
            limit.holds(shift),
            f"{limit.least} <= shift <= {limit.most}",
            f"{role.about} does not fit its field",
            limit.fact,
            values=(("shift", shift),),
        )


def others(op: Operation, chip: Chip) -> Iterator[Check]:
    """Reversal, selection, sorting."""
    source, target = op.view("src"), op.view("dst")
    if Trait.SORTS in op.traits:
        yield from types(op, chip)
    axis = number(op, "dim")
    if axis is not None:
        fits = E.and_(E.ge(axis, 0), E.le(axis, 3))
        yield check(
            op,
            "dim",
            E.eq(axis, 1) if local(source) else fits,
            "dim is 1 for local tensors, 0 to 3 for others",
            "this axis cannot be reversed",
            "TPU-F11",
            values=(("dim", axis),),
        )
    count = number(op, "K")
    if count is not None and source is not None:
        length = product(source.shape)
        yield check(
            op,
            "K",
            E.and_(E.ge(count, 1), E.le(count, length)),
            "1 <= K <= elements",
            f"`pl.{function(op).partition('.')[2]}` picks more elements than there are",
            "TPU-G02",
            values=(("K", count), ("elements", length)),
        )
    numbers = number(op, "num")
    if numbers is not None and target is not None:
        # the numbers lie along w (TPU-E13)
        what = tuple(target.shape[axis] for axis in (0, 2))
        yield check(
            op,
            "dst",
            E.and_(E.eq(target.shape[3], numbers), *(E.eq(size, 1) for size in what)),
            "dst is [1, lanes, 1, num]",
            f"`pl.{function(op)}` makes as many numbers as it is told",
            "TPU-E13",
            values=(("num", numbers), ("w of dst", target.shape[3])),
        )
    numbered = op.instruction is not None and op.instruction.role("num") is not None
    if numbered and target is not None:
        yield equal(op, "dst", "c of dst", target.shape[1], "lanes", E.const(chip.lanes), "TPU-E13")


def spacing(op: Operation, chip: Chip) -> Iterator[Check]:
    """Transfers step over few bytes along w."""
    if op.engine not in (Engine.DMA, Engine.SDMA):
        return
    most = chip.dma_step_bytes if op.engine is Engine.DMA else chip.sdma_step_bytes
    for role, view in tensors(op):
        if view.strides is None:
            continue
        step = view.strides[3]
        size = E.ceildiv(step * bits(view.dtype), dt.BYTE)
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


def _any(instruction: Instruction) -> bool:
    return True


def _spreads(instruction: Instruction) -> bool:
    """Whether it repeats one channel."""
    return any(isinstance(role.shape, Spread) for role in instruction.roles)


for _id, _code, _summary, _reason, _facts, _check, _concerns, _failing, _passing in (
    (
        "ppl-transfer-memory",
        "PPL070",
        "transfers and computation find their operands in the right memory",
        "`load` goes to local memory and `store` from it; computation works on local memory only; "
        "the system DMA does not reach it.",
        ("TPU-F01", "TPU-F10", "TPU-F12", "TPU-G01", "TPU-A12"),
        memories,
        _any,
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
        _any,
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
        _spreads,
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
        having(Trait.GATHERS, Trait.SCATTERS),
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
        having(Trait.QUANTISES),
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
        _any,
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
        _any,
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
            on=On.OPERATION,
            concerns=_concerns,
            check=_check,
            failing=_failing,
            passing=_passing,
            dialects=(PPL,),
        )
    )
