"""Results of which nothing comes to what is stored.

All operations are followed (:mod:`rules.memory.fates`): those of a loop with one round, with two,
and so on (:mod:`rules.memory.gone`), those of a run, or of a loop over a list, round by round as
they are, and once more those of all loops in two rounds that may be any.
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
- of each of several sums that are made in one place, one after the other, something is taken once,
  and one more part is added behind that;
- a part of an input comes to nothing, while as many are taken as there are: others twice, say;
- of what the rounds of a loop have loaded, all of it for what comes behind the loop, a part is
  taken by nothing. (Not if another load brings it, too.)
- a loop begins with rounds that do nothing but load what later ones overwrite unread
  (:mod:`rules.memory.idle`);
- what was loaded before a loop is replaced by one of its rounds before anything has read it. (Not
  where it may be meant for no rounds at all.)

What is made in every third round only, say, or is one more than is needed, may be meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from rules.memory.carried import carried
from rules.memory.fates import Fates, bits
from rules.memory.gone import MANY, Gone, Loss, Places, Sized, Why, course_of, reads_outside
from rules.memory.steps import AS_THEY_ARE, Call, Event, Step
from rules.memory.unrolled import Size, in_any_rounds, sizes
from verifier.source.ir import Span
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Operation, Round

PlaceT = TypeVar("PlaceT")


class Words(Protocol):
    """How a dialect speaks of operations."""

    facts: tuple[str, ...]

    def function(self, op: Operation) -> str:
        """What a user calls it."""

    def told_of(self, op: Operation, *, writes: bool) -> tuple[str, Span]:
        """What it makes, or what it reads, and where that stands."""

    def never(self, op: Operation) -> Check:
        """That nothing comes of what it makes."""


class Asked(Struct, Generic[PlaceT], frozen=True, eq=False):
    """Operations of which it is asked what results are lost, in their order.

    ``stores``: those of which others than the kernel see something; ``judged``: those that may be
    told of; ``demands``: what holds of all sizes; ``spare``: the operations of which nothing need
    come in any round, each with whether it must if something takes the place of what it leaves.
    ``run``: they are those of a run. ``never``: it is told, too, if nothing comes of any result.
    """

    operations: Sequence[Operation]
    places: Places[PlaceT]
    stores: Set[int]
    judged: Set[int]
    words: Words
    demands: Sequence[Bool] = ()
    spare: Mapping[int, bool] = MappingProxyType({})
    run: bool = False
    never: bool = True


def lost(asked: Asked[PlaceT], loops: Sequence[Gone[PlaceT]]) -> Iterator[Check]:
    """One for each call whose results may be lost in one of these ways; ``loops``: as they are
    gone through (:func:`gone`)."""
    words = asked.words
    for loss in _all(asked, [each for each in loops if each.courses]):
        again = None if loss.again is None else words.function(loss.again)
        what, _ = words.told_of(loss.lost, writes=True)
        yield from loss.told(words.never(loss.lost), what, again)


def gone(
    asked: Asked[PlaceT], wanted: Callable[[Size], bool] = lambda size: True
) -> Iterator[Gone[PlaceT]]:
    """All ``wanted`` loops, each with some numbers of rounds or as it is gone through; operations
    that are in no loop are gone through as they are."""
    operations, places = asked.operations, asked.places
    found = list(sizes(operations, plain=True))
    for size in filter(wanted, found):
        yield Sized(operations, places, size, found, asked.demands)
    in_none = not any(op.rounds for op in operations) if asked.run else not found
    if in_none:
        events = [Event(op, op.touches, sure=asked.run or not op.path) for op in operations]
        yield Gone(operations, {0: course_of(places, events, AS_THEY_ARE)})
    yield from _round_by_round(operations, places)


def _round_by_round(
    operations: Sequence[Operation], places: Places[PlaceT]
) -> Iterator[Gone[PlaceT]]:
    """The loops that are gone round by round, in one round of each around them."""
    together: dict[tuple[Loop, ...], list[Operation]] = {}
    for op in operations:
        together.setdefault(op.loops, []).append(op)
    for group in together.values():
        for around, inside, events in _nests(group):
            outside = reads_outside(operations, inside, places)
            course = course_of(places, events, AS_THEY_ARE, outside)
            yield Gone(inside, {0: course}, is_whole=not around and len(group) == len(operations))


def _carried(asked: Asked[PlaceT]) -> Set[Call]:
    """The calls whose results a next round would read: nothing is done for nothing there."""

    def steps(inside: Sequence[Operation]) -> list[Step[PlaceT]]:
        events = [Event(op, op.touches, sure=not op.path) for op in inside]
        return asked.places.steps(events, AS_THEY_ARE)

    return carried(asked.operations, steps, asked.places)


def _all(asked: Asked[PlaceT], loops: Sequence[Gone[PlaceT]]) -> Iterator[Loss]:
    told: set[Span] = set()
    for loss in _of_any_round(asked, loops) if asked.never else ():
        if loss.lost.span not in told:
            told.add(loss.lost.span)
            yield loss
    ways = [Gone.lost] if told else [Gone[PlaceT].late, Gone[PlaceT].lost]
    for way in ways:
        for loop in loops:
            fine: set[object] = set()  # (of a call it is asked once, however often it is done)
            for op in loop.operations:
                call = op.call, op.loops
                judged = id(op) in asked.judged and op.span not in told and call not in fine
                found = way(loop, op) if judged else None
                if judged and found is None:
                    fine.add(call)
                elif found is not None:
                    told.add(op.span)
                    yield found


def _of_any_round(asked: Asked[PlaceT], loops: Sequence[Gone[PlaceT]]) -> Iterator[Loss]:
    whole = [each for each in loops if each.is_whole]
    kept = _carried(asked)
    if not asked.run:
        yield from _never(asked, kept)
    yield from _never_in(asked, whole, kept)


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


def _never(asked: Asked[PlaceT], kept: Set[Call]) -> Iterator[Loss]:
    """Calls of which nothing comes to a store, whatever rounds there are."""
    operations, judged = asked.operations, asked.judged - asked.spare.keys()
    once = course_of(asked.places, list(in_any_rounds(operations)), AS_THEY_ARE)
    useful = _behind(asked.stores, once.fates)
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
    asked: Asked[PlaceT], loops: Sequence[Gone[PlaceT]], kept: Set[Call]
) -> Iterator[Loss]:
    """Calls of which nothing comes to a store, however many rounds the loops have that were gone
    through; what may be for nothing is lost where something else takes its place."""
    courses = [course for loop in loops for course in loop.every]
    useful: list[Operation] | None = None
    for op in loops[0].operations if loops else ():
        done = any(course.is_done(op) for course in courses)
        if id(op) not in asked.judged or op.call in kept or not done:
            continue
        lost = (course.is_for_nothing(op) and not course.is_read(op) for course in courses)
        filled = all(course.is_filled(op) for course in courses)
        if not (filled or all(_is_long(each, loops) for each in op.loops)) or not all(lost):
            continue
        if useful is None:
            useful = [each for course in courses for each in course.useful]
        if asked.spare.get(id(op), True) if filled else id(op) not in asked.spare:
            if filled or not _is_surplus(op, useful):
                yield loops[0].told(Why.NEVER, op, None)


def _is_long(loop: Loop, every: Sequence[Gone[PlaceT]]) -> bool:
    """Whether a loop was gone through with rounds enough for the last one to be no matter: what is
    made for a next one comes to nothing there."""
    return any(
        each.is_of(loop) and course.length >= MANY
        for each in every
        for course in each.courses.values()
    )


__all__ = ["Asked", "Words", "gone", "lost"]
