"""Where the parts of an input go, in a sequence of operations.

A load brings a part of an input to local memory, functions make something of it, and a store takes
that to an output. What is in local memory is followed: of which parts it is made, and on which way
through the calls of the kernel. Everything that is said of pipelines follows from this one thing,
that all parts go alike:

- the next part of the output is made of the next part of the input: none of them twice where
  another one is left out;
- each of them goes through the same calls, and by itself: what one round takes is not in part what
  another one has brought;
- what was made of one is stored like what was made of those before.

What is read otherwise than it was written is not followed, nor what is made of very many parts:
nothing is said of that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from msgspec import Struct, field

from rules.memory.fates import Fates, bits
from rules.memory.steps import OffChip, Step
from rules.tpu import kit
from rules.tpu.mixed import Mixed
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.tensors import Storage
from verifier.symbolic.trace import Operation

#: parts that something is made of, and calls that it has gone through
_MOST_PARTS: Final = 4
_MOST_CALLS: Final = 3 * _MOST_PARTS
#: parts that show how they go on
_FEWEST: Final = 2
_AS_IS: Final = E.Substitution({})


class Part(Struct, frozen=True):
    """A part of an input, as it was loaded."""

    load: Step[Any]
    region: OffChip

    @property
    def storage(self) -> Storage:
        return self.region.storage

    @property
    def offset(self) -> Expr:
        return self.region.begin


class Content(Struct, frozen=True):
    """What some place holds: the parts that it is made of, and the calls on its way."""

    parts: tuple[Part, ...]
    way: tuple[Step[Any], ...] = ()


class Held(Struct, frozen=True, eq=False):
    """What a step has left on chip; ``content`` None: that is not known.

    ``overtaken``: something has read the part before once more, in its place.
    """

    step: Step[Any]
    content: Content | None
    read: bool
    overtaken: bool
    #: it goes on with what it has left in its place itself
    state: bool


class Arrival(Struct, frozen=True):
    """What a store takes to a part of an output."""

    store: Step[Any]
    region: OffChip
    content: Content | None

    @property
    def storage(self) -> Storage:
        return self.region.storage

    @property
    def offset(self) -> Expr:
        return self.region.begin


class Taken(Struct, frozen=True):
    """What a step takes by one of its operands; ``reached``: something that is stored is made of
    it."""

    step: Step[Any]
    content: Content | None
    reached: bool


class Journey(Struct):
    """What becomes of the parts in a sequence of operations.

    ``raced``: what is where hangs on the order in a parallel section, which is a fault by itself.
    ``unsure``: something may happen that is not followed.
    """

    #: all that was loaded, and all that was stored
    loads: list[Part] = field(default_factory=list)
    arrivals: list[Arrival] = field(default_factory=list)
    #: by call, and by function, and by the number of the operand: what is taken, in turn
    taken: dict[object, list[Taken]] = field(default_factory=dict)
    #: what is there when all is over, and what was overwritten whole before anything had read it
    held: list[Held] = field(default_factory=list)
    lost: list[Held] = field(default_factory=list)
    #: what takes in part what another step has left for another round; and that one
    mixed: list[tuple[Step[Any], Step[Any], Step[Any]]] = field(default_factory=list)
    raced: bool = False
    unsure: bool = False
    #: the sizes that were put in
    put: E.Substitution = _AS_IS


def journey_of(fates: Fates[Any], put: E.Substitution = _AS_IS) -> Journey:
    """Where the parts go in steps that were followed."""
    out = Journey(put=put, raced=fates.is_raced)
    contents: list[Content | None] = []
    for number, step in enumerate(fates.steps):
        out.unsure |= not step.sure
        inside = fates.sources[number][: len(step.reads) - step.off]
        taken = [None if source is None else contents[source] for source in inside]
        _note(out, step, taken, bool(fates.reached >> number & 1))
        known = [content for content in taken if content is not None]
        whole = step.sure and len(known) == len(taken)
        content = known[0] if whole and len(known) == 1 and not step.loads else None
        out.arrivals += (Arrival(step, region, content) for region in step.stores)
        made = _made(step, known) if whole and step.writes and not step.stores else None
        if made is not None and step.loads:
            out.loads += made.parts
        contents.append(made)
    ways = _Ways(fates, contents)
    for number in range(len(fates.steps)):
        held = ways.held(number)
        if held is not None and number not in fates.filled:
            out.held.append(held)
        elif held is not None and not held.read:
            out.lost.append(held)
    out.mixed += Mixed(fates).found()
    return out


def _note(out: Journey, step: Step[Any], taken: Sequence[Content | None], reached: bool) -> None:
    for operand, content in enumerate(taken):
        found = Taken(step, content if step.sure else None, reached)
        for call in (step.operation.span, step.operation.name):
            out.taken.setdefault((call, operand), []).append(found)


class _Ways:
    """What steps leave on chip, and who reads it."""

    def __init__(self, fates: Fates[Any], contents: Sequence[Content | None]) -> None:
        self._fates = fates
        self._contents = contents
        #: by step: who reads it
        self._readers: dict[int, list[int]] = {}
        for reader, taken in enumerate(fates.taken):
            for number in bits(taken):
                self._readers.setdefault(number, []).append(reader)

    def held(self, number: int) -> Held | None:
        """None: it leaves nothing there."""
        step = self._fates.steps[number]
        if not step.writes or step.stores:
            return None
        read = number in self._readers
        overtaken = not read and number in self._fates.filled and self._is_overtaken(number)
        return Held(step, self._contents[number], read, overtaken, self._is_state(number))

    def _is_overtaken(self, number: int) -> bool:
        """Whether something has read a part, which something had read before, while another one
        that the same call has loaded later was there and unread: that one may be meant."""
        steps, mine = self._fates.steps, self._fates.steps[number]
        for before in range(number):
            content = self._contents[before]
            if (
                content is None
                or content.way
                or steps[before].operation.span != mine.operation.span
            ):
                continue
            again = self._readers.get(before, [])[1:]
            if any(number < reader < self._fates.filled[number] for reader in again):
                return True
        return False

    def _is_state(self, number: int) -> bool:
        """Whether a call goes on with it, as with a sum: the last one may be for nothing.

        What another call of the round has put there first is none, but worked upon in place.
        """
        fates, step, content = self._fates, self._fates.steps[number], self._contents[number]
        if content is None or not any(fates.comes_to(step.writes, read) for read in step.reads):
            return False
        before = (*content.way[:-1], *(part.load for part in content.parts))
        return not any(
            each.when == step.when and fates.comes_to(each.writes, place)
            for each in before
            for place in step.writes
        )


def _made(step: Step[Any], known: Sequence[Content]) -> Content | None:
    """What an operation leaves, of what it has read."""
    if step.loads:
        if known or len(step.loads) > 1:
            return None
        return Content((Part(step, step.loads[0]),))
    parts = tuple(part for content in known for part in content.parts)
    way = (*(call for content in known for call in content.way), step)
    if len(parts) > _MOST_PARTS or len(way) > _MOST_CALLS:
        return None
    return Content(parts, way)


# ----------------------------------------------------------------------------- what goes astray


class Astray(Struct, frozen=True):
    """A fault: at what operation, of which part's load, and what it is."""

    at: Step[Any]
    load: Step[Any]
    why: str
    #: the call that the part was to go through, or that has left what is overwritten
    call: Step[Any] | None = None


class Pace(Struct, frozen=True):
    """How far a part of the output is from the next one, and the part of the input from its next;
    ``own``: from a load to the next one."""

    output: Expr
    input: Expr
    own: Expr


REPEATED: Final = "repeated"
LEFT_OUT: Final = "left out"
LEFT_BEHIND: Final = "left behind"
PASSED_OVER: Final = "passed over"
OVERTAKEN: Final = "overtaken"
MIXED: Final = "mixed"


def groups(journey: Journey) -> Iterator[list[Arrival]]:
    """The arrivals at each output, if it is known what arrives: at each part the last one.

    Where each part that was loaded arrives equally often, each time by another call, there are as
    many outputs in one buffer.
    """
    by_storage: dict[int, list[Arrival]] = {}
    for arrival in journey.arrivals:
        by_storage.setdefault(id(arrival.storage), []).append(arrival)
    for group in by_storage.values():
        last = {id(arrival.offset): arrival for arrival in group}
        found = [arrival for arrival in group if last[id(arrival.offset)] is arrival]
        if any(arrival.content is None for arrival in found):
            continue
        counts = {len(parts_of(arrival)) for arrival in found}
        if len(counts) == 1 and counts != {0}:
            yield from _by_call(journey, found)


def _by_call(journey: Journey, group: list[Arrival]) -> Iterator[list[Arrival]]:
    by_part = Counter(_key(parts_of(arrival)) for arrival in group)
    by_call: dict[Span, list[Arrival]] = {}
    for arrival in group:
        by_call.setdefault(arrival.store.operation.span, []).append(arrival)
    arrived = {_key((part,)) for arrival in group for part in parts_of(arrival)}
    all_arrive = all(_key((part,)) in arrived for part in journey.loads)
    times = set(by_part.values())
    if all_arrive and len(times) == 1 and 1 < max(times) <= len(by_call):
        yield from by_call.values()
    else:
        yield group


def parts_of(arrival: Arrival) -> tuple[Part, ...]:
    return arrival.content.parts if arrival.content is not None else ()


class Column(Struct, frozen=True):
    """The parts that arrivals are made of, of one operand; ``loads``: the calls that bring them, if
    other operands are made of the same input (empty: of all calls that load it)."""

    parts: list[Part]
    loads: frozenset[Span] = frozenset()

    @property
    def storage(self) -> Storage:
        return self.parts[0].storage

    def brings(self, operation: Operation) -> bool:
        return not self.loads or operation.span in self.loads

    def loaded(self, journey: Journey) -> list[Part]:
        """All that was loaded for the operand."""
        return [
            part
            for part in journey.loads
            if part.storage is self.storage and self.brings(part.load.operation)
        ]


def columns(group: Sequence[Arrival]) -> Iterator[Column]:
    """The parts that the arrivals are made of, of each operand by itself.

    Operands of one input that have calls in common are as far from each other as the kernel wants
    them to be. One part that all others of its input are taken together with is meant for them all.
    """
    found = [list(column) for column in zip(*map(parts_of, group), strict=True)]
    inputs = [{id(part.storage) for part in column} for column in found]
    loads = [frozenset(part.load.operation.span for part in column) for column in found]
    for n, column in enumerate(found):
        others = [m for m in range(len(found)) if m != n]
        if len(inputs[n]) > 1:
            continue
        kept = len({id(part.load) for part in column}) == 1
        if kept and any(inputs[n] == inputs[m] and _moves(found[m]) for m in others):
            continue
        if all(inputs[n].isdisjoint(inputs[m]) for m in others):
            yield Column(column)
        elif len(loads[n]) == 1 and all(loads[n].isdisjoint(loads[m]) for m in others):
            yield Column(column, loads[n])


def _moves(column: Sequence[Part]) -> bool:
    return len({id(part.offset) for part in column}) == len(column) > 1


def out_of_step(group: Sequence[Arrival], column: Sequence[Part], pace: Pace) -> list[int]:
    """The arrivals that are not as far from the one before as the pace says."""
    off: list[int] = []
    for n in range(1, len(column)):
        far = column[n].offset - column[n - 1].offset
        wanted = group[n].offset - group[n - 1].offset
        if far * pace.output is not wanted * pace.input:
            off.append(n)
    return off


def is_astray(journey: Journey, group: Sequence[Arrival], column: Column, pace: Pace) -> bool:
    """Whether a part arrives at two places of the output in the stead of another one, or one is
    skipped."""
    return bool(twice(journey, group, column)) or _skips(column.parts, pace.own)


def even(journey: Journey, group: Sequence[Arrival], column: Column) -> Pace | None:
    """The pace of operations one by one, if loads and stores each go on evenly by themselves."""
    loads = [part.offset for part in column.loaded(journey)]
    own, step = _step(loads), _step([arrival.offset for arrival in group])
    return None if own is None or step is None else Pace(step, own, own)


def _step(offsets: Sequence[Expr]) -> Expr | None:
    """The one step that others are several of."""
    steps = {id(step): step for a, b in pairwise(offsets) if (step := b - a) is not E.const(0)}
    for own in steps.values():
        times = [_steps(step, own) for step in steps.values()]
        if all(count is not None and count > 0 for count in times):
            return own
    return None


def twice(journey: Journey, group: Sequence[Arrival], column: Column) -> list[int]:
    """The arrivals of which the part arrives elsewhere, too, by one call, or where another one is
    left out: a border that is repeated is stored by another call, from where it is, or from where
    another call has loaded it again, of an input that is loaded from end to end. So may be one at
    the border of an output that is larger than an input of which all parts arrive."""
    by_part: dict[int, list[int]] = {}
    for n, part in enumerate(column.parts):
        by_part.setdefault(id(part.offset), []).append(n)
    left = _leaves(journey, column)
    every = journey.put.expr(kit.bytes_of(column.storage))
    all_arrive, last = _length(column.parts[0]) * len(by_part) is every, len(column.parts) - 1
    out: list[int] = []
    for same in by_part.values():
        border = same == [*range(same[0], same[-1] + 1)] and (same[0] == 0 or same[-1] == last)
        if all_arrive and border:
            continue
        calls = {group[n].store.operation.span for n in same}
        loads = {id(column.parts[n].load): column.parts[n].load for n in same}
        places = {load.operation.span for load in loads.values()}
        again = len(loads) > 1 and (len(places) < len(loads) or not _comes_to_end(journey, column))
        if len(same) > 1 and (left or len(calls) < len(same) or again):
            out += same
    return sorted(out)


def ends_early(journey: Journey) -> dict[object, Astray]:
    """By call and operand where a loop takes the next part each time until its loads end, and older
    ones from then on, while the input has the parts that were to come, and no call that loads for
    it brings them."""
    out: dict[object, Astray] = {}
    for key, taken in journey.taken.items():
        found = [part for each in taken if each.content for part in each.content.parts]
        if not len(found) == len(taken) > _FEWEST or len({id(p.storage) for p in found}) > 1:
            continue
        pace = found[1].offset - found[0].offset
        wanted = [found[0].offset + pace * n for n in range(len(found))]
        since = next((n for n, p in enumerate(found) if p.offset is not wanted[n]), len(found))
        if not _FEWEST <= since < len(found) < 2 * since or pace is E.const(0):
            continue
        loads = {id(part.load) for part in found[:since]}
        older = all(id(part.load) in loads for part in found[since:])
        used = all(each.reached for each in taken[since:])
        last = found[since - 1].load.operation, taken[since - 1].step.operation
        column = Column(found, frozenset(part.load.operation.span for part in found))
        if older and used and _in_one_loop(*last):
            if all(_is_missing(journey, column, offset) for offset in wanted[since:]):
                out[key] = Astray(taken[since].step, found[since].load, REPEATED)
    return out


def taken_again(journey: Journey, key: object) -> Astray | None:
    """The first part that is taken once more by a call, with one of its operands."""
    loads: set[int] = set()
    for each in journey.taken.get(key, ()):
        for part in each.content.parts if each.content else ():
            if id(part.load) in loads:
                return Astray(each.step, part.load, REPEATED)
            loads.add(id(part.load))
    return None


def _in_one_loop(one: Operation, other: Operation) -> bool:
    if one.rounds and other.rounds:
        return one.rounds[0].loop == other.rounds[0].loop
    return bool(set(one.loops) & set(other.loops))


def _is_missing(journey: Journey, column: Column, offset: Expr) -> bool:
    """Whether an input has a part, as long as others of an operand, that nothing loads for it."""
    length, end = _length(column.parts[0]), journey.put.expr(kit.bytes_of(column.storage))
    if E.le(offset + length, end) is not E.TRUE or E.ge(offset, 0) is not E.TRUE:
        return False
    for part in column.loaded(journey):
        if _length(part) is length:
            if part.offset is offset:
                return False
        elif not any(
            fact is E.TRUE
            for fact in (E.le(offset + length, part.offset), E.le(part.region.end, offset))
        ):
            return False
    return True


def _comes_to_end(journey: Journey, column: Column) -> bool:
    """Whether the first and the last byte of an input, of which the size is known, are loaded."""
    end = journey.put.expr(kit.bytes_of(column.storage))
    regions = [part.region for part in column.loaded(journey)]
    begins = any(region.begin is E.const(0) for region in regions)
    return begins and any(region.end is end for region in regions)


def _leaves(journey: Journey, column: Column) -> bool:
    """Whether a part that was loaded for the operand arrives nowhere."""
    arrived = {_key((part,)) for arrival in journey.arrivals for part in parts_of(arrival)}
    left = {_key((part,)) for part in column.loaded(journey)} - arrived
    if all(arrival.content is not None for arrival in journey.arrivals):
        return bool(left)
    unread = (held.content for held in (*journey.lost, *journey.held) if not held.read)
    return any(_key((part,)) in left for each in unread if each for part in each.parts)


def _skips(column: Sequence[Part], own: Expr) -> bool:
    offsets = {id(part.offset) for part in column}
    first = column[0].offset
    found = [_steps(part.offset - first, own) for part in column]
    steps = [step for step in found if step is not None]
    if not steps or len(steps) < len(found):
        return False
    between = range(min(steps), max(steps) + 1)
    return any(id(first + own * step) not in offsets for step in between)


def _steps(far: Expr, own: Expr) -> int | None:
    """How many steps something is away."""
    if far is E.const(0):
        return 0
    if not far.terms:
        steps = far.const // own.const if own.const else 0
    else:
        (product, count), has = far.terms[0], dict(own.terms)
        steps = count // has[product] if product in has else 0
    return steps if own * steps is far else None


def spans(content: Content) -> frozenset[Span]:
    return frozenset(call.operation.span for call in content.way)


def longest(group: Sequence[Arrival]) -> Content:
    """What has gone through most calls."""
    found = [each.content for each in group if each.content is not None and each.content.parts]
    return max(found, key=lambda content: (len(content.way), content.parts[0].load.round or 0))


def left_out(group: Sequence[Arrival], whole: Content) -> Iterator[tuple[Arrival, Step[Any]]]:
    """What arrives without having gone through a call that others go through an iteration after
    they were loaded, or later, and through no other one; ``whole``: what goes through most.

    What another call stores as it is, beside what is made of it, is meant so.
    """
    every = spans(whole)
    through = {
        (_key(parts_of(arrival)), arrival.store.operation.span): spans(arrival.content)
        for arrival in group
        if arrival.content is not None
    }
    for arrival in group:
        assert arrival.content is not None
        mine, key = spans(arrival.content), _key(parts_of(arrival))
        place = arrival.store.operation.span
        beside = any(k == key and at != place and w == every for (k, at), w in through.items())
        if not mine < every or beside:
            continue
        for call in whole.way:
            if call.operation.span not in mine and _is_later(call, whole):
                yield arrival, call
                break


def _is_later(call: Step[Any], content: Content) -> bool:
    rounds = [part.load.round for part in content.parts]
    known = [when for when in rounds if when is not None]
    if call.round is None:  # a run, which knows of no rounds
        return not known
    return bool(known) and call.round > max(known)


def left_behind(journey: Journey, others: Journey, many: bool = True) -> Iterator[Astray]:
    """What nothing has read, of parts that have arrived nowhere through the same call, by calls of
    which results have arrived in ``others``; where nothing was stored there, of any function.

    ``many``: also what is made of several parts, if these have not arrived together.
    """
    arrived = [arrival for arrival in journey.arrivals if arrival.content is not None]
    if journey.unsure or len(arrived) < len(journey.arrivals):
        return
    there = {
        (_key(found), span)
        for arrival in arrived
        for found in (parts_of(arrival), *((part,) for part in parts_of(arrival)))
        for span in _calls(arrival)
    }
    through = {span for arrival in others.arrivals for span in _calls(arrival)}
    for held in journey.held:
        content = held.content
        if content is None or held.read or not content.parts:
            continue
        if held.state and not any(_is_alike(content, each.content) for each in arrived):
            continue
        span = held.step.operation.span
        if (len(content.parts) > 1 and not many) or (_key(content.parts), span) in there:
            continue
        if span in through or (content.way and not others.arrivals):
            yield Astray(held.step, content.parts[0].load, LEFT_BEHIND)


def _is_alike(state: Content, other: Content | None) -> bool:
    """Whether as many parts have gone through the same calls, and further: a sum that was gone on
    with for the last time, no one more."""
    if other is None or len(state.parts) != len(other.parts):
        return False
    spans_of = [[call.operation.span for call in content.way] for content in (state, other)]
    return spans_of[0] == spans_of[1][: len(spans_of[0])]


def _key(found: Sequence[Part]) -> tuple[tuple[int, int], ...]:
    return tuple((id(part.storage), id(part.offset)) for part in found)


def _calls(arrival: Arrival) -> Iterator[Span]:
    """The calls that what has arrived has gone through, loads among them."""
    if arrival.content is not None:
        yield from spans(arrival.content)
        yield from (part.load.operation.span for part in arrival.content.parts)


def passed_over(
    journey: Journey, pace_of: Callable[[Sequence[Arrival], Column], Pace | None]
) -> Iterator[Astray]:
    """Results that nothing has read, of parts that are to go to a place in an output that nothing
    is taken to, before others."""
    if journey.unsure:
        return
    for group in groups(journey):
        for column in map(Column, map(list, zip(*map(parts_of, group), strict=True))):
            pace = pace_of(group, column)
            if pace is not None and _goes_on(group, column, pace):
                yield from _passed_over(journey, group, column, pace)
                break


def _passed_over(
    journey: Journey, group: Sequence[Arrival], column: Column, pace: Pace
) -> Iterator[Astray]:
    length = max(map(_length, group), key=lambda size: size.const)
    arrived = {id(part.offset) for part in column.parts}
    number = parts_of(group[0]).index(column.parts[0])
    through = spans(longest(group))
    left = (held for held in journey.held if not held.read)
    for held in (*journey.lost, *left):
        content = held.content
        if content is None or len(content.parts) != len(parts_of(group[0])) or not content.way:
            continue
        part = content.parts[number]
        if part.storage is not column.storage or id(part.offset) in arrived:
            continue
        far = (part.offset - column.parts[0].offset) * pace.output
        further, rest = kit.divided(far, pace.input)
        if rest is not E.const(0) or held.step.operation.span not in through:
            continue
        place = group[0].offset + further
        before = any(E.lt(place, arrival.offset) is E.TRUE for arrival in group)
        beside = (
            E.or_(E.le(place + length, each.offset), E.le(each.offset + length, place))
            for each in group
        )
        if before and E.ge(place, 0) is E.TRUE and all(fact is E.TRUE for fact in beside):
            yield Astray(held.step, part.load, PASSED_OVER)


def _length(moved: Arrival | Part) -> Expr:
    """So many bytes are loaded or stored, and lie in between."""
    return moved.region.end - moved.region.begin


def _goes_on(group: Sequence[Arrival], column: Column, pace: Pace) -> bool:
    """Whether all parts of one input arrive as far from each other as the pace says."""
    inputs = {id(part.storage) for part in column.parts}
    return len(inputs) == 1 and not out_of_step(group, column.parts, pace)


def overtaken(journey: Journey) -> Iterator[Astray]:
    """Parts that were overwritten before anything has read them, but what was there before."""
    for held in journey.lost if not journey.unsure else ():
        if held.overtaken and held.content is not None and not held.content.way:
            yield Astray(held.step, held.step, OVERTAKEN)


def mixed(journey: Journey) -> Iterator[Astray]:
    """What is taken in part from what was brought for another round."""
    for step, over, first in journey.mixed:
        yield Astray(step, over, MIXED, first)


def between(group: Sequence[Arrival], column: Column) -> Pace | None:
    """How far arrivals, and the parts, are from each other: the least that two have."""
    least: tuple[Expr, Expr] | None = None
    for n in range(1, len(group)):
        to = group[n].offset - group[n - 1].offset
        own = column.parts[n].offset - column.parts[n - 1].offset
        if not (E.gt(to, 0) is E.TRUE and E.gt(own, 0) is E.TRUE):
            return None
        if least is None or E.lt(to, least[0]) is E.TRUE:
            least = to, own
    return None if least is None else Pace(least[0], least[1], least[1])
