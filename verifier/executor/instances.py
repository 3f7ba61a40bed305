"""What the instances of a launch do to the memory that they share, between two barriers.

Two accesses of one element by different instances, one of which writes, are ordered by a barrier in
between: each instance counts those that it went through. An exchange, in which each of two cores
waits for what the other one sends, is one as well. Two sums that the memory makes, and two writes
of the same numbers, need no order. Numbers are the same where both instances have computed them in
the same way, out of the same inputs: what tensors hold is numbered by how it was made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from verifier.executor.cells import Box, Cells
from verifier.executor.footprints import copied
from verifier.executor.memory import Bound, Memory
from verifier.executor.programs import Program
from verifier.executor.regions import Gather, Geometry
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.memory.content import constant
from verifier.symbolic.memory.events import ForeignRead, ForeignWrite, Origin
from verifier.symbolic.tensors import DType, StorageKind, View
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import ApiRef, Enumerator


@dataclass(frozen=True, slots=True)
class _Event:
    """An access: where, by which instance, after how many barriers.

    ``value``: the number that is written everywhere, if it is one; ``made``: how it was made, as a
    number, if that is known. ``adds``: it is a sum.
    """

    span: Span
    number: int
    waited: int
    value: int | float | None = None
    made: int | None = None
    adds: bool = False


_NONE: Final = _Event(Span("", 0, 0, 0, 0), 0, -1)


@dataclass(frozen=True, slots=True)
class Unwritten:
    """A read of what nobody has written so far; other instances may still do so in time."""

    origin: Origin
    memory: Memory
    place: Geometry | Gather
    box: Box
    waited: int


@dataclass(slots=True)
class Instances:
    """Notes of one run; ``meet`` is told of accesses that nothing orders."""

    meet: Callable[[object], bool]
    #: writes, by number; the first stands for none
    _events: list[_Event] = field(default_factory=lambda: [_NONE])
    #: the last read of an element, and the last one by another instance than that
    _readers: list[tuple[_Event, _Event]] = field(default_factory=lambda: [(_NONE, _NONE)])
    #: per element, the numbers of these
    _writes: WeakKeyDictionary[Memory, Cells] = field(default_factory=WeakKeyDictionary)
    _reads: WeakKeyDictionary[Memory, Cells] = field(default_factory=WeakKeyDictionary)
    #: tensors that hold one number everywhere
    _numbers: WeakKeyDictionary[Memory, int | float] = field(default_factory=WeakKeyDictionary)
    #: how the contents of tensors that an instance has for itself were made
    _contents: WeakKeyDictionary[Memory, int | None] = field(default_factory=WeakKeyDictionary)
    _ways: dict[tuple[object, ...], int] = field(default_factory=dict)
    _unwritten: list[Unwritten] = field(default_factory=list)
    #: reads of what others write
    _raced: set[Span] = field(default_factory=set)

    def operation(
        self,
        instance: Program,
        operation: Operation,
        bounds: Mapping[str, Bound],
        roles: tuple[tuple[str, ...], tuple[str, ...]],
        boxes: Mapping[str, Box],
    ) -> None:
        """An operation of an instance; ``roles``: what it reads, and what it writes."""
        reads, writes = roles
        number = _number(instance.index, instance.grid)
        adds = operation.adds
        for role in reads:
            if shared(bounds[role].memory) and not (adds and role in writes):
                event = _Event(operation.span_of(role), number, instance.waited)
                self._read(event, bounds[role], boxes[role])
        value = self._value(operation, bounds)
        made = self._made(operation, bounds, reads)
        for role in writes:
            memory = bounds[role].memory
            if shared(memory):
                event = _Event(operation.span, number, instance.waited, value, made, adds)
                self._write(event, bounds[role], boxes[role])
            else:
                self._contents[memory] = self._next(made, self._held(memory))
            if value is not None and bounds[role].place == memory.template.whole:
                self._numbers[memory] = value
            else:
                self._numbers.pop(memory, None)

    def postpone(self, origin: Origin, found: Bound, box: Box, instance: Program) -> None:
        """Nobody has written what an instance reads: that is told when all have run."""
        self._unwritten.append(Unwritten(origin, found.memory, found.place, box, instance.waited))

    def finish(self) -> Iterator[Origin]:
        """The reads of what nobody wrote, or only after a barrier that came later."""
        for read in self._unwritten:
            if read.origin.span in self._raced:
                continue
            stamps = self._writes.get(read.memory)
            late = stamps is None or any(
                event.waited > read.waited
                for event in self._distinct(stamps.get(read.box, read.place))
            )
            if late or bool(read.memory.undefined(read.place).any()):
                yield read.origin

    # -- accesses -----------------------------------------------------------------------

    def _value(self, operation: Operation, bounds: Mapping[str, Bound]) -> int | float | None:
        known = constant(operation)
        if known is not None or not operation.reads:
            return known
        sources = [bounds[role].memory for role, _ in operation.reads if role in bounds]
        if len(sources) != 1 or sources[0] not in self._numbers:
            return None
        return self._numbers[sources[0]] if copied(operation, bounds) is not None else None

    def _made(
        self, operation: Operation, bounds: Mapping[str, Bound], reads: tuple[str, ...]
    ) -> int | None:
        """The number of how an operation makes what it writes, and where; None: not known."""
        instruction = operation.instruction
        if instruction is None or instruction.traits & {Trait.RANDOM, Trait.COLLECTIVE}:
            return None
        if instruction.footprint.orders or instruction.footprint.remembers(operation):
            return None
        parts: list[object] = [operation.name, str(operation.effect)]
        for role, operand in operation.operands.items():
            if role not in bounds and not isinstance(operand.value, View):
                known = settled(operand.value)
                if known is None:
                    return None
                parts += (role, *known)
        for role, found in bounds.items():
            if isinstance(found.place, Gather):
                return None
            parts += (role, *found.place)
            if role in reads:
                held = self._held(found.memory)
                if held is None:
                    return None
                parts.append(held)
        return self._ways.setdefault(tuple(parts), len(self._ways) + 1)

    def _held(self, memory: Memory) -> int | None:
        """The number of how what a tensor holds was made: 0 if nothing was put there."""
        if memory.template.kind in (StorageKind.INPUT, StorageKind.CONSTANT):
            # who writes to a parameter may do so before another instance reads it
            known = self._ways.setdefault(("given", id(memory)), len(self._ways) + 1)
            return None if memory.written else known
        return None if shared(memory) else self._contents.get(memory, 0)

    def _next(self, made: int | None, before: int | None) -> int | None:
        """As what is written, of a tensor that held something."""
        if made is None or before is None:
            return None
        return self._ways.setdefault((before, made), len(self._ways) + 1)

    def _distinct(self, stamps: NDArray[Any]) -> list[_Event]:
        return [self._events[int(stamp)] for stamp in np.unique(stamps) if stamp]

    def _stamp(self, event: _Event) -> int:
        self._events.append(event)
        return len(self._events) - 1

    def _read(self, event: _Event, found: Bound, box: Box) -> None:
        memory, place = found.memory, found.place
        writes = self._writes.get(memory)
        if writes is not None:
            for write in self._distinct(writes.get(box, place)):
                if _beside(write, event):
                    self._foreign(memory, event, write)
        reads = self._reads.get(memory)
        if reads is None:
            reads = self._reads[memory] = Cells(memory.template)
        before = reads.get(box, place)
        after = np.zeros_like(before)
        for stamp in np.unique(before):
            last, other = self._readers[int(stamp)]
            if last.number != event.number:
                other = last
            after[before == stamp] = len(self._readers)
            self._readers.append((event, other))
        reads.put(box, place, after)

    def _write(self, event: _Event, found: Bound, box: Box) -> None:
        memory, place = found.memory, found.place
        writes = self._writes.get(memory)
        if writes is None:
            writes = self._writes[memory] = Cells(memory.template)
        for write in self._distinct(writes.get(box, place)):
            if _beside(write, event) and not _alike(write, event):
                self._twice(memory, write, event)
        reads = self._reads.get(memory)
        for stamp in () if reads is None else np.unique(reads.get(box, place)):
            for read in self._readers[int(stamp)]:
                if _beside(read, event):
                    self._foreign(memory, read, event)
        writes.put(box, place, self._stamp(event))

    def _foreign(self, memory: Memory, read: _Event, write: _Event) -> None:
        self._raced.add(read.span)
        self.meet(ForeignRead(memory.name, read.span, write.span))

    def _twice(self, memory: Memory, first: _Event, second: _Event) -> None:
        """Told where the first of the two instances writes, whichever is run before the other."""
        first, second = sorted((first, second), key=lambda event: event.number)
        self.meet(ForeignWrite(memory.name, first.span, second.span))


def shared(memory: Memory) -> bool:
    """Whether all instances of a launch see the tensor."""
    template = memory.template
    return template.buffer is Buffer.SHARED_HBM and template.kind is not StorageKind.CONSTANT


def several(instance: Program) -> bool:
    """Whether a launch has other instances than this one."""
    return prod(instance.grid) > 1


def _beside(first: _Event, second: _Event) -> bool:
    """Whether accesses are by two instances, with no barrier between them."""
    return first.number != second.number and first.waited == second.waited


def _alike(first: _Event, second: _Event) -> bool:
    same = first.value is not None and first.value == second.value
    alike = first.made is not None and first.made == second.made
    return same or alike or (first.adds and second.adds)


def settled(value: object) -> tuple[object, ...] | None:
    """What a value is compared by; None if it may be another one in another instance."""
    if isinstance(value, Expr):
        return (value.const,) if value.is_const else None
    if isinstance(value, Bool):
        return (value is E.TRUE,) if value.kind is E.BoolKind.CONST else None
    if value is None or isinstance(value, (bool, int, float, str, DType, Enumerator, ApiRef)):
        return (type(value), value)
    if not isinstance(value, tuple):
        return None
    parts = [settled(item) for item in value]
    return None if None in parts else (len(parts), *parts)


def _number(index: tuple[int, ...], grid: tuple[int, ...]) -> int:
    total = 0
    for position, size in zip(index, grid, strict=True):
        total = total * size + position
    return total
