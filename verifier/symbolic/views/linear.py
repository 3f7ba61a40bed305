"""Flat frames: one dimension off chip, ``(partition, element of the row)`` on chip."""

from __future__ import annotations

from msgspec.structs import replace

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr, Substitution
from verifier.symbolic.tensors import View


def linear_view(view: View) -> View:
    """The same elements in the flat frame of the storage."""
    partition = view.frame_partition
    flat_size, flat = E.const(1), E.const(0)
    for d, (size, coord) in enumerate(zip(view.frame, view.coords, strict=True)):
        if d != partition:
            flat_size, flat = flat_size * size, flat * size + coord
    if partition is None:
        return replace(view, frame=(flat_size,), coords=(flat,))
    return replace(
        view,
        frame=(view.frame[partition], flat_size),
        coords=(view.coords[partition], flat),
        frame_partition=0,
    )


def linear_start(view: View) -> Expr | None:
    """Row-major position of element zero in the storage; None if it is not known."""
    if not view.exact:
        return None
    zero = Substitution({axis.symbol: E.const(0) for axis in view.axes})
    flat = linear_view(view)
    start = E.const(0)
    for size, coord in zip(flat.frame, flat.coords, strict=True):
        start = start * size + zero.expr(coord)
    return start


__all__ = ["linear_start", "linear_view"]
