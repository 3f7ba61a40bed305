"""The last operations of a run of a TPU, for rules that compare one with those shortly before, and
what is known of all those before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from verifier.hardware.engines import Engine
from verifier.source.ir import Span
from verifier.symbolic.instruction import Trait
from verifier.symbolic.lanes import SystemTensor
from verifier.symbolic.memory.events import Issued, Marked, Stored, Stretch
from verifier.symbolic.trace import Operation, Trace

#: each operation is looked at together with at least so many before it
_REACH: Final = 100
#: and with all of its parallel section, if that is no longer than this
_SECTION: Final = 1000
#: stores of a run that are compared with each other
_STORES: Final = 1000
_MARKS: Final = frozenset({Trait.STARTS_PARALLEL, Trait.ENDS_PARALLEL, Trait.POLLS})


class RecentOperations:
    """The operations that were not looked at yet, and those just before: a :class:`Stretch`."""

    def __init__(self, meet: Callable[[object], bool], trace: Callable[[Span], Trace]) -> None:
        self._meet = meet
        #: makes the trace of a run without operations
        self._trace = trace
        self._operations: list[Operation] = []
        #: how many of them were looked at, and whether others were before
        self._known = 0
        self._cut = False
        #: whether a parallel section was too long to be looked at as a whole
        self.lost = False

    def add(self, operation: Operation, section: Operation | None) -> None:
        """``section``: the call that has begun the parallel section that it is in."""
        self._operations.append(operation)
        if len(self._operations) - self._known < _REACH or len(self._operations) < 2 * _REACH:
            return
        self.tell()
        kept = _REACH
        if section is not None:
            behind = reversed(range(len(self._operations)))
            begun = next((at for at in behind if self._operations[at] is section), None)
            long = begun is None or len(self._operations) - begun > _SECTION
            self.lost |= long
            if begun is not None and not long:
                kept = max(_REACH, len(self._operations) - begun)
        if kept < len(self._operations):
            self._cut = True
            self._operations = self._operations[-kept:]
        self._known = len(self._operations)

    def tell(self, ended: bool = False) -> None:
        """Have what is new looked at; the run may end here, or has ``ended``."""
        new = self._operations[self._known :]
        if not new:
            return
        trace = self._trace(new[0].span)
        trace.operations = self._operations
        self._known = len(self._operations)
        self._meet(Stretch(trace, new[0].order, self._cut, ended))


class Progress:
    """How far a run is: the parallel section that it is in, and what it has waited for."""

    def __init__(self, meet: Callable[[object], bool]) -> None:
        self._meet = meet
        #: the call that has begun the section
        self.section: Operation | None = None
        self._first: Operation | None = None
        self._last: Operation | None = None
        self._prepared = False
        self._awaited = False

    def add(self, operation: Operation) -> None:
        if operation.engine is not Engine.CONTROL:
            self._first = self._first or operation
            self._last, self._awaited = operation, False
        traits = operation.instruction.traits if operation.instruction is not None else frozenset()
        if Trait.INITIALISES in traits and self._first is None:
            self._prepared = True
        if traits.isdisjoint(_MARKS):
            return
        self._meet(Marked(operation, self.section))
        if Trait.STARTS_PARALLEL in traits:
            self.section = operation
        elif Trait.ENDS_PARALLEL in traits:
            self.section = None
        else:
            self._awaited = True

    def tell(self) -> None:
        """The run is over."""
        if self._first is not None or self.section is not None:
            found = Issued(self._first, self._last, self._prepared, self._awaited, self.section)
            self._meet(found)


class Stores:
    """What a run moves to buffers off chip, and which of them it reads."""

    def __init__(self, meet: Callable[[object], bool], trace: Callable[[Span], Trace]) -> None:
        self._meet = meet
        self._trace = trace
        self._operations: list[Operation] = []
        self._read: set[int] = set()
        #: whether there were too many of them
        self.lost = False

    def add(self, operation: Operation) -> None:
        for touch in operation.touches:
            if isinstance(touch.tensor, SystemTensor):
                storage = id(touch.tensor.address.storage)
                new = touch.writes or storage not in self._read
                if touch.reads:
                    self._read.add(storage)
                if new and len(self._operations) == _STORES:
                    self.lost = True
                elif new:
                    self._operations.append(operation)
                    return

    def tell(self) -> None:
        """The run is over."""
        if self._operations and not self.lost:
            trace = self._trace(self._operations[0].span)
            trace.operations = self._operations
            self._meet(Stored(trace))


__all__ = ["Progress", "RecentOperations", "Stores"]
