"""Which shape each tensor of a call has.

Outputs of convolutions and pools: OKK-P02 and OKK-P31; weights OKK-P01 and OKK-P20; matrices
OKK-Q01; packed operands OKK-PK1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from verifier.dialects.okk.strides import quad
from verifier.dialects.windows import Sliding
from verifier.layouts import address as places
from verifier.layouts import strides as layouts
from verifier.symbolic import expr as E
from verifier.symbolic.effects import Among, Call, Index, Where
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import Quad
from verifier.symbolic.values import RecordValue

Shape: TypeAlias = Callable[[Call], Quad]

#: bits of ``op_type``: the sources have 8 bits, the result has (OKK-T6)
SOURCES_8BIT: Final = 1
RESULT_8BIT: Final = 8


def integer(call: Call, role: str) -> Expr:
    value = call.value(role)
    assert isinstance(value, Expr)
    return value


def _record(call: Call, role: str) -> RecordValue | None:
    value = call.value(role)
    assert value is None or isinstance(value, RecordValue)
    return value


def shape(call: Call) -> Quad:
    record = _record(call, "shape")
    assert record is not None
    return quad(record)


def image(call: Call) -> Quad:
    """What a window slides over."""
    record = _record(call, "input_shape")
    assert record is not None
    return quad(record)


def _per_channel(channels: Expr) -> Quad:
    return E.const(1), channels, E.const(1), E.const(1)


def channels(call: Call) -> Quad:
    return _per_channel(shape(call)[1])


def image_channels(call: Call) -> Quad:
    return _per_channel(image(call)[1])


def output_channels(call: Call) -> Quad:
    return _per_channel(integer(call, "output_c"))


def window(call: Call) -> Quad:
    return E.const(1), image(call)[1], integer(call, "kernel_h"), integer(call, "kernel_w")


def weights(call: Call) -> Quad:
    size = (integer(call, "kernel_h"), integer(call, "kernel_w"))
    return layouts.two_ic((image(call)[1], integer(call, "output_c"), *size))


def _sliding(call: Call, *, dilated: bool) -> tuple[Sliding, Sliding]:
    """How a window goes down and across an image (NULL: OKK-P07)."""
    _, _, h, w = image(call)
    padding, stride = _record(call, "padding"), _record(call, "stride")
    dilation = _record(call, "dilation") if dilated else None
    top, bottom, left, right = (
        (E.const(0),) * 4 if padding is None else map(_number, padding.fields)
    )
    step = (E.const(1),) * 2 if stride is None else tuple(map(_number, stride.fields))
    hole = (E.const(1),) * 2 if dilation is None else tuple(map(_number, dilation.fields))
    rows, columns = integer(call, "kernel_h"), integer(call, "kernel_w")
    down = Sliding(h, rows, step[0], hole[0], top, bottom)
    return down, Sliding(w, columns, step[1], hole[1], left, right)


def _steps(call: Call, *, dilated: bool) -> tuple[Expr, Expr]:
    """Rows and columns of what a window makes (OKK-P02, OKK-P31)."""
    down, across = _sliding(call, dilated=dilated)
    return down.windows, across.windows


def _in_window(dilated: bool) -> Where:
    def holds(call: Call, index: Index) -> Bool | None:
        down, across = (
            one.takes(at)
            for one, at in zip(_sliding(call, dilated=dilated), index[2:], strict=True)
        )
        return None if down is None or across is None else E.and_(down, across)

    return Where("the rows and columns that lie in a window", holds)


def _among(dilated: bool) -> Among:
    def joins(call: Call, axis: int, own: Expr, made: Expr) -> Bool:
        if axis < 2:
            return E.TRUE  # of all channels
        return _sliding(call, dilated=dilated)[axis - 2].joins(own, made)

    return joins


#: which rows and columns of an image go into one of the result
WINDOW: Final = _among(dilated=False)
DILATED_WINDOW: Final = _among(dilated=True)

#: what is read of an image: with steps or holes there are rows and columns in no window
IN_WINDOW: Final = _in_window(dilated=False)
IN_DILATED_WINDOW: Final = _in_window(dilated=True)


def _number(field: object) -> Expr:
    assert isinstance(field, Expr)
    return field


def convolved(call: Call) -> Quad:
    return image(call)[0], integer(call, "output_c"), *_steps(call, dilated=True)


def convolved_by_channel(call: Call) -> Quad:
    n, c, _, _ = image(call)
    return n, c, *_steps(call, dilated=True)


def pooled(call: Call) -> Quad:
    n, c, _, _ = image(call)
    return n, c, *_steps(call, dilated=False)


def matrix(rows: str, columns: str, width: str) -> Shape:
    """Rows of so many columns, ``width`` of them in a channel."""
    return lambda call: layouts.matrix_shape(
        integer(call, rows), integer(call, columns), integer(call, width)
    )


def row(call: Call) -> Quad:
    columns, width = integer(call, "right_cols"), integer(call, "right_cols_per_channel")
    return layouts.matrix_shape(E.const(1), columns, width)


def rows(call: Call) -> Quad:
    return integer(call, "rows"), E.const(1), E.const(1), integer(call, "cols")


def four_n(call: Call) -> Quad:
    """Four numbers of 8 bits in a word."""
    return layouts.four_n(shape(call))


def two_n(call: Call) -> Quad:
    """Two numbers of 16 bits in a word."""
    return layouts.two_n(shape(call))


def by_op_type(bit: int) -> Shape:
    """4N for 8-bit operands and 2N for 16-bit ones, as a bit of ``op_type`` says."""

    def found(call: Call) -> Quad:
        eight = E.eq(integer(call, "op_type") // bit % 2, 1)
        n, c, h, w = shape(call)
        words = E.ite(eight, places.ceildiv(n, 4), places.ceildiv(n, 2))
        return words, c, h, w

    return found
