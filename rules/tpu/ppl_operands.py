"""Operands of PPL device functions: what a chip has, sizes, shapes that go together, strides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from rules.tpu import ppl_memory, ppl_places
from rules.tpu.ppl_kit import (
    INT4,
    bits,
    check,
    declare,
    described,
    dtype_words,
    elementwise,
    example,
    flag,
    function,
    implies,
    is_device,
    layout,
    local,
    number,
    product,
    same,
    tensors,
)
from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.hardware.chips import Chip
from verifier.rulebase import Monitor, On
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.lanes import AXES
from verifier.symbolic.memory.events import Stretch
from verifier.symbolic.roles import Crossed, Elements, PerChannel
from verifier.symbolic.tensors import Storage, StorageKind, View
from verifier.symbolic.trace import Operation, Trace

# ----------------------------------------------------------------------------- what a chip has


def available(op: Operation, chip: Chip) -> Iterator[Check]:
    """The chip has the function."""
    instruction = described(op)
    yield check(
        op,
        "",
        E.truth(instruction.needs is not None and chip.has(instruction.needs[0])),
        f"{chip.name} has pl.{function(op)}",
        f"{chip.name} has no `pl.{function(op)}`",
        *_wants(instruction),
    )


def _wants(instruction: Instruction) -> tuple[str, ...]:
    """The rows that say which chips have a function."""
    if instruction.needs is not None:
        return instruction.needs[1]
    return (instruction.nowhere,) if instruction.nowhere else ()


def supported(storage: Storage, chip: Chip) -> Iterator[Check]:
    """The chip has the element type of a tensor that is made (its memory: where it is made)."""
    if storage.kind is StorageKind.INPUT:
        return
    codes = dt.codes(*(name for name in chip.dtypes if name in dt.CODES))
    yield Check(
        predicate=storage.dtype.among(codes),
        span=storage.argument_spans.get("dtype", storage.span),
        text=f"{chip.name} has the dtype of `{storage.name}`",
        message=f"{chip.name} has no elements of type {storage.dtype.name or 'like that'}",
        facts=("TPU-A11",),
        help=(f"{chip.name} has {dtype_words(codes)}",),
    )


# ----------------------------------------------------------------------------- sizes


def sizes(trace: Trace, chip: Chip) -> Iterator[Check]:
    """No operand has more than 65535 elements along an axis, given that local memory suffices."""
    fitting = ppl_memory.fitting(trace, chip)
    for op in trace.operations:
        if is_device(op):
            yield from _sizes_of(op, chip, fitting)


def sizes_in_run(event: Stretch, chip: Chip) -> Iterator[Check]:
    """As :func:`sizes`, of the operations of a run."""
    for op in event.trace.operations:
        if op.order >= event.since and is_device(op):
            yield from _sizes_of(op, chip, ())


def _sizes_of(op: Operation, chip: Chip, fitting: Sequence[Bool]) -> Iterator[Check]:
    named = [
        (f"{axis} of {role}", size)
        for role, view in tensors(op)
        for axis, size in zip(AXES, view.shape, strict=True)
    ]
    open_ = {
        size: name for name, size in reversed(named) if E.le(size, chip.axis_max) is not E.TRUE
    }
    if not open_:
        return
    found = check(
        op,
        next(iter(op.operands)),
        E.and_(*(E.le(size, chip.axis_max) for size in open_)),
        " and ".join(f"{name} <= {chip.axis_max}" for name in reversed(open_.values())),
        f"an operand of `pl.{function(op)}` may have more than {chip.axis_max} elements along "
        "an axis",
        "TPU-A02",
        values=[(name, size) for size, name in reversed(open_.items())],
        given=(*(loop.within for loop in op.loops), *fitting),
    )
    yield _at(found, op)


def _at(found: Check, op: Operation) -> Check:
    return replace(found, path=op.path, order=op.order)


# ----------------------------------------------------------------------------- shapes


def elementwise_shapes(op: Operation, chip: Chip) -> Iterator[Check]:
    """Sources have the shape of the destination, or repeat along n, h or w."""
    roles = [(role, role.shape) for role in described(op).roles]
    sources = [(role.name, shape) for role, shape in roles if isinstance(shape, Elements)]
    tensors_ = [(name, shape) for name, shape in sources if op.view(name) is not None]
    for name, shape in tensors_:
        view, target = op.view(name), op.view(shape.of)
        if view is not None and target is not None:
            yield from _fits(op, name, view, target, shape)
    if any(shape.repeats for _, shape in sources):
        yield check(
            op,
            "",
            E.truth(bool(tensors_)),
            "one source is a tensor",
            f"`{op.call_text}` has no tensor among its sources",
            "TPU-A10",
        )
    yield from _per_channel(op)
    yield from _crossed(op)


def _by_element(instruction: Instruction) -> bool:
    return any(
        isinstance(role.shape, (Elements, PerChannel, Crossed)) for role in instruction.roles
    )


def _channel_facts(instruction: Instruction) -> tuple[str, ...]:
    shapes = (role.shape for role in instruction.roles)
    return tuple(shape.fact for shape in shapes if isinstance(shape, (PerChannel, Crossed)))


def _per_channel(op: Operation) -> Iterator[Check]:
    """What has numbers for each channel has as many channels, and nothing else."""
    for role in described(op).roles:
        shape, view = role.shape, op.view(role.name)
        target = op.view(shape.of) if isinstance(shape, PerChannel) else None
        if view is None or target is None or not isinstance(shape, PerChannel):
            continue
        channels = target.shape[1]
        wanted = (E.const(1), channels, E.const(1), E.const(shape.columns))
        yield check(
            op,
            role.name,
            same(view.shape, wanted),
            f"{role.name} is [1, c of {shape.of}, 1, {shape.columns}]",
            f"{role.name} of `pl.{function(op)}` has not {shape.columns} for each channel",
            shape.fact,
            values=(
                *(
                    (f"{axis} of {role.name}", size)
                    for axis, size in zip(AXES, view.shape, strict=True)
                ),
                (f"c of {shape.of}", channels),
            ),
            views=(target,),
        )


def _crossed(op: Operation) -> Iterator[Check]:
    """A result for each pair of elements of two vectors has as many elements as there are pairs."""
    for role in described(op).roles:
        shape, view = role.shape, op.view(role.name)
        if view is None or not isinstance(shape, Crossed) or not op.operands[role.name].given:
            continue
        taken = [(name, op.view(name)) for name in shape.of]
        counts = [(name, product(v.shape) if v is not None else E.const(1)) for name, v in taken]
        pairs, made = product(count for _, count in counts), product(view.shape)
        yield check(
            op,
            role.name,
            E.eq(made, pairs),
            f"elements of {role.name} == {' * '.join(f'elements of {n}' for n, _ in counts)}",
            f"{role.name} of `pl.{function(op)}` has not one element for each pair",
            shape.fact,
            values=(
                (f"elements of {role.name}", made),
                *((f"elements of {name}", count) for name, count in counts),
            ),
            views=tuple(v for _, v in taken if v is not None),
        )


def _fits(op: Operation, role: str, view: View, target: View, shape: Elements) -> Iterator[Check]:
    for position, axis in enumerate(AXES):
        mine, wanted = view.shape[position], target.shape[position]
        fits = E.eq(mine, wanted)
        if shape.repeats and axis != "c":
            fits = E.or_(fits, E.eq(mine, 1))
        if fits is E.TRUE:
            continue
        lanes = axis == "c" and mine.is_const and mine.const == 1
        yield check(
            op,
            role,
            fits,
            f"{axis} of {role} fits {axis} of {shape.of}",
            f"{axis} of {role} is not that of the destination"
            + (": lanes do not repeat by shape" if lanes else ""),
            "TPU-A08" if lanes else shape.fact,
            values=((f"{axis} of {role}", mine), (f"{axis} of {shape.of}", wanted)),
            views=(target,),
            help=(
                ("repeat it along c with `pl.tiu.broadcast` first",)
                if lanes
                else ("take a sub_view of the part that is meant",)
            ),
        )


# ----------------------------------------------------------------------------- strides


def strides(op: Operation, chip: Chip) -> Iterator[Check]:
    """Strides that are given by hand are in range, and no element is written twice."""
    if not is_device(op):
        return
    outputs = {role for role, _ in op.writes}
    for role, view in tensors(op):
        if view.strides is None:
            continue
        in_lanes = local(view)
        for position, axis in enumerate(AXES):
            step = view.strides[position]
            size = view.shape[position]
            places = E.ceildiv(size, chip.lanes) if axis == "c" and in_lanes else size
            if in_lanes:
                # what fits into a lane has smaller strides: only plain numbers are compared
                below = E.lt(step, 1 << chip.stride_bits) if step.is_const else E.TRUE
                yield check(
                    op,
                    role,
                    E.or_(E.le(places, 1), E.and_(E.ge(step, 0), below)),
                    f"0 <= stride of {axis} < {1 << chip.stride_bits}",
                    f"the stride of {axis} of {role} is out of range",
                    "TPU-A03",
                    values=((f"stride of {axis}", step),),
                )
            if role in outputs:
                yield check(
                    op,
                    role,
                    implies(E.gt(places, 1), E.ne(step, 0)),
                    f"stride of {axis} of {role} != 0",
                    f"all elements along {axis} of {role} are written to one place",
                    "TPU-A04",
                    "ADR-23",
                    values=((f"stride of {axis}", step), (f"{axis}", size)),
                )
        if in_lanes and view.dtype.among(INT4) is E.TRUE:
            yield check(
                op,
                role,
                E.FALSE,
                f"{role} has no strides of its own",
                "elements of four bits have no strides",
                "TPU-A07",
            )


# ----------------------------------------------------------------------------- constants


def saturation(op: Operation, chip: Chip) -> Iterator[Check]:
    """The flag exists where the chip has it; it is for fp8 (TPU-B01, PPL-C11)."""
    asked = flag(op, "saturation")
    yield check(
        op,
        "saturation",
        implies(asked, E.truth(chip.has(Capability.FLOAT_SATURATION))),
        f"{chip.name} saturates floats",
        f"{chip.name} does not take `saturation` for floats",
        "TPU-B01",
        "PPL-C11",
    )


def _saturates(instruction: Instruction) -> bool:
    """Whether it may be asked to saturate floats."""
    asked = any(role.name == "saturation" for role in instruction.roles)
    return asked and Trait.INTEGERS not in instruction.traits


def constants(op: Operation, chip: Chip) -> Iterator[Check]:
    """A constant that fills an integer tensor survives the way through float32."""
    if op.instruction is None or op.instruction.role("value") is None:
        return
    target, words = op.view("dst"), dt.codes("int32", "uint32")
    if target is None or target.dtype.among(words) is E.FALSE:
        return
    value = number(op, "value")
    if value is None:
        return
    yield check(
        op,
        "value",
        E.or_(
            E.not_(target.dtype.among(words)),
            E.and_(E.le(value, dt.EXACT), E.ge(value, -dt.EXACT)),
        ),
        f"|value| <= {dt.EXACT}",
        "the constant loses bits: it is converted through float32",
        "PPL-C12",
        "TPU-B22",
        values=(("value", value),),
    )


# ----------------------------------------------------------------------------- layouts


def layouts(op: Operation, chip: Chip) -> Iterator[Check]:
    """An operand has the layout that the function implies, where the layouts differ."""
    for role, view in tensors(op):
        described_as = described(op).role(role)
        wanted = described_as.lies if described_as is not None else None
        if wanted is None or not wanted.layout or not local(view) or not layout(view):
            continue
        mode, fact = wanted.layout, wanted.fact
        mine = layout(view)
        coincide = E.TRUE if mine == mode else _coincide(view, mine, mode, chip)
        if view.strides is not None or coincide is E.TRUE:
            yield from ppl_places.laid(op, role, view, wanted, chip)
            continue
        yield check(
            op,
            role,
            coincide,
            f"{role} is {mode}",
            f"{role} of `pl.{function(op)}` has to be {mode}; it is {mine}",
            fact,
            "PPL-B14",
            help=("pass `align_mode=` to make_tensor, or load it with the function for that",),
        )


def _laid(instruction: Instruction) -> tuple[str, ...]:
    laid = (role.lies for role in instruction.roles)
    return tuple(lies.fact for lies in laid if lies is not None and lies.layout)


def _coincide(view: View, mine: str, wanted: str, chip: Chip) -> Bool:
    """Whether two layouts put the elements of a tensor at the same places (LAY-02)."""
    n, c, h, w = view.storage.shape
    unit = chip.eu_bytes * dt.BYTE
    size = bits(view.storage.dtype)
    pair = {mine, wanted}
    single = E.and_(E.le(n, 1), E.le(c, chip.lanes))
    if pair == {"aligned", "compact"}:
        return E.or_(single, E.eq(E.mod(h * w * size, unit), 0))
    if pair == {"aligned", "row-aligned"}:
        return E.or_(E.eq(h, 1), E.eq(E.mod(w * size, unit), 0))
    if pair == {"compact", "row-aligned"}:
        return E.or_(E.and_(single, E.eq(h, 1)), E.eq(E.mod(w * size, unit), 0))
    return E.FALSE


# ----------------------------------------------------------------------------- registration

_DOUBLED: Final = elementwise("pl.tiu.fmul(b, a, 2.0)")
_WIDE: Final = example(
    """
source = pl.gtensor([1, 1, rows, 64], pl.GLOBAL, src_ptr)
target = pl.gtensor([1, 1, rows, 64], pl.GLOBAL, out_ptr)
pl.dma.zero(target)
picked = pl.gtensor([1, 1, 16, 1], pl.GLOBAL, index_ptr)
pl.dma.scatter_h(target, source.sub_view([1, 1, 16, 64], [0, 0, 0, 0]), picked)
""",
    "out_ptr, src_ptr, index_ptr, rows",
    "rows: 16..65535, out_ptr: fp16[1, 1, rows, 64], src_ptr: fp16[1, 1, rows, 64], "
    "index_ptr: uint32[1, 1, 16, 1]",
)
_SPREAD: Final = """\
wide = pl.make_tensor([1, rows, 1, 96], pl.float16)
row = a.sub_view([1, 1, 1, 96], [0, 0, 0, 0])
pl.tiu.broadcast(wide, row)
pl.tiu.fadd(b, a, wide)"""
_STRIDED: Final = elementwise(
    "pl.tiu.fmul(b.view(shape=[1, rows, 1, 48], stride=[96, 96, 96, 1]), "
    "a.view(shape=[1, rows, 1, 48], stride=[96, 96, 96, 2]), 2.0)\n"
    "pl.tiu.move(b.sub_view([1, rows, 1, 48], [0, 0, 0, 48]), "
    "a.sub_view([1, rows, 1, 48], [0, 0, 0, 0]))"
)
_FILLED: Final = elementwise("pl.tiu.fill(b, 16777216)\npl.tiu.add(b, b, a)", dtype="int32")
_SCALED: Final = elementwise(
    "s = pl.make_tensor([1, rows, 1, 1], pl.float32, align_mode=pl.TPU_COMPACT)\n"
    "pl.tiu.fill(s, 2.0)\n"
    "pl.tiu.fscale(b, a, scale=s, bias=0.0)",
    dtype="fp32",
).replace("[1, rows, 1, 96]", "[2, rows, 1, 96]")


declare(
    "ppl-chip-function",
    "PPL030",
    On.OPERATION,
    "the chip has the functions that the kernel uses",
    "The instruction sets differ: some functions exist on one generation only.",
    (),
    available,
    elementwise("pl.tiu.fmul_add(b, a, a, 1.0)"),
    _DOUBLED,
    enforces=_wants,
)
declare(
    "ppl-chip-dtype",
    "PPL031",
    On.STORAGE,
    "the chip has the element types and memories of the tensors",
    "Elements of eight-bit floats exist from BM1690 on; tensors in L2 on chips with several "
    "cores that share one.",
    ("TPU-A11", "TPU-G04"),
    supported,
    elementwise(
        "c = pl.make_tensor([1, 8, 1, 64], pl.float8e4)\npl.tiu.zero(c)\npl.tiu.fmul(b, a, 2.0)"
    ),
    _DOUBLED,
)
declare(
    "ppl-size-range",
    "PPL032",
    On.TRACE,
    "operands have at most 65535 elements along each axis",
    "Instructions hold sizes in sixteen bits: a larger size is cut off. Tensors in global memory "
    "are affected as well.",
    ("TPU-A02", "TPU-D03", "TPU-D13"),
    sizes,
    _WIDE.replace("16..65535", "16..70000"),
    _WIDE,
    gather=True,
    silent=True,
    monitors=(Monitor(Stretch, sizes_in_run),),
)
declare(
    "ppl-operand-shape",
    "PPL033",
    On.OPERATION,
    "the shapes of sources fit the destination",
    "The instruction has one shape, that of its result. A source may repeat along n, h and w with "
    "one element there; lanes, the c axis, do not repeat that way.",
    ("TPU-A06", "TPU-A08", "TPU-A09", "TPU-A10", "TPU-B08", "TPU-B09", "TPU-B10", "TPU-B13"),
    elementwise_shapes,
    elementwise(_SPREAD.replace("pl.tiu.fadd(b, a, wide)", "pl.tiu.fadd(b, a, row)")),
    elementwise(_SPREAD),
    concerns=_by_element,
    enforces=_channel_facts,
    silent=True,
)
declare(
    "ppl-strides",
    "PPL034",
    On.OPERATION,
    "strides given by hand are in range and write every element to its own place",
    "A stride of zero repeats a source; in a destination all writes land on one element and the "
    "last survives. Strides of local operands have 18 bits.",
    ("TPU-A03", "TPU-A04", "TPU-A07", "ADR-23"),
    strides,
    _STRIDED.replace("stride=[96, 96, 96, 1]", "stride=[96, 96, 96, 0]"),
    _STRIDED,
    silent=True,
)
declare(
    "ppl-saturation",
    "PPL035",
    On.OPERATION,
    "`saturation` is asked of chips that saturate floats",
    "BM1684X and BM1688 have no saturating arithmetic on floats: the flag is ignored or rejected.",
    ("TPU-B01", "PPL-C11"),
    saturation,
    elementwise("pl.tiu.fmul(b, a, 2.0, saturation=True)"),
    _DOUBLED,
    severity="warning",
    concerns=_saturates,
)
declare(
    "ppl-fill-precision",
    "PPL036",
    On.OPERATION,
    "a constant that fills an integer tensor is a float32",
    "`zero` and `fill` convert the constant through float32: integers above 2**24 lose their last "
    "bits.",
    ("PPL-C12", "TPU-B22"),
    constants,
    _FILLED.replace("16777216", "16777217"),
    _FILLED,
    severity="warning",
)
declare(
    "ppl-operand-layout",
    "PPL037",
    On.OPERATION,
    "operands have the align mode that the function implies",
    "Instructions take weights, scales and quantisation parameters packed, tables and transposed "
    "results by rows. The mode is chosen when a tensor is made; elements of another layout are "
    "read from wrong places, unless the layouts coincide.",
    ("PPL-B14",),
    layouts,
    _SCALED.replace(
        "[1, rows, 1, 1], pl.float32, align_mode=pl.TPU_COMPACT", "[2, rows, 1, 1], pl.float32"
    ),
    _SCALED,
    enforces=_laid,
)
