"""Views in a smaller unit: elements of several views of one storage, of different sizes.

What is written through a view of a narrower type is a part of an element of the others. Where sizes
differ, regions are compared in parts of their greatest common divisor (sizes are in bytes).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import gcd
from typing import Final

from msgspec.structs import replace

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr, Sym
from verifier.symbolic.tensors import Axis, DType, View
from verifier.symbolic.views.linear import linear_view

#: a type of each size that is a part of another
_OF_SIZE: Final = {1: DType.named("uint8"), 2: DType.named("uint16"), 4: DType.named("uint32")}


def unit_of(view: View, others: Iterable[View]) -> int | None:
    """Bytes of the parts that elements of ``view`` have because of others; None: it has none.

    Views whose element size depends on an input say nothing of parts.
    """
    own = view.dtype.itemsize
    if not own.is_const:
        return None
    unit = own.const
    for other in others:
        size = other.dtype.itemsize
        if size is not own and size.is_const:
            unit = gcd(unit, size.const)
    return unit if unit < own.const else None


def parts(view: View, unit: int | None) -> Iterator[View]:
    """A view for each part of an element: its axes name the elements, its coordinates the part."""
    if unit is None or not view.exact:
        yield view
        return
    ratio = view.dtype.itemsize.const // unit
    for part in range(ratio):
        yield _divided(view, unit, ratio, E.const(part))


def in_unit(view: View, unit: int) -> View:
    """All parts of a view: those of an element lie along one more axis."""
    ratio = view.dtype.itemsize.const // unit
    if ratio == 1:
        return view
    symbol = E.fresh("part", 0, None, E.Origin.AXIS).as_atom()
    assert isinstance(symbol, Sym)
    axis = Axis(symbol, E.const(ratio))
    found = _divided(view, unit, ratio, axis.index)
    return replace(found, axes=(*view.axes, axis))


def _divided(view: View, unit: int, ratio: int, part: Expr) -> View:
    if not view.frame or view.frame_partition == len(view.frame) - 1:
        view = linear_view(view)
    return replace(
        view,
        dtype=_OF_SIZE[unit],
        frame=(*view.frame[:-1], _last_extent(view, unit, ratio)),
        coords=(*view.coords[:-1], view.coords[-1] * ratio + part),
    )


def _last_extent(view: View, unit: int, ratio: int) -> Expr:
    """The last extent in parts: that of the storage where the frame is the storage's shape.

    A view as a wider type has ``n // 2`` elements where its storage has ``n``, and is an error
    unless ``n`` is even.
    """
    storage = view.storage
    own, size = storage.dtype.itemsize, view.dtype.itemsize
    if own.is_const and own.const % unit == 0 and view.frame[:-1] == storage.shape[:-1]:
        if view.frame[-1] is E.floordiv(storage.shape[-1] * own, size):
            return storage.shape[-1] * (own.const // unit)
    return view.frame[-1] * ratio


__all__ = ["in_unit", "parts", "unit_of"]
