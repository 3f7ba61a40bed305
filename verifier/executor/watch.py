"""What a run remembers for rules that look at several operations: who wrote what, what is used.

Only what some rule judges is remembered: it costs time. What was met is told as events
(:mod:`verifier.symbolic.memory.events`); whether it is right the monitors of the rules say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakSet

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from verifier.executor import places
from verifier.executor.cells import Box, Cells, TooFineError, Values, box_of
from verifier.executor.displaced import Ground
from verifier.executor.flow import Steps
from verifier.executor.instances import Instances, several
from verifier.executor.left import Left
from verifier.executor.memory import Bound, Memory, Template
from verifier.executor.programs import Program
from verifier.executor.reaches import Stretches, Use, touched
from verifier.executor.regions import Gather, Geometry
from verifier.executor.transfers import overlapping
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.memory.content import combines, constant, folded, moved
from verifier.symbolic.memory.events import (
    CarriedRead,
    CarriedWrite,
    Deed,
    Displaced,
    Filled,
    Met,
    Origin,
    Overlapped,
    Reached,
)
from verifier.symbolic.memory.index import sums_by_operator
from verifier.symbolic.tensors import LoopKind, StorageKind
from verifier.symbolic.trace import Operation

#: what is met through the notes of :class:`Watch`
_ORDER: Final = frozenset({CarriedRead, CarriedWrite, Met})
WATCHED: Final = _ORDER | {Displaced, Filled, Overlapped, Reached}


class _Turn(Struct, eq=False):
    """A loop that promises independent iterations: when it began, and its iteration of now.

    ``index``: the number that the loop counts in this iteration.
    """

    span: Span
    name: str
    start: int
    now: int
    kind: LoopKind
    index: int = 0
    #: what an iteration reads as an earlier one left it
    carried: WeakSet[Memory] = field(default_factory=WeakSet)


_NO_TURNS: Final[frozenset[_Turn]] = frozenset()


class Turns:
    """The numbers of an ``affine_range``, with a note of which iteration is being run."""

    def __init__(self, watch: Watch, program: Program, numbers: Any, kind: LoopKind) -> None:
        self._watch = watch
        self._program = program
        self._numbers = numbers
        self._kind = kind
        self._place = places.here()

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: Any) -> Any:
        return self._numbers[index]

    def __iter__(self) -> Iterator[int]:
        watch = self._watch
        turns = watch.turns(self._program)
        name = self._place.target_name or "i"
        turn = _Turn(self._place.span, name, watch.clock, watch.clock, self._kind)
        turns.append(turn)
        try:
            for number in self._numbers:
                watch.clock += 1
                turn.now, turn.index = watch.clock, int(number)
                yield number
        finally:
            turns.remove(turn)


class Watch:
    """Notes of one run. ``meet`` is told of what was met, of the kinds ``wanted``.

    ``bank``: bytes of a PSUM bank per partition.
    """

    def __init__(self, meet: Callable[[object], bool], wanted: frozenset[type], bank: int) -> None:
        self._meet = meet
        self._bank = bank
        self._orders = bool(wanted & _ORDER)
        self._fills = Filled in wanted
        self._displaces = Displaced in wanted
        self._overlaps = Overlapped in wanted
        self._reaches = Reached in wanted
        #: counts operations and iterations of independent loops
        self.clock = 0
        self.instances = Instances(meet)
        #: whether something was too large to follow
        self.lost = False
        self._turns: dict[int, list[_Turn]] = {}
        #: when a tensor was made
        self._born: WeakKeyDictionary[Memory, int] = WeakKeyDictionary()
        #: per element: when it was written last; 0 if that is of no interest
        self._stamps: WeakKeyDictionary[Memory, Cells] = WeakKeyDictionary()
        #: the same of sums: by depth of loops, the first since the loop began or it was set
        self._sums: WeakKeyDictionary[Memory, list[Cells]] = WeakKeyDictionary()
        #: per element, by depth of loops: the first read since the loop began of what the iteration
        #: that reads has not written itself; None: too many parts of it are told apart
        self._found: WeakKeyDictionary[Memory, list[Cells] | None] = WeakKeyDictionary()
        #: by time and tensor: what read it, in which role
        self._readers: dict[tuple[int, int], tuple[Operation, str]] = {}
        #: tiles on chip that several iterations have written, and what was done there, by time
        self._left: WeakKeyDictionary[Memory, Left[_Turn]] = WeakKeyDictionary()
        self._deeds: dict[int, Deed] = {}
        #: what is folded over the iterations of loops: of which
        self._folded: WeakKeyDictionary[Memory, frozenset[_Turn]] = WeakKeyDictionary()
        #: by program instance: which tiles that share places were written last
        self._grounds: dict[int, Ground] = {}
        #: where it was written
        self._writers: dict[int, Span] = {}
        self._inputs: dict[int, Use] = {}
        #: parameters that were written: what of them, and where the last time; and that were read
        self._given: WeakKeyDictionary[Memory, tuple[Memory, Span]] = WeakKeyDictionary()
        self._taken: WeakSet[Memory] = WeakSet()
        self._tiles: dict[tuple[Span, Template], Use] = {}
        self._ends: dict[tuple[object, ...], tuple[Stretches, ...]] = {}
        self._boxes: dict[tuple[object, ...], Box] = {}

    def turns(self, program: Program) -> list[_Turn]:
        """The independent loops that a program instance is in, outermost first."""
        return self._turns.setdefault(id(program), [])

    def made(self, memory: Memory) -> None:
        """A tensor begins to exist: of other iterations than this one it knows nothing."""
        self._born[memory] = self.clock

    def operation(self, program: Program, steps: Steps, bounds: Mapping[str, Bound]) -> None:
        """An operation is about to run."""
        self.clock += 1
        if self._orders and not self.lost:
            try:
                self._depend(program, steps, bounds)
            except TooFineError:
                self.lost = True
        if self._displaces:
            self._displace(program, steps, bounds)
        if self._overlaps:
            role = overlapping(steps.operation, bounds)
            if role is not None:
                span = self._where(steps.operation, role)
                self._meet(Overlapped(bounds[role].memory.name, span))
        if self._fills:
            for role in steps.taken:
                self._taken.add(bounds[role].memory)
            for role in steps.given:
                self._give(bounds[role], steps.operation.span)
        if self._reaches:
            for role in steps.reads:
                self._used(bounds[role], read=True)
            for role in steps.writes:
                self._used(bounds[role], read=False)

    # -- dependence -------------------------------------------------------------------

    def _depend(self, program: Program, steps: Steps, bounds: Mapping[str, Bound]) -> None:
        operation, reads, writes = steps.operation, steps.reads, steps.writes
        turns = self.turns(program)
        if several(program):
            boxes = {role: self._box(bounds[role]) for role in (*reads, *writes)}
            self.instances.operation(program, operation, bounds, (reads, writes), boxes)
        for role in reads if self._left else ():
            self._behind(operation, role, bounds[role], turns)
        if not turns and not self._left:
            return
        sums = operation.adds
        for role in reads:
            if sums and role in writes:
                continue  # it is carried on
            self._read(operation, role, bounds[role], turns)
        over = self._fold(operation, bounds, turns)
        for role in writes:
            self._write(operation, bounds[role], turns, sums, over)

    def _read(self, operation: Operation, role: str, found: Bound, turns: list[_Turn]) -> None:
        memory = found.memory
        around = self._around(turns, memory)
        carried = self._carried(found, around)
        if carried is not None:
            turn, stamp = carried
            turn.carried.add(memory)
            self._depends(memory, self._where(operation, role), self._writers[stamp], turn)
        if not around or memory.template.kind is StorageKind.CONSTANT:
            return
        self._readers[self.clock, id(memory)] = operation, role
        depths = self._found.setdefault(memory, [])
        if depths is None:
            return
        try:
            for depth, turn in enumerate(around):
                if depth == len(depths):
                    depths.append(Cells(memory.template))
                self._find(found, depths[depth], turn)
        except TooFineError:
            self._found[memory] = None  # of interest only if it is written

    def _find(self, found: Bound, first: Cells, turn: _Turn) -> None:
        """Something is read in an iteration: note where that did not write it itself."""
        box, place = self._box(found), found.place
        stamps = self._stamps.get(found.memory)
        begun = first.get(box, place)
        fresh = begun <= turn.start
        if stamps is not None:
            stamps.get(box, place)  # which may divide the blocks
            stamps.align(first)
            begun = first.get(box, place)
            fresh = (begun <= turn.start) & (stamps.get(box, place) <= turn.now)
        if fresh.any():
            first.put(box, place, np.where(fresh, self.clock, begun))

    def _overwrite(self, operation: Operation, found: Bound, around: list[_Turn]) -> None:
        """Something is written: tell if another iteration has read what was there before.

        Raises:
            TooFineError: that is not known.
        """
        memory = found.memory
        depths = self._found.get(memory, [])
        if depths is None:
            raise TooFineError
        for turn, first in zip(around, depths, strict=False):
            before = _earlier(first.get(self._box(found), found.place), [turn])
            if before is not None:
                reader, role = self._readers[before[1], id(memory)]
                self._depends(memory, reader.span_of(role), operation.span, turn)
                return

    def _carried(self, found: Bound, around: list[_Turn]) -> tuple[_Turn, int] | None:
        """The loop of which an earlier iteration wrote what is read, or a part of its sum."""
        if not around:
            return None
        box = self._box(found)
        stamps = self._stamps.get(found.memory)
        carried = _earlier(stamps.get(box, found.place), around) if stamps is not None else None
        if carried is not None:
            return carried
        for turn, parts in zip(around, self._sums.get(found.memory, ()), strict=False):
            carried = _earlier(parts.get(box, found.place), [turn])
            if carried is not None:
                return carried
        return None

    def postponed(self, program: Program, found: Bound, origin: Origin) -> bool:
        """Whether another program instance may yet write what is read here."""
        if not self._orders or not several(program) or not found.memory.template.common:
            return False
        self.instances.postpone(origin, found, self._box(found), program)
        return True

    def _around(self, turns: list[_Turn], memory: Memory) -> list[_Turn]:
        """The loops that a tensor lives through: not those whose iteration has made it."""
        born = self._born.get(memory, -1)
        return [turn for turn in turns if born < turn.now]

    def _fold(
        self, operation: Operation, bounds: Mapping[str, Bound], turns: list[_Turn]
    ) -> frozenset[_Turn]:
        """The loops over whose iterations it is folded what an operation writes."""
        indices = folded(operation)
        source = moved(operation) if self._folded and not indices else None
        if indices:
            over = frozenset(
                turn for turn in turns if any(index is E.const(turn.index) for index in indices)
            )
        elif source is not None and source in bounds:
            over = self._folded.get(bounds[source].memory, _NO_TURNS)
        else:
            over = _NO_TURNS
        for role, _ in operation.writes if over or self._folded else ():
            if role in bounds:
                memory = bounds[role].memory
                self._folded[memory] = over & self._folded.get(memory, over)
        return over

    def _write(
        self,
        operation: Operation,
        found: Bound,
        turns: list[_Turn],
        sums: bool,
        over: frozenset[_Turn],
    ) -> None:
        memory = found.memory
        around = self._around(turns, memory)
        if memory.template.kind is StorageKind.CONSTANT or not (around or memory in self._left):
            return
        stamps = self._stamps.get(memory)
        if stamps is None:
            stamps = self._stamps[memory] = Cells(memory.template)
        box = self._box(found)
        before = stamps.get(box, found.place)
        self._overwrite(operation, found, around)
        if memory.template.on_chip:
            self._leave(operation, found, around, sums, over)
        if before.size and not sums:
            carried = _earlier(before, [turn for turn in around if turn not in over])
            if carried is not None and memory not in carried[0].carried:
                turn, stamp = carried
                first = self._writers[stamp]
                self._meet(
                    CarriedWrite(
                        memory.name, first, operation.span, turn.span, turn.name, turn.kind
                    )
                )
        self._writers[self.clock] = operation.span
        if sums:
            self._add(found, around)
            return
        stamps.put(box, found.place, self.clock)
        for parts in self._sums.get(memory, ()):
            parts.put(box, found.place, 0)

    def _leave(
        self,
        operation: Operation,
        found: Bound,
        around: list[_Turn],
        adds: bool,
        over: frozenset[_Turn],
    ) -> None:
        """A tile is written: note where it sets what an earlier iteration added to, or adds to what
        that has set.
        """
        memory, box = found.memory, self._box(found)
        stamps = self._stamps[memory]
        deed = Deed(True, combines(operation), None if adds else constant(operation))
        self._deeds[self.clock] = deed

        def differ(moments: Values) -> Values:
            when = [int(moment) for moment in np.unique(moments[moments > 0])]
            alike = [m for m in when if not deed.needs_order(self._deeds[m])]
            return np.where(np.isin(moments, alike), 0, moments) if alike else moments

        left = self._left.get(memory)
        if left is None:
            left = Left(memory.template)
        place, late = (box, found.place), []
        sums = self._sums.get(memory, ()) if not adds else ()
        kept = [stamps, *sums[: len(around)], *left.depths(len(around))]
        for _ in range(2):  # the last may have divided the blocks of the first
            for cells in kept:
                stamps.align(cells)
        for depth, turn in enumerate(around):
            last = stamps.get(*place)
            if not adds:
                last = sums[depth].get(*place) if depth < len(sums) else np.zeros_like(last)
            other = (last > turn.start) & (last < turn.now) & (turn not in over)
            late.append((turn, differ(np.where(other, last, 0))))
        if memory in self._left or any(moments.any() for _, moments in late):
            self._left[memory] = left
            left.write(place, late, operation.span, adds, differ)

    def _behind(self, operation: Operation, role: str, found: Bound, turns: list[_Turn]) -> None:
        """Something is read: tell if a loop that is over has left it."""
        left = self._left.get(found.memory)
        if left is None:
            return
        for turn, moment, again in left.read((self._box(found), found.place)):
            if turn not in turns and found.memory not in turn.carried:
                name = found.memory.name
                first, second = sorted((self._writers[moment], again), key=_position)
                span = self._where(operation, role)
                self._meet(CarriedWrite(name, first, second, turn.span, turn.name, turn.kind, span))
                return

    def _where(self, operation: Operation, role: str) -> Span:
        place = places.here(operation.name.rpartition(".")[2])
        return place.keyword(role) if place.keywords else place.span

    def _add(self, found: Bound, around: list[_Turn]) -> None:
        """Something is added to a sum: note when that began, in each loop."""
        memory, box = found.memory, self._box(found)
        depths = self._sums.setdefault(memory, [])
        while len(depths) < len(around):
            depths.append(Cells(memory.template))
        for turn, parts in zip(around, depths, strict=False):
            begun = parts.get(box, found.place)
            parts.put(box, found.place, np.where(begun > turn.start, begun, self.clock))

    def _box(self, found: Bound) -> Box:
        template, place = found.memory.template, found.place
        if isinstance(place, Gather):
            return None
        key = (template, place.offset, place.shape, place.strides, place.dtype)
        if key not in self._boxes:
            self._boxes[key] = box_of(template, place)
        return self._boxes[key]

    def _depends(self, memory: Memory, span: Span, written: Span, turn: _Turn) -> None:
        self._meet(CarriedRead(memory.name, span, written, turn.span, turn.name, turn.kind))

    # -- places -----------------------------------------------------------------------

    def _displace(self, program: Program, steps: Steps, bounds: Mapping[str, Bound]) -> None:
        """Tell of reads of tiles of which others have taken the place."""
        ground = self._grounds.setdefault(id(program), Ground(self._bank))
        for role in steps.reads:
            found, span = bounds[role], self._where(steps.operation, role)
            added = sums_by_operator(steps.operation) and role in steps.writes
            lost = ground.read(self._box(found), found, span, added=added)
            if lost is not None:
                self._meet(lost)
        for role in steps.writes:
            ground.write(self._box(bounds[role]), bounds[role], steps.operation.span)

    # -- parameters -------------------------------------------------------------------

    def _give(self, found: Bound, span: Span) -> None:
        memory, place = found.memory, found.place
        known = self._given.get(memory)
        copy = known[0] if known is not None else Memory(memory.template, "", memory.span, None)
        if isinstance(place, Geometry):
            copy.mark(place)
        else:
            chosen = place.positions if place.mask is None else place.positions[place.mask]
            copy.mark_positions(chosen.reshape(-1), place.dtype)
        self._given[memory] = (copy, span)

    def _filled(self, inputs: Sequence[Memory]) -> None:
        for memory in inputs:
            if memory in self._taken:
                continue
            copy, span = self._given.get(memory, (None, memory.span))
            total = memory.template.elements
            missing = total
            if copy is not None:
                missing = 0 if copy.complete() else int(copy.undefined(copy.template.whole).sum())
            self._meet(Filled(memory.name, span, missing, total, "elements"))

    # -- use --------------------------------------------------------------------------

    def _used(self, found: Bound, read: bool) -> None:
        memory = found.memory
        template = memory.template
        if template.kind is StorageKind.INPUT:
            if not read:
                return
            use = self._inputs.get(id(memory))
            if use is None:
                use = self._inputs[id(memory)] = Use(memory)
        elif template.on_chip and template.kind is not StorageKind.CONSTANT:
            key = (memory.span, template)
            known = self._tiles.get(key)
            if known is None:
                known = self._tiles[key] = Use(memory)
            use = known
        else:
            return
        use.add(self._reach(template, found.place), read)

    def _reach(self, template: Template, place: Geometry | Gather) -> tuple[Stretches, ...]:
        if isinstance(place, Gather):
            return touched(template, place)
        key = (template, place.offset, place.shape, place.strides, place.dtype)
        found = self._ends.get(key)
        if found is None:
            found = self._ends[key] = touched(template, place)
        return found

    def finish(self, inputs: Sequence[Memory]) -> list[Origin]:
        """Tell what was used, at the end of the run; gives reads of what nobody wrote in time."""
        if self._fills:
            self._filled(inputs)
        if self._reaches:
            for memory in inputs:
                self._inputs.setdefault(id(memory), Use(memory))
            for use in (*self._inputs.values(), *self._tiles.values()):
                memory = use.memory
                storage = replace(memory.template.prototype, name=memory.name, span=memory.span)
                ends = use.ends, use.stepped_ends, use.read_ends, use.unread
                self._meet(Reached(storage, *ends, use.read, use.written))
        return [*self.instances.finish()]


def _earlier(part: NDArray[Any], turns: list[_Turn]) -> tuple[_Turn, int] | None:
    """The outermost loop of which an earlier iteration wrote some of the elements, and when."""
    if not turns or not part.size or int(part.min()) >= turns[-1].now:
        return None
    if int(part.max()) <= turns[0].start:
        return None
    for turn in turns:
        chosen = part[(part > turn.start) & (part < turn.now)]
        if chosen.size:
            return turn, int(chosen.max())
    return None


def _position(span: Span) -> tuple[int, int]:
    return span.line, span.column
