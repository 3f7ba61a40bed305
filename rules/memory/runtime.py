"""What hangs on places that only the device knows, and is taken for granted there.

Where a row goes that an index on the device names is in the data. What the text decides is
decided; of the rest the kernel's report says what it rests on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import mul

from msgspec.structs import replace

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.memory.index import Access
from verifier.symbolic.memory.known import Known
from verifier.symbolic.tensors import Loop, LoopKind, Storage, View


def elements(shape: Iterable[Expr]) -> Expr:
    """How many elements a shape has."""
    return reduce(mul, shape, E.const(1))


def may_cover(
    writes: Iterable[Access], storage: Storage, path: Iterable[Bool], known: Known
) -> bool:
    """Whether some writes may be of all of a tensor, wherever it is that the data says.

    Counted are the writes whose places the data says, that are certain to come (``path``: what
    holds as well, ``known``: what the kernel demands) and fill whole rows, by themselves or piece
    by piece in loops around them: what is in one column always goes nowhere else. Each begins
    no further on than as many elements as it wrote in earlier rounds: so any element can be come
    to. A loop on the device runs as often as the data says.
    """
    held = {id(condition) for condition in path}
    row, total = elements(storage.shape[1:]), E.const(0)
    for write in writes:
        if not write.view.indirect or any(id(condition) not in held for condition in write.path):
            continue
        around = [loop for loop in write.loops if loop not in storage.loops]
        dynamic = any(loop.kind is LoopKind.DYNAMIC for loop in around)
        start, pieces = _start_of_rows(write.view, row, around, known)
        if start is None:
            continue
        rounds = E.const(0)
        others = [loop for loop in around if loop not in pieces]
        for loop in others:
            rounds = rounds * loop.trips + loop.index
        size = elements((*write.view.shape, *(loop.trips for loop in pieces)))
        if E.le(start, E.const(0) if dynamic else rounds * size) is not E.TRUE:
            continue
        if dynamic:
            return True
        total = total + size * elements(loop.trips for loop in others)
    return E.ge(total, elements(storage.shape)) is E.TRUE


def _start_of_rows(
    view: View, row: Expr, around: Sequence[Loop], known: Known
) -> tuple[Expr | None, Sequence[Loop]]:
    """Where a view begins that shows whole rows, one behind the other, wherever the data puts them,
    and the loops that put pieces of rows side by side, in whatever order; None if it shows anything
    else, or that is not known.
    """
    nothing: tuple[None, Sequence[Loop]] = (None, ())
    if view.mask is not E.TRUE or view.dtype.itemsize is not view.storage.dtype.itemsize:
        return nothing
    flat = E.const(0)
    for extent, coord in zip(view.frame, view.coords, strict=True):
        flat = flat * extent + coord
    size, pieces = _side_by_side(flat, view, row, around, known)
    if size is None or E.mod(size, row) is not E.const(0):
        return nothing
    zero: dict[Sym, Expr] = {axis.symbol: E.const(0) for axis in view.axes}
    zero.update((loop.symbol, E.const(0)) for loop in pieces)
    for place in view.held:
        if place.symbol is None:
            continue
        step = _step(flat, place.symbol)
        if E.and_(E.ge(step, 1), E.le(step, size)) is not E.TRUE:
            return nothing  # between two places of which one is meant: never come to
        zero[place.symbol] = E.const(0)
    return E.Substitution(zero).expr(flat), pieces


def _side_by_side(
    flat: Expr, view: View, row: Expr, around: Sequence[Loop], known: Known
) -> tuple[Expr | None, Sequence[Loop]]:
    """How many elements in a row a view shows with the loops that continue it to a whole row, and
    these; None if it leaves gaps. ``flat``: where an element is in its tensor."""
    size, pieces, whole = E.const(1), list[Loop](), False
    axes = [axis for axis in reversed(view.axes) if axis.size is not E.const(1)]
    loops = [loop for loop in reversed(around) if loop.kind is not LoopKind.DYNAMIC]
    while axes or not whole:
        whole = whole or size is row
        axis = next((axis for axis in axes if _step(flat, axis.symbol) is size), None)
        loop = next((loop for loop in loops if _step(flat, loop.symbol) is size), None)
        if axis is not None:
            axes.remove(axis)
            size = size * axis.size
        elif loop is not None and not whole:
            loops.remove(loop)
            pieces.append(loop)
            size = size * loop.trips
        elif not whole and known.decide(E.eq(size, row)):
            size, whole = row, True
        else:
            break
    return (None if axes else size), pieces


def _step(flat: Expr, symbol: Sym) -> Expr:
    """How far it is from one index to the next."""
    return E.Substitution({symbol: E.from_atom(symbol) + 1}).expr(flat) - flat


def unmoved(write: Access) -> Access:
    """A write as it is where the data adds nothing to its place."""
    view = write.view
    if not view.indirect:
        return write
    still = E.Substitution({at.symbol: E.const(0) for at in view.held if at.symbol is not None})
    coords = tuple(map(still.expr, view.coords))
    there = replace(view, coords=coords, exact=True, indirect=False, reason="", held=())
    return replace(write, view=there, reaches={})


def covered_there(
    blame: Access | None,
    writes: Iterable[Access],
    path: Iterable[Bool],
    known: Known,
    when: str,
    *,
    unmoved_too: Callable[[], bool] = lambda: False,
) -> str:
    """What is assumed of writes at places known at run time only; empty if nothing may be.

    ``blame``: the access because of which it is not known that all of a tensor, or of what is read
    of it, is written; ``path`` and ``known``: what holds; ``when``: by when it has to be;
    ``unmoved_too``: whether they are of all where the data adds nothing to their places.
    """
    held = list(writes)
    if blame is None or not blame.view.indirect or not held:
        return ""
    reads = all(not write.view.indirect for write in held)
    if not reads and not may_cover(held, blame.view.storage, path, known) and not unmoved_too():
        return ""
    name = blame.view.storage.name
    if reads:
        return f"runtime places in `{name}`: taken to have been written {when}"
    return f"runtime places in `{name}`: taken to make it complete {when}"


def apart_there(first: View, second: View, loop: Loop) -> str:
    """What is assumed of writes in two instances, one of them at places known at run time only.

    Nothing is where no place depends on the instance in the text.
    """
    if not first.indirect and not second.indirect:
        return ""
    if not any(loop.symbol in coord.free() for coord in first.coords):
        return ""
    return f"runtime places in `{first.storage.name}`: taken to be others in each instance"
