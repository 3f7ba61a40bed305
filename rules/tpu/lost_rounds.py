"""Rounds of a loop whose results are lost, while those of others are not.

A loop is gone through with one round, with two, and so on (:mod:`rules.tpu.rounds`), and what is
made in each of them is followed (:mod:`rules.tpu.steps`). These are faults:

- of however many rounds the last few alone are for something: what each of the others has made of a
  part of its own comes to nothing. A result that is made of what went through all rounds, as a sum
  did, is not of its own;
- a sum, or whatever else goes on with what earlier rounds have left, is begun anew before anything
  has come of it, while something has of others of the same loop.

So is what was loaded before the loop if one of its rounds loads something else there before
anything has read it, though not always: else the load may be for the case that there are no rounds.
What is made in every third round only, say, or is one more than is needed, may be meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rules.tpu.parts import Event
from rules.tpu.rounds import MOST_ROUNDS, Rounded, Size, Unrolled, sizes, without
from rules.tpu.steps import Fates, Meets, Step, bits
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool
from verifier.symbolic.memory.known import MOST_TURNS
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Operation

PlaceT = TypeVar("PlaceT")

#: so many numbers of rounds are looked at
_SIZES: Final = MOST_TURNS
#: so many rounds may be the last few
_LAST: Final = 2
#: rounds of the other loops, of which the number is not plain
_OTHERS: Final = 2


class Places(Meets[PlaceT], Protocol[PlaceT]):
    """Which places operations come to, in one dialect."""

    def steps(self, events: Sequence[Event], rounded: Rounded) -> list[Step[PlaceT]]:
        """Operations in turn, with the places that they come to then."""


class Lost(Struct, frozen=True):
    """What ``lost`` has left is for nothing unless ``fine`` holds; ``again`` fills its place."""

    lost: Operation
    again: Operation | None
    fine: Bool
    given: tuple[Bool, ...]
    exact: bool

    def told(self, check: Check, what: str, by: str | None) -> Iterator[Check]:
        """What is told of it: a check of the operation whose result is lost, in other words; and
        where it is not exact another one, of all other sizes. ``by``: what fills its place."""
        message = f"nothing that is stored is made of {what}, but for the last round"
        notes: tuple[Note, ...] = ()
        if self.again is not None:
            message = (
                f"{what} is overwritten by `{by}` in a later round before anything has read it"
            )
            notes = (Note(self.again.span, "overwritten here, in a later round"),)
        sure = replace(
            check,
            predicate=self.fine,
            text=f"something that is stored is made of {what} of each round",
            message=message,
            given=self.given,
            notes=notes,
            help=("add up what the rounds make, or use it before the next one begins",),
            path=(),
            order=max(op.order for op in (self.lost, self.again) if op is not None),
        )
        yield sure
        if not self.exact:
            yield replace(
                sure,
                predicate=E.FALSE,
                given=(*self.given, self.fine),
                exact=False,
                reason="for which sizes it is so is not known",
            )


def lost_rounds(
    operations: Sequence[Operation], places: Places[PlaceT], judged: set[int]
) -> Iterator[Lost]:
    """One for each operation whose results may be lost in that way, of those ``judged``."""
    found = list(sizes(operations, plain=True))
    told: set[_Call] = set()
    for size in found:
        loop = _Gone(operations, places, size, found)
        for each in loop.lost(judged):
            if _place(each.lost) not in told:
                told.add(_place(each.lost))
                yield each


#: a call in the text, and the loops around it: its operations under any condition
_Call: TypeAlias = tuple[Span, tuple[Loop, ...]]


def _place(op: Operation) -> _Call:
    return op.span, op.loops


class _Gone(Generic[PlaceT]):
    """A loop that is gone through with each of some numbers of rounds."""

    def __init__(
        self,
        operations: Sequence[Operation],
        places: Places[PlaceT],
        size: Size,
        every: Sequence[Size],
    ) -> None:
        self.size = size
        self.unrolled = Unrolled(operations, size.around)
        self.others = [each for each in every if self._is_other(each)]
        self.others += self._asked()
        #: by the number that was put in
        self.rounds: dict[int, _Rounds[PlaceT]] = {}
        for value in (0,) if size.term.is_const else range(1, _SIZES + 1):
            rounded = size.rounds(value, dict.fromkeys(self.others, _OTHERS))
            trips = rounded.put.expr(size.loop.trips)
            events = self.unrolled.events(rounded)
            if events is None or E.le(trips, MOST_ROUNDS) is not E.TRUE:
                break
            self.rounds[value] = _Rounds(Fates(places.steps(events, rounded), places))
        sums = {call for rounds in self.rounds.values() for call in rounds.going_on}
        for rounds in self.rounds.values():
            rounds.follow(sums)

    def _asked(self) -> Iterator[Size]:
        """Other numbers that say which rounds an operation is in, as if they were of rounds."""
        named = {symbol for each in (self.size, *self.others) for symbol in each.term.free()}
        for op in self.unrolled.operations:
            inside = {loop.symbol for loop in op.loops[len(self.size.around) :]}
            for fact in op.path:
                own = set(fact.free())
                for symbol in own - inside - named if own & inside else ():
                    if symbol.origin in E.GIVEN:
                        named.add(symbol)
                        yield Size(self.size.around, self.size.loop, E.from_atom(symbol))

    def _is_other(self, size: Size) -> bool:
        """Whether the number of rounds of another loop may be put in beside."""
        inside = {loop.symbol for op in self.unrolled.operations for loop in op.loops}
        return (
            size.term is not self.size.term
            and not size.term.is_const
            and any(size.loop in op.loops for op in self.unrolled.operations)
            and size.loop not in self.size.around
            and inside.isdisjoint(size.term.free())
        )

    def lost(self, judged: set[int]) -> Iterator[Lost]:
        depth = len(self.size.around)
        for op in self.unrolled.operations:
            if id(op) in judged and self.rounds:
                bad = self._bad(op) if len(op.loops) > depth else self._put_before(op)
                if bad:
                    yield self._told(op, bad)

    def _bad(self, op: Operation) -> dict[int, int]:
        """The numbers of rounds at which its results are lost, each with one that is."""
        if not any(rounds.reached(op) for rounds in self.rounds.values()):
            return {}  # that nothing is made of it at all is told otherwise
        begun = {value: rounds.begun_anew(op) for value, rounds in self.rounds.items()}
        bad = {value: step for value, step in begun.items() if step is not None}
        return bad or self._all_but_the_last(op)

    def _put_before(self, op: Operation) -> dict[int, int]:
        found = {value: rounds.replaced(op) for value, rounds in self.rounds.items()}
        return {value: step for value, step in found.items() if step is not None}

    def _all_but_the_last(self, op: Operation) -> dict[int, int]:
        largest = self.rounds[max(self.rounds)]
        if largest.is_picked(op):
            return {}
        few = len(largest.reached(op))
        most, more = (1, 0) if self.size.term.is_const else (_LAST, 2)
        if not 1 <= few <= most or few + more >= len(largest.all(op)):
            return {}
        bad: dict[int, int] = {}
        for value, rounds in self.rounds.items():
            every, found = rounds.all(op), rounds.reached(op)
            if not set(found) <= set(every[-few:]):
                return {}
            if len(found) < len(every):
                step = rounds.own(op, [number for number in every if number not in found])
                if step is None:
                    return {}
                bad[value] = step
        return bad

    def _is_clear(self, value: int) -> bool:
        return self.rounds[value].fates.is_clear

    def _told(self, op: Operation, bad: Mapping[int, int]) -> Lost:
        least = min(bad)
        again = self.rounds[least].fates.filled.get(bad[least])
        fine, exact = E.FALSE, True
        if not self.size.term.is_const:
            fine, exact = without(self.size.term, set(bad), max(self.rounds))
        fine = E.or_(fine, *(E.ne(each.term, _OTHERS) for each in self.others))
        return Lost(
            op,
            None if again is None else self.rounds[least].fates.steps[again].operation,
            fine,
            (*(loop.within for loop in self.size.around), *self.unrolled.given),
            exact and not self.others and all(map(self._is_clear, self.rounds.keys() - bad)),
        )


class _Rounds(Generic[PlaceT]):
    """A loop of some number of rounds."""

    def __init__(self, fates: Fates[PlaceT]) -> None:
        self.fates = fates
        self._by_operation: dict[_Call, int] = {}
        for number, step in enumerate(fates.steps):
            key = _place(step.operation)
            self._by_operation[key] = self._by_operation.get(key, 0) | 1 << number
        self._loads = self._other_parts()
        #: calls that go on with what they have left in earlier rounds
        self.going_on = self._going_on()
        self._own: list[bool] = []
        self._straight = 0

    def follow(self, sums: set[_Call]) -> None:
        """``sums``: the calls that go on with earlier rounds, if there are enough of them."""
        self.going_on = sums
        self._own = self._of_their_own()
        self._straight = self._straight_to_a_store()

    def _steps(self, op: Operation) -> int:
        return self._by_operation.get(_place(op), 0)

    def _round(self, number: int) -> int | None:
        return self.fates.steps[number].round

    def _other_parts(self) -> int:
        """The loads that bring another part in each round."""
        out = 0
        for numbers in self._by_operation.values():
            by_round: dict[int | None, set[tuple[int, ...]]] = {}
            for number in bits(numbers):
                part = self.fates.steps[number].part
                by_round.setdefault(self._round(number), set()).add(tuple(map(id, part)))
            every = [part for parts in by_round.values() for part in parts]
            if () not in every and None not in by_round and len(every) == len(set(every)):
                out |= numbers
        return out

    def _going_on(self) -> set[_Call]:
        return {
            call
            for call, numbers in self._by_operation.items()
            if any(self._goes_on(number, numbers) for number in bits(numbers))
        }

    def _goes_on(self, number: int, same: int) -> bool:
        """Whether it takes what its call has left in earlier rounds, or what another one has left
        there in its place, of other parts."""
        fates, mine = self.fates, self._round(number)
        if any(self._round(before) != mine for before in bits(fates.made_of[number] & same)):
            return True
        parts = self._rounds(fates.made_of[number] & self._loads)
        return len(parts) > 1 and any(
            self._round(before) not in (mine, None) and fates.in_one_place(before, number)
            for before in bits(fates.surely[number])
        )

    def _of_their_own(self) -> list[bool]:
        """Whether each step makes something of a part that its round has loaded, and not only by
        way of what goes on from round to round."""
        found: list[bool] = []
        for number, step in enumerate(self.fates.steps):
            taken = (
                other < number and found[other] and self._round(other) == step.round
                for other in bits(self.fates.surely[number])
            )
            goes_on = _place(step.operation) in self.going_on
            found.append(not goes_on and (bool(self._loads >> number & 1) or any(taken)))
        return found

    def _straight_to_a_store(self) -> int:
        """What comes to those who see it not only by way of what goes on from round to round."""
        out = 0
        for number in reversed(range(len(self.fates.steps))):
            step = self.fates.steps[number]
            goes_on = _place(step.operation) in self.going_on
            if step.seen or (out >> number & 1 and not goes_on):
                out |= self.fates.taken[number] | 1 << number
        return out

    def reached(self, op: Operation) -> list[int]:
        """The rounds of which something comes to those who see it."""
        return self._rounds(self._steps(op) & self.fates.reached)

    def all(self, op: Operation) -> list[int]:
        """The rounds that it is in."""
        return self._rounds(self._steps(op))

    def _rounds(self, steps: int) -> list[int]:
        return sorted({r for number in bits(steps) if (r := self._round(number)) is not None})

    def own(self, op: Operation, rounds: Sequence[int]) -> int | None:
        """A result of some rounds that nothing takes, if each of theirs is of its own, and no more
        than one of several that are made of a part."""
        found = [n for n in bits(self._steps(op)) if self._round(n) in rounds]
        if not all(self._own[number] and self.fates.steps[number].sure for number in found):
            return None
        if not self._adds(op) and all(map(self._is_one_of_several, found)):
            return None
        return next((number for number in found if not self._is_taken(number)), None)

    def _is_one_of_several(self, number: int) -> bool:
        """Whether something else is made of all parts that its round has loaded for it."""
        here = self.fates.made_of[number] & self._loads
        parts = [load for load in bits(here) if self._round(load) == self._round(number)]
        return bool(parts) and all(self._straight >> load & 1 for load in parts)

    def is_picked(self, op: Operation) -> bool:
        """Whether something in the loop that is done in some of its rounds only takes the results
        that come to something, which are no sums."""
        mine = self._steps(op)
        made = mine & self.fates.reached
        takes = [
            n for n, found in enumerate(self.fates.taken) if found & made and not mine >> n & 1
        ]
        calls = {_place(self.fates.steps[n].operation) for n in takes if self._round(n) is not None}
        few = any(len(self._rounds(self._by_operation[c])) < len(self.all(op)) for c in calls)
        return few and not self._adds(op)

    def _adds(self, op: Operation) -> bool:
        """Whether it adds to a constant that it finds in its place."""
        steps = self.fates.steps
        return any(
            not (steps[before].reads or steps[before].part) and self._round(before) is not None
            for number in bits(self._steps(op))
            for before in bits(self.fates.surely[number])
        )

    def _is_taken(self, number: int) -> bool:
        return any(taken >> number & 1 for taken in self.fates.taken)

    def replaced(self, op: Operation) -> int | None:
        """What a load before the loop has left, and another one of the loop fills again."""
        for number in bits(self._steps(op)):
            again = self.fates.filled.get(number)
            if again is not None and self._round(number) is None and not self._is_taken(number):
                step, other = self.fates.steps[number], self.fates.steps[again]
                loads = step.part and other.part and step.part != other.part
                if loads and other.round is not None and other.operation.path:
                    return number
        return None

    def begun_anew(self, op: Operation) -> int | None:
        """What begins a sum, or goes on with one, of which nothing comes to anything, and that is
        overwritten."""
        fates = self.fates
        sums = sum(numbers for call, numbers in self._by_operation.items() if call in self.going_on)
        for number in bits(self._steps(op)):
            again = fates.filled.get(number)
            if (
                again is not None
                and self._round(number) is not None
                and fates.steps[number].sure
                and fates.is_lost(number)
                and not self._is_taken(number)
                and not fates.behind[again] >> number & 1
                and fates.made_of[number] & self._loads
                and any(fates.in_one_place(number, other) for other in bits(sums))
                and not any(
                    fates.in_one_place(number, other)
                    for other in bits(fates.behind[number] & fates.reached)
                )
            ):
                return number
        return None


__all__ = ["Lost", "Places", "lost_rounds"]
