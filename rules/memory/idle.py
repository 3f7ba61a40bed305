"""Rounds that are gone through for nothing but to load what is lost.

What a round does not read under its own condition may be meant: the next one loads over it. Where
a loop begins with rounds of which nothing comes at all, since all that they load is overwritten by
the same calls before anything has read it, while every later round's load is read, these were to
fill what later rounds read: they warm up a ring that is too short, or of which each round takes one
buffer alone. Nothing else brings the part then. A loop that goes to some of what it loads on
purpose does something else in those rounds, loads the part once more, or leaves out others, too, as
samples do, or as many as it reads; or they have places of their own in the output, as margins do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rules.memory.blocks import (
    Rounds,
    TooManyError,
    admits,
    alone,
    cases,
    demanded,
    sizes_of,
)
from rules.memory.fates import Fates
from rules.memory.places import ViewSteps
from rules.memory.steps import Step
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.tensors import LoopKind, Storage, View
from verifier.symbolic.trace import Operation, Trace

PlaceT = TypeVar("PlaceT")

#: so many sizes of a loop of any number of rounds are looked at, and so large ones
_SIZES: Final = 4
_FEWEST: Final = _SIZES - 1
_LARGEST: Final = _SIZES**3

#: the rounds that an operation is in, outermost first: of which loop, and which one
_Around = tuple[tuple[object, object], ...]


class WarmUp(Struct, frozen=True):
    """So many ``rounds`` at the beginning of a loop that only load what is lost: ``load`` first.

    ``shown``: they are less than the others, which is what shows that these are meant to be all.
    """

    load: int
    rounds: int
    shown: bool


class Idle(Generic[PlaceT]):
    """The loads of such rounds among steps that were followed."""

    def __init__(self, fates: Fates[PlaceT]) -> None:
        self._fates = fates
        self._around = [*map(_around, fates.steps)]
        self._taken = self._surely = 0
        for taken, surely in zip(fates.taken, fates.surely, strict=True):
            self._taken |= taken
            self._surely |= surely

    def lost(self) -> Iterator[WarmUp]:
        """The first load that each call does in such rounds of a loop."""
        calls: dict[object, list[int]] = {}
        for number, step in enumerate(self._fates.steps):
            if _is_load(step):
                op = step.operation
                calls.setdefault((op.call, op.loops, len(op.rounds)), []).append(number)
        for numbers in calls.values():
            for depth in range(len(self._around[numbers[0]])):
                if not _is_grid(self._fates.steps[numbers[0]].operation, depth):
                    yield from self._in_loop(numbers, depth)

    def _in_loop(self, numbers: Sequence[int], depth: int) -> Iterator[WarmUp]:
        """Those of one call, in each loop at a depth."""
        loops: dict[object, dict[_Around, list[int]]] = {}
        for number in numbers:
            around = self._around[number]
            rounds = loops.setdefault((around[:depth], around[depth][0]), {})
            rounds.setdefault(around[: depth + 1], []).append(number)
        for rounds in loops.values():
            every = [*rounds.values()]
            read = [all(self._surely >> n & 1 for n in loads) for loads in every]
            first = read.index(True) if True in read else 0
            if not 0 < first <= len(read) - first or not all(read[first:]):
                continue
            later = {n for loads in every[1:] for n in loads}
            lost = (self._is_lost(n, later) for loads in every[:first] for n in loads)
            if self._have_places(first, [*rounds][first:]) or not all(lost):
                continue
            if all(self._is_idle(each) for each in [*rounds][:first]):
                yield WarmUp(every[0][0], first, 2 * first < len(read))

    def _have_places(self, first: int, later: Sequence[_Around]) -> bool:
        """Whether the first rounds have places in an output, in which the ``later`` ones go on
        evenly: a margin that something else fills."""
        stored = [self._stored(around) for around in later[:2]]
        for call, here in stored[0].items():
            next_ = stored[-1].get(call)
            step = E.const(0) if next_ is None else next_ - here
            step = here if step is E.const(0) else step
            if step is not E.const(0) and E.ge(here - step * first, 0) is E.TRUE:
                return True
        return False

    def _stored(self, around: _Around) -> dict[object, Expr]:
        """By call where it stores first in a round."""
        out: dict[object, Expr] = {}
        for step, mine in zip(self._fates.steps, self._around, strict=True):
            if step.stores and mine[: len(around)] == around:
                out.setdefault(step.operation.call, step.stores[0].begin)
        return out

    def _is_lost(self, number: int, later: set[int]) -> bool:
        """Whether one of some later loads is over all of it, nothing may have read any of it, and
        nothing else brings the part."""
        sure = self._fates.steps[number].sure and not self._taken >> number & 1
        return sure and self._fates.filled.get(number) in later and self._is_alone(number)

    def _is_alone(self, number: int) -> bool:
        fates, mine = self._fates, self._fates.steps[number]
        (part,) = mine.loads
        return not any(
            any(region.storage is part.storage for region in other.stores)
            or fates.bring_the_same(other, mine)
            for n, other in enumerate(fates.steps)
            if n != number
        )

    def _is_idle(self, around: _Around) -> bool:
        """Whether nothing of what a round does is for anything."""
        used = self._taken | self._fates.left
        mine = (n for n, each in enumerate(self._around) if each[: len(around)] == around)
        steps = self._fates.steps
        return not any(used >> n & 1 or steps[n].seen or steps[n].stores for n in mine)


def _around(step: Step[PlaceT]) -> _Around:
    rounds, loops = step.operation.rounds, step.operation.loops
    of = (*(each.loop for each in rounds), *loops)
    which = (*(each.value for each in rounds), *step.when[len(rounds) :])
    return tuple(zip(of, which, strict=True))


def _is_grid(op: Operation, depth: int) -> bool:
    loops = op.loops[depth - len(op.rounds) :] if depth >= len(op.rounds) else ()
    return bool(loops) and loops[0].kind is LoopKind.GRID


def _is_load(step: Step[PlaceT]) -> bool:
    """Whether it brings a part of one tensor, and makes nothing of it."""
    inside = len(step.reads) > step.off
    return len(step.loads) == 1 and bool(step.writes) and not (inside or step.stores or step.adds)


# ----------------------------------------------------------------------------- of a trace


class Lost(Struct, frozen=True):
    """What a load has left in a tensor is lost unless ``fine`` holds, where ``given`` does; the
    load ``again`` is over it."""

    operation: Operation
    again: Operation
    storage: Storage
    warm_up: WarmUp
    fine: Bool = E.FALSE
    given: tuple[Bool, ...] = ()


def idle_loads(trace: Trace, storages: Sequence[Storage]) -> Iterator[Lost]:
    """The loads to some tensors in rounds that are for nothing else.

    Where sizes are numbers, or a few; of a loop of any number of rounds if that shows from some
    number on.
    """
    told: set[object] = set()
    known: dict[Sym, Expr] = {}
    for numbers, given in cases(trace):
        known = known if given else numbers
        for lost in _found(trace, storages, numbers):
            if lost.warm_up.shown and lost.operation.call not in told:
                told.add(lost.operation.call)
                yield replace(lost, given=given)
    for symbol in _counts(trace, storages, known):
        for lost in _from_some_size_on(trace, storages, symbol, known):
            if lost.operation.call not in told:
                told.add(lost.operation.call)
                yield lost


def _from_some_size_on(
    trace: Trace, storages: Sequence[Storage], symbol: Sym, known: dict[Sym, Expr]
) -> Iterator[Lost]:
    """Those that are lost from one of a few sizes on, in as many rounds at each."""
    by_call: dict[object, dict[int, Lost]] = {}
    values: list[int] = []
    for value, put in _values(trace, symbol, known):
        values.append(value)
        for lost in _found(trace, storages, put):
            by_call.setdefault(lost.operation.call, {}).setdefault(value, lost)
    for at in by_call.values():
        bad = [*at]
        alike = len({lost.warm_up.rounds for lost in at.values()}) == 1
        least = next((value for value in bad if at[value].warm_up.shown), None)
        if alike and least is not None and len(bad) >= _FEWEST and bad == values[-len(bad) :]:
            yield replace(at[least], fine=E.lt(E.from_atom(symbol), least))


def _counts(trace: Trace, storages: Sequence[Storage], known: dict[Sym, Expr]) -> Iterator[Sym]:
    """Sizes that numbers of rounds are made of, of loops that load to these tensors."""
    sizes, wanted = sizes_of(trace), set(map(id, storages))
    yield from dict.fromkeys(
        symbol
        for op in trace.operations
        if any(id(view.storage) in wanted for _, view in op.writes)
        for loop in op.loops
        for symbol in loop.trips.free()
        if symbol in sizes and symbol not in known
    )


def _values(
    trace: Trace, symbol: Sym, known: dict[Sym, Expr]
) -> Iterator[tuple[int, dict[Sym, Expr]]]:
    """The least values that a size may have."""
    put = E.Substitution(known)
    facts = alone(symbol, (put.bool(fact) for fact in demanded(trace)))
    left = _SIZES
    for value in range(max(symbol.lo or 1, 1), _LARGEST):
        if left and admits(facts, symbol, value):
            left -= 1
            yield value, {**known, symbol: E.const(value)}


def _found(trace: Trace, storages: Sequence[Storage], numbers: dict[Sym, Expr]) -> Iterator[Lost]:
    stores = {
        id(op)
        for op in trace.operations
        if not op.writes or any(not view.storage.buffer.on_chip for _, view in op.writes)
    }
    places = ViewSteps(trace, stores)
    ordered = sorted(trace.operations, key=lambda op: op.order)
    try:
        events = [*Rounds(trace.grid, numbers).events(ordered)]
    except TooManyError:
        return
    fates: Fates[View] = Fates(places.steps(events), places)
    for warm_up in Idle(fates).lost():
        step, again = fates.steps[warm_up.load], fates.steps[fates.filled[warm_up.load]]
        storage = step.writes[0].storage
        if any(storage is each for each in storages):
            yield Lost(step.operation, again.operation, storage, warm_up)


__all__ = ["Idle", "Lost", "WarmUp", "idle_loads"]
