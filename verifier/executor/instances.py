"""What the instances of a launch do to the memory that they share, between two barriers.

Which visits of one element by two instances need an order, and have it, the rule says: told is who
comes to it, after how many barriers. An exchange, in which each of two cores waits for what the
other one sends, is a barrier as well. Numbers are the same where both instances have computed them
in the same way, out of the same inputs: what tensors hold is numbered by how it was made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from math import prod
from typing import Any, Final, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from verifier.executor.cells import Box, Cells
from verifier.executor.footprints import copied, replaced
from verifier.executor.memory import Bound, Memory
from verifier.executor.programs import Program
from verifier.executor.regions import Gather, Geometry
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.content import PLAIN, combines, constant, determined
from verifier.symbolic.memory.events import Deed, Met, Origin, Visit
from verifier.symbolic.tensors import StorageKind, View
from verifier.symbolic.trace import Operation


class _Kind(Enum):
    """Visits that are noted apart: the last one says nothing of those of another kind."""

    READS = "reads"
    SETS = "writes"
    COMBINES = "adds to what is there"

    @staticmethod
    def of(deed: Deed) -> _Kind:
        return _Kind.READS if not deed.writes else _Kind.COMBINES if deed.combines else _Kind.SETS


_READ: Final = Deed(False)
_Pair: TypeAlias = tuple[Visit | None, Visit | None]


class Unwritten(Struct, frozen=True):
    """A read of what nobody has written so far; other instances may still do so in time."""

    origin: Origin
    memory: Memory
    place: Geometry | Gather
    box: Box
    waited: int


class Instances(Struct):
    """Notes of one run; ``meet`` is told of visits of one element by different instances."""

    meet: Callable[[object], bool]
    #: the last visit of an element, and the last one by another instance than that
    _visits: list[_Pair] = field(default_factory=lambda: [(None, None)])
    #: per element and kind, the numbers of these
    _last: WeakKeyDictionary[Memory, dict[_Kind, Cells]] = field(default_factory=WeakKeyDictionary)
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
        index, waited, adds = instance.index, instance.waited_for, combines(operation)
        for role in reads:
            if bounds[role].memory.template.common and not (adds and role in writes):
                memory = bounds[role].memory
                visit = Visit(operation.span_of(role), index, waited(memory), _READ)
                self._come(visit, bounds[role], boxes[role])
        value = self._value(operation, bounds)
        made = self._made(operation, bounds, reads)
        for role in writes:
            memory = bounds[role].memory
            if memory.template.common:
                deed = Deed(True, adds, value, made)
                visit = Visit(operation.span, index, waited(memory), deed)
                self._come(visit, bounds[role], boxes[role])
            else:
                anew = role not in reads and replaced(operation, role, bounds[role])
                self._contents[memory] = self._next(made, 0 if anew else self._held(memory))
            if value is not None and bounds[role].place == memory.template.whole:
                self._numbers[memory] = value
            else:
                self._numbers.pop(memory, None)

    def postpone(self, origin: Origin, found: Bound, box: Box, instance: Program) -> None:
        """Nobody has written what an instance reads: that is told when all have run."""
        waited = instance.waited_for(found.memory)
        self._unwritten.append(Unwritten(origin, found.memory, found.place, box, waited))

    def finish(self) -> Iterator[Origin]:
        """The reads of what nobody wrote, or only after a barrier that came later."""
        for read in self._unwritten:
            if read.origin.span in self._raced:
                continue
            written = [
                visit.waited
                for kind, cells in self._last.get(read.memory, {}).items()
                for visit in self._distinct(cells.get(read.box, read.place))
                if kind is not _Kind.READS
            ]
            late = not written or max(written) > read.waited
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
        if not determined(operation):
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
        return None if memory.template.common else self._contents.get(memory, 0)

    def _next(self, made: int | None, before: int | None) -> int | None:
        """As what is written, of a tensor that held something."""
        if made is None or before is None:
            return None
        return self._ways.setdefault((before, made), len(self._ways) + 1)

    def _distinct(self, stamps: NDArray[Any]) -> list[Visit]:
        pairs = (self._visits[int(stamp)] for stamp in np.unique(stamps))
        return [visit for pair in pairs for visit in pair if visit is not None]

    def _come(self, visit: Visit, found: Bound, box: Box) -> None:
        memory, place = found.memory, found.place
        kinds = self._last.setdefault(memory, {})
        for kind, cells in kinds.items():
            if visit.deed.writes or kind is not _Kind.READS:
                for other in self._distinct(cells.get(box, place)):
                    if other.instance != visit.instance:
                        self._meet(memory, other, visit)
        own = _Kind.of(visit.deed)
        if own not in kinds:
            kinds[own] = Cells(memory.template)
        before = kinds[own].get(box, place)
        after = np.zeros_like(before)
        for number in np.unique(before).tolist():
            last, other = self._visits[number]
            apart = last is not None and last.instance != visit.instance
            after[before == number] = len(self._visits)
            self._visits.append((visit, last if apart else other))
        kinds[own].put(box, place, after)

    def _meet(self, memory: Memory, first: Visit, second: Visit) -> None:
        if self.meet(Met(memory.name, first, second)):
            self._raced |= {each.span for each in (first, second) if not each.deed.writes}


def several(instance: Program) -> bool:
    """Whether a launch has other instances than this one."""
    return prod(instance.grid) > 1


def settled(value: object) -> tuple[object, ...] | None:
    """What a value is compared by; None if it may be another one in another instance."""
    if isinstance(value, Expr):
        return (value.const,) if value.is_const else None
    if isinstance(value, Bool):
        return (value is E.TRUE,) if value.kind is E.BoolKind.CONST else None
    if isinstance(value, PLAIN):
        return (type(value), value)
    if not isinstance(value, tuple):
        return None
    parts = [settled(item) for item in value]
    return None if None in parts else (len(parts), *parts)
