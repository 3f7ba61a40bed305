"""What the accumulators of engines hold during a run, lane by lane; numbers are elsewhere.

Each program instance has engines of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from msgspec import Struct

from verifier.executor.begun import Begun
from verifier.executor.flow import Flow, Origins
from verifier.executor.footprints import Lost
from verifier.executor.memory import Bound
from verifier.symbolic.effects import Accumulation, AccumulatorFile
from verifier.symbolic.memory.content import Held
from verifier.symbolic.memory.events import Accumulated, Unread
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation

_NOTHING: Final = Held()


class _Lane(Struct):
    """An accumulator; ``unread``: the last to add to what nothing has read out since.

    ``lost``: the number of the first reads of what is undefined in it; 0: nothing is.
    """

    held: Held = _NOTHING
    unread: Operation | None = None
    lost: int = 0


class Accumulators:
    """Those of all engines and program instances."""

    __slots__ = ("_begun", "_files", "_meet", "_origins")

    def __init__(self, meet: Callable[[object], bool], origins: Origins) -> None:
        self._origins = origins
        self._meet = meet
        self._files: dict[tuple[str, tuple[int, ...]], dict[int, _Lane]] = {}
        self._begun: dict[tuple[str, tuple[int, ...]], Begun] = {}

    def passes(
        self,
        program: tuple[int, ...],
        operation: Operation,
        registers: AccumulatorFile | None,
        bounds: Mapping[str, Bound],
    ) -> None:
        """An operation is about to run: the results of chains that it uses are no longer open."""
        for (name, of), begun in self._begun.items():
            own = registers is not None and (name, of) == (registers.name, program)
            begun.passes(bounds, registers.used(operation) if own and registers else None)

    def use(
        self,
        program: tuple[int, ...],
        operation: Operation,
        registers: AccumulatorFile,
        bounds: Mapping[str, Bound],
        flow: Flow | None,
        begin: Callable[[], Flow],
    ) -> Flow | None:
        """An operation is about to run.

        ``flow`` is what it makes undefined, as far as something is; ``begin`` begins with that.
        """
        used = registers.used(operation)
        if used is None or used == Accumulation(operator=used.operator):
            return flow
        file = self._files.setdefault((registers.name, program), {})
        numbers = _lanes(operation, registers, bounds)
        lanes = [file.setdefault(k, _Lane()) for k in numbers]
        ended = self._follow((registers.name, program), used, numbers, bounds)
        for held in dict.fromkeys(lane.held for lane in lanes):
            self._meet(Accumulated(operation, used, held, ended))
        if used.continues and used.to and any(lane.lost for lane in lanes):
            flow = flow or begin()
            flow.read_out(used.to, np.array([lane.lost for lane in lanes], np.int32))
        self._spoil(lanes, used, flow.accumulated if flow is not None else None)
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
        return flow

    def _follow(
        self,
        key: tuple[str, tuple[int, ...]],
        used: Accumulation,
        lanes: range,
        bounds: Mapping[str, Bound],
    ) -> bool:
        """Note which chains are begun; whether a call goes on with another than its own."""
        to = bounds.get(used.to)
        if used.begins:
            self._begun.setdefault(key, Begun()).begins(lanes, to)
            return False
        begun = self._begun.get(key)
        return begun is not None and to is not None and begun.goes_on(lanes, to)

    def _spoil(self, lanes: list[_Lane], used: Accumulation, lost: Lost | None) -> None:
        """What is undefined afterwards: what was, if it stays, and what goes into it."""
        for k, lane in enumerate(lanes):
            if used.begins:
                lane.lost = 0
            if lost is not None and lost[k]:
                before = np.array([lane.lost], np.int32)
                lane.lost = int(self._origins.both(before, lost[k : k + 1])[0])

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
