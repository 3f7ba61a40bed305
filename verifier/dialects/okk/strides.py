"""Strides that the API computes: by its helpers, and for operands without a stride pointer."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from verifier.hardware.chips import Chip
from verifier.layouts import address as places
from verifier.layouts import strides as layouts
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.lanes import Quad
from verifier.symbolic.machine import Machine
from verifier.symbolic.values import RecordValue

#: helper -> bytes of an element (OKK-012 to OKK-014)
ALIGNED_HELPERS: Final[dict[str, int]] = {
    "128_byte_aligned_stride_for_32bit": 4,
    "128_byte_aligned_stride_for_16bit": 2,
    "128_byte_aligned_stride_for_8bit": 1,
    "aligned_stride_32bit": 4,
    "aligned_stride_16bit": 2,
    "aligned_stride_8bit": 1,
}


class StrideOrigin(Struct, frozen=True):
    """What a stride helper was asked, for strides that are still as it gave them.

    ``layout`` is ``aligned``, ``compact`` or ``continuous``; ``start_lane`` is None for the last.
    """

    layout: str
    itemsize: int
    start_lane: Expr | None
    shape: Quad


def named(
    chip: Chip, layout: str, start_lane: Expr | int, shape: Quad, itemsize: int | Expr
) -> Quad:
    """The strides of a layout by name: ``aligned``, ``compact`` or ``continuous``."""
    if layout == "aligned":
        return layouts.aligned(chip.lanes, chip.eu_bytes, start_lane, shape, itemsize)
    if layout == "compact":
        return layouts.compact(chip.lanes, start_lane, shape)
    return layouts.continuous(shape)


def quad(record: RecordValue) -> Quad:
    """The fields of a ``dim4``."""
    n, c, h, w = (E.lift(f) for f in record.fields if isinstance(f, (Expr, int)))
    return n, c, h, w


def remembered(origin: StrideOrigin) -> tuple[object, ...]:
    """An origin as a value that the interpreter can rename and join."""
    lane = origin.start_lane if origin.start_lane is not None else E.const(0)
    return (origin.layout, str(origin.itemsize), lane, *origin.shape)


def origin_of(chip: Chip, record: RecordValue) -> StrideOrigin | None:
    """Where strides come from, None if fields were assigned since, or no helper made them."""
    held = record.origin
    if not isinstance(held, tuple) or len(held) != 7 or not isinstance(held[0], str):
        return None
    layout, itemsize = held[0], int(str(held[1]))
    lane, n, c, h, w = (value for value in held[2:] if isinstance(value, Expr))
    shape = (n, c, h, w)
    strides = named(chip, layout, lane, shape, itemsize)
    if any(a is not b for a, b in zip(strides, quad(record), strict=True)):
        return None
    return StrideOrigin(layout, itemsize, None if layout == "continuous" else lane, shape)


def lane_of(machine: Machine, address: Expr) -> Expr:
    """The lane of a local address: a number where the facts of the path settle it."""
    chip = machine.chip
    size = chip.local_bytes
    guess = address.const // size
    if not address.is_const:
        inside = E.and_(E.ge(address, guess * size), E.lt(address, (guess + 1) * size))
        if machine.decide(inside) is not True:
            return places.lane_of(chip, address)
    return E.const(guess)
