"""Where the parts of an input go, in a sequence of operations.

A load brings a part of an input to local memory, functions make something of it, and a store takes
that to an output. What is in local memory is followed: of which parts it is made, and on which way
through the calls of the kernel. Everything that is said of pipelines follows from this one thing,
that all parts go alike:

- the next part of the output is made of the next part of the input: none of them twice where
  another one is left out;
- each of them goes through the same calls;
- what was made of one is stored like what was made of those before.

Places are told apart by their bytes. What is read otherwise than it was written is not followed,
nor what is made of very many parts: nothing is said of that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct, field

from rules.tpu import kit
from rules.tpu.runs import meet
from verifier.hardware.chips import Chip
from verifier.hardware.engines import Engine
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.lanes import LocalTensor, SystemTensor, Touch
from verifier.symbolic.memory.known import Known
from verifier.symbolic.tensors import Storage
from verifier.symbolic.trace import Operation

#: parts that something is made of, and calls that it has gone through
_MOST_PARTS: Final = 4
_MOST_CALLS: Final = 3 * _MOST_PARTS
_AS_IS: Final = E.Substitution({})


class Event(Struct, frozen=True):
    """An operation in some iteration, which is the ``round``-th one of its loop (None: of none).

    ``sure``: it does happen, and once. ``here``: the indices of its loops then.
    """

    operation: Operation
    touches: tuple[Touch, ...]
    round: int | None = None
    sure: bool = True
    here: E.Substitution = _AS_IS

    @property
    def when(self) -> tuple[object, ...]:
        """In which rounds of all its loops it is."""
        loops = self.operation.loops
        return (*self.operation.rounds, *(self.here.expr(loop.index) for loop in loops))

    def local(self, *, writes: bool) -> Iterator[tuple[Touch, LocalTensor]]:
        for touch in self.touches:
            if isinstance(touch.tensor, LocalTensor) and (touch.writes if writes else touch.reads):
                yield touch, touch.tensor

    def system(self, *, writes: bool) -> Iterator[SystemTensor]:
        for touch in self.touches:
            if isinstance(touch.tensor, SystemTensor) and (touch.writes if writes else touch.reads):
                yield touch.tensor


class Part(Struct, frozen=True):
    """A part of an input, as it was loaded, and to which place."""

    load: Event
    storage: Storage
    offset: Expr
    place: Expr


class Content(Struct, frozen=True):
    """What some place holds: the parts that it is made of, and the calls on its way."""

    parts: tuple[Part, ...]
    way: tuple[Event, ...] = ()


class Held(Struct, eq=False):
    """What a write has left; ``content`` None: that is not known."""

    event: Event
    tensor: LocalTensor
    content: Content | None
    section: int | None
    read: bool = False
    #: of a part: something has read the one before once more, in its place
    overtaken: bool = False
    #: engines that have read it in the parallel section at hand
    readers: set[tuple[int | None, Engine]] = field(default_factory=set)


class Arrival(Struct, frozen=True):
    """What a store takes to a part of an output."""

    store: Event
    storage: Storage
    offset: Expr
    content: Content | None


class Journey(Struct):
    """What becomes of the parts in a sequence of operations.

    ``raced``: what is where hangs on the order in a parallel section, which is a fault by itself.
    ``unsure``: something may happen that is not followed.
    """

    #: all that was loaded, and all that was stored
    loads: list[Part] = field(default_factory=list)
    arrivals: list[Arrival] = field(default_factory=list)
    #: what is there when all is over, and what was overwritten whole before anything had read it
    held: list[Held] = field(default_factory=list)
    lost: list[Held] = field(default_factory=list)
    raced: bool = False
    unsure: bool = False
    #: the sizes that were put in
    put: E.Substitution = _AS_IS


def in_sections(events: Iterable[Event]) -> Iterator[tuple[Event, int | None]]:
    """Each operation with the number of the parallel section that it is in; None: it is in none."""
    section, sections = None, 0
    for event in events:
        traits = kit.traits(event.operation)
        if Trait.STARTS_PARALLEL in traits:
            sections += 1
            section = sections
        elif Trait.ENDS_PARALLEL in traits:
            section = None
        yield event, section


class Follower:
    """Goes through sequences of operations."""

    def __init__(self, chip: Chip, demands: Iterable[Bool] = ()) -> None:
        self.chip = chip
        self._known = Known(demands)
        self._met: dict[tuple[object, ...], bool] = {}
        self._alike: dict[tuple[object, ...], bool] = {}

    def journey(self, events: Iterable[Event], put: E.Substitution = _AS_IS) -> Journey:
        out = Journey(put=put)
        for event, section in in_sections(events):
            self._step(out, event, section)
        return out

    def _step(self, out: Journey, event: Event, section: int | None) -> None:
        out.unsure |= not event.sure
        taken = [self._read(out, event, tensor, section) for _, tensor in event.local(writes=False)]
        known = [content for content in taken if content is not None]
        whole = event.sure and len(known) == len(taken)
        stored = list(event.system(writes=True))
        loaded = list(event.system(writes=False))
        for target in stored:
            content = known[0] if whole and len(known) == 1 and not loaded else None
            out.arrivals.append(
                Arrival(event, target.address.storage, target.address.offset, content)
            )
        for touch, tensor in event.local(writes=True):
            result = None
            if whole and not touch.destroys and not stored:
                result = _made(event, tensor, known, loaded)
            if result is not None and loaded:
                out.loads += result.parts
            self._write(out, Held(event, tensor, result, section))

    def _read(
        self, out: Journey, event: Event, tensor: LocalTensor, section: int | None
    ) -> Content | None:
        engine = event.operation.engine
        found: Content | None = None
        for held in out.held:
            if not self.meet(held.tensor, tensor):
                continue
            self._again(out, held)
            held.read = True
            held.readers.add((section, engine))
            out.raced |= _races(held.event, held.section, event, section)
            if self._same(held.tensor, tensor):
                found = held.content
        return found

    def _again(self, out: Journey, held: Held) -> None:
        """Something reads a part, which something has read before: others that the same call has
        loaded meanwhile may be meant."""
        if not held.read or held.content is None or held.content.way:
            return
        later = out.held[out.held.index(held) + 1 :]
        for each in later:
            same = each.event.operation.span == held.event.operation.span
            each.overtaken |= same and not each.read

    def _write(self, out: Journey, new: Held) -> None:
        kept: list[Held] = []
        engine = new.event.operation.engine
        for held in out.held:
            if held.event is new.event or not self.meet(held.tensor, new.tensor):
                kept.append(held)
                continue
            out.raced |= _races(held.event, held.section, new.event, new.section)
            beside = {who for at, who in held.readers if at is not None and at == new.section}
            out.raced |= bool(beside - {engine})
            if not self.fills(new.tensor, held.tensor):
                held.content = None
                kept.append(held)
            elif not held.read:
                out.lost.append(held)
        out.held = [*kept, new]

    def meet(self, one: LocalTensor, other: LocalTensor) -> bool:
        """Whether they may have a byte in common."""
        if kit.same_place(one, other):
            return True
        key = (_terms(one), _terms(other))
        if key not in self._met:
            apart, ranges = kit.apart(self.chip, one, other)
            known = self._known.also(ranges, ()) if ranges else self._known
            self._met[key] = not (apart is E.TRUE or known.decide(apart) is True)
        return self._met[key]

    def share(self, one: LocalTensor, other: LocalTensor) -> bool:
        """Whether they surely have a byte in common, as far as places tell."""
        if kit.holds_all(self.chip, one, other) or kit.holds_all(self.chip, other, one):
            return True
        return meet(self.chip, one, other) is True

    def _same(self, one: LocalTensor, other: LocalTensor) -> bool:
        return one.address is other.address and self.fills(one, other)

    def fills(self, one: LocalTensor, other: LocalTensor) -> bool:
        """Whether the first one surely has all elements of the other one."""
        key = (_terms(one), _terms(other))
        if key not in self._alike:
            self._alike[key] = kit.fills_all(self.chip, one, other)
        return self._alike[key]


def _terms(tensor: LocalTensor) -> tuple[int, ...]:
    terms = (tensor.address, *tensor.shape, *tensor.strides, tensor.dtype.itemsize)
    return tuple(map(id, terms))


def _races(one: Event, first: int | None, other: Event, second: int | None) -> bool:
    together = first is not None and first == second
    return together and one.operation.engine is not other.operation.engine


def _made(
    event: Event, tensor: LocalTensor, known: Sequence[Content], loaded: Sequence[SystemTensor]
) -> Content | None:
    """What an operation leaves, of what it has read."""
    if loaded:
        if known or len(loaded) > 1:
            return None
        (source,) = loaded
        part = Part(event, source.address.storage, source.address.offset, tensor.address)
        return Content((part,))
    parts = tuple(part for content in known for part in content.parts)
    way = (*(call for content in known for call in content.way), event)
    if len(parts) > _MOST_PARTS or len(way) > _MOST_CALLS:
        return None
    return Content(parts, way)


# ----------------------------------------------------------------------------- what goes astray


class Astray(Struct, frozen=True):
    """A fault: at what operation, of which part's load, and what it is."""

    at: Event
    load: Event
    why: str
    #: the call that the part was to go through
    call: Event | None = None


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
    another call has loaded it again, of an input that is loaded from end to end."""
    by_part: dict[int, list[int]] = {}
    for n, part in enumerate(column.parts):
        by_part.setdefault(id(part.offset), []).append(n)
    left = _leaves(journey, column)
    out: list[int] = []
    for same in by_part.values():
        calls = {group[n].store.operation.span for n in same}
        loads = {id(column.parts[n].load): column.parts[n].load for n in same}
        places = {load.operation.span for load in loads.values()}
        again = len(loads) > 1 and (len(places) < len(loads) or not _comes_to_end(journey, column))
        if len(same) > 1 and (left or len(calls) < len(same) or again):
            out += same
    return sorted(out)


def _comes_to_end(journey: Journey, column: Column) -> bool:
    """Whether the first and the last byte of an input, of which the size is known, are loaded."""
    end = journey.put.expr(kit.bytes_of(column.storage))
    ends = [
        (tensor.address.offset, kit.system_block(tensor)[1])
        for part in column.loaded(journey)
        for tensor in part.load.system(writes=False)
    ]
    return any(each[0] is E.const(0) for each in ends) and any(each[1] is end for each in ends)


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


def left_out(group: Sequence[Arrival], whole: Content) -> Iterator[tuple[Arrival, Event]]:
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


def _is_later(call: Event, content: Content) -> bool:
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
        if content is None or held.read or not content.parts or _goes_on_with_its_own(held):
            continue
        span = held.event.operation.span
        if (len(content.parts) > 1 and not many) or (_key(content.parts), span) in there:
            continue
        if span in through or (content.way and not others.arrivals):
            yield Astray(held.event, content.parts[0].load, LEFT_BEHIND)


def _goes_on_with_its_own(held: Held) -> bool:
    """Whether it is a state that a call goes on with, as a sum: the last one may be for nothing.

    What another call of the round has put there first is none, but worked upon in place.
    """
    place, content = held.tensor.address, held.content
    assert content is not None
    before = (*content.way[:-1], *(part.load for part in content.parts))
    when = held.event.when
    return any(tensor.address is place for _, tensor in held.event.local(writes=False)) and not any(
        each.when == when and tensor.address is place
        for each in before
        for _, tensor in each.local(writes=True)
    )


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
        if rest is not E.const(0) or held.event.operation.span not in through:
            continue
        place = group[0].offset + further
        before = any(E.lt(place, arrival.offset) is E.TRUE for arrival in group)
        beside = (
            E.or_(E.le(place + length, each.offset), E.le(each.offset + length, place))
            for each in group
        )
        if before and E.ge(place, 0) is E.TRUE and all(fact is E.TRUE for fact in beside):
            yield Astray(held.event, part.load, PASSED_OVER)


def _length(arrival: Arrival) -> Expr:
    """So many bytes are stored, and lie in between."""
    (tensor,) = arrival.store.system(writes=True)
    begin, end = kit.system_block(tensor)
    return end - begin


def _goes_on(group: Sequence[Arrival], column: Column, pace: Pace) -> bool:
    """Whether all parts of one input arrive as far from each other as the pace says."""
    inputs = {id(part.storage) for part in column.parts}
    return len(inputs) == 1 and not out_of_step(group, column.parts, pace)


def overtaken(journey: Journey) -> Iterator[Astray]:
    """Parts that were overwritten before anything has read them, but what was there before."""
    for held in journey.lost if not journey.unsure else ():
        if held.overtaken and held.content is not None and not held.content.way:
            yield Astray(held.event, held.event, OVERTAKEN)


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
