"""Results of which nothing comes to what is stored.

All operations are followed (:mod:`rules.tpu.steps`): those of a loop with one round, with two, and
so on (:mod:`rules.tpu.rounds`), those of a run, or of a loop over a list, round by round as they
are, and once more those of all loops in two rounds that may be any.
These are faults:

- nothing comes to a store of any result of a call, and nothing else reads them: where something
  does, that is told;
- a sum is gone on with when it was stored for the last time, in one place: the last part, which
  nothing else is made of, is missing there. Where sums go to different places, what is added last
  may be no more than was begun for a next one;
- of however many rounds the last few alone are for something: what each of the others has made of a
  part of its own comes to nothing. A result that is made of what went through all rounds, as a sum
  did, is not of its own;
- a sum, or whatever else goes on with what earlier rounds have left, is begun anew before anything
  has come of it, while something has of others of the same loop; or nothing comes of all that is
  added up in one place, while something does of the sums in others;
- a part of an input comes to nothing, while the next one, or the one before, is taken twice;
- what was loaded before a loop is replaced by one of its rounds before anything has read it. (Not
  where it may be meant for no rounds at all.)

What is made in every third round only, say, or is one more than is needed, may be meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from enum import Enum
from functools import cached_property
from types import MappingProxyType
from typing import Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rules.tpu.carried import carried
from rules.tpu.course import Course
from rules.tpu.rounds import Places
from rules.tpu.steps import Call, Fates, Step, bits
from rules.tpu.unrolled import (
    AS_THEY_ARE,
    MOST_ROUNDS,
    Event,
    Rounded,
    Size,
    Unrolled,
    in_any_rounds,
    sizes,
    without,
)
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool
from verifier.symbolic.memory.known import MOST_TURNS
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Operation, Round

PlaceT = TypeVar("PlaceT")

#: so many numbers of rounds are looked at
_SIZES: Final = MOST_TURNS
#: so many rounds may be the last few
_LAST: Final = 3
#: of so many rounds none is an exception
_FEW: Final = 2
#: in so many rounds places in turn are taken again
_MANY: Final = _FEW + _LAST


class Why(Enum):
    """How results are lost."""

    NEVER = "nothing hangs on any of them"
    LATE = "they go on with a sum that was stored for the last time"
    ROUNDS = "those of some rounds are"


class Loss(Struct, frozen=True):
    """What ``lost`` has left is for nothing unless ``fine`` holds; ``again`` fills its place;
    ``load`` has brought the part that is missing in a sum."""

    why: Why
    lost: Operation
    fine: Bool = E.FALSE
    given: tuple[Bool, ...] = ()
    exact: bool = True
    again: Operation | None = None
    load: Operation | None = None

    def told(self, check: Check, what: str, by: str | None) -> Iterator[Check]:
        """What is told of it: a check of the operation whose result is lost, ``what``, in other
        words if it is not lost each time; and where it is not exact another one, of all other
        sizes. ``by``: what fills its place."""
        path = check.path if self.why is Why.NEVER else ()  # (else it may speak of the round)
        reached = (Note(at, "by this call") for at in self.lost.called if isinstance(at, Span))
        notes = (*check.notes, *reached)
        sure = replace(check, predicate=self.fine, given=self.given, path=path, notes=notes)
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
        yield sure
        if not self.exact:
            yield replace(
                sure,
                predicate=E.FALSE,
                given=(*self.given, self.fine),
                exact=False,
                reason="for which sizes it is so is not known",
            )


def losses(
    operations: Sequence[Operation],
    places: Places[PlaceT],
    stores: Set[int],
    judged: Set[int],
    demands: Sequence[Bool],
    spare: Mapping[int, bool] = MappingProxyType({}),
) -> Iterator[Loss]:
    """One for each call whose results may be lost in one of these ways, of those ``judged``.

    ``stores``: the operations of which others than the kernel see something; ``demands``: what
    holds of all sizes; ``spare``: the operations of which nothing need come in any round,
    each with whether it must if something takes the place of what it leaves.
    """
    found = list(sizes(operations, plain=True))
    loops: list[_Gone[PlaceT]] = [
        _Sized(operations, places, size, found, demands) for size in found
    ]
    once = _course(places, list(in_any_rounds(operations)), AS_THEY_ARE)
    if not any(op.loops for op in operations):
        loops = [_Gone(operations, {0: once})]
    loops += _round_by_round(operations, places)
    kept = _carried(operations, places)
    never = _never(operations, once, stores, judged - spare.keys(), kept)
    yield from _all(loops, never, judged, spare, kept)


def losses_in_run(
    operations: Sequence[Operation],
    places: Places[PlaceT],
    judged: Set[int],
    spare: Mapping[int, bool] = MappingProxyType({}),
) -> Iterator[Loss]:
    """As :func:`losses`, of the operations of a run."""
    loops = [*_round_by_round(operations, places)]
    if not any(op.rounds for op in operations):
        events = [Event(op, op.touches) for op in operations]
        loops = [_Gone(operations, {0: _course(places, events, AS_THEY_ARE)})]
    yield from _all(loops, (), judged, spare, _carried(operations, places))


def _round_by_round(
    operations: Sequence[Operation], places: Places[PlaceT]
) -> Iterator[_Gone[PlaceT]]:
    """The loops that are gone round by round, in one round of each around them."""
    together: dict[tuple[Loop, ...], list[Operation]] = {}
    for op in operations:
        together.setdefault(op.loops, []).append(op)
    for group in together.values():
        for around, inside, events in _nests(group):
            outside = _reads_outside(operations, inside, places)
            course = _course(places, events, AS_THEY_ARE, outside)
            yield _Gone(inside, {0: course}, is_whole=not around and len(group) == len(operations))


def _carried(operations: Sequence[Operation], places: Places[PlaceT]) -> Set[Call]:
    """The calls whose results a next round would read: nothing is done for nothing there."""

    def steps(inside: Sequence[Operation]) -> list[Step[PlaceT]]:
        events = [Event(op, op.touches, sure=not op.path) for op in inside]
        return places.steps(events, AS_THEY_ARE)

    return carried(operations, steps, places)


def _all(
    loops: Sequence[_Gone[PlaceT]],
    never: Iterable[Loss],
    judged: Set[int],
    spare: Mapping[int, bool],
    kept: Set[Call],
) -> Iterator[Loss]:
    told: set[Span] = set()
    loops = [each for each in loops if each.courses]
    whole = [each for each in loops if each.is_whole]
    for loss in (*never, *_never_in(whole, judged, spare, kept)):
        if loss.lost.span not in told:
            told.add(loss.lost.span)
            yield loss
    ways = [_Gone.lost] if told else [_Gone[PlaceT].late, _Gone[PlaceT].lost]
    for way in ways:
        for loop in loops:
            for op in loop.operations:
                found = way(loop, op) if id(op) in judged and op.span not in told else None
                if found is not None:
                    told.add(op.span)
                    yield found


def _nests(
    operations: Sequence[Operation],
) -> Iterator[tuple[tuple[Round, ...], list[Operation], list[Event]]]:
    """The loops that operations are in, each in one round of those around it."""
    nests = dict.fromkeys(
        (op.rounds[:depth], op.rounds[depth].loop)
        for op in operations
        for depth in range(len(op.rounds))
    )
    for around, loop in nests:
        depth = len(around)
        inside = [op for op in operations if op.rounds[:depth] == around]
        numbers: dict[Round, int] = {}
        events: list[Event] = []
        paths = [set(map(id, op.path)) for op in inside]
        always = set.intersection(*paths)
        for op, path in zip(inside, paths, strict=True):
            mine = op.rounds[depth] if len(op.rounds) > depth else None
            number = None
            if mine is not None and mine.loop == loop:
                number = numbers.setdefault(mine, len(numbers))
            events.append(Event(op, op.touches, number, sure=path <= always))
        yield around, inside, events


def _reads_outside(
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


def _course(
    places: Places[PlaceT],
    events: Sequence[Event],
    rounded: Rounded,
    outside: Sequence[PlaceT] = (),
) -> Course[PlaceT]:
    return Course(Fates(places.steps(events, rounded), places, outside))


def _never(
    operations: Sequence[Operation],
    once: Course[PlaceT],
    stores: Set[int],
    judged: Set[int],
    kept: Set[Call],
) -> Iterator[Loss]:
    """Calls of which nothing comes to a store, whatever rounds there are; ``once``: in any."""
    useful = _behind(stores, once.fates)
    by_call: dict[Call, list[Operation]] = {}
    for op in operations:
        if id(op) in judged and op.call not in kept:
            by_call.setdefault(op.call, []).append(op)
    others = [op for op in operations if id(op) in useful]
    for first, *more in by_call.values():
        if any(id(op) in useful for op in (first, *more)) or once.is_read(first):
            continue
        if once.is_filled(first) or not _is_surplus(first, others):
            yield Loss(Why.NEVER, first)


def _is_surplus(op: Operation, useful: Sequence[Operation]) -> bool:
    """Whether something comes of it in another call of the function that it stands in, and in this
    one of other things that the function does: a caller may need a part of them only."""
    around = range(1, len(op.called) + 1)
    return any(other.span == op.span for other in useful) and all(
        any(other.called[:depth] == op.called[:depth] for other in useful) for depth in around
    )


def _behind(operations: Set[int], fates: Fates[PlaceT]) -> set[int]:
    """All that some operations hang on, and they themselves, in whatever rounds."""
    takes: dict[int, set[int]] = {}
    for number, step in enumerate(fates.steps):
        taken = takes.setdefault(id(step.operation), set())
        taken.update(id(fates.steps[other].operation) for other in bits(fates.taken[number]))
    found, open_ = set(operations), [*operations]
    while open_:
        more = takes.get(open_.pop(), set()) - found
        found |= more
        open_ += more
    return found


def _never_in(
    loops: Sequence[_Gone[PlaceT]], judged: Set[int], spare: Mapping[int, bool], kept: Set[Call]
) -> Iterator[Loss]:
    """Calls of which nothing comes to a store, however many rounds the loops have that were gone
    through; what may be for nothing is lost where something else takes its place."""
    courses = [course for loop in loops for course in loop.every]
    useful: list[Operation] | None = None
    for op in loops[0].operations if loops else ():
        done = any(course.is_done(op) for course in courses)
        if id(op) not in judged or op.call in kept or not done:
            continue
        lost = (course.is_for_nothing(op) and not course.is_read(op) for course in courses)
        filled = all(course.is_filled(op) for course in courses)
        if not (filled or all(_is_long(each, loops) for each in op.loops)) or not all(lost):
            continue
        if useful is None:
            useful = [each for course in courses for each in course.useful]
        if spare.get(id(op), True) if filled else id(op) not in spare:
            if filled or not _is_surplus(op, useful):
                yield loops[0].told(Why.NEVER, op, None)


def _is_long(loop: Loop, every: Sequence[_Gone[PlaceT]]) -> bool:
    """Whether a loop was gone through with rounds enough for the last one to be no matter: what is
    made for a next one comes to nothing there."""
    return any(
        each.is_of(loop) and course.length >= _MANY
        for each in every
        for course in each.courses.values()
    )


class _Gone(Generic[PlaceT]):
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
    def _largest(self) -> Course[PlaceT]:
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
        return replace(loss, again=None, load=self._largest.fates.steps[load].operation)

    def lost(self, op: Operation) -> Loss | None:
        """If results of some rounds are lost, while those of others are not."""
        inside = any(course.all(op) for course in self.courses.values())
        bad = self._bad(op) if inside else self._put_before(op)
        return self.told(Why.ROUNDS, op, bad) if bad else None

    def _bad(self, op: Operation) -> dict[int, int]:
        """The numbers of rounds at which its results are lost, each with one that is."""
        bad: dict[int, int] = {}
        if any(course.reached(op) for course in self.courses.values()):  # else it is told otherwise
            bad = self._each(lambda course: course.begun_anew(op)) or self._all_but_the_last(op)
            bad = bad or self._added_behind(op)
        if not bad and self._has_some(op):
            bad = self._at_length(lambda course: course.unstored(op))
        if not bad and self._has_some(op):
            bad = self._at_length(lambda course: course.left_out(op))
        return bad or self._each(lambda course: course.unused(op) if self._is_plain else None)

    def _added_behind(self, op: Operation) -> dict[int, int]:
        """Of one sum alone it is told otherwise."""
        late = {value: course.added_behind(op) for value, course in self.courses.items()}
        several = len(late[max(late)]) > 1
        return {value: found[0] for value, found in late.items() if found and several}

    def _has_some(self, op: Operation) -> bool:
        """Whether there are rounds enough for one of them to be unlike the others."""
        return True

    @property
    def _is_plain(self) -> bool:
        """Whether there are as many rounds each time."""
        return True

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
        return found or self._at_length(lambda course: course.left_out(op))

    def _all_but_the_last(self, op: Operation) -> dict[int, int]:
        largest = self._largest
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
        return few == 1 or (few <= _LAST and few + _FEW < every)

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


class _Sized(_Gone[PlaceT]):
    """A loop that is gone through with each of some numbers of rounds."""

    def __init__(
        self,
        operations: Sequence[Operation],
        places: Places[PlaceT],
        size: Size,
        every: Sequence[Size],
        demands: Sequence[Bool],
    ) -> None:
        self._size = size
        self._demands = demands
        self._places = places
        self._unrolled = Unrolled(operations, size.around)
        self.operations = self._unrolled.operations
        self._outside = _reads_outside(operations, self.operations, places)
        self._others = [each for each in every if self._is_other(each)]
        self._others += self._asked()
        #: whether there are never more rounds
        self._ends = size.term.is_const
        super().__init__(self.operations, dict(self._courses()), is_whole=not size.around)

    def _courses(self) -> Iterator[tuple[int, Course[PlaceT]]]:
        begun = False
        for value in (0,) if self._size.term.is_const else range(1, _SIZES + 1):
            rounded = self._rounded(value)
            if self._is_possible(rounded):
                begun, course = True, self._with(rounded)
                if course is None:
                    return
                yield value, course
            elif begun:
                self._ends = True
                return

    def _rounded(self, value: int) -> Rounded:
        return self._size.rounds(value, {each: each.few for each in self._others})

    def _is_possible(self, rounded: Rounded) -> bool:
        puts = rounded.put, rounded.within
        return all(put.bool(each) is not E.FALSE for put in puts for each in self._demands)

    def _with(self, rounded: Rounded) -> Course[PlaceT] | None:
        """None: it is too long, or has no plain number of rounds."""
        trips = rounded.put.expr(self._size.loop.trips)
        events = self._unrolled.events(rounded) if E.le(trips, MOST_ROUNDS) is E.TRUE else None
        return None if events is None else _course(self._places, events, rounded, self._outside)

    def is_of(self, loop: Loop) -> bool:
        return loop.trips is self._size.loop.trips

    @cached_property
    def every(self) -> Sequence[Course[PlaceT]]:
        # (what is put there for the case without a round is meant, even if there always is one)
        none = None if self._size.term.is_const else self._with(self._rounded(0))
        return [*self.courses.values()] if none is None else [none, *self.courses.values()]

    def _asked(self) -> Iterator[Size]:
        """Other numbers that say which rounds an operation is in, as if they were of rounds."""
        size = self._size
        named = {symbol for each in (size, *self._others) for symbol in each.term.free()}
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
            size.term is not self._size.term
            and not size.term.is_const
            and any(size.loop in op.loops for op in self.operations)
            and size.loop not in self._size.around
            and inside.isdisjoint(size.term.free())
        )

    def _has_some(self, op: Operation) -> bool:
        return self._is_plain or len(self._largest.all(op)) >= _MANY

    @property
    def _is_plain(self) -> bool:
        return self._size.term.is_const

    def _is_few(self, few: int, every: int) -> bool:
        return super()._is_few(few, every) and (self._ends or few + _FEW < every)

    def told(self, why: Why, op: Operation, bad: Mapping[int, int] | None) -> Loss:
        fine, exact = E.FALSE, True
        if bad is not None and not self._size.term.is_const:
            if not self._ends:
                fine, exact = without(self._size.term, set(bad), max(self.courses))
            elif len(bad) < len(self.courses):
                fine = E.and_(*(E.ne(self._size.term, value) for value in bad))
        others = self.courses.keys() - (self.courses if bad is None else bad)
        return replace(
            super().told(why, op, bad),
            fine=E.or_(fine, *(E.ne(each.term, each.few) for each in self._others)),
            given=(*(loop.within for loop in self._size.around), *self._unrolled.given),
            exact=exact
            and not self._others
            and all(self.courses[value].fates.is_clear for value in others),
        )


__all__ = ["Loss", "Places", "Why", "losses", "losses_in_run"]
