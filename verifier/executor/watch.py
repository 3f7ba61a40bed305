"""What a run remembers for rules that look at several operations: who wrote what, what is used.

Only what a rule that is asked for needs is remembered (:attr:`Options.follow`): it costs time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary, WeakSet

import numpy as np
from numpy.typing import NDArray

from verifier.executor import findings, places
from verifier.executor.cells import Box, Cells, TooFineError, along, box_of
from verifier.executor.flow import blame
from verifier.executor.instances import Instances, several, shared
from verifier.executor.memory import Bound, Memory, Origin, Template
from verifier.executor.regions import Gather, Geometry
from verifier.executor.semantics.casts import NUMPY
from verifier.rulebase import Check
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.trace import Operation

if TYPE_CHECKING:
    from verifier.executor.machine import ConcreteMachine

DEPENDENCE: Final = "loop-carried-dependence"
TAIL: Final = "input-tail-dropped"
OVERSIZED: Final = "oversized-tile"
OUTPUT: Final = "output-not-written"
#: the rules that a run judges only if they are asked for; of :data:`OUTPUT`, what it has to say of
#: parameters: no run knows whether a part was meant
RULES: Final = frozenset({DEPENDENCE, TAIL, OVERSIZED, OUTPUT})


@dataclass(eq=False, slots=True)
class _Turn:
    """A loop that promises independent iterations: when it began, and its iteration of now."""

    span: Span
    start: int
    now: int


class Turns:
    """The numbers of an ``affine_range``, with a note of which iteration is being run."""

    def __init__(self, watch: Watch, machine: ConcreteMachine, numbers: Any) -> None:
        self._watch = watch
        self._machine = machine
        self._numbers = numbers
        self._span = places.here().span

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: Any) -> Any:
        return self._numbers[index]

    def __iter__(self) -> Iterator[int]:
        watch = self._watch
        turns = watch.turns(self._machine)
        turn = _Turn(self._span, watch.clock, watch.clock)
        turns.append(turn)
        try:
            for number in self._numbers:
                watch.clock += 1
                turn.now = watch.clock
                yield number
        finally:
            turns.remove(turn)


@dataclass(slots=True)
class _Use:
    """How far a tile, or all tiles of one allocation, are used along each dimension."""

    memory: Memory
    highest: list[int]
    read: bool = False
    written: bool = False


@dataclass(slots=True)
class Watch:
    """Notes of one run."""

    rules: frozenset[str]
    #: counts operations and iterations of independent loops
    clock: int = 0
    #: operations until the run is looked at again
    _next: int = 16
    _turns: dict[int, list[_Turn]] = field(default_factory=dict)
    #: when a tensor was made
    _born: WeakKeyDictionary[Memory, int] = field(default_factory=WeakKeyDictionary)
    #: per element: when it was written last; 0 if that is of no interest
    _stamps: WeakKeyDictionary[Memory, Cells] = field(default_factory=WeakKeyDictionary)
    #: where it was written
    _writers: dict[int, Span] = field(default_factory=dict)
    instances: Instances = field(default_factory=Instances)
    _inputs: dict[int, _Use] = field(default_factory=dict)
    #: parameters that were written: what of them, and where the last time; and that were read
    _given: WeakKeyDictionary[Memory, tuple[Memory, Span]] = field(
        default_factory=WeakKeyDictionary
    )
    _taken: WeakSet[Memory] = field(default_factory=WeakSet)
    _tiles: dict[tuple[Span, Template], _Use] = field(default_factory=dict)
    _reaches: dict[tuple[object, ...], tuple[int, ...]] = field(default_factory=dict)
    _boxes: dict[tuple[object, ...], Box] = field(default_factory=dict)
    #: whether something was too large to follow
    lost: bool = False

    def turns(self, machine: ConcreteMachine) -> list[_Turn]:
        """The independent loops that the program instance of now is in, outermost first."""
        return self._turns.setdefault(id(machine.program), [])

    def made(self, memory: Memory) -> None:
        """A tensor begins to exist: of other iterations than this one it knows nothing."""
        self._born[memory] = self.clock

    def operation(
        self,
        machine: ConcreteMachine,
        operation: Operation,
        bounds: Mapping[str, Bound],
        reads: tuple[str, ...],
        writes: tuple[str, ...],
    ) -> None:
        """An operation is about to run."""
        self.clock += 1
        if machine.performed >= self._next and machine.options.probe is not None:
            self._next += self._next // 4
            machine.options.probe(machine)
        if DEPENDENCE in self.rules and not self.lost:
            try:
                self._depend(machine, operation, bounds, reads, writes)
            except TooFineError:
                self.lost = True
        if OUTPUT in self.rules:
            self._taken.update(bounds[role].memory for role in reads)
            for role in writes:
                self._give(bounds[role], operation.span)
        if TAIL in self.rules or OVERSIZED in self.rules:
            for role in reads:
                self._used(bounds[role], read=True)
            for role in writes:
                self._used(bounds[role], read=False)

    # -- dependence -------------------------------------------------------------------

    def _depend(
        self,
        machine: ConcreteMachine,
        operation: Operation,
        bounds: Mapping[str, Bound],
        reads: tuple[str, ...],
        writes: tuple[str, ...],
    ) -> None:
        turns = self.turns(machine)
        program = machine.program
        if several(program):
            boxes = {role: self._box(bounds[role]) for role in (*reads, *writes)}
            roles = (reads, writes)
            self.instances.operation(machine, program, operation, bounds, roles, boxes)
        if not turns:
            return
        sums = operation.accumulates != "no" and operation.accumulates is not E.FALSE
        targets = [bounds[role].memory for role in writes] if sums else []
        for role in reads:
            found = bounds[role]
            stamps = self._stamps.get(found.memory)
            around = self._around(turns, found.memory)
            if stamps is None or not around or any(found.memory is own for own in targets):
                continue
            box = self._box(found)
            carried = _earlier(stamps.get(box, found.place), around)
            if carried is not None:
                self._read_after_write(machine, operation, role, found.memory, carried)
        for role in writes:
            self._write(machine, operation, bounds[role], turns, sums)

    def postponed(self, machine: ConcreteMachine, found: Bound, origin: Origin) -> bool:
        """Whether another program instance may yet write what is read here."""
        if DEPENDENCE not in self.rules or not several(machine.program):
            return False
        if not shared(found.memory):
            return False
        self.instances.postpone(origin, found, self._box(found), machine.program)
        return True

    def _around(self, turns: list[_Turn], memory: Memory) -> list[_Turn]:
        """The loops that a tensor lives through: not those whose iteration has made it."""
        born = self._born.get(memory, -1)
        return [turn for turn in turns if born < turn.now]

    def _write(
        self,
        machine: ConcreteMachine,
        operation: Operation,
        found: Bound,
        turns: list[_Turn],
        sums: bool,
    ) -> None:
        memory = found.memory
        buffer = memory.template.buffer
        around = self._around(turns, memory)
        if memory.template.kind == "constant" or not around:
            return
        stamps = self._stamps.get(memory)
        if stamps is None:
            if sums:
                return
            stamps = self._stamps[memory] = Cells(memory.template)
        box = self._box(found)
        before = stamps.get(box, found.place)
        if not sums and buffer.off_chip and before.size:
            carried = _earlier(before, around)
            if carried is not None:
                self._written_twice(machine, operation, memory, carried[1], carried[0].span)
        if not sums:
            stamps.put(box, found.place, self.clock)
            self._writers[self.clock] = operation.span
        elif bool((before < around[-1].now).any()):
            # a sum may be carried on; what it adds to is no result that an iteration waits for
            stamps.put(box, found.place, np.where(before < around[-1].now, 0, before))

    def _box(self, found: Bound) -> Box:
        template, place = found.memory.template, found.place
        if isinstance(place, Gather):
            return None
        key = (template, place.offset, place.shape, place.strides, place.dtype)
        if key not in self._boxes:
            self._boxes[key] = box_of(template, place)
        return self._boxes[key]

    def _read_after_write(
        self,
        machine: ConcreteMachine,
        operation: Operation,
        role: str,
        memory: Memory,
        carried: tuple[_Turn, int],
    ) -> None:
        turn, stamp = carried
        place = places.here(operation.name.rpartition(".")[2])
        machine.check(
            DEPENDENCE,
            E.FALSE,
            place.keyword(role) if place.keywords else place.span,
            f"no iteration reads what an earlier one wrote to `{memory.name}`",
            f"an iteration reads what an earlier one wrote to `{memory.name}`",
            notes=(
                (self._writers[stamp], "written here"),
                (turn.span, "the loop promises independent iterations"),
            ),
            facts=("NKI-LP02",),
            severity="warning" if memory.template.on_chip else None,
        )

    def _written_twice(
        self,
        machine: ConcreteMachine,
        operation: Operation,
        memory: Memory,
        stamp: int,
        loop: Span,
    ) -> None:
        """Reported where the earlier of two iterations writes."""
        name, first = memory.name, self._writers[stamp]
        notes = [(operation.span, "and written here")] if operation.span != first else []
        notes.append((loop, "the loop is here"))
        machine.check(
            DEPENDENCE,
            E.FALSE,
            first,
            f"no two iterations write the same element of `{name}`",
            f"two iterations write the same part of `{name}`",
            notes=tuple(notes),
            facts=("NKI-LP02", "NKI-E32"),
        )

    # -- parameters -------------------------------------------------------------------

    def _give(self, found: Bound, span: Span) -> None:
        memory, place = found.memory, found.place
        if memory.template.kind != "input":
            return
        known = self._given.get(memory)
        copy = known[0] if known is not None else Memory(memory.template, "", memory.span, None)
        if isinstance(place, Geometry):
            copy.mark(place)
        else:
            chosen = place.positions if place.mask is None else place.positions[place.mask]
            copy.mark_positions(chosen.reshape(-1), place.dtype)
        self._given[memory] = (copy, span)

    def _partly_given(
        self, machine: ConcreteMachine, inputs: list[Memory], returned: list[Memory]
    ) -> None:
        for memory in inputs:
            if memory in self._taken or any(memory is other for other in returned):
                continue
            copy, span = self._given.get(memory, (None, memory.span))
            if copy is None or not copy.complete():
                check = Check(
                    predicate=E.FALSE,
                    span=span,
                    text=f"every element of `{memory.name}` is written",
                    message=f"not all of `{memory.name}` is written",
                    facts=("NKI-E30",),
                    severity="warning",
                )
                _note_down(machine, OUTPUT, check)

    # -- use --------------------------------------------------------------------------

    def _used(self, found: Bound, read: bool) -> None:
        memory = found.memory
        template = memory.template
        if template.kind == "input":
            if not read:
                return
            use = self._inputs.get(id(memory))
            if use is None:
                use = self._inputs[id(memory)] = _Use(memory, [-1] * len(template.shape))
        elif template.kind == "alloc" and template.on_chip:
            key = (memory.span, template)
            known = self._tiles.get(key)
            if known is None:
                known = self._tiles[key] = _Use(memory, [-1] * len(template.shape))
            use = known
        else:
            return
        use.read |= read
        use.written |= not read
        for dimension, highest in enumerate(self._reach(template, found.place)):
            if highest > use.highest[dimension]:
                use.highest[dimension] = highest

    def _reach(self, template: Template, place: Geometry | Gather) -> tuple[int, ...]:
        if isinstance(place, Gather):
            return _farthest(template, place)
        key = (template, place.offset, place.shape, place.strides, place.dtype)
        found = self._reaches.get(key)
        if found is None:
            found = self._reaches[key] = _corner(template, place)
        return found

    def finish(
        self, machine: ConcreteMachine, inputs: list[Memory], returned: list[Memory]
    ) -> None:
        """Judge what was used, at the end of the run."""
        if OUTPUT in self.rules:
            self._partly_given(machine, inputs, returned)
        for origin in self.instances.finish():
            blame(machine, machine.origin(origin), origin.span, "nobody writes it before")
        if TAIL in self.rules:
            for memory in inputs:
                self._tail(machine, memory)
        if OVERSIZED in self.rules:
            for use in self._tiles.values():
                _oversized(machine, use)

    def _tail(self, machine: ConcreteMachine, memory: Memory) -> None:
        use = self._inputs.get(id(memory))
        for dimension, extent in enumerate(memory.template.shape):
            read = use.highest[dimension] + 1 if use is not None else 0
            if read < extent:
                check = Check(
                    predicate=E.FALSE,
                    span=memory.span,  # which loop should have come there a run does not know
                    text=f"read up to == {memory.name}.shape[{dimension}]",
                    message=f"the tail of `{memory.name}` along dimension {dimension} "
                    "is never read",
                    values=(("read up to", E.const(read)),),
                )
                _note_down(machine, TAIL, check)


def _note_down(machine: ConcreteMachine, rule: str, check: Check) -> None:
    """One of several findings at one place."""
    found = machine.rules.by_id[rule]
    machine.found.append(
        findings.diagnose(found, check, machine.kernel, machine.target.name, machine.dialect.name)
    )


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


def _corner(template: Template, place: Geometry) -> tuple[int, ...]:
    """The highest index along each dimension that a strided view touches."""
    shape = template.shape
    last = tuple(size - 1 for size in shape)
    if 0 in place.shape:
        return (-1,) * len(shape)
    if NUMPY[place.dtype].itemsize != template.itemsize or any(s < 0 for s in place.strides):
        return last
    high = along(template, place.offset)
    for size, stride in zip(place.shape, place.strides, strict=True):
        for dimension, step in enumerate(along(template, stride)):
            high[dimension] += (size - 1) * step
    # a view that runs over the end of a dimension touches all of it
    return last if any(h > m for h, m in zip(high, last, strict=True)) else tuple(high)


def _farthest(template: Template, place: Gather) -> tuple[int, ...]:
    positions = place.positions if place.mask is None else place.positions[place.mask]
    if not positions.size:
        return (-1,) * len(template.shape)
    if NUMPY[place.dtype].itemsize != template.itemsize:
        return tuple(size - 1 for size in template.shape)
    inside = np.clip(positions.reshape(-1), 0, max(template.elements - 1, 0))
    return tuple(int(index.max()) for index in np.unravel_index(inside, template.shape))


def _oversized(machine: ConcreteMachine, use: _Use) -> None:
    template = use.memory.template
    axis = template.partition_axis
    if axis is None or not (use.read and use.written):
        return
    name = use.memory.name
    for dimension in range(axis + 1, len(template.shape)):
        used, extent = use.highest[dimension] + 1, template.shape[dimension]
        if used < extent:
            machine.violate(
                OVERSIZED,
                use.memory.span,
                f"every free dimension of `{name}` is used up to its end",
                f"`{name}` is allocated {extent} wide along dimension {dimension}, "
                f"but only {used} of it are ever used",
            )
            return
