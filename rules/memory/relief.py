"""What would be defined if a certain read were: which of several reads is to blame."""

from __future__ import annotations

from collections.abc import Sequence

from rules.memory.defined import Flow
from rules.memory.reading import Read
from rules.memory.samples import remedy
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool

#: how often a trace is asked: each time all of it is settled anew
_MOST = 4


class Relief:
    """The flow of a trace, each time with another read taken to be of what is defined."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._found: dict[frozenset[int], Flow] = {}

    def cause(self, read: Read, origins: Sequence[Read], later: Sequence[Read]) -> Read:
        """The first of the reads without which nothing undefined decides.

        If none is known to be, one without which nothing does for the first input that is found
        for which something does; else the first of all. ``later``: reads of what is carried on from
        the ``origins`` to tensors that may not be written in full, in the order of the program.
        Where something undefined decides even if all of the ``origins`` are of what is defined, it
        is one of these.
        """
        if len(origins) + len(later) < 2:
            return origins[0]
        demands: list[Bool] = []
        for origin in origins:
            demand = self._demand(read, (origin,))
            if demand is None:
                break
            if self._flow.ways.ranges(read.access).holds(demand):
                return origin
            demands.append(demand)
        found = self._remedy(read, demands) if len(origins) > 1 or later else None
        if found is not None and found < len(demands):
            return origins[found]
        if later and found is not None and len(demands) == len(origins):
            every = demands[0] if len(origins) == 1 else self._demand(read, origins)
            if every is not None and self._remedy(read, [every]) == 1:
                return self._of_later(read, later)
        return origins[0]

    def _of_later(self, read: Read, later: Sequence[Read]) -> Read:
        """The first of the reads without which nothing undefined decides; the last one is what
        decides itself."""
        for each in later:
            demand = E.TRUE if each is read else self._demand(read, (each,))
            if demand is not None and self._flow.ways.ranges(read.access).holds(demand):
                return each
        return later[-1]

    def _remedy(self, read: Read, demands: Sequence[Bool]) -> int | None:
        access = read.access
        lost = E.and_(*access.path, *access.ranges, E.not_(read.demand))
        sizes = {axis.symbol: axis.size for axis in access.view.axes}
        sizes.update({loop.symbol: loop.trips for loop in access.loops})
        return remedy(self._flow.table.trace, lost, demands, sizes)

    def _demand(self, read: Read, origins: Sequence[Read]) -> Bool | None:
        """What a read demands if others are of what is defined; None: more is asked of a trace than
        is worth it.
        """
        key = frozenset(map(id, origins))
        flow = self._found.get(key)
        if flow is None:
            if len(self._found) >= _MOST:
                return None
            flow = self._found[key] = self._flow.without(origins)
        at = id(read.access.operation)
        place = next(k for k, each in enumerate(self._flow.reads[at]) if each is read)
        return flow.reads[at][place].demand


__all__ = ["Relief"]
