"""Whole blocks of an input that no round comes to, where rounds and sizes are numbers.

What a loop leaves out shows in its bounds, as long as it is a loop over all that it goes through.
A condition in its rounds, a list of numbers, a ``while`` that ends early or a function that calls
itself say as much only round by round. So the rounds are gone through: which parts of an input they
read, and what is made of these. That some are left out is a fault where all that are read go into
one and the same sum, one after the other by one call, at least as much is read as is left out, and
it is no margin: a first or a last block, or what lies between others. What each result takes of its
own, as windows and causal masks do, may be meant.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

from rules.memory.fates import Fates, bits
from rules.memory.formulas import numbers_of
from rules.memory.places import ViewSteps, put_in
from rules.memory.steps import Event, turns
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.memory.index import Access, Uses
from verifier.symbolic.tensors import Axis, Loop, Storage, StorageKind, View
from verifier.symbolic.trace import Operation, Trace
from verifier.symbolic.views.common import conjuncts, numbers_said

#: operations of all rounds together that are looked at, and places of one that a mask is asked of
_MOST: Final = 2048
#: values of a size that are looked at one by one
_FEW: Final = 4
#: calls of a sum, at least
_FEWEST: Final = 2

#: the first index of a dimension that is read, and the one behind the last
Part = tuple[int, int]
#: by dimension what one call reads in one round; None: it is not told by numbers, or not in a row
_Parts = tuple[Part | None, ...]


class Left(Struct, frozen=True):
    """Indices of a dimension that nothing reads, where ``given`` holds.

    ``read``: one of those that read the others. ``place``: the first one; ``to``: the one behind
    the last one beside it. ``what``: which of the blocks.
    """

    uses: Uses
    dimension: int
    read: Access
    place: int
    to: int
    what: str
    given: tuple[Bool, ...] = ()


def blocks_left(trace: Trace, storages: Iterable[Uses]) -> Iterator[Left]:
    """The blocks that are left out of what is added up of these inputs."""
    storages = list(storages)
    known: set[tuple[int, int]] = set()  # of which the size is said for all inputs
    told: set[tuple[int, int]] = set()  # of which something is left out at a larger size
    for numbers, given in cases(trace):
        put = E.Substitution(numbers)
        sizes = {
            (id(uses), dimension): size.const
            for uses in storages
            for dimension, extent in enumerate(uses.reads[0].view.frame)
            if (size := put.expr(extent)).is_const and (id(uses), dimension) not in known
        }
        known.update(() if given else sizes)
        asked = [uses for uses in storages if any(key[0] == id(uses) for key in sizes)]
        try:
            found = [*_of_pairs([*_found(trace, asked, sizes, numbers, given, told)])]
        except TooManyError:
            return
        told.update((id(left.uses), left.dimension) for left in found)
        yield from found


def cases(trace: Trace) -> Iterator[tuple[dict[Sym, Expr], tuple[Bool, ...]]]:
    """The numbers that sizes are: those demanded, each of those that are listed, and each of a few
    that the demands leave.

    Not those of other arguments: what these choose is meant.
    """
    sizes = sizes_of(trace)
    numbers = {symbol: size for symbol, size in numbers_of(trace).items() if symbol in sizes}
    yield numbers, ()
    for fact in demanded(trace):
        if fact.kind is E.BoolKind.OR:
            listed = [numbers_said([each]) for each in fact.args]
            if all(said and sizes.issuperset(said) for said in listed):
                for said, each in zip(listed, fact.args, strict=True):
                    yield {**numbers, **said}, (each,)
    put = E.Substitution(numbers)
    facts = [put.bool(fact) for fact in demanded(trace)]
    for symbol in sorted(sizes - numbers.keys(), key=lambda symbol: symbol.name):
        for value in _few(symbol, alone(symbol, facts)):
            yield {**numbers, symbol: E.const(value)}, (E.eq(E.from_atom(symbol), value),)


def demanded(trace: Trace) -> Iterator[Bool]:
    """What is demanded, in single conditions."""
    for item in trace.assumptions:
        yield from conjuncts(item.condition)


def alone(symbol: Sym, facts: Iterable[Bool]) -> list[Bool]:
    """Those that speak of one size and nothing else."""
    return [fact for fact in facts if {*fact.free()} == {symbol} and not fact.flags()]


def admits(facts: Iterable[Bool], symbol: Sym, value: int) -> bool:
    """Whether a size may have a value, by what speaks of it :func:`alone`."""
    return all(E.evaluate(fact, {symbol.name: value}) for fact in facts)


def _few(symbol: Sym, facts: Sequence[Bool]) -> list[int]:
    """The values that a size may have, largest first, where these are few."""
    ends = (
        -fact.expr.const
        for fact in facts
        if fact.kind is E.BoolKind.LE and fact.expr is not None
        if fact.expr - fact.expr.const is E.from_atom(symbol)
    )
    most = min(ends, default=_MOST + 1)
    if most > _MOST:
        return []
    values = range(most, (symbol.lo or 1) - 1, -1)
    left = [n for n in values if admits(facts, symbol, n)]
    return left if len(left) <= _FEW else []


def sizes_of(trace: Trace) -> set[Sym]:
    """The symbols that sizes of inputs are made of, and what the kernel sets equal to them."""
    given = (each for each in trace.storages if each.kind is StorageKind.INPUT)
    sizes = {symbol for each in given for size in each.shape for symbol in size.free()}
    tied = (fact.free() for fact in demanded(trace) if fact.kind is E.BoolKind.EQ)
    return sizes.union(*(names for names in tied if not sizes.isdisjoint(names)))


def _found(
    trace: Trace,
    storages: Sequence[Uses],
    sizes: Mapping[tuple[int, int], int],
    numbers: Mapping[Sym, Expr],
    given: tuple[Bool, ...],
    told: Collection[tuple[int, int]],
) -> Iterator[tuple[Left, int]]:
    flow: _Flow | None = None
    for uses in storages:
        read = _read(uses, Rounds(trace.grid, numbers))
        for dimension in range(len(uses.reads[0].view.frame)):
            extent = sizes.get((id(uses), dimension))
            if read is None or extent is None:
                continue
            fewest = 1 if (id(uses), dimension) in told else _FEWEST
            gap = _gap(read, dimension, extent, fewest)
            if gap is None:
                continue
            if flow is None:
                flow = _Flow(trace, storages, Rounds(trace.grid, numbers))
            parts = {each[dimension] for _, each in read}
            if flow.adds_up(uses.storage, dimension, parts, fewest):
                last = max(read, key=lambda item: item[0].order)[0]
                left = Left(uses, dimension, last, gap[0], gap[1], gap[2], given)
                yield left, len(parts)


def _of_pairs(found: Sequence[tuple[Left, int]]) -> Iterator[Left]:
    """Without what two inputs leave out because one goes ahead of the other: the last of one goes
    with the first of the other to nothing."""
    for left, count in found:
        ahead = any(
            other.uses is not left.uses
            and many == count
            and {left.what, other.what} == {_FIRST, _LAST}
            for other, many in found
        )
        if not ahead:
            yield left


_FIRST: Final = "the first block is"
_LAST: Final = "the last block is"
_BETWEEN: Final = "what lies between others is"


def _read(uses: Uses, rounds: Rounds) -> list[tuple[Access, _Parts]] | None:
    """What is read of a tensor, round by round; None: that is not known."""
    by_operation: dict[int, list[Access]] = {}
    for read in uses.reads:
        by_operation.setdefault(id(read.operation), []).append(read)
    operations = [reads[0].operation for reads in by_operation.values()]
    out: list[tuple[Access, _Parts]] = []
    for event in rounds.events(operations):
        put = event.here
        for read in by_operation[id(event.operation)]:
            happens = put.bool(E.and_(*read.path, *read.given))
            if happens is E.FALSE:
                continue
            if happens is not E.TRUE:
                return None
            parts = _parts(put_in(read.view, put))
            if parts is not None:
                out.append((read, parts))
    return out


def _gap(
    read: Sequence[tuple[Access, _Parts]], dimension: int, extent: int, fewest: int
) -> tuple[int, int, str] | None:
    """What blocks that one call reads leave of a dimension, if that is a fault in a sum of them."""
    by_call: dict[Span, set[Part]] = {}
    for access, parts in read:
        part = parts[dimension]
        if part is None:
            return None
        by_call.setdefault(access.span, set()).add(part)
    blocks = sorted(set().union(*by_call.values()))
    if not any(len(parts) >= fewest for parts in by_call.values()):
        return None
    if any(end > start for (_, end), (start, _) in pairwise(blocks)):
        return None  # windows that lie across each other
    widest = max(end - start for start, end in blocks)
    between = [(end, start) for (_, end), (start, _) in pairwise(blocks) if end < start]
    before, behind = blocks[0][0], extent - blocks[-1][1]
    missing = before + behind + sum(end - start for start, end in between)
    if missing > extent - missing or behind < 0 or (before and behind):
        return None  # a sample, or a margin
    if between:
        return (*between[0], _BETWEEN)
    if before == widest:
        return 0, before, _FIRST
    if 0 < behind <= widest:
        return extent - behind, extent, _LAST
    return None


# ----------------------------------------------------------------------------- rounds


class TooManyError(Exception):
    """There are more rounds than are gone through."""


class Rounds:
    """Operations one round after the other; of loops whose rounds no number counts, any one."""

    def __init__(self, grid: Sequence[Loop], numbers: Mapping[Sym, Expr]) -> None:
        self._grid = grid
        self._numbers = numbers
        self._left = _MOST

    def events(self, operations: Sequence[Operation]) -> Iterator[Event]:
        """What is done in each round of their loops, and may happen.

        Raises:
            TooManyError: there are too many.
        """
        yield from self._inside(operations, 0, self._numbers)

    def _inside(
        self, operations: Sequence[Operation], depth: int, indices: Mapping[Sym, Expr]
    ) -> Iterator[Event]:
        for turn in turns(operations, depth, indices, _count, self._loops):
            if not turn.counted:
                yield from self._inside(turn.operations, turn.depth + 1, turn.indices)
                continue
            self._left -= 1 + len(turn.operations)
            if self._left < 0:
                raise TooManyError
            here = E.Substitution(turn.indices)
            for op in turn.operations:
                happens = here.bool(E.and_(*op.path))
                if happens is not E.FALSE:
                    yield Event(op, sure=happens is E.TRUE, here=here)

    def _loops(self, op: Operation) -> Sequence[Loop]:
        return (*self._grid, *(loop for loop in op.loops if loop not in self._grid))


def _count(loop: Loop, here: E.Substitution) -> int | None:
    trips = here.expr(loop.trips)
    return trips.const if trips.is_const else None


def _parts(view: View) -> _Parts | None:
    """What a view shows of each dimension in a round; None: nothing."""
    axes = {axis.symbol: axis for axis in view.axes}
    empty = (axis.size.is_const and axis.size.const < 1 for axis in view.axes)
    if view.mask is E.FALSE or any(empty):
        return None
    return tuple(_part(coord, axes, view.mask) for coord in view.coords)


def _part(coord: Expr, axes: Mapping[Sym, Axis], mask: Bool) -> Part | None:
    mine = sorted(
        (symbol for symbol in coord.free() if symbol in axes),
        key=lambda symbol: abs(coord.coefficient(symbol)),
    )
    first = E.Substitution({symbol: E.const(0) for symbol in mine}).expr(coord)
    asked = [fact for fact in conjuncts(mask) if not set(mine).isdisjoint(fact.free())]
    width = 1
    for symbol in mine:
        size = axes[symbol].size
        if coord.coefficient(symbol) != width or not size.is_const:
            return None
        width *= size.const
    if not first.is_const or not asked:
        return (first.const, first.const + width) if first.is_const else None
    if len(mine) != 1 or width > _MOST:
        return None
    puts = [E.Substitution({mine[0]: E.const(place)}) for place in range(width)]
    seen = [place for place, at in enumerate(puts) if at.bool(E.and_(*asked)) is not E.FALSE]
    if not seen or seen[-1] - seen[0] + 1 != len(seen):
        return None
    return first.const + seen[0], first.const + seen[-1] + 1


# ----------------------------------------------------------------------------- what is made of them

#: parts of inputs: of which, and what of it
_Made = frozenset[tuple[int, _Parts]]
_NOTHING: Final[_Made] = frozenset()


class _Taken(Struct, frozen=True):
    """What a call takes in a round: what is in its own place, and in each other operand.

    ``over``: it goes on with what is in its own place.
    """

    state: _Made
    others: tuple[_Made, ...]
    over: bool


class _Flow:
    """Which parts of inputs become one, in all rounds of a kernel."""

    def __init__(self, trace: Trace, inputs: Iterable[Uses], rounds: Rounds) -> None:
        """Raises: TooManyError: there are too many rounds."""
        places = ViewSteps(trace)
        ordered = sorted(trace.operations, key=lambda operation: operation.order)
        steps = places.steps([*rounds.events(ordered)])
        given = {id(uses.storage) for uses in inputs}
        made: list[_Made] = []
        #: by call
        self._taken: dict[Span, list[_Taken]] = {}
        for step, found in zip(steps, Fates(steps, places).found, strict=True):
            own: list[_Made] = []
            others: list[_Made] = []
            written = {id(view.storage) for view in step.writes}
            for read, results in zip(step.reads, found, strict=True):
                taken = _NOTHING.union(*(made[number] for number in bits(results)))
                if id(read.storage) in given and (parts := _parts(read)) is not None:
                    taken |= {(id(read.storage), parts)}
                (own if id(read.storage) in written else others).append(taken)
            state = _NOTHING.union(*own)
            made.append(state.union(*others))
            if made[-1]:
                each = _Taken(state, tuple(others), bool(own))
                self._taken.setdefault(step.operation.span, []).append(each)

    def adds_up(
        self, storage: Storage, dimension: int, parts: set[Part | None], fewest: int
    ) -> bool:
        """Whether these parts, which are all that is read, are added up one by one, by one call,
        and wherever some are added up, these are."""

        def of(made: _Made) -> frozenset[Part | None]:
            return frozenset(each[dimension] for which, each in made if which == id(storage))

        found = False
        for steps in self._taken.values():
            sums = [*_sums([(of(s.state), [*map(of, s.others)], s.over) for s in steps])]
            most = max((count for _, count in sums), default=0)
            if most < fewest:
                continue
            if any(total != parts for total, _ in sums):
                return False
            found |= most >= len(parts) - 1
        return found


def _sums(
    steps: Iterable[tuple[frozenset[Part | None], list[frozenset[Part | None]], bool]],
) -> Iterator[tuple[frozenset[Part | None], int]]:
    """What each sum of a call comes to hold, and in how many steps it has grown.

    One begins where a call does not go on with what it has made before, in its place or as an
    operand.
    """
    total: frozenset[Part | None] = frozenset()
    count = 0
    for state, others, over in steps:
        made = state.union(*others)
        goes_on = state >= total if over else any(other >= total for other in others)
        if total and goes_on:
            count += made > total
        else:
            if total:
                yield total, count
            count = 1
        total = made
    if total:
        yield total, count


__all__ = [
    "Left",
    "Rounds",
    "TooManyError",
    "admits",
    "alone",
    "blocks_left",
    "cases",
    "demanded",
    "sizes_of",
]
