"""The tensors that an operation touches: which shape each has, and which strides.

Shapes follow the catalogue: outputs of convolutions and pools OKK-P02 and OKK-P31, weights
OKK-P01 and OKK-P20, matrices OKK-Q01, packed operands OKK-PK1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from verifier.dialects.okk.binding import Bound
from verifier.dialects.okk.functions import TensorRole
from verifier.dialects.okk.records import Choice
from verifier.dialects.okk.strides import lane_of, named, origin_of, quad
from verifier.hardware import dtypes as dt
from verifier.layouts import address as places
from verifier.layouts import strides as layouts
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.lanes import LocalTensor, Quad, SystemAddress, SystemTensor
from verifier.symbolic.machine import Machine
from verifier.symbolic.tensors import DType

#: bits of ``op_type``: the sources have 8 bits, the result has (OKK-T6)
_SOURCES_8BIT: Final = 1
_RESULT_8BIT: Final = 8

#: layouts that are storage modes: what strides count is a word or a pair (LAY-07)
_MODES: Final = ("4n", "2n")


def tensor(machine: Machine, bound: Bound, role: TensorRole) -> LocalTensor | SystemTensor | None:
    """The tensor of one role; None for a constant in its place."""
    value = bound.value(role.parameter)
    if isinstance(value, Choice):
        if not value.is_address:
            return None
        value = value.value
    shape = _SHAPES[role.shape](bound)
    given = bound.record(role.stride) if role.stride is not None else None
    dtype = DType.named(role.dtype)
    if isinstance(value, SystemAddress):
        if given is not None:
            strides = quad(given)
        elif role.layout == "rows":
            pitch = bound.integer("row_stride")
            strides = (pitch, pitch, pitch, E.const(1))
        else:
            strides = layouts.continuous(shape)
        return SystemTensor(value, shape, strides, dtype, given is not None)
    assert isinstance(value, Expr)
    lane = lane_of(machine, value)
    if given is not None:
        layout = "2ic" if role.layout == "2ic" else "free"
        origin = origin_of(machine.chip, given)
        told = origin.start_lane if origin is not None else None
        return LocalTensor(value, shape, quad(given), dtype, layout, True, told, lane)
    layout, strides = _implied(machine, bound, role, lane, shape)
    return LocalTensor(value, shape, strides, dtype, layout, lane=lane)


def _implied(
    machine: Machine, bound: Bound, role: TensorRole, lane: Expr, shape: Quad
) -> tuple[str, Quad]:
    """The layout of an operand without a stride pointer, and its strides (OKK-D01)."""
    chip = machine.chip
    itemsize = dt.ITEMSIZE[dt.CODES[role.dtype]]
    if role.layout == "chosen":
        flag = bound.truth("is_aligned_layout")
        wide = named(chip, "aligned", lane, shape, itemsize)
        narrow = _narrow(chip.lanes, lane, shape, itemsize)
        n, c, h, w = (E.ite(flag, a, b) for a, b in zip(wide, narrow, strict=True))
        known = {E.TRUE: "aligned", E.FALSE: "compact"}
        return known.get(flag, "aligned or compact"), (n, c, h, w)
    if role.layout == "as_words":
        name = "aligned" if itemsize == layouts.WORD_BYTES else "free"
        return name, named(chip, "aligned", lane, shape, layouts.WORD_BYTES)
    if role.layout in ("compact", "2ic"):
        return role.layout, layouts.compact(chip.lanes, lane, shape)
    name = role.shape if role.shape in _MODES else role.layout
    return name, named(chip, "aligned", lane, shape, itemsize)


def _narrow(lanes: int, lane: Expr, shape: Quad, itemsize: int) -> Quad:
    """Compact; features of bytes are padded to words (OKK-087)."""
    if itemsize != 1:
        return layouts.compact(lanes, lane, shape)
    _, c, h, w = shape
    feature = places.align(h * w, layouts.WORD_BYTES)
    return places.channels_per_lane(lanes, lane, c) * feature, feature, w, E.const(1)


# ------------------------------------------------------------------------ shapes


def _shape(bound: Bound) -> Quad:
    record = bound.record("shape")
    assert record is not None
    return quad(record)


def _input(bound: Bound) -> Quad:
    record = bound.record("input_shape")
    assert record is not None
    return quad(record)


def _per_channel(channels: Expr) -> Quad:
    return E.const(1), channels, E.const(1), E.const(1)


def _window(bound: Bound) -> Quad:
    return E.const(1), _input(bound)[1], bound.integer("kernel_h"), bound.integer("kernel_w")


def _weight(bound: Bound) -> Quad:
    channels = _input(bound)[1]
    window = (bound.integer("kernel_h"), bound.integer("kernel_w"))
    return layouts.two_ic((channels, bound.integer("output_c"), *window))


def windows(bound: Bound, dilated: bool) -> tuple[Expr, Expr]:
    """Rows and columns of what a window slides over (OKK-P02, OKK-P31; NULL: OKK-P07)."""
    _, _, h, w = _input(bound)
    padding, stride = bound.record("padding"), bound.record("stride")
    dilation = bound.record("dilation") if dilated else None
    top, bottom, left, right = (
        (E.const(0),) * 4 if padding is None else map(_number, padding.fields)
    )
    out = []
    for axis, size in enumerate((h + top + bottom, w + left + right)):
        kernel = bound.integer("kernel_h" if axis == 0 else "kernel_w")
        step = E.const(1) if stride is None else _number(stride.fields[axis])
        spread = E.const(1) if dilation is None else _number(dilation.fields[axis])
        out.append((size - ((kernel - 1) * spread + 1)) // step + 1)
    return out[0], out[1]


def _number(field: object) -> Expr:
    assert isinstance(field, Expr)
    return field


def _convolved(bound: Bound) -> Quad:
    return _input(bound)[0], bound.integer("output_c"), *windows(bound, dilated=True)


def _depthwise(bound: Bound) -> Quad:
    n, c, _, _ = _input(bound)
    return n, c, *windows(bound, dilated=True)


def _pooled(bound: Bound) -> Quad:
    n, c, _, _ = _input(bound)
    return n, c, *windows(bound, dilated=False)


def _matrix(rows: str, columns: str, width: str) -> Callable[[Bound], Quad]:
    return lambda bound: layouts.matrix_shape(
        bound.integer(rows), bound.integer(columns), bound.integer(width)
    )


def _row(bound: Bound) -> Quad:
    columns, width = bound.integer("right_cols"), bound.integer("right_cols_per_channel")
    return layouts.matrix_shape(E.const(1), columns, width)


def _rows(bound: Bound) -> Quad:
    return bound.integer("rows"), E.const(1), E.const(1), bound.integer("cols")


def _by_op_type(bit: int) -> Callable[[Bound], Quad]:
    """4N for 8-bit operands and 2N for 16-bit ones, as a bit of ``op_type`` says."""

    def shape(bound: Bound) -> Quad:
        eight = E.eq(bound.integer("op_type") // bit % 2, 1)
        n, c, h, w = _shape(bound)
        words = E.ite(eight, places.ceildiv(n, 4), places.ceildiv(n, 2))
        return words, c, h, w

    return shape


_SHAPES: Final[dict[str, Callable[[Bound], Quad]]] = {
    "shape": _shape,
    "channels": lambda bound: _per_channel(_shape(bound)[1]),
    "input": _input,
    "input_channels": lambda bound: _per_channel(_input(bound)[1]),
    "conv": _convolved,
    "conv_bias": lambda bound: _per_channel(bound.integer("output_c")),
    "weight2ic": _weight,
    "depthwise": _depthwise,
    "window": _window,
    "pool": _pooled,
    "rows": _rows,
    "dma": _matrix("rows", "cols", "cols_per_channel"),
    "product": _matrix("left_rows", "right_cols", "right_cols_per_channel"),
    "left": _matrix("left_rows", "left_cols", "left_cols_per_channel"),
    "right": _matrix("left_cols", "right_cols", "right_cols_per_channel"),
    "row": _row,
    "4n": lambda bound: layouts.four_n(_shape(bound)),
    "2n": lambda bound: layouts.two_n(_shape(bound)),
    "source": _by_op_type(_SOURCES_8BIT),
    "result": _by_op_type(_RESULT_8BIT),
}
