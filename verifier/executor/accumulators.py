"""What the accumulators of engines hold during a run, lane by lane; numbers are elsewhere.

Each program instance has engines of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from verifier.executor.memory import Bound
from verifier.symbolic.effects import Accumulation, AccumulatorFile
from verifier.symbolic.memory.content import Held
from verifier.symbolic.memory.events import Accumulated, Unread
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation

_NOTHING: Final = Held()


@dataclass(slots=True)
class _Lane:
    """An accumulator; ``unread``: the last to add to what nothing has read out since."""

    held: Held = _NOTHING
    unread: Operation | None = None


class Accumulators:
    """Those of all engines and program instances."""

    __slots__ = ("_files", "_meet")

    def __init__(self, meet: Callable[[object], bool]) -> None:
        self._meet = meet
        self._files: dict[tuple[str, tuple[int, ...]], dict[int, _Lane]] = {}

    def use(
        self,
        program: tuple[int, ...],
        operation: Operation,
        registers: AccumulatorFile,
        bounds: Mapping[str, Bound],
    ) -> None:
        """An operation is about to run."""
        used = registers.used(operation)
        if used is None or used == Accumulation(operator=used.operator):
            return
        file = self._files.setdefault((registers.name, program), {})
        lanes = [file.setdefault(k, _Lane()) for k in _lanes(operation, registers, bounds)]
        for held in dict.fromkeys(lane.held for lane in lanes):
            self._meet(Accumulated(operation, used, held))
        keeps = used.adds and not used.to and operation.given(registers.command)
        after = Held.after(operation, used)
        for lane in lanes:
            if used.begins:
                self._lost(lane)
            lane.held = after or lane.held
            if used.to:
                lane.unread = None
            elif keeps:
                lane.unread = operation

    def ended(self) -> None:
        """The run is over."""
        for file in self._files.values():
            for lane in file.values():
                self._lost(lane)

    def _lost(self, lane: _Lane) -> None:
        if lane.unread is not None:
            self._meet(Unread(lane.unread))
            lane.unread = None


def _lanes(operation: Operation, registers: AccumulatorFile, bounds: Mapping[str, Bound]) -> range:
    """The lanes of an operation that runs."""
    found = bounds[registers.lanes]
    view = found.view if found.view is not None else operation.value(registers.lanes)
    first = view.start_partition if isinstance(view, View) else None
    count = found.place.shape[0] if found.place.shape else 1
    start = first.const if first is not None and first.is_const else 0
    return range(start, start + count)
