"""Parts of long runs of a TPU, for rules that compare an operation with those shortly before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from verifier.symbolic.memory.events import Stretch
from verifier.symbolic.trace import Operation, Trace

if TYPE_CHECKING:
    from verifier.executor.machine import ConcreteMachine

#: each operation is looked at together with at least so many before it
_REACH: Final = 100


class Stretches:
    """The operations that were not looked at yet, and those just before."""

    def __init__(self, machine: ConcreteMachine) -> None:
        self._machine = machine
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
        machine, span = self._machine, new[0].span
        trace = Trace(machine.kernel, span.path, span, machine.generation, machine.dialect.name)
        trace.operations = self._operations
        self._known = len(self._operations)
        machine.meet(Stretch(trace, new[0].order, self._cut))


__all__ = ["Stretches"]
