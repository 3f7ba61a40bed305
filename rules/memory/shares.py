"""Work that is cut into one share for each core, of which each begins where the one before ends.

Whatever a share is, ``core*base + min(core, rest)`` or ``sum(sizes[:core])``: where the first one
begins no later than at a place, and what would be the next after the last one behind it, there is a
core whose share begins no later, and whose next one begins behind it. That core is to be asked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from msgspec.structs import replace

from rules.memory.cases import Copy, covered_point
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.known import Known
from verifier.symbolic.tensors import Loop, LoopKind, View


def shared_out(
    ways: Sequence[Copy], whole: View, point: Sequence[Expr], known: Known
) -> Bool | None:
    """A condition under which a point is covered, said for any core that is in question.

    It holds if it does for all values of a symbol of its own. None: no way is cut so.
    """
    for way in ways:
        for core in way.private:
            found = _beginning(way, core) if core.kind is LoopKind.GRID else None
            if found is not None:
                axis, start = found
                return _asked(ways, core, start, whole, point, axis, known)
    return None


def _beginning(way: Copy, core: Loop) -> tuple[int, Expr] | None:
    """Along which axis a core says where its share is, and where that begins."""
    axes = [k for k, coord in enumerate(way.view.coords) if core.symbol in coord.free()]
    if len(axes) != 1:
        return None
    others = {loop.symbol: E.const(0) for loop in way.private if loop is not core}
    others.update({axis.symbol: E.const(0) for axis in way.view.axes})
    start = E.Substitution(others).expr(way.view.coords[axes[0]])
    return (axes[0], start) if core.symbol in start.free() else None


def _asked(
    ways: Sequence[Copy],
    core: Loop,
    start: Expr,
    whole: View,
    point: Sequence[Expr],
    axis: int,
    known: Known,
) -> Bool:
    def begin(number: Expr) -> Expr:
        return E.Substitution({core.symbol: number}).expr(start)

    place, asked = point[axis], E.fresh("core", 0, core.symbol.hi, E.Origin.POINT)
    here = (
        E.lt(asked, core.trips),
        E.le(begin(asked), place),
        E.lt(place, begin(asked + 1)),
    )
    moved = (_on(way, core, asked) for way in ways)
    covered, _, _ = covered_point(
        [way for way in moved if way is not None], whole, point, known.also(here, ())
    )
    there = E.and_(E.le(begin(E.const(0)), place), E.lt(place, begin(core.trips)))
    return E.and_(there, E.or_(*map(E.not_, here), covered))


def _on(way: Copy, core: Loop, asked: Expr) -> Copy | None:
    """What a way does on one core; None: it is not of that launch."""
    mine = next((loop for loop in way.private if _same(loop, core)), None)
    if mine is None:
        return None
    put = E.Substitution({mine.symbol: asked})
    view = replace(
        way.view,
        coords=tuple(map(put.expr, way.view.coords)),
        axes=tuple(replace(axis, size=put.expr(axis.size)) for axis in way.view.axes),
        mask=put.bool(way.view.mask),
    )
    rest = (loop for loop in way.private if loop is not mine)
    private = tuple(dataclasses.replace(loop, trips=put.expr(loop.trips)) for loop in rest)
    return Copy(way.access, view, private, tuple(map(put.bool, way.constraints)))


def _same(one: Loop, other: Loop) -> bool:
    return one.kind is other.kind and one.name == other.name and one.trips is other.trips


__all__ = ["shared_out"]
