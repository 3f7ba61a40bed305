"""What hangs on places that only the device knows, and is taken for granted there.

Where a row goes that an index on the device names is in the data. What the text decides is
decided; of the rest the kernel's report says what it rests on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum, IntEnum
from functools import reduce
from itertools import product
from operator import mul
from typing import Final

from msgspec.structs import replace

from rules.memory.cases import copy, covered, quotient
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.instruction import Trait
from verifier.symbolic.memory.index import Access, Index, tensor
from verifier.symbolic.memory.known import Known
from verifier.symbolic.tensors import Axis, Loop, LoopKind, Storage, StorageKind, View
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import Enumerator, Register

#: the ends of views of so many dimensions at most are looked at
_MOST_AXES: Final = 4


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
    to. Rounds that write where others did count once, and so do two writes at one place; those of
    loops that are told apart only together (``k + b``) are not counted. A loop on the device runs
    as often as the data says. ``before``: what has to find all of it written, in the first round of
    its own loops as well.
    """
    held = {id(condition) for condition in path}
    row = elements(storage.shape[1:])
    counted: dict[object, Expr] = {}
    for write in writes:
        if not write.view.indirect or any(id(condition) not in held for condition in write.path):
            continue
        around = [loop for loop in write.loops if loop not in storage.loops]
        if before is not None:
            if write.order >= before.order:
                continue
            around = [x for x in around if x.kind is LoopKind.GRID or x not in before.loops]
        kinds = {loop.symbol: moves(write, loop, table) for loop in around}
        around = [loop for loop in around if kinds[loop.symbol] is not Moves.NEVER]
        if Moves.BACK in kinds.values() or not _told_apart(write, around, table, known):
            continue
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
    total, whole = sum(counted.values(), E.const(0)), elements(storage.shape)
    by_rows = quotient(total, row), quotient(whole, row)
    if by_rows[0] is not None and by_rows[1] is not None:
        total, whole = by_rows[0], by_rows[1]
    enough = (E.ge(total, whole), E.eq(total, whole))
    return bool(counted) and any(known.decide(fact) for fact in enough)


class Moves(IntEnum):
    """What the rounds of a loop do to a place."""

    NEVER = 0  #: they all have the same
    BACK = 1  #: by parts of their count alone (``k // 2``): several have the same
    ON = 2  #: each may have its own


def moves(write: Access, loop: Loop, table: Index) -> Moves:
    """What the rounds of a loop around a write do to its place."""
    view = write.view
    found = _named(view.coords, loop.symbol)
    if not view.indirect:
        return found if view.exact else Moves.ON
    if not view.indices or any(place.index is None for place in view.placed):
        return Moves.ON
    return max(found, *(_numbers_move(index, loop, table, frozenset()) for index in view.indices))


def _named(terms: Iterable[Expr], symbol: Sym) -> Moves:
    """How terms speak of the count of a loop: each of its rounds has its own if one of them goes on
    with it, or if one tells its quotient (``k // 3``) and another one its remainder."""
    goes_on, parts, rests = False, False, False
    for term in terms:
        if any(each.origin is E.Origin.HAVOC for each in term.free()):
            return Moves.ON  # it may be another one each time
        if symbol not in term.free():
            continue
        alone = any(symbol in factors for factors, _ in term.terms)
        within = any(atom is not symbol and symbol in _free(atom) for atom in term.atoms())
        goes_on |= alone and not within
        rests |= alone and within
        parts |= not alone
    if goes_on or (parts and rests):
        return Moves.ON
    return Moves.BACK if parts or rests else Moves.NEVER


def _free(atom: E.Atom) -> Iterable[Sym]:
    return E.from_atom(atom).free()


def _numbers_move(view: View, loop: Loop, table: Index, seen: frozenset[int]) -> Moves:
    """What the rounds of a loop do to numbers in memory."""
    storage = view.storage
    if id(storage) in seen:
        return Moves.ON
    made = zip(view.instance, storage.loops, strict=False)
    terms = [*view.coords, *(index for index, around in made if around is not loop)]
    found = _named(terms, loop.symbol)
    for index in view.indices:
        found = max(found, _numbers_move(index, loop, table, seen))
    for write in table.uses(storage).writes:
        if loop in write.loops and found is not Moves.ON:
            found = max(found, _set_anew(write, loop, table, seen | {id(storage)}))
    return found


def _set_anew(write: Access, loop: Loop, table: Index, seen: frozenset[int]) -> Moves:
    """What the rounds of a loop do to what a write in it makes."""
    operation = write.operation
    terms = [*write.view.coords, *(each.trips for each in write.loops)]
    given = [each.value for each in operation.operands.values() if each.view is None]
    while given:
        value = given.pop()
        if isinstance(value, Expr):
            terms.append(value)
        elif isinstance(value, (tuple, list)):
            given += value
        elif not (_fixed((value,)) or (isinstance(value, Register) and value.place is not None)):
            return Moves.ON
    if _is_open(write):
        return Moves.ON
    if any(loop.symbol in condition.free() for condition in write.path):
        return Moves.BACK  # others go on with what an earlier one has set
    found = _named(terms, loop.symbol)
    for _, read in operation.reads:
        found = max(found, _numbers_move(read, loop, table, seen))
    return found


def _is_open(write: Access) -> bool:
    """Whether what a write leaves may be other numbers each time, though made alike of the same."""
    return _is_drawn(write.operation) or write.operation.adds or write.view.indirect


def _is_drawn(operation: Operation) -> bool:
    """Whether numbers are drawn: twice the same call is not the same."""
    traits = () if operation.instruction is None else operation.instruction.traits
    return Trait.RANDOM in traits or Trait.GENERATOR in traits


def _told_apart(write: Access, around: Sequence[Loop], table: Index, known: Known) -> bool:
    """Whether no two rounds of loops around a write surely have the same place, as far as numbers
    in memory say where it is."""
    terms: list[Expr] | None = list(write.view.coords)
    for index in write.view.indices:
        more = _said_by(index, around, table, known, frozenset())
        terms = None if terms is None or more is None else [*terms, *more]
    if terms is None or not write.view.indices:
        return True
    counts = {loop.symbol: loop.trips for loop in around if loop.kind is not LoopKind.DYNAMIC}
    return _tell_apart(terms, counts, known)


def _tell_apart(terms: Sequence[Expr], counts: Mapping[Sym, Expr], known: Known) -> bool:
    """Whether terms tell counts (each below its own bound) from all others: each of them is told
    alone, beside others that something else tells, as a digit, or by a quotient and its rest."""
    left, before = set(counts), -1
    while left and len(left) != before:
        before = len(left)
        for term in terms:
            left -= _digits(term, {s: counts[s] for s in left.intersection(term.free())}, known)
        for symbol in [*left]:
            whole, rest = (
                {divisor for term in terms for divisor in _divisors(term, symbol, alone)}
                for alone in (False, True)
            )
            if whole & rest:
                left.discard(symbol)
    return not left


def _digits(term: Expr, counts: Mapping[Sym, Expr], known: Known) -> set[Sym]:
    """All of these counts, if each is a digit of a term: none of them comes to the next one's."""
    steps = {symbol: _step(term, symbol) for symbol in counts}
    if any(s in step.free() for step in steps.values() for s in term.free() if s in counts):
        return set()  # not by as much each time
    for symbol, step in steps.items():
        others = [other for each, other in steps.items() if each is not symbol]
        ends = (E.or_(E.ge(other, step * counts[symbol]), E.gt(step, other)) for other in others)
        if known.decide(E.and_(E.ne(step, 0), *ends)) is not True:
            return set()
    return set(counts)


def _divisors(term: Expr, symbol: Sym, alone: bool) -> Iterator[Expr]:
    """By what a count is divided in a term made of its quotient, or (``alone``) of its rest."""
    if any(symbol in factors for factors, _ in term.terms) is alone:
        for atom in term.atoms():
            if isinstance(atom, E.Div) and atom.num is E.from_atom(symbol):
                yield atom.den


def _said_by(
    view: View, around: Sequence[Loop], table: Index, known: Known, seen: frozenset[int]
) -> list[Expr] | None:
    """What says which numbers in memory a view shows; None: they may be any.

    Of windows that lie over each other nothing says which it is.
    """
    storage = view.storage
    pairs = zip(view.instance, storage.loops, strict=False)
    if id(storage) in seen or not all(index is loop.index for index, loop in pairs):
        return None
    sizes = {axis.symbol: axis.size for axis in view.axes if axis.size is not E.const(1)}
    sizes |= {loop.symbol: loop.trips for loop in around}
    terms: list[Expr] = []
    for coord in view.coords:
        counts = {symbol: sizes[symbol] for symbol in coord.free() if symbol in sizes}
        if len(counts) < 2 or _digits(coord, counts, known):
            terms.append(coord)
    reads = list(view.indices)
    for write in table.uses(storage).writes if storage.kind is not StorageKind.INPUT else ():
        operation = write.operation
        if _is_open(write):
            return None
        terms += write.view.coords
        for value in (each.value for each in operation.operands.values() if each.view is None):
            terms += [value] if isinstance(value, Expr) else []
        reads += [read for _, read in operation.reads]
    for read in reads:
        more = _said_by(read, around, table, known, seen | {id(storage)})
        if more is None:
            return None
        terms += more
    return terms


def _numbers(write: Access, table: Index) -> Iterator[object]:
    """What tells the numbers that place a write from others: how they came about."""
    yield from (_number(index, write.order, table) for index in write.view.indices)
    if not write.view.indices:
        yield id(write)


def _number(view: View, before: int, table: Index) -> object:
    """What numbers in memory are made of: alike for two that are made alike of the same."""
    place = _first_of(view)
    earlier = [write for write in table.uses(view.storage).writes if write.order < before]
    if not earlier:
        return place
    last = earlier[-1]
    made = last.operation
    plain = (value for value in made.operands.values() if value.view is None)
    given = tuple(value.value for value in plain if not isinstance(value.value, Register))
    if _is_drawn(made) or made.adds or _first_of(last.view) != place or not _fixed(given):
        return (*place, last.order)
    return (made.name, given, tuple(_number(read, made.order, table) for _, read in made.reads))


def _first_of(view: View) -> tuple[object, ...]:
    """Which tensor a view is of, where in it the first element is, and how many there are."""
    zero = E.Substitution({axis.symbol: E.const(0) for axis in view.axes})
    return (id(view.storage), view.instance, tuple(map(zero.expr, view.coords)), view.shape)


def _fixed(given: Iterable[object]) -> bool:
    """Whether arguments are such that alike ones are the same."""
    plain = (Expr, Enum, Enumerator, str, int, float, type(None))
    return all(isinstance(value, plain) for value in given)


def enough_of(writes: Iterable[Access], storage: Storage, table: Index) -> Bool:
    """That a tensor has no more elements than are ever written, wherever the data puts them."""
    total = E.const(0)
    for write in writes:
        view = write.view
        if view.dtype.itemsize is not storage.dtype.itemsize:
            return E.TRUE
        around = [loop for loop in write.loops if loop not in storage.loops]
        around = [loop for loop in around if moves(write, loop, table) is not Moves.NEVER]
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
        picked = next((axis for axis in axes if _picked(axis, flat, view, known)), None)
        if axis is not None:
            axes.remove(axis)
            size = size * axis.size
        elif picked is not None:
            axes.remove(picked)
            size = size * picked.size
        elif loop is not None and not whole:
            loops.remove(loop)
            pieces.append(loop)
            size = size * loop.trips
        elif not whole and known.decide(E.eq(size, row)):
            size, whole = row, True
        else:
            break
    return (None if axes else size), pieces


def _picked(axis: Axis, flat: Expr, view: View, known: Known) -> bool:
    """Whether the data alone says where a view goes along a dimension of it: each number of an
    index names a place of its own."""
    if axis.symbol in flat.free():
        return False
    named = (place.index for place in view.placed if place.index is not None)
    return any(elements(index.shape) is axis.size and _all_others(index, known) for index in named)


def _all_others(index: View, known: Known) -> bool:
    """Whether an index shows no number twice."""
    sizes = {axis.symbol: axis.size for axis in index.axes if axis.size is not E.const(1)}
    return _tell_apart(index.coords, sizes, known)


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
    if before is not None and before.view.indirect:
        if not _may_find(before, held, known):
            return ""
        before = None
    if not reads and not may_cover(held, storage, path, table, known, before):
        if not unmoved_too():
            return ""
    name = storage.name
    if reads:
        return f"runtime places in `{name}`: taken to have been written {when}"
    return f"runtime places in `{name}`: taken to make it complete {when}"


def _may_find(read: Access, writes: Iterable[Access], known: Known) -> bool:
    """Whether what is read at places that the data says may have been written.

    Something is, in the first round of its loops too, unless it is not read in all of them; and, of
    writes whose places the text says, where the data adds nothing to its place, or along the rows
    that the data picks to the first of them: no end of it is left out for certain.
    """
    named = {symbol for condition in (*read.path, *read.given) for symbol in condition.free()}
    earlier = [
        write
        for write in writes
        if write.order < read.order
        or any(loop in read.loops and loop.symbol in named for loop in write.loops)
    ]
    if not earlier or any(write.view.indirect for write in earlier):
        return bool(earlier)
    view = unmoved(read).view
    ways = [copy(write, 0, instance=tensor(view)) for write in earlier]
    found = [way for way in ways if way is not None]
    if view.mask is not E.TRUE or view.dtype.itemsize is not view.storage.dtype.itemsize:
        return True
    formula, exact, _ = covered(found, view, known)
    ends = [
        (E.const(0),) if view.rows_from is not None and axis is view.axes[0] else _ends(axis.size)
        for axis in view.axes
    ]
    if not exact or len(ends) > _MOST_AXES:
        return True
    symbols = [axis.symbol for axis in view.axes]
    put = (E.Substitution(dict(zip(symbols, at, strict=True))) for at in product(*ends))
    corners = [corner.bool(formula) for corner in put]
    return not any(corner is E.FALSE or known.decide(E.not_(corner)) for corner in corners)


def _ends(size: Expr) -> tuple[Expr, ...]:
    return (E.const(0), size - 1)


def apart_there(first: View, second: View, loop: Loop) -> str:
    """What is assumed of writes in two instances, one of them at places known at run time only.

    Nothing is where no place depends on the instance in the text.
    """
    if not first.indirect and not second.indirect:
        return ""
    if not any(loop.symbol in coord.free() for coord in first.coords):
        return ""
    return f"runtime places in `{first.storage.name}`: taken to be others in each instance"
