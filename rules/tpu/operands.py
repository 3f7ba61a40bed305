"""Where the operands of OKK functions may lie, and how large they may be."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Final

from rules.tpu import functions, kit
from rules.tpu.examples import pair
from rules.tpu.kit import AXES, check, function, words
from verifier.dialects.names import OKK
from verifier.hardware.chips import Chip
from verifier.rulebase import Check, Rule, register
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.lanes import LocalTensor, Quad, SystemTensor
from verifier.symbolic.trace import Operation

#: most elements along n, h and w (OKK-B01), and along any axis of a transfer (OKK-B04)
MOST: Final = 65535
#: most rows and columns of a convolution or a pool, padding included (OKK-B03)
MOST_PIXELS: Final = 2047

# ----------------------------------------------------------------------------- ranges of shapes


def _shape_range(op: Operation, chip: Chip) -> Iterator[Check]:
    if function(op) in functions.MATRIX_TRANSFERS:
        yield from _matrix_range(op)
        return
    if function(op) == functions.MATMUL:
        yield from _matmul_range(op, chip)
        return
    if not op.touches:
        return
    window = function(op) in functions.WINDOWS
    transfer = functions.is_transfer(op)
    roles = ("input",) if window else tuple(t.role for t in op.touches)
    tensor = next((t.tensor for t in op.touches if t.role in roles), None)
    if tensor is None:
        return
    role = next((r for r in ("shape", "input_shape") if r in op.operands), op.touches[0].role)
    for axis, size in zip(AXES, tensor.shape, strict=True):
        most, fact = MOST, "OKK-B04" if transfer else "OKK-B01"
        if axis == "c" and not transfer:
            most, fact = chip.channels_max, "OKK-B02"
        elif window and axis in "hw":
            most, fact = MOST_PIXELS, "OKK-B03"
        yield _axis(op, role, f"{role}.{axis}", size, most, fact)
    if function(op) == "bdc_conv2d" and (channels := kit.number(op, "output_c")) is not None:
        yield _axis(op, "output_c", "output_c", channels, chip.channels_max, "OKK-P09")


def _axis(op: Operation, role: str, name: str, size: Expr, most: int, fact: str) -> Check:
    return check(
        op,
        role,
        kit.between(size, 1, most),
        f"1 <= {name} <= {most}",
        f"{name} of `{function(op)}` is not between 1 and {most}",
        fact,
        values=((name, size),),
    )


def _matrix_range(op: Operation) -> Iterator[Check]:
    for role in ("rows", "cols", "cols_per_channel"):
        size = kit.number(op, role)
        if size is not None:
            yield _axis(op, role, role, size, MOST, "OKK-B05")


def _matmul_range(op: Operation, chip: Chip) -> Iterator[Check]:
    rows = kit.number(op, "left_rows")
    if rows is not None:
        yield _axis(op, "left_rows", "left_rows", rows, MOST, "OKK-Q04")
    for side in ("left", "right"):
        columns, width = kit.number(op, f"{side}_cols"), kit.number(op, f"{side}_cols_per_channel")
        if columns is None or width is None:
            continue
        role = f"{side}_cols"
        yield check(
            op,
            role,
            E.and_(E.ge(columns, 1), E.le(columns, width * chip.channels_max)),
            f"{role} >= 1, in at most {chip.channels_max} channels",
            f"the {side} matrix has no columns, or more channels than the hardware counts",
            "OKK-Q04",
            given=(E.ge(width, 1),),
            values=((role, columns), (f"{role}_per_channel", width)),
        )


_SHAPE = pair(
    "negate",
    "channels: int, x: okk.SystemAddr, y: okk.SystemAddr",
    """\
assert 1 <= channels <= @@
okk.initialize()
shape = okk.dim4(1, channels, 3, 5)
okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
okk.bdc_neg(0, 0, shape, None, None)
okk.gdma_32bit_cpy_L2S(y, 0, shape, None, None)
okk.poll()
""",
    "4096",
    "4095",
)

register(
    Rule(
        id="okk-shape-range",
        code="OKK101",
        family=OKK,
        summary="every extent of a shape fits the field that holds it",
        reason=(
            "Instructions hold extents in fields of 16, 12 or 11 bits. An extent of 0 divides by "
            "zero, one that is too large loses its upper bits. Transfers count 65535 channels, "
            "compute functions 4095, convolutions and pools 2047 rows and columns."
        ),
        facts=("OKK-B01", "OKK-B02", "OKK-B03", "OKK-B04", "OKK-B05", "OKK-P09", "OKK-Q04"),
        on="operation",
        check=_shape_range,
        dialects=(OKK,),
        sources=("OKKernel manual, refined interface",),
        failing=_SHAPE[0],
        passing=_SHAPE[1],
    )
)

# ----------------------------------------------------------------------------- alignment


def _unit(op: Operation, role: str, tensor: LocalTensor, chip: Chip) -> tuple[int, str]:
    """What the address of an operand must be a multiple of, and the row that says so."""
    name = function(op)
    if functions.is_transfer(op):
        return functions.itemsize(op) or 1, "OKK-A07"
    if role in functions.PER_CHANNEL:
        unit = chip.eu_bytes if name == functions.MATMUL else WORD
        return unit, "OKK-Q02" if name == functions.MATMUL else "OKK-A06"
    if role == "weight":
        return (PAIR, "OKK-A05") if name == "bdc_conv2d" else (WORD, "OKK-A06")
    if name == functions.MATMUL:
        return chip.eu_bytes, "OKK-Q02"
    if name == "bdc_conv2d" and role == "input":
        return (WORD if tensor.given else chip.eu_bytes), "OKK-A04"
    if name in functions.ALIGNED or name in functions.WINDOWS:
        return chip.eu_bytes, "OKK-A03"
    return WORD, "OKK-A01"


#: bytes of a word, and of a pair of fp32 weights (OKK-A01, OKK-A05)
WORD: Final = 4
PAIR: Final = 8


def _alignment(op: Operation, chip: Chip) -> Iterator[Check]:
    for touch, tensor in kit.local(op):
        unit, fact = _unit(op, touch.role, tensor, chip)
        if unit == 1:
            continue
        yield check(
            op,
            touch.role,
            kit.divisible(tensor.address, unit),
            f"{words(touch.role)} address is a multiple of {unit}",
            f"the address of {words(touch.role)} of `{function(op)}` is not a multiple of {unit}",
            fact,
            values=((f"{words(touch.role)} address", tensor.address),),
            help=(f"round the address up to a multiple of {unit}",),
        )
    size = functions.itemsize(op)
    if size is None or size == 1:
        return
    for touch, system in kit.system(op):
        yield check(
            op,
            touch.role,
            kit.divisible(system.address.offset, size),
            f"{words(touch.role)} offset is a multiple of {size}",
            f"{words(touch.role)} of `{function(op)}` lies {size}-byte elements at an odd offset",
            "OKK-A07",
            "ADR-14",
            values=((f"{words(touch.role)} offset in bytes", system.address.offset),),
            help=("offsets in system memory count bytes, not elements",),
        )


_ALIGN = pair(
    "roots",
    "rows: int, x: okk.SystemAddr, y: okk.SystemAddr",
    """\
assert 1 <= rows <= 200
okk.initialize()
shape = okk.dim4(1, 9, rows, 7)
size = rows * 7 * 4
result = @@
okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
okk.bdc_sqrt(result, 0, shape)
okk.gdma_32bit_cpy_L2S(y, result, shape, None, None)
okk.poll()
""",
    "size",
    "(size + 127) // 128 * 128",
)

register(
    Rule(
        id="okk-address-alignment",
        code="OKK102",
        family=OKK,
        summary="an operand's address is a multiple of what the function works on",
        reason=(
            "Functions without stride arguments, pools, convolution results and matrices work on "
            "whole 128-byte rows of the execution units; weights of a convolution are read in "
            "pairs of 8 bytes; everything else in words. Other addresses stop the chip or read "
            "what stands before the tensor."
        ),
        facts=(
            "OKK-A01",
            "OKK-A03",
            "OKK-A04",
            "OKK-A05",
            "OKK-A06",
            "OKK-A07",
            "OKK-Q02",
            "ADR-14",
            "ADR-15",
            "OKK-G04",
            "OKK-PK1",
            "INC-17",
        ),
        on="operation",
        check=_alignment,
        dialects=(OKK,),
        sources=("OKKernel manual, refined interface",),
        failing=_ALIGN[0],
        passing=_ALIGN[1],
    )
)

# ----------------------------------------------------------------------------- extents


def _local_extent(op: Operation, chip: Chip) -> Iterator[Check]:
    for touch, tensor in kit.local(op):
        role = words(touch.role)
        place = kit.block(chip, tensor)
        values = (
            (f"{role} address", tensor.address),
            (f"bytes per lane of {role}", place.length),
        )
        yield check(
            op,
            touch.role,
            E.and_(E.ge(tensor.address, 0), E.lt(tensor.address, chip.memory_bytes)),
            f"0 <= {role} address < {chip.memory_bytes}",
            f"the address of {role} of `{function(op)}` is outside local memory",
            "ADR-01",
            values=values[:1],
        )
        yield check(
            op,
            touch.role,
            E.le(place.end, chip.local_bytes),
            f"{role} ends within the {chip.local_bytes} bytes of its lane",
            f"{role} of `{function(op)}` reaches beyond the end of its lane",
            "OKK-F01",
            "ADR-08",
            given=(E.ge(tensor.address, 0), E.lt(tensor.address, chip.memory_bytes)),
            values=values,
            help=(
                "what does not fit is written into the next lane, without a message: "
                "split the tensor, or check its size before",
            ),
        )


_EXTENT = pair(
    "scale",
    "height: int, width: int, x: okk.SystemAddr, y: okk.SystemAddr",
    """\
assert 1 <= height <= 500 and 1 <= width <= 500
okk.initialize()
shape = okk.dim4(1, 40, height, width)
stride = okk.aligned_stride_32bit(0, shape)
size = stride.n * 4
assert @@ * size <= okk.local_mem_size_per_npu()
okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
okk.bdc_mul_C(size, 0, 0.5, shape, None, None)
okk.gdma_32bit_cpy_L2S(y, size, shape, None, None)
okk.poll()
""",
    "1",
    "2",
)

register(
    Rule(
        id="okk-local-extent",
        code="OKK103",
        family=OKK,
        summary="every local operand ends within its lane",
        reason=(
            "A lane of BM1684 has 524288 bytes. A compute function that reaches further writes "
            "into the memory of the next lane, and nothing says so; a transfer stops the chip."
        ),
        facts=("OKK-F01", "ADR-01", "ADR-08", "ADR-09", "ADR-10", "OKK-G05", "OKK-P11", "OKK-P22"),
        on="operation",
        check=_local_extent,
        dialects=(OKK,),
        gather=True,
        sources=("OKKernel manual, layout", "OKKernel manual, refined interface"),
        failing=_EXTENT[0],
        passing=_EXTENT[1],
    )
)

# ----------------------------------------------------------------------------- lanes

#: function -> operands that must start in one lane (OKK-C02, OKK-C03); of others: all
_TOGETHER: Final[dict[str, tuple[str, ...]]] = {
    "bdc_conv2d": ("output", "weight", "bias"),
    "bdc_matmul": ("output", "right", "bias"),
}


def _start_lane(op: Operation, chip: Chip) -> Iterator[Check]:
    if not functions.is_compute(op):
        return
    name = function(op)
    operands = list(kit.local(op))
    if functions.is_packed(op):
        for touch, tensor in operands:
            yield check(
                op,
                touch.role,
                E.lt(tensor.address, chip.local_bytes),
                f"{words(touch.role)} starts in lane 0",
                f"{words(touch.role)} of `{name}` does not start in lane 0",
                "OKK-C04",
                given=(E.ge(tensor.address, 0),),
                values=((f"lane of {words(touch.role)}", kit.lane(chip, tensor)),),
            )
        return
    together = _TOGETHER.get(name)
    if together is not None:
        operands = [(touch, tensor) for touch, tensor in operands if touch.role in together]
    fact = {"bdc_conv2d": "OKK-C02", "bdc_matmul": "OKK-C03"}.get(name, "OKK-C01")
    more = {
        "bdc_matmul": ("OKK-Q05",),
        "bdc_depthwise2d": ("OKK-P20",),
        "bdc_avg_pool2d": ("OKK-P30",),
        "bdc_max_pool2d": ("OKK-P30",),
    }.get(name, ())
    for (first, one), (touch, tensor) in zip(operands[:1] * len(operands), operands, strict=True):
        if touch is first:
            continue
        a, b = kit.lane(chip, one), kit.lane(chip, tensor)
        yield check(
            op,
            touch.role,
            E.eq(a, b),
            f"{words(touch.role)} and {words(first.role)} start in the same lane",
            f"{words(touch.role)} of `{name}` starts in another lane than {words(first.role)}",
            fact,
            "ADR-12",
            *more,
            values=((f"lane of {words(first.role)}", a), (f"lane of {words(touch.role)}", b)),
            help=("an NPU computes with what lies in its own memory",),
        )


_LANE = pair(
    "shifted",
    "x: okk.SystemAddr, y: okk.SystemAddr",
    """\
okk.initialize()
shape = okk.dim4(2, 20, 6, 6)
lane = okk.local_mem_size_per_npu()
start = 3 * lane
result = @@
okk.gdma_32bit_cpy_S2L(start, x, shape, None, None)
okk.bdc_add_C(result, start, 1.5, shape, None, None)
okk.gdma_32bit_cpy_L2S(y, result, shape, None, None)
okk.poll()
""",
    "2048",
    "start + 2048",
)

register(
    Rule(
        id="okk-start-lane",
        code="OKK104",
        family=OKK,
        summary="the operands of a function start in the same lane",
        reason=(
            "Each NPU reads and writes its own memory: channel c of every operand must lie in the "
            "same lane. Only the input of a convolution and the left matrix go to all NPUs and "
            "are free; packed fixed-point operands start in lane 0. Elsewhere the results are "
            "those of other channels, without a message."
        ),
        facts=(
            "OKK-C01",
            "OKK-C02",
            "OKK-C03",
            "OKK-C04",
            "OKK-Q05",
            "OKK-P20",
            "OKK-P30",
            "ADR-12",
            "ADR-13",
        ),
        on="operation",
        check=_start_lane,
        dialects=(OKK,),
        sources=("OKKernel manual, refined interface",),
        failing=_LANE[0],
        passing=_LANE[1],
    )
)


def _stride_lane(op: Operation, chip: Chip) -> Iterator[Check]:
    for touch, tensor in kit.local(op):
        made = kit.origin(op, touch.role)
        if made is None or made.start_lane is None:
            continue
        told, actual = made.start_lane, kit.lane(chip, tensor)
        channels = made.shape[1]
        there, here = kit.slots(chip, told, channels), kit.slots(chip, actual, channels)
        yield check(
            op,
            _stride_role(op, touch.role) or touch.role,
            E.or_(E.eq(told, actual), E.eq(there, here), E.le(tensor.shape[0], 1)),
            f"the strides of {words(touch.role)} are those of the lane it starts in",
            f"the strides of {words(touch.role)} were computed for another start lane",
            "LAY-06",
            "ADR-22",
            values=(
                (f"lane of {words(touch.role)}", actual),
                ("lane that the strides are for", told),
                ("channels per lane here", here),
                ("channels per lane there", there),
            ),
            help=("give the stride helper the lane of the address: okk.start_npu_index(address)",),
        )
    for touch, system in kit.system(op):
        made = kit.origin(op, touch.role)
        if made is None or made.start_lane is None:
            continue
        n, c, _, _ = system.shape
        yield check(
            op,
            _stride_role(op, touch.role) or touch.role,
            E.or_(E.le(n, 1), E.le(c, 1)),
            f"the strides of {words(touch.role)} are those of system memory",
            f"{words(touch.role)} lies in system memory, its strides are those of local memory",
            "ADR-20",
            values=((f"{words(touch.role)}.n", n), (f"{words(touch.role)}.c", c)),
            help=(
                "in local memory channels share the lanes, in system memory they follow each "
                "other: okk.continuous_stride",
            ),
        )


_STRIDE_LANE = pair(
    "placed",
    "x: okk.SystemAddr, y: okk.SystemAddr",
    """\
okk.initialize()
shape = okk.dim4(3, 60, 2, 5)
start = 10 * okk.local_mem_size_per_npu()
stride = okk.aligned_stride_32bit(@@, shape)
okk.gdma_32bit_cpy_S2L(start, x, shape, stride, None)
okk.gdma_32bit_cpy_L2S(y, start, shape, None, stride)
okk.poll()
""",
    "0",
    "okk.start_npu_index(start)",
)

register(
    Rule(
        id="okk-stride-lane",
        code="OKK105",
        family=OKK,
        summary="strides are used in the lane that they were computed for",
        reason=(
            "How many channels a lane holds depends on the lane in which a tensor starts, and the "
            "batch stride counts them. Strides of another start lane put batches on top of each "
            "other, or leave gaps that no other function expects. In system memory channels "
            "follow each other, so that strides of local memory put batches into each other."
        ),
        facts=("LAY-06", "ADR-20", "ADR-21", "ADR-22"),
        on="operation",
        check=_stride_lane,
        dialects=(OKK,),
        sources=("OKKernel manual, layout",),
        failing=_STRIDE_LANE[0],
        passing=_STRIDE_LANE[1],
    )
)


# ----------------------------------------------------------------------------- strides

#: strides are held in 19 bits (OKK-D04)
STRIDE_END: Final = 1 << 19


def _stride_role(op: Operation, role: str) -> str | None:
    """The argument with the strides of an operand."""
    name = "kernel_stride" if role == "weight" else f"{role}_stride"
    return name if name in op.operands else None


def _stride_fields(op: Operation, chip: Chip) -> Iterator[Check]:
    name = function(op)
    if name == "bdc_conv2d":
        yield check(
            op,
            "kernel_stride",
            E.truth(op.value("kernel_stride") is not None),
            "kernel_stride is given",
            "`bdc_conv2d` needs the strides of its weights",
            "OKK-D02",
            help=("okk.compact_stride of the weights' shape in pairs of input channels",),
        )
    copies = functions.is_transfer(op) and "_cpy_" in name
    for touch in op.touches:
        tensor = touch.tensor
        role = _stride_role(op, touch.role)
        if not tensor.given or role is None:
            continue
        if copies:
            step = tensor.strides[3]
            yield check(
                op,
                role,
                E.eq(step, 1),
                f"{role}.w == 1",
                f"`{name}` copies rows without gaps only: {role}.w is not 1",
                "OKK-D03",
                values=((f"{role}.w", step),),
            )
        elif functions.is_compute(op):
            given = tensor.strides[:2] if name == "bdc_conv2d" else tensor.strides
            fact = "OKK-P12" if name == "bdc_conv2d" else "OKK-D04"
            yield check(
                op,
                role,
                E.and_(*(kit.between(step, 0, STRIDE_END - 1) for step in given)),
                f"0 <= every stride of {role} < {STRIDE_END}",
                f"a stride in {role} of `{name}` does not fit its field",
                fact,
                values=tuple(
                    (f"{role}.{axis}", step) for axis, step in zip(AXES, given, strict=False)
                ),
            )


_FIELDS = pair(
    "columns",
    "x: okk.SystemAddr, y: okk.SystemAddr",
    """\
okk.initialize()
shape = okk.dim4(1, 5, 8, 6)
okk.gdma_32bit_cpy_S2L(0, x, shape, None, @@)
okk.gdma_32bit_cpy_L2S(y, 0, shape, None, None)
okk.poll()
""",
    "okk.dim4(480, 96, 12, 2)",
    "okk.dim4(480, 96, 12, 1)",
)

register(
    Rule(
        id="okk-stride-fields",
        code="OKK106",
        family=OKK,
        summary="strides are given where they must be, and fit their fields",
        reason=(
            "Copies move rows whose elements follow each other: the w stride must be 1. Compute "
            "functions hold strides in 19 bits without a sign. A convolution has no default for "
            "the strides of its weights and crashes without them."
        ),
        facts=("OKK-D01", "OKK-D02", "OKK-D03", "OKK-D04", "OKK-P07", "OKK-P12"),
        on="operation",
        check=_stride_fields,
        dialects=(OKK,),
        sources=("OKKernel manual, refined interface",),
        failing=_FIELDS[0],
        passing=_FIELDS[1],
    )
)


def _lost_writes(op: Operation, chip: Chip) -> Iterator[Check]:
    for touch in op.touches:
        tensor = touch.tensor
        if not touch.writes or not tensor.given:
            continue
        counts = _counts(chip, tensor)
        role = _stride_role(op, touch.role)
        span = role or touch.role
        yield check(
            op,
            span,
            E.and_(
                *(
                    E.or_(E.le(count, 1), E.ne(step, 0))
                    for count, step in zip(counts, tensor.strides, strict=True)
                )
            ),
            f"no stride of {words(touch.role)} is 0 along more than one element",
            f"`{function(op)}` writes many elements to one place: a stride of "
            f"{words(touch.role)} is 0",
            "ADR-23",
            "OKK-D05",
            values=tuple(
                (f"{role}.{axis}", step) for axis, step in zip(AXES, tensor.strides, strict=True)
            ),
            help=("a stride of 0 repeats a source; of a result only the last element remains",),
        )
        if all(step.is_const and step.const == 0 for step in tensor.strides):
            continue
        yield _injective(op, span, touch.role, tensor, counts)


def _counts(chip: Chip, tensor: LocalTensor | SystemTensor) -> Quad:
    n, c, h, w = tensor.shape
    if isinstance(tensor, SystemTensor):
        return n, c, h, w
    return n, kit.slots(chip, kit.lane(chip, tensor), c), h, w


def _injective(
    op: Operation,
    span: str,
    role: str,
    tensor: LocalTensor | SystemTensor,
    counts: Quad,
) -> Check:
    """No two elements at one place: two of them, in one lane, whose index differs."""
    first = [_position(axis, count) for axis, count in zip(AXES, counts, strict=True)]
    second = [_position(axis, count) for axis, count in zip(AXES, counts, strict=True)]
    here, there = E.const(0), E.const(0)
    for a, b, step in zip(first, second, tensor.strides, strict=True):
        here, there = here + a * step, there + b * step
    same = E.and_(*(E.eq(a, b) for a, b in zip(first, second, strict=True)))
    nested = _nested(tensor.strides, counts)
    predicate = E.or_(nested, same, E.ne(here, there)) if nested is not E.TRUE else E.TRUE
    ranges = tuple(
        E.lt(position, count)
        for position, count in zip((*first, *second), (*counts, *counts), strict=True)
    )
    return check(
        op,
        span,
        predicate,
        f"no two elements of {words(role)} lie at one place",
        f"`{function(op)}` writes two elements of {words(role)} to one place",
        "ADR-24",
        given=() if predicate is E.TRUE else tuple(f for f in ranges if f is not E.TRUE),
        values=tuple(
            (f"stride of {words(role)} along {axis}", step)
            for axis, step in zip(AXES, tensor.strides, strict=True)
        ),
    )


def _position(axis: str, count: Expr) -> Expr:
    if count.is_const and count.const == 1:
        return E.const(0)
    return E.fresh(axis, 0, None, "point")


def _nested(strides: Quad, counts: Quad) -> E.Bool:
    """Whether each stride is not below the extent of the axes within it.

    Which axes lie within which is tried out; of the orders the one is taken of which folding tells
    most. That suffices for elements at different places, it is not needed.
    """
    best: list[E.Bool] | None = None
    for order in permutations((3, 2, 1, 0)):
        reach: Expr = E.const(1)
        facts: list[E.Bool] = []
        for axis in order:
            step, count = strides[axis], counts[axis]
            once = E.eq(count, 1)
            facts.append(E.or_(once, E.ge(step, reach)))
            if once is not E.TRUE:
                reach = reach + (count - 1) * step
        open_ = [fact for fact in facts if fact is not E.TRUE]
        if E.FALSE not in open_ and (best is None or len(open_) < len(best)):
            best = open_
        if not open_:
            break
    return E.FALSE if best is None else E.and_(*best)


_LOST = pair(
    "spread",
    "x: okk.SystemAddr, y: okk.SystemAddr",
    """\
okk.initialize()
shape = okk.dim4(1, 7, 4, 10)
stride = okk.dim4(0, 0, @@, 1)
okk.gdma_32bit_cpy_S2L(0, x, shape, stride, None)
okk.gdma_32bit_cpy_L2S(y, 0, shape, None, stride)
okk.poll()
""",
    "9",
    "10",
)

register(
    Rule(
        id="okk-overlapping-elements",
        code="OKK107",
        family=OKK,
        summary="the elements of a result lie at different places",
        reason=(
            "Strides that are smaller than what lies within them, or 0, put several elements of "
            "a result at one place: the last one remains. For a source that is a way to repeat "
            "elements."
        ),
        facts=("ADR-23", "ADR-24", "OKK-D05", "LAY-F"),
        on="operation",
        check=_lost_writes,
        dialects=(OKK,),
        sources=("OKKernel manual, layout",),
        failing=_LOST[0],
        passing=_LOST[1],
    )
)
