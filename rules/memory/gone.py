"""Loops that are gone through, and what results of theirs are lost (:mod:`rules.memory.course`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from enum import Enum
from functools import cached_property
from typing import Final, Generic, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rules.memory.course import Course
from rules.memory.fates import Fates, Meets
from rules.memory.steps import AS_THEY_ARE, Event, Rounded, Step
from rules.memory.unrolled import (
    FEW,
    MOST_ROUNDS,
    Size,
    Unrolled,
    in_any_rounds,
    without,
)
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
_LAST: Final = 3
#: in so many rounds places in turn are taken again
MANY: Final = FEW + _LAST


class Places(Meets[PlaceT], Protocol[PlaceT]):
    """Which places operations come to, in one dialect."""

    def steps(self, events: Sequence[Event], rounded: Rounded) -> list[Step[PlaceT]]:
        """Operations in turn, with the places that they come to then."""


class Why(Enum):
    """How results are lost."""

    NEVER = "nothing hangs on any of them"
    LATE = "they go on with a sum that was stored for the last time"
    ROUNDS = "those of some rounds are"


class Fine(Struct, frozen=True):
    """For which sizes something is right, where ``given`` holds; ``exact``: for no others."""

    predicate: Bool = E.FALSE
    given: tuple[Bool, ...] = ()
    exact: bool = True

    def checks(self, check: Check) -> Iterator[Check]:
        """That it is; where that is not exact, another one of all sizes."""
        yield replace(check, predicate=self.predicate, given=self.given)
        if not self.exact:
            yield replace(
                check,
                predicate=E.FALSE,
                given=(*self.given, self.predicate),
                exact=False,
                reason="for which sizes it is so is not known",
            )


class Loss(Struct, frozen=True):
    """What ``lost`` has left is for nothing unless ``fine`` holds; ``again`` fills its place;
    ``load`` has brought the part that is missing in a sum."""

    why: Why
    lost: Operation
    fine: Fine = Fine()
    again: Operation | None = None
    load: Operation | None = None

    def told(self, check: Check, what: str, by: str | None) -> Iterator[Check]:
        """What is told of it: a check of the operation whose result is lost, ``what``, in other
        words if it is not lost each time; and where it is not exact another one, of all other
        sizes. ``by``: what fills its place."""
        path = check.path if self.why is Why.NEVER else ()  # (else it may speak of the round)
        reached = (Note(at, "by this call") for at in self.lost.called if isinstance(at, Span))
        notes = (*check.notes, *reached)
        sure = replace(check, path=path, notes=notes)
        if self.why is Why.LATE and self.load is not None:
            sure = replace(
                sure,
                text=f"what is stored has all that {what} adds up",
                message=f"{what} goes on with a sum after that was stored for the last time: the "
                "last part comes to no store",
                notes=(*notes, Note(self.load.span, "the part is loaded here")),
                help=("store the sum behind the last addition",),
            )
        elif self.why is Why.ROUNDS:
            message = f"nothing that is stored is made of {what} of some rounds"
            if self.again is not None:
                message = (
                    f"{what} is overwritten by `{by}` in a later round before anything has read it"
                )
                notes = (*notes, Note(self.again.span, "overwritten here, in a later round"))
            sure = replace(
                sure,
                text=f"something that is stored is made of {what} of each round",
                message=message,
                notes=notes,
                help=("add up what the rounds make, or use it before the next one begins",),
                order=max(op.order for op in (self.lost, self.again) if op is not None),
            )
        yield from self.fine.checks(sure)


def reads_outside(
    operations: Sequence[Operation], inside: Sequence[Operation], places: Places[PlaceT]
) -> list[PlaceT]:
    """What others of the operations than these read, in whatever rounds, and may do after them."""
    own = set(map(id, inside))
    first = inside[0] if inside else None
    others = [
        op for op in operations if id(op) not in own and first is not None and _follows(op, first)
    ]
    return [
        place
        for step in places.steps(list(in_any_rounds(others)), AS_THEY_ARE)
        for place in step.reads
    ]


def _follows(op: Operation, first: Operation) -> bool:
    """Whether an operation may come after another one: behind it, or in a loop around both."""
    together = bool(set(op.loops) & set(first.loops)) or (
        bool(op.rounds and first.rounds) and op.rounds[0].loop == first.rounds[0].loop
    )
    return op.order > first.order or together


def course_of(
    places: Places[PlaceT],
    events: Sequence[Event],
    rounded: Rounded,
    outside: Sequence[PlaceT] = (),
) -> Course[PlaceT]:
    return Course(Fates(places.steps(events, rounded), places, outside))


class Gone(Generic[PlaceT]):
    """Operations that are gone through, or a loop is: by the number of rounds that was put in.

    ``is_whole``: it is all of them.
    """

    def __init__(
        self,
        operations: Sequence[Operation],
        courses: Mapping[int, Course[PlaceT]],
        *,
        is_whole: bool = True,
    ) -> None:
        self.operations = operations
        self.courses = courses
        self.is_whole = is_whole
        sums = {call for course in courses.values() for call in course.going_on}
        for course in courses.values():
            course.follow(sums)

    def is_of(self, loop: Loop) -> bool:
        """Whether it is this loop that is gone through."""
        return False

    @property
    def every(self) -> Sequence[Course[PlaceT]]:
        """That without a round, too."""
        return [*self.courses.values()]

    @property
    def largest(self) -> Course[PlaceT]:
        return self.courses[max(self.courses)]

    def late(self, op: Operation) -> Loss | None:
        """If it goes on with a sum that was stored for the last time."""
        found = {value: course.added_last(op) for value, course in self.courses.items()}
        late = {value: each for value, each in found.items() if each is not None}
        if max(self.courses) not in late:
            return None
        _, load = late[max(late)]
        bad = {value: last for value, (last, _) in late.items()}
        for value, course in self.courses.items():  # (of fewer rounds nothing may be stored at all)
            if course.is_done(op) and course.is_for_nothing(op):
                bad[value] = 0
        loss = self.told(Why.LATE, op, bad)
        return replace(loss, again=None, load=self.largest.fates.steps[load].operation)

    def lost(self, op: Operation) -> Loss | None:
        """If results of some rounds are lost, while those of others are not."""
        inside = any(course.all(op) for course in self.courses.values())
        bad = self._bad(op) if inside else self._put_before(op)
        return self.told(Why.ROUNDS, op, bad) if bad else None

    def _bad(self, op: Operation) -> dict[int, int]:
        """The numbers of rounds at which its results are lost, each with one that is."""
        bad = self._each(lambda course: course.begun_anew(op))
        if not bad and any(course.reached(op) for course in self.courses.values()):
            bad = self._all_but_the_last(op) or self._added_behind(op)
        if not bad and self._has_some(op):
            bad = self._at_length(lambda course: course.unstored(op))
        if not bad and self._has_some(op):
            bad = self._at_length(lambda course: course.left_out(op))
        return bad or self._idle(op) or self._unused(op)

    def _idle(self, op: Operation) -> dict[int, int]:
        """As many rounds of which nothing comes with each number of rounds that shows it."""
        found = {value: course.idle(op) for value, course in self.courses.items()}
        idle = {value: each for value, each in found.items() if each is not None}
        shown = {value: each.load for value, each in idle.items() if each.shown}
        alike = len({each.rounds for each in idle.values()}) == 1
        return shown if alike and max(found) in shown else {}

    def _unused(self, op: Operation) -> dict[int, int]:
        if not self.is_plain:
            return {}
        return self._each(lambda course: course.unused(op, in_full=self.is_in_full))

    def _added_behind(self, op: Operation) -> dict[int, int]:
        """Of one sum alone it is told otherwise."""
        late = {value: course.added_behind(op) for value, course in self.courses.items()}
        several = len(late[max(late)]) > 1
        return {value: found[0] for value, found in late.items() if found and several}

    def _has_some(self, op: Operation) -> bool:
        """Whether there are rounds enough for one of them to be unlike the others."""
        return True

    @property
    def is_plain(self) -> bool:
        """Whether there are as many rounds each time."""
        return True

    @property
    def is_in_full(self) -> bool:
        """Whether every loop is gone through with all rounds that it ever has."""
        return self.is_plain

    def _each(self, find: Callable[[Course[PlaceT]], int | None]) -> dict[int, int]:
        """The numbers of rounds at which something is found, and what."""
        found = {value: find(course) for value, course in self.courses.items()}
        return {value: step for value, step in found.items() if step is not None}

    def _at_length(self, find: Callable[[Course[PlaceT]], int | None]) -> dict[int, int]:
        """As :meth:`_each`, of what goes on like that with the most rounds, too."""
        found = self._each(find)
        return found if max(self.courses) in found else {}

    def _put_before(self, op: Operation) -> dict[int, int]:
        found = self._each(lambda course: course.replaced(op))
        found = found or self._at_length(lambda course: course.left_out(op))
        return found or self._unused(op)

    def _all_but_the_last(self, op: Operation) -> dict[int, int]:
        largest = self.largest
        every, few = len(largest.all(op)), len(largest.reached(op))
        if not 1 <= few < every or largest.is_picked(op) or not self._is_few(few, every):
            return {}
        bad: dict[int, int] = {}
        for value, course in self.courses.items():
            rounds, found = course.all(op), course.reached(op)
            if not set(found) <= set(rounds[-few:]):
                return {}
            if len(found) < len(rounds):
                step = course.own(op, [number for number in rounds if number not in found])
                if step is None:
                    return {}
                bad[value] = step
        return bad

    def _is_few(self, few: int, every: int) -> bool:
        """Whether so many of all rounds are but the last few."""
        return few == 1 or (few <= _LAST and few + FEW < every)

    def told(self, why: Why, op: Operation, bad: Mapping[int, int] | None) -> Loss:
        """``bad``: the numbers of rounds at which it is lost, each with a step that is; None: it is
        with any."""
        least = min(bad or self.courses)
        again = None if bad is None else self.courses[least].fates.filled.get(bad[least])
        return Loss(
            why,
            op,
            again=None if again is None else self.courses[least].fates.steps[again].operation,
        )


class Sized(Gone[PlaceT]):
    """A loop that is gone through with each of some numbers of rounds."""

    def __init__(
        self,
        operations: Sequence[Operation],
        places: Places[PlaceT],
        size: Size,
        every: Sequence[Size],
        demands: Sequence[Bool],
    ) -> None:
        self.size = size
        self._demands = demands
        self.places = places
        self.unrolled = Unrolled(operations, size.around)
        self.operations = self.unrolled.operations
        self._outside = reads_outside(operations, self.operations, places)
        self.others = [each for each in every if self._is_other(each)]
        self.others += self._asked()
        #: whether there are never more rounds
        self.ends = size.term.is_const
        super().__init__(self.operations, dict(self._courses()), is_whole=not size.around)

    def _courses(self) -> Iterator[tuple[int, Course[PlaceT]]]:
        for value in (0,) if self.size.term.is_const else self._values():
            course = self._with(self.rounded(value))
            if course is None:
                return
            yield value, course

    def _values(self) -> Iterator[int]:
        """The least ones that are possible; if these are too many rounds to look at, the least that
        there are."""
        first = next(filter(self._is_possible, range(1, MOST_ROUNDS)), None)
        for value in range(first or 1, (first or 1) + _SIZES):
            if first is not None and not self._is_possible(value):
                self.ends = True
                return
            yield value

    def rounded(self, value: int) -> Rounded:
        return self.size.rounds(value, {each: each.few for each in self.others})

    def _is_possible(self, value: int) -> bool:
        rounded = self.rounded(value)
        puts = rounded.put, rounded.within
        return all(put.bool(each) is not E.FALSE for put in puts for each in self._demands)

    def _with(self, rounded: Rounded) -> Course[PlaceT] | None:
        """None: it is too long, or has no plain number of rounds."""
        events = self.unrolled.in_full(rounded) if self.is_plain else None
        trips = rounded.put.expr(self.size.loop.trips)
        if events is None and E.le(trips, MOST_ROUNDS) is E.TRUE:
            events = self.unrolled.events(rounded)
        return None if events is None else course_of(self.places, events, rounded, self._outside)

    def is_of(self, loop: Loop) -> bool:
        depth = len(self.size.around)
        beside = (op.loops[depth] for op in self.operations if len(op.loops) > depth)
        together = self.is_plain and loop.trips.is_const and any(loop is each for each in beside)
        return loop.trips is self.size.loop.trips or together

    @cached_property
    def every(self) -> Sequence[Course[PlaceT]]:
        # (what is put there for the case without a round is meant, even if there always is one)
        none = None if self.size.term.is_const else self._with(self.rounded(0))
        return [*self.courses.values()] if none is None else [none, *self.courses.values()]

    def _asked(self) -> Iterator[Size]:
        """Other numbers that say which rounds an operation is in, as if they were of rounds."""
        size = self.size
        named = {symbol for each in (size, *self.others) for symbol in each.term.free()}
        for op in self.operations:
            inside = {loop.symbol for loop in op.loops[len(size.around) :]}
            for fact in op.path:
                own = set(fact.free())
                for symbol in own - inside - named if own & inside else ():
                    if symbol.origin in E.GIVEN:
                        named.add(symbol)
                        yield Size(size.around, size.loop, E.from_atom(symbol))

    def _is_other(self, size: Size) -> bool:
        """Whether the number of rounds of another loop may be put in beside."""
        inside = {loop.symbol for op in self.operations for loop in op.loops}
        return (
            size.term is not self.size.term
            and not size.term.is_const
            and any(size.loop in op.loops for op in self.operations)
            and size.loop not in self.size.around
            and inside.isdisjoint(size.term.free())
        )

    def _has_some(self, op: Operation) -> bool:
        return self.is_plain or len(self.largest.all(op)) >= MANY

    @property
    def is_plain(self) -> bool:
        return self.size.term.is_const

    @property
    def is_in_full(self) -> bool:
        return self.is_plain and not self.others

    def _is_few(self, few: int, every: int) -> bool:
        return super()._is_few(few, every) and (self.ends or few + FEW < every)

    def told(self, why: Why, op: Operation, bad: Mapping[int, int] | None) -> Loss:
        fine = self.fine(None if bad is None else bad.keys())
        others = self.courses.keys() - (self.courses if bad is None else bad)
        clear = all(self.courses[value].fates.is_clear for value in others)
        return replace(super().told(why, op, bad), fine=replace(fine, exact=fine.exact and clear))

    def fine(self, bad: Set[int] | None) -> Fine:
        """``bad``: the numbers of rounds at which something is wrong; None: it is with any."""
        fine, exact = E.FALSE, True
        if bad is not None and not self.size.term.is_const:
            if not self.ends:
                fine, exact = without(self.size.term, set(bad), max(self.courses))
            elif len(bad) < len(self.courses):
                fine = E.and_(*(E.ne(self.size.term, value) for value in sorted(bad)))
        return Fine(
            E.or_(fine, *(E.ne(each.term, each.few) for each in self.others)),
            (*(loop.within for loop in self.size.around), *self.unrolled.given),
            exact and not self.others,
        )


__all__ = ["MANY", "Gone", "Loss", "Places", "Sized", "Why", "course_of", "reads_outside"]
