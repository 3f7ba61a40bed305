"""Regions in words: how far a view reaches along each dimension, and what to call that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Note, Subject
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.index import Access
from verifier.symbolic.pretty import pretty
from verifier.symbolic.tensors import Axis, Loop, Storage, StorageKind, View


def highest(term: Expr, loops: Sequence[Loop], axes: Sequence[Axis]) -> Expr | None:
    """The largest value of ``term`` over the axes and loops, if it is monotone in each."""
    return _extreme(term, loops, axes, largest=True)


def lowest(term: Expr, loops: Sequence[Loop], axes: Sequence[Axis]) -> Expr | None:
    """The smallest value of ``term`` over the axes and loops, if it is monotone in each."""
    return _extreme(term, loops, axes, largest=False)


def _extreme(term: Expr, loops: Sequence[Loop], axes: Sequence[Axis], largest: bool) -> Expr | None:
    ranges = [(axis.symbol, axis.size) for axis in axes]
    # inner loops first: their trip counts may depend on outer indices
    ranges += [(loop.symbol, loop.trips) for loop in reversed(loops)]
    for symbol, size in ranges:
        if symbol not in term.free():
            continue
        step = E.Substitution({symbol: E.from_atom(symbol) + 1}).expr(term) - term
        low, high = E.bounds(step)
        if low is not None and low >= 0:
            end = size - 1 if largest else E.const(0)
        elif high is not None and high <= 0:
            end = E.const(0) if largest else size - 1
        else:
            return None
        term = E.Substitution({symbol: end}).expr(term)
    return term


def reach(access: Access, dimension: int) -> tuple[Expr, Expr] | None:
    """``(start, end)`` of what all iterations together touch along a dimension, end exclusive."""
    if dimension not in access.reaches:
        access.reaches[dimension] = _reach(access, dimension)
    return access.reaches[dimension]


def _reach(access: Access, dimension: int) -> tuple[Expr, Expr] | None:
    view = access.view
    if not view.exact:
        return None
    coord = view.coords[dimension]
    start = lowest(coord, access.loops, view.axes)
    end = highest(coord, access.loops, view.axes)
    return None if start is None or end is None else (start, end + 1)


def subject(storage: Storage, dimension: int | None = None) -> Subject:
    """What a check of a tensor is about, or of one of its dimensions."""
    given = storage.kind is StorageKind.INPUT
    return Subject(
        given=storage.name if given else "",
        made=None if given else storage.span,
        dimension=dimension,
    )


def dimension_name(view: View, dimension: int) -> str | None:
    """``rows`` and ``columns`` of a matrix, ``partitions`` on chip; None: it has a number only.

    ``elements`` where a tensor has no other dimension, or of more dimensions is counted through
    from its start.
    """
    if len(view.frame) == 1:
        return "elements"
    if view.frame_partition is not None and dimension == view.frame_partition:
        return "partitions"
    rank = len(view.frame)
    if rank == 2:
        return "rows" if dimension == 0 else "columns"
    last = dimension == rank - 1
    chip = view.frame_partition is not None and rank == view.frame_partition + 2
    return "columns" if chip and last else None


def region(access: Access, sizes: E.Substitution | None = None) -> str:
    """``rows 0 to 128*(M // 128) - 1, columns 0 to 22``: the dimensions that are not whole.

    ``sizes``: those that are known to be numbers.
    """
    put = sizes if sizes is not None else E.Substitution({})
    parts: list[str] = []
    if access.view.mask is not E.TRUE or _is_ragged(access):
        return ""  # the mask, or the loops, say more than any range
    for dimension, extent in enumerate(access.view.frame):
        reached = reach(access, dimension)
        if reached is None or _is_chosen(access, dimension):
            continue
        start, end = map(put.expr, reached)
        gaps = _has_gaps(access, dimension)
        if start.is_const and start.const == 0 and end is put.expr(extent) and not gaps:
            continue
        name = dimension_name(access.view, dimension)
        some = "some of " if gaps else ""
        ends = f"{pretty(start)} to {pretty(end - 1)}"
        parts.append(
            f"{some}{name} {ends}" if name else f"{some}indices {ends} of dimension {dimension}"
        )
    return ", ".join(parts)


def _is_chosen(access: Access, dimension: int) -> bool:
    """Whether conditions say which iterations write, and so which of all that they could."""
    loops = {loop.symbol for loop in access.loops}
    loops.intersection_update(access.view.coords[dimension].free())
    return any(
        not loops.isdisjoint(part.free()) for part in (*access.operation.path, *access.given)
    )


def _is_ragged(access: Access) -> bool:
    """Whether how far one loop goes depends on another one, and both say which part it is."""
    moving = {symbol for coord in access.view.coords for symbol in coord.free()}
    loops = [loop for loop in access.loops if loop.symbol in moving]
    return any(other.symbol in loop.trips.free() for loop in loops for other in loops)


def _has_gaps(access: Access, dimension: int) -> bool:
    """Whether elements along a dimension are left out between the first and the last: certainly,
    or wherever there is more than one step."""
    coord = access.view.coords[dimension]
    sizes = {axis.symbol: axis.size for axis in access.view.axes}
    sizes |= {loop.symbol: loop.trips for loop in access.loops}
    moving = sorted((abs(coord.coefficient(s)), s.id, sizes[s]) for s in coord.free() if s in sizes)
    dense = 1  # how many elements in a row the smaller steps take
    for step, _, size in moving:
        if not step or (size.is_const and size.const < 1):
            return False
        if step > dense and not (size.is_const and size.const == 1):
            return True
        if not size.is_const:
            return False
        dense += step * (size.const - 1)
    return False


def write_note(access: Access) -> Note:
    """A note at a write that says which part it writes."""
    if not access.view.exact:
        return Note(access.operation.span, "written here, at places known at run time only")
    part = region(access)
    if not part:
        return Note(access.operation.span, "written here")
    return Note(access.operation.span, f"only {part} are written here")


def allocation_note(storage: Storage) -> Note:
    verb = "is a parameter" if storage.kind is StorageKind.INPUT else "is allocated here"
    return Note(storage.span, f"`{storage.name}` {verb}")


class Element(Struct, frozen=True):
    """The coordinates of one element, as values with names and the equations that define them."""

    values: tuple[tuple[str, Expr], ...]
    given: tuple[Bool, ...]


def element(view: View, dimensions: Sequence[int] | None = None) -> Element:
    """The element of a view that its axis symbols name, for the values of a counterexample.

    ``dimensions`` are those of the frame to show; None: all.
    """
    values: list[tuple[str, Expr]] = []
    given: list[Bool] = []
    for position, coord in enumerate(view.coords):
        if (dimensions is not None and position not in dimensions) or coord.is_const:
            continue
        name = coordinate_name(view, position)
        symbol = coord.as_atom()
        if isinstance(symbol, E.Sym):
            named = E.fresh(name, symbol.lo, symbol.hi, E.Origin.POINT)
            values.append((name, named))
            given.append(E.eq(named, coord))
        else:  # an equation here would cost the solver more than the name is worth
            values.append((name, coord))
    return Element(tuple(values), tuple(given))


def coordinate_name(view: View, dimension: int) -> str:
    """``row in `x```, ``column in `x```, ``index 2 of `x```."""
    plural = dimension_name(view, dimension)
    name = view.storage.name
    if plural is not None:
        return f"{_SINGULAR[plural]} in `{name}`"
    return f"index {dimension} of `{name}`"


_SINGULAR: Final = {
    "rows": "row",
    "columns": "column",
    "partitions": "partition",
    "elements": "element",
}


def partly_written(view: View, writes: Sequence[Access]) -> list[int]:
    """The dimensions along which some write does not reach from end to end."""
    out: list[int] = []
    for dimension, extent in enumerate(view.frame):
        for write in writes:
            if write.view.frame != view.frame:
                return list(range(len(view.frame)))
            ends = reach(write, dimension)
            whole = ends is not None and ends[1] is extent and ends[0] is E.const(0)
            if not whole:
                out.append(dimension)
                break
    return out


def decides_note(read: Span, use: Span, why: str) -> tuple[Note, ...]:
    """Where what is undefined decides, and how, if that is not where it was read."""
    same = use.line <= read.line <= use.end_line and use.path == read.path
    return () if same else (Note(use, f"what became of it decides here: {why}"),)
