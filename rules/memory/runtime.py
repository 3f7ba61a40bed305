"""What hangs on places that only the device knows, and is taken for granted there.

Where a row goes that an index on the device names is in the data. What the text decides is
decided; of the rest the kernel's report says what it rests on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from operator import mul

from msgspec.structs import replace

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.instruction import Trait
from verifier.symbolic.memory.index import Access, Index
from verifier.symbolic.memory.known import Known
from verifier.symbolic.tensors import Loop, LoopKind, Storage, View
from verifier.symbolic.trace import Operation


def elements(shape: Iterable[Expr]) -> Expr:
    """How many elements a shape has."""
    return reduce(mul, shape, E.const(1))


def may_cover(
    writes: Iterable[Access],
    storage: Storage,
    path: Iterable[Bool],
    table: Index,
    known: Known,
    before: Access | None = None,
) -> bool:
    """Whether some writes may be of all of a tensor, wherever it is that the data says.

    Counted are the writes whose places the data says, that are certain to come (``path``: what
    holds as well, ``known``: what the kernel demands) and fill whole rows, by themselves or piece
    by piece in loops around them: what is in one column always goes nowhere else. Each begins
    no further on than as many elements as it wrote in earlier rounds: so any element can be come
    to. Rounds that write where others did count once, and so do two writes at one place. A loop on
    the device runs as often as the data says. ``before``: what has to find all of it written, in
    the first round of its own loops as well.
    """
    held = {id(condition) for condition in path}
    row = elements(storage.shape[1:])
    counted: dict[object, Expr] = {}
    for write in writes:
        if not write.view.indirect or any(id(condition) not in held for condition in write.path):
            continue
        around = [loop for loop in write.loops if loop not in storage.loops]
        if before is not None:
            if write.order > before.order:
                continue
            around = [x for x in around if x.kind is LoopKind.GRID or x not in before.loops]
        around = [loop for loop in around if elsewhere(write, loop, table)]
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
        place = (start, tuple(others), *_numbers(write, table))
        size = size * elements(loop.trips for loop in others)
        counted[place] = E.maximum(counted[place], size) if place in counted else size
    enough = E.ge(sum(counted.values(), E.const(0)), elements(storage.shape))
    return bool(counted) and known.decide(enough) is True


def elsewhere(write: Access, loop: Loop, table: Index) -> bool:
    """Whether a write may be at another place in another round of a loop around it."""
    view = write.view
    if any(loop.symbol in coord.free() for coord in view.coords):
        return True
    if not view.indirect:
        return not view.exact
    if not view.indices or any(place.index is None for place in view.placed):
        return True
    return any(_changes(index, loop, table, frozenset()) for index in view.indices)


def _changes(view: View, loop: Loop, table: Index, seen: frozenset[int]) -> bool:
    """Whether numbers in memory may be others in another round of a loop."""
    storage, symbol = view.storage, loop.symbol
    made = zip(view.instance, storage.loops, strict=False)
    terms = [*view.coords, *(index for index, around in made if around is not loop)]
    if any(symbol in term.free() for term in terms) or id(storage) in seen:
        return True
    if any(_changes(index, loop, table, seen) for index in view.indices):
        return True
    for write in table.uses(storage).writes:
        operation = write.operation
        if loop not in write.loops:
            continue
        terms = [*write.view.coords, *(each.trips for each in write.loops)]
        free = [*(term.free() for term in terms), *(fact.free() for fact in write.path)]
        if any(symbol in symbols for symbols in free):
            return True
        if operation.adds or write.view.indirect or _speaks_of(operation, symbol):
            return True
        inside = seen | {id(storage)}
        if any(_changes(read, loop, table, inside) for _, read in operation.reads):
            return True
    return False


def _speaks_of(operation: Operation, symbol: Sym) -> bool:
    """Whether an operation is given a number of a loop, or draws one."""
    given = [each.value for each in operation.operands.values() if each.view is None]
    while given:
        value = given.pop()
        if isinstance(value, (Expr, Bool)):
            if symbol in value.free():
                return True
        elif isinstance(value, (tuple, list)):
            given += value
    traits = () if operation.instruction is None else operation.instruction.traits
    return Trait.RANDOM in traits or Trait.GENERATOR in traits


def _numbers(write: Access, table: Index) -> Iterator[object]:
    """What tells the numbers that place a write from others: where they are, and since when."""
    for index in write.view.indices:
        set_ = (each.order for each in table.uses(index.storage).writes)
        since = max((order for order in set_ if order < write.order), default=-1)
        yield (id(index.storage), index.instance, index.coords, since)
    if not write.view.indices:
        yield id(write)


def enough_of(writes: Iterable[Access], storage: Storage, table: Index) -> Bool:
    """That a tensor has no more elements than are ever written, wherever the data puts them."""
    total = E.const(0)
    for write in writes:
        view = write.view
        if view.dtype.itemsize is not storage.dtype.itemsize:
            return E.TRUE
        around = [loop for loop in write.loops if loop not in storage.loops]
        around = [loop for loop in around if elsewhere(write, loop, table)]
        sizes = (*view.shape, *(loop.trips for loop in around))
        if any(symbol.origin not in E.GIVEN for size in sizes for symbol in size.free()):
            return E.TRUE
        total = total + elements(sizes)
    return E.ge(total, elements(storage.shape))


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
    table: Index,
    known: Known,
    before: Access | None = None,
    *,
    unmoved_too: Callable[[], bool] = lambda: False,
) -> str:
    """What is assumed of writes at places known at run time only; empty if nothing may be.

    ``blame``: the access because of which it is not known that all of a tensor, or of what is read
    of it, is written; ``path`` and ``known``: what holds; ``before``: the read by which it has to
    be, of a tensor that is not just returned;
    ``unmoved_too``: whether they are of all where the data adds nothing to their places.
    """
    held = list(writes)
    if blame is None or not blame.view.indirect or not held:
        return ""
    reads = all(not write.view.indirect for write in held)
    when = "before it is returned" if before is None else "before it is read"
    storage = blame.view.storage
    direct = None if before is None or before.view.indirect else before
    if not reads and not may_cover(held, storage, path, table, known, direct):
        if not unmoved_too():
            return ""
    name = storage.name
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
