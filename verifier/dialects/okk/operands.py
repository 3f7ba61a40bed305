"""The tensors that an operation touches: the shape and the strides of each."""

from __future__ import annotations

from verifier.dialects.okk.isa.shapes import integer
from verifier.dialects.okk.records import Choice
from verifier.dialects.okk.strides import StrideOrigin, lane_of, named, origin_of, quad
from verifier.hardware import dtypes as dt
from verifier.layouts import address as places
from verifier.layouts import strides as layouts
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.lanes import LocalTensor, Quad, SystemAddress, SystemTensor
from verifier.symbolic.machine import Machine
from verifier.symbolic.roles import Placed, Role
from verifier.symbolic.tensors import DType
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import RecordValue


def tensor(
    machine: Machine, operation: Operation, role: Role, placed: Placed
) -> LocalTensor | SystemTensor | None:
    """The tensor of one role; None for a constant in its place."""
    value = operation.value(role.parameter)
    if isinstance(value, Choice):
        if not value.is_address:
            return None
        value = value.value
    shape = placed.shape(operation)
    given = _given(operation, placed)
    dtype = DType.named(placed.dtype)
    if isinstance(value, SystemAddress):
        if given is not None:
            strides = quad(given)
        elif placed.layout == "rows":
            pitch = integer(operation, "row_stride")
            strides = (pitch, pitch, pitch, E.const(1))
        else:
            strides = layouts.continuous(shape)
        return SystemTensor(value, shape, strides, dtype, given is not None)
    assert isinstance(value, Expr)
    lane = lane_of(machine, value)
    if given is not None:
        layout = "2ic" if placed.layout == "2ic" else "free"
        origin = origin_of(machine.chip, given)
        told = origin.start_lane if origin is not None else None
        return LocalTensor(value, shape, quad(given), dtype, layout, True, told, lane)
    layout, strides = _implied(machine, operation, placed, lane, shape)
    return LocalTensor(value, shape, strides, dtype, layout, lane=lane)


def _given(operation: Operation, placed: Placed) -> RecordValue | None:
    """The strides that the call gives."""
    value = operation.value(placed.strides) if placed.strides else None
    return value if isinstance(value, RecordValue) else None


def stride_origin(machine: Machine, operation: Operation, placed: Placed) -> StrideOrigin | None:
    """The helper that made the strides of an operand, if one did."""
    given = _given(operation, placed)
    return origin_of(machine.chip, given) if given is not None else None


def _implied(
    machine: Machine, operation: Operation, placed: Placed, lane: Expr, shape: Quad
) -> tuple[str, Quad]:
    """The layout of an operand without a stride pointer, and its strides (OKK-D01)."""
    chip = machine.chip
    itemsize = dt.ITEMSIZE[dt.CODES[placed.dtype]]
    if placed.layout == "chosen":
        flag = operation.value("is_aligned_layout")
        assert isinstance(flag, Bool)
        wide = named(chip, "aligned", lane, shape, itemsize)
        narrow = _narrow(chip.lanes, lane, shape, itemsize)
        n, c, h, w = (E.ite(flag, a, b) for a, b in zip(wide, narrow, strict=True))
        known = {E.TRUE: "aligned", E.FALSE: "compact"}
        return known.get(flag, "aligned or compact"), (n, c, h, w)
    if placed.layout == "words":
        name = "aligned" if itemsize == layouts.WORD_BYTES else "free"
        return name, named(chip, "aligned", lane, shape, layouts.WORD_BYTES)
    if placed.layout in ("compact", "2ic"):
        return placed.layout, layouts.compact(chip.lanes, lane, shape)
    return placed.layout, named(chip, "aligned", lane, shape, itemsize)


def _narrow(lanes: int, lane: Expr, shape: Quad, itemsize: int) -> Quad:
    """Compact; features of bytes are padded to words (OKK-087)."""
    if itemsize != 1:
        return layouts.compact(lanes, lane, shape)
    _, c, h, w = shape
    feature = places.align(h * w, layouts.WORD_BYTES)
    return places.channels_per_lane(lanes, lane, c) * feature, feature, w, E.const(1)
