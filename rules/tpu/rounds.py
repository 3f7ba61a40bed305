"""Pipelines: whether all parts of an input go alike through the rounds of a loop.

A loop with any number of rounds is looked at with one round, with two, and so on up to a few more
than places are taken in turn and stages are apart: what goes astray in a longer one does so in one
of these. What becomes of the parts then is :mod:`rules.tpu.parts`; here is for which numbers of
rounds that is a fault.

How far the next part is away say the addresses of the loads and stores of the loop. Where they do
not go on evenly, the kernel says by itself that parts are used otherwise: nothing is said then, nor
where other loads of the loop take some of them from elsewhere. What is loaded from one address in
whatever round, or every few rounds only, is used on purpose in all of them, too; and so is what is
taken twice in a loop of few rounds alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

from msgspec.structs import replace

from rules.memory.fates import Fates
from rules.memory.gone import Places, Sized
from rules.memory.losses import Asked, Words, gone, lost
from rules.memory.steps import AS_THEY_ARE, Event, OffChip, Step, path_of
from rules.memory.unrolled import LONGEST, Size, Unrolled
from rules.tpu import parts
from rules.tpu.parts import Arrival, Astray, Column, Content, Journey, Pace, journey_of
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Expr
from verifier.symbolic.tensors import Loop, Storage
from verifier.symbolic.trace import Operation

PlaceT = TypeVar("PlaceT")

#: fewer numbers of rounds tell nothing of others
_FEWEST: Final = LONGEST + 1


# ----------------------------------------------------------------------------- the pace


class Paces:
    """How far the loads and stores of a loop go from round to round."""

    def __init__(
        self, operations: Sequence[Operation], places: Places[Any], loop: Loop, depth: int
    ) -> None:
        self.depth = depth
        inside = [
            op for op in operations if len(op.loops) > depth and op.loops[depth].trips is loop.trips
        ]
        self._steps_of = places.steps([Event(op, op.touches) for op in inside], AS_THEY_ARE)

    def pace(self, output: Storage, column: Column, put: E.Substitution) -> Pace | None:
        """None: they go on otherwise than evenly, or there are none in the loop."""
        loads = [
            step for step in self._of(column.storage, writes=False) if column.brings(step.operation)
        ]
        stores = self._of(output, writes=True)
        if not loads or not stores or len({id(_offset(step, False)) for step in loads}) > 1:
            return None
        brought = [self._steps(step, False) for step in loads]
        taken = [self._steps(step, True) for step in stores]
        if any(steps != brought[0] for steps in brought) or any(s != taken[0] for s in taken):
            return None
        if not _proportional(brought[0], taken[0]):
            return None
        (first, *_), (to, *_) = brought[0], taken[0]
        own = next(step for step in reversed(brought[0]) if step is not None)
        if first is None or to is None:
            return None
        return Pace(put.expr(to), put.expr(first), put.expr(own))

    def _of(self, storage: Storage, *, writes: bool) -> list[Step[Any]]:
        return [
            step
            for step in self._steps_of
            if any(region.storage is storage for region in (step.stores if writes else step.loads))
        ]

    def _steps(self, step: Step[Any], writes: bool) -> list[Expr | None]:
        """By loop how far it goes on from one round to the next; None: unevenly, or not at all."""
        offset = _offset(step, writes)
        out: list[Expr | None] = []
        for loop in step.operation.loops[self.depth :]:
            further = E.Substitution({loop.symbol: loop.index + 1})
            far = None if offset is None else further.expr(offset) - offset
            even = far is not None and loop.symbol not in far.free() and far is not E.const(0)
            out.append(far if even else None)
        return out


def _offset(step: Step[Any], writes: bool) -> Expr | None:
    found: tuple[OffChip, ...] = step.stores if writes else step.loads
    return found[0].begin if len(found) == 1 else None


def _proportional(one: Sequence[Expr | None], other: Sequence[Expr | None]) -> bool:
    if len(one) != len(other) or not one:
        return False
    first, to = one[0], other[0]
    if first is None or to is None:
        return False
    pairs = zip(one, other, strict=True)
    return all(a is not None and b is not None and a * to is b * first for a, b in pairs)


# ----------------------------------------------------------------------------- of a trace


class Rounds(Generic[PlaceT]):
    """The pipelines of a trace, of one loop or of several with as many rounds."""

    def __init__(self, loop: Sized[PlaceT], words: Words) -> None:
        self.loop = loop
        self.size = loop.size
        self.paces = Paces(loop.operations, loop.places, loop.size.loop, len(loop.size.around))
        self._words = words

    @cached_property
    def journeys(self) -> dict[int, Journey]:
        """By the size that was put in."""
        return {
            value: journey_of(course.fates, self.loop.rounded(value).put)
            for value, course in self.loop.courses.items()
        }

    def checks(self) -> Iterator[Check]:
        found = self.journeys
        if not found or (max(found) < _FEWEST and not self.loop.ends):
            return
        astray: dict[int, list[Astray]] = {value: [] for value in found}
        alone: dict[int, list[Astray]] = {value: [] for value in found}
        ending: set[object] = set()
        repeated = {value: self._repeated(value) for value in found}
        goes_on = any(each for value in [*found][-LONGEST:] for each in repeated[value])
        for value in (value for value, way in found.items() if not way.raced):
            for sure, others in (repeated[value] if goes_on else ([], []), self._left_out(value)):
                astray[value] += sure
                alone[value] += others
            astray[value] += self._passed_over(value)
            astray[value] += self._unstored(value)
            astray[value] += parts.overtaken(found[value])
            astray[value] += parts.mixed(found[value])
            early = parts.ends_early(found[value])
            astray[value] += early.values()
            ending |= early.keys()
        for value, way in found.items():
            if ending and not astray[value]:  # of so few rounds it does not show by itself
                again = (parts.taken_again(way, key) for key in ending)
                alone[value] += (each for each in again if each is not None)
        since = _since({value for value in found if self._behind(value)}, max(found))
        for value in found:
            behind = self._behind(value, others=value < since)
            (astray if value >= since else alone)[value] += behind
        first = _since({value for value, each in astray.items() if each}, max(found))
        if first <= max(found):  # below, the same may be a fault, but does not show
            alone = {v: each for v, each in alone.items() if v < first and not astray[v]}
            yield from self._told({v: alone.get(v, []) for v in found}, sure=False)
        least = min((value for value, each in astray.items() if each), default=None)
        for value, way in found.items():
            if least is not None and value > least and way.raced:
                astray[value] += astray[least]  # one is as wrong as the other
        yield from self._told(astray, sure=True)

    def _told(self, astray: Mapping[int, Sequence[Astray]], *, sure: bool) -> Iterator[Check]:
        """``sure``: that it is a fault shows for each of the sizes by itself."""
        bad = {value: each for value, each in astray.items() if each}
        if not bad:
            return
        check, fine = told(bad[min(bad)][0], self._words), self.loop.fine(set(bad))
        if sure:
            yield from fine.checks(check)
        else:
            reason = "what the only part is to go through is not known"
            (given, predicate) = fine.given, fine.predicate
            yield replace(check, predicate=predicate, given=given, exact=False, reason=reason)

    def _repeated(self, value: int) -> tuple[list[Astray], list[Astray]]:
        """The second ones: out of step, but none of them twice and none left out, or nothing that a
        run of so many rounds shows by itself."""
        journey = self.journeys[value]
        shown = any(each.why == parts.REPEATED for each in _one_by_one(journey, meant=False))
        out: list[Astray] = []
        alone: list[Astray] = []
        for group in parts.groups(journey):
            for column in parts.columns(group):
                pace = self.paces.pace(group[0].storage, column, self.loop.rounded(value).put)
                if pace is None or self._is_held(column, len(column.loaded(journey)) < len(group)):
                    continue
                wrong = out if shown and parts.is_astray(journey, group, column, pace) else alone
                for n in parts.out_of_step(group, column.parts, pace):
                    wrong.append(Astray(group[n].store, column.parts[n].load, parts.REPEATED))
        return out, alone

    def _is_held(self, column: Column, rarer: bool) -> bool:
        """Whether a part is loaded every few rounds only, to be used in all of them; ``rarer``:
        less often than something is stored."""
        symbol = self.size.loop.symbol
        facts = (fact for part in column.parts for fact in path_of(part.load.operation))
        return rarer and any(
            isinstance(atom, E.Div) and symbol in E.from_atom(atom).free()
            for fact in facts
            if fact.expr is not None
            for atom in fact.expr.atoms()
        )

    def _passed_over(self, value: int) -> Iterator[Astray]:
        put = self.loop.rounded(value).put
        return parts.passed_over(
            self.journeys[value],
            lambda group, column: (
                self.paces.pace(group[0].storage, column, put) or parts.between(group, column)
            ),
        )

    def _left_out(self, value: int) -> tuple[list[Astray], list[Astray]]:
        """``alone``: those beside which no other part goes the whole way."""
        journey = self.journeys[value]
        out: list[Astray] = []
        alone: list[Astray] = []
        for group in parts.groups(journey):
            whole = self._whole(group)
            if whole is None:
                continue
            shown = parts.spans(parts.longest(group)) == parts.spans(whole)
            for arrival, call in parts.left_out(group, whole):
                load = parts.parts_of(arrival)[0].load
                (out if shown else alone).append(Astray(arrival.store, load, parts.LEFT_OUT, call))
        return out, alone

    def _whole(self, group: Sequence[Arrival]) -> Content | None:
        """What goes through most calls where there are most rounds, each of them in all rounds from
        some on, or up to some."""
        journey = self.journeys[max(self.journeys)]
        groups = parts.groups(journey)
        longest = next((each for each in groups if each[0].storage is group[0].storage), None)
        whole = None if longest is None else parts.longest(longest)
        if whole is None or len(whole.parts) != len(parts.parts_of(group[0])):
            return None
        steady = (self._steady(call.operation) for call in whole.way)
        return whole if all(steady) else None

    def _behind(self, value: int, *, others: bool = False) -> list[Astray]:
        """Results that are left behind, of parts that the loop means to load; ``others``: by calls
        whose results arrive where there are most rounds."""
        if self.size.around or value not in self.journeys:
            return []
        largest = self.journeys[max(self.journeys)]
        steady = all(self._steady(each.store.operation) for each in largest.arrivals)
        if not steady and next(self._passed_over(max(self.journeys)), None) is None:
            return []
        journey = self.journeys[value]
        many = self.size.loop.trips is self.size.term
        found = parts.left_behind(journey, largest if others else journey, many)
        return [each for each in found if _ends(each, self.size)]

    def _unstored(self, value: int) -> Iterator[Astray]:
        """Results of so few rounds that nothing is stored at all."""
        journey, largest = self.journeys[value], self.journeys[max(self.journeys)]
        if largest.arrivals and not journey.arrivals:
            yield from filter(_is_made, parts.left_behind(journey, largest))

    def _steady(self, operation: Operation) -> bool:
        """Whether it is in all rounds from some on, or up to some, where there are most rounds."""
        steps = self.loop.largest.fates.steps
        rounds = {step.round for step in steps if step.operation is operation}
        known = [n for n in rounds if n is not None]
        return not known or max(known) - min(known) < len(known)


def _ends(astray: Astray, size: Size) -> bool:
    """Whether its part is loaded under a condition that bounds the index from above; or it is made
    in as many rounds as the size says."""
    if _is_made(astray) and size.loop.trips is size.term:
        return True
    return any(
        fact.kind is E.BoolKind.LE
        and fact.expr is not None
        and fact.expr.coefficient(size.loop.symbol) > 0
        for fact in path_of(astray.load.operation)
    )


def _is_made(astray: Astray) -> bool:
    """Whether it is the result of a function, no load."""
    return astray.at is not astray.load


def _since(values: set[int], last: int) -> int:
    """From where on all of them are among the values, to the last one."""
    since = last + 1
    while since - 1 in values:
        since -= 1
    return since


def told(astray: Astray, said: Words) -> Check:
    op, load = astray.at.operation, astray.load.operation
    behind = astray.why in (parts.LEFT_BEHIND, parts.PASSED_OVER, parts.OVERTAKEN)
    (what, span), call = said.told_of(op, writes=behind), ""
    notes = [Note(load.span, "this part was loaded here")]
    if astray.load is astray.at:
        notes = []
    if astray.why == parts.MIXED and astray.call is not None:
        first = astray.call.operation
        notes = [
            Note(load.span, "it is written over that here"),
            Note(first.span, "what is to be read was made here"),
        ]
    elif astray.call is not None:
        call = said.function(astray.call.operation)
        notes.append(Note(astray.call.operation.span, "what the others have gone through"))
    text, message = {
        parts.REPEATED: (
            f"{what} is the next part each time",
            f"{what} is not the next part of what `{said.function(load)}` brings: one is taken "
            "twice, or left out",
        ),
        parts.LEFT_OUT: (
            f"{what} has gone through `{call}` each time",
            f"{what} has not gone through `{call}` as other parts have",
        ),
        parts.LEFT_BEHIND: (
            f"something takes {what} each time",
            f"{what} is the last one, and nothing takes it as it takes the others",
        ),
        parts.OVERTAKEN: (
            f"something takes {what} each time",
            f"{what} is overwritten before anything has read it: what was loaded before it is "
            "taken once more",
        ),
        parts.MIXED: (
            f"{what} has nothing of what another round takes",
            f"{what} is in part what `{said.function(load)}` makes for another round, which is "
            "written over it before it is read",
        ),
        parts.PASSED_OVER: (
            f"something takes {what} each time",
            f"{what} is overwritten before anything takes it as it takes the others: nothing "
            "comes to its place in the output",
        ),
    }[astray.why]
    return Check(
        predicate=E.FALSE,
        span=span,
        text=text,
        message=message,
        facts=said.facts,
        notes=tuple(notes),
        help=("give the stages the same iterations, parts and places, each so many later",),
        path=(),
        order=min(op.order, load.order),
    )


def lost_or_astray(asked: Asked[PlaceT]) -> Iterator[Check]:
    """One check for each call whose results may be lost (:mod:`rules.memory.losses`), and one for
    each loop in which parts go astray."""
    loops, words = list(gone(asked)), asked.words
    yield from lost(asked, loops)
    sized = [each for each in loops if isinstance(each, Sized) and not each.is_plain]
    for each in sized:
        yield from Rounds(each, words).checks()
    if not sized:
        yield from _astray_as_they_are(asked.operations, asked.places, words, run=asked.run)


def _astray_as_they_are(
    operations: Sequence[Operation], places: Places[PlaceT], words: Words, *, run: bool
) -> Iterator[Check]:
    """That no parts go astray in operations that are in loops of plain numbers of rounds.

    ``run``: they are those of a run, whose text says what is meant.
    """
    events = [Event(op, op.touches) for op in operations]
    if run:
        found: list[Event] | None = events
    else:
        unrolled = Unrolled(operations, ())
        found = unrolled.in_full(None)
        found = unrolled.events(None) if found is None else found
    if found is None:
        return
    way = journey_of(Fates(places.steps(found, AS_THEY_ARE), places))
    every = _one_by_one(way, meant=not run) if run or not way.raced else iter(())
    for each in every:
        yield told(each, words)
        if not run:
            return


def _one_by_one(journey: Journey, *, meant: bool) -> Iterator[Astray]:
    """``meant``: what is not loaded as often as it is stored may be so on purpose."""
    for group in parts.groups(journey):
        for column in parts.columns(group):
            if meant and len(column.loaded(journey)) != len(group):
                continue
            pace = parts.even(journey, group, column)
            off = parts.twice(journey, group, column)
            if pace is not None:
                off = parts.out_of_step(group, column.parts, pace)
                off = off if parts.is_astray(journey, group, column, pace) else []
            if pace is not None or not meant:
                for n in off:
                    yield Astray(group[n].store, column.parts[n].load, parts.REPEATED)
        if not meant:
            for arrival, call in parts.left_out(group, parts.longest(group)):
                load = parts.parts_of(arrival)[0].load
                yield Astray(arrival.store, load, parts.LEFT_OUT, call)
    yield from parts.ends_early(journey).values()
    yield from parts.passed_over(journey, parts.between)
    yield from parts.overtaken(journey)
    yield from parts.mixed(journey)
    if not meant:
        yield from parts.left_behind(journey, journey)
