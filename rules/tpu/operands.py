"""Where the operands of OKK functions may lie, and how large they may be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.tpu import kit
from rules.tpu.examples import pair
from rules.tpu.kit import check, function, words
from verifier.dialects.names import OKK
from verifier.hardware import dtypes as dt
from verifier.hardware.chips import Chip
from verifier.rulebase import On, Rule, register
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Expr
from verifier.symbolic.lanes import AXES, LocalTensor
from verifier.symbolic.roles import Placed, Unit
from verifier.symbolic.trace import Operation

# ----------------------------------------------------------------------------- ranges of shapes


def _shape_range(op: Operation, chip: Chip) -> Iterator[Check]:
    transfer, window = kit.transfers(op), kit.is_window(op)
    if kit.has_matrices(kit.described(op)):
        yield from _matrix_range(op, chip) if transfer else _matmul_range(op, chip)
        return
    roles = ("input",) if window else tuple(t.role for t in op.touches)
    tensor = next((t.tensor for t in op.touches if t.role in roles), None)
    if tensor is None:
        return
    role = next((r for r in ("shape", "input_shape") if r in op.operands), op.touches[0].role)
    for axis, size in zip(AXES, tensor.shape, strict=True):
        most, fact = chip.axis_max, "OKK-B04" if transfer else "OKK-B01"
        if axis == "c" and not transfer:
            most, fact = chip.channels_max, "OKK-B02"
        elif window and axis in "hw":
            most, fact = chip.window_max, "OKK-B03"
        yield _axis(op, role, f"{role}.{axis}", size, most, fact)
    channels = kit.number(op, "output_c")
    if channels is not None:
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


def _matrix_range(op: Operation, chip: Chip) -> Iterator[Check]:
    for role in ("rows", "cols", "cols_per_channel"):
        size = kit.number(op, role)
        if size is not None:
            yield _axis(op, role, role, size, chip.axis_max, "OKK-B05")


def _matmul_range(op: Operation, chip: Chip) -> Iterator[Check]:
    rows = kit.number(op, "left_rows")
    if rows is not None:
        yield _axis(op, "left_rows", "left_rows", rows, chip.axis_max, "OKK-Q04")
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
        silent=True,
        reason=(
            "Instructions hold extents in fields of 16, 12 or 11 bits. An extent of 0 divides by "
            "zero, one that is too large loses its upper bits. Transfers count 65535 channels, "
            "compute functions 4095, convolutions and pools 2047 rows and columns."
        ),
        facts=("OKK-B01", "OKK-B02", "OKK-B03", "OKK-B04", "OKK-B05", "OKK-P09", "OKK-Q04"),
        on=On.OPERATION,
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
    placed = kit.placed(op, role)
    unit = placed.unit
    if unit is Unit.ROW_UNLESS_STRIDED:
        unit = Unit.WORD if tensor.given else Unit.ROW
    if unit is Unit.ELEMENT:
        return _itemsize(placed), placed.fact
    return {Unit.WORD: WORD, Unit.PAIR: PAIR, Unit.ROW: chip.eu_bytes}[unit], placed.fact


def _itemsize(placed: Placed) -> int:
    return dt.ITEMSIZE[dt.CODES[placed.dtype]]


#: bytes of a word, and of a pair of fp32 weights (OKK-A01, OKK-A05)
WORD: Final = 4
PAIR: Final = 2 * WORD


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
    for touch, system in kit.system(op):
        size = _itemsize(kit.placed(op, touch.role))
        if size == 1:
            continue
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
        silent=True,
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
        on=On.OPERATION,
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
        silent=True,
        reason=(
            "A lane of BM1684 has 524288 bytes. A compute function that reaches further writes "
            "into the memory of the next lane, and nothing says so; a transfer stops the chip."
        ),
        facts=("OKK-F01", "ADR-01", "ADR-08", "ADR-09", "ADR-10", "OKK-G05", "OKK-P11", "OKK-P22"),
        on=On.OPERATION,
        check=_local_extent,
        dialects=(OKK,),
        gather=True,
        sources=("OKKernel manual, layout", "OKKernel manual, refined interface"),
        failing=_EXTENT[0],
        passing=_EXTENT[1],
    )
)
