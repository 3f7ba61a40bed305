"""The last operations of a run of a TPU, for rules that compare one with those shortly before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic.memory.events import Stretch
from verifier.symbolic.trace import Operation, Trace

#: each operation is looked at together with at least so many before it
_REACH: Final = 100


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

    def add(self, operation: Operation) -> None:
        self._operations.append(operation)
        if len(self._operations) >= 2 * _REACH:
            self.tell()
            self._cut = True
            self._operations = self._operations[-_REACH:]
            self._known = _REACH

    def tell(self) -> None:
        """Have what is new looked at; the run may end here."""
        new = self._operations[self._known :]
        if not new:
            return
        trace = self._trace(new[0].span)
        trace.operations = self._operations
        self._known = len(self._operations)
        self._meet(Stretch(trace, new[0].order, self._cut))


__all__ = ["RecentOperations"]
