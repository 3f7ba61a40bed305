"""What the operations of a trace leave in local memory, and whether that is made of something."""

from __future__ import annotations

from collections.abc import Iterator

from rules.tpu import flow, kit
from rules.tpu.flow import Instance, Use
from verifier.hardware.chips import Chip
from verifier.symbolic import expr as E
from verifier.symbolic.memory.known import Known
from verifier.symbolic.trace import Trace


class Results:
    """What the operations of a trace leave in local memory."""

    def __init__(self, trace: Trace, chip: Chip) -> None:
        self.chip = chip
        self.table = flow.uses(trace)
        self.demands = tuple(item.condition for item in trace.assumptions)
        #: by the writes: whether they are made of something; and where they are in any iteration
        self._meant: dict[int, bool] = {}
        self._all = [(use, flow.anywhere(use, 0)) for use in self.table.writes]
        self._taken: dict[int, list[Use]] = {}
        for read in self.table.reads:
            self._taken.setdefault(id(read.operation), []).append(read)

    @property
    def made(self) -> Iterator[Use]:
        """The results that hang on something, each the only one of its operation."""
        for write in self.table.writes:
            touches = write.operation.touches
            alone = sum(touch.writes and not touch.destroys for touch in touches) == 1
            if any(extent.is_const and extent.const <= 0 for extent in write.tensor.shape):
                continue  # there is nothing in it
            if alone and any(touch.reads for touch in touches) and self.means(write):
                yield write

    def means(self, write: Use) -> bool:
        """Whether it is made of something: what is made of nothing that was written is no loss, and
        a fault where it decides."""
        if id(write) not in self._meant:
            taken = self._taken.get(id(write.operation), ())
            self._meant[id(write)] = all(self._written(read) for read in taken)
        return self._meant[id(write)]

    def _written(self, read: Use) -> bool:
        """Whether another operation may have written what one reads."""
        others = (found for use, found in self._all if use.operation is not read.operation)
        return any(found is not None and not self.apart(read, found) for found in others)

    def apart(self, use: Use, other: Instance) -> bool:
        """Whether another use surely is elsewhere, in the iteration that is meant."""
        apart, ranges = kit.apart(self.chip, use.tensor, other.tensor)
        if apart is E.TRUE:
            return True
        known = Known((*self.demands, *use.path, *use.within), use.loops)
        there = known.also((*other.facts, *ranges), other.use.loops)
        return there.decide_in_turn(apart) is True
