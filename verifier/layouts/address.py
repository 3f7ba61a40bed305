"""Addresses in local memory, and what lies at them.

Local memory is ``X`` lanes (NPUs) of ``S`` bytes; an address counts through lane 0, then lane 1,
and so on. Channels go round the lanes: channel ``c`` of a tensor that starts in lane ``Q`` lies in
lane ``(Q + c) mod X``, in that lane's slot ``(Q + c) div X`` (catalogue rows ADR-01 to ADR-08).

Every function serves plain integers and symbolic ones (:class:`~verifier.symbolic.expr.Expr`); a
plain argument may stand among symbolic ones.
"""

from __future__ import annotations

from typing import TypeAlias, TypeVar, overload

from verifier.hardware.chips import Chip
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr

#: a plain or a symbolic integer
Number = TypeVar("Number", int, Expr)
#: ``(n, c, h, w)``: a shape, strides in elements, or the index of an element
Four: TypeAlias = "tuple[Number, Number, Number, Number]"


def ceildiv(a: Number, b: Number | int) -> Number:
    """``ceil(a / b)``."""
    return -((-a) // b)


def align(a: Number, unit: Number | int) -> Number:
    """The least multiple of ``unit`` that is not below ``a``."""
    return ceildiv(a, unit) * unit


def one(like: Number) -> Number:
    """The number one, symbolic where ``like`` is."""
    return like * 0 + 1


def lane_of(chip: Chip, address: Number) -> Number:
    """The lane of a local address (``Q``, ADR-02, CHIP-22)."""
    return address // chip.local_bytes


def byte_of(chip: Chip, address: Number) -> Number:
    """The byte within its lane of a local address (``R``, ADR-02)."""
    return address % chip.local_bytes


def channels_per_lane(lanes: int, start_lane: Number | int, channels: Number) -> Number:
    """Slots that a tensor takes in each lane, used or not: ``ceil((Q + C) / X)`` (ADR-03)."""
    return ceildiv(start_lane + channels, lanes)


def lane_of_channel(lanes: int, start_lane: Number | int, channel: Number) -> Number:
    """The lane in which a channel lies (ADR-04)."""
    return (start_lane + channel) % lanes


def slot_of_channel(lanes: int, start_lane: Number | int, channel: Number) -> Number:
    """The channel's place among those of its lane, from 0; lanes before ``Q`` leave slot 0 empty
    (ADR-04, ADR-06)."""
    return (start_lane + channel) // lanes


def steps(lanes: int, start_lane: Number | int, shape: Four[Number]) -> Four[Number]:
    """How many places each of a local tensor's strides leads to: ``(N, cpn, H, W)``.

    A stride with one place is never used (:func:`free_strides`). In system memory, where the
    second stride leads from channel to channel, the places are the shape itself (ADR-20, ADR-21).
    """
    n, c, h, w = shape
    return n, channels_per_lane(lanes, start_lane, c), h, w


@overload
def free_strides(places: Four[int]) -> tuple[bool, bool, bool, bool]: ...
@overload
def free_strides(places: Four[Expr]) -> tuple[Bool, Bool, Bool, Bool]: ...
def free_strides(places: Four[int] | Four[Expr]) -> tuple[bool | Bool, ...]:
    """Which of the four strides make no sense, so that any value will do (ADR-21, ADR-22).

    ``places`` is what :func:`steps` gives for local memory, the shape for system memory.
    """
    return tuple(p == 1 if isinstance(p, int) else E.eq(p, 1) for p in places)


def element_offset(
    lanes: int, start_lane: Number | int, strides: Four[Number], index: Four[Number]
) -> Number:
    """Elements from the tensor's byte to element ``(n, c, h, w)``, within its lane (ADR-04)."""
    n, c, h, w = index
    slot = slot_of_channel(lanes, start_lane, c)
    return n * strides[0] + slot * strides[1] + h * strides[2] + w * strides[3]


def place(
    chip: Chip,
    address: Number,
    strides: Four[Number],
    itemsize: Number | int,
    index: Four[Number],
) -> tuple[Number, Number]:
    """``(lane, byte within the lane)`` of element ``(n, c, h, w)`` (ADR-04).

    Nothing is checked: a byte of ``chip.local_bytes`` or more is beyond the lane (ADR-10).
    """
    start = lane_of(chip, address)
    lane = lane_of_channel(chip.lanes, start, index[1])
    offset = element_offset(chip.lanes, start, strides, index)
    return lane, byte_of(chip, address) + offset * itemsize


def extent_bytes(
    chip: Chip,
    start_lane: Number | int,
    shape: Four[Number],
    strides: Four[Number],
    itemsize: Number | int,
) -> Number:
    """Bytes of a lane from the tensor's byte to behind the last element of any lane (ADR-08).

    The tensor fits if its byte plus this is at most ``chip.local_bytes``. Strides must not be
    negative.
    """
    return _extent(steps(chip.lanes, start_lane, shape), strides, itemsize)


def system_extent_bytes(
    shape: Four[Number], strides: Four[Number], itemsize: Number | int
) -> Number:
    """Bytes of system memory from a tensor's first element to behind its last one.

    Strides must not be negative.
    """
    return _extent(shape, strides, itemsize)


def _extent(places: Four[Number], strides: Four[Number], itemsize: Number | int) -> Number:
    (n, c, h, w), (ns, cs, hs, ws) = places, strides
    return ((n - 1) * ns + (c - 1) * cs + (h - 1) * hs + (w - 1) * ws + 1) * itemsize
