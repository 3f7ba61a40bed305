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
        self._found: dict[int, Flow] = {}

    def cause(self, read: Read, origins: Sequence[Read]) -> Read:
        """The first of the reads without which nothing undefined decides.

        If none is known to be, one without which nothing does for the first input that is found
        for which something does; else the first of all.
        """
        if len(origins) < 2:
            return origins[0]
        demands: list[Bool] = []
        for origin in origins:
            demand = self._demand(read, origin)
            if demand is None:
                break
            if self._flow.ways.ranges(read.access).holds(demand):
                return origin
            demands.append(demand)
        access = read.access
        lost = E.and_(*access.path, *access.ranges, E.not_(read.demand))
        found = remedy(self._flow.table.trace, lost, demands)
        return origins[found or 0]

    def _demand(self, read: Read, origin: Read) -> Bool | None:
        """What a read demands if another one is of what is defined; None: more is asked of a trace
        than is worth it.
        """
        flow = self._found.get(id(origin))
        if flow is None:
            if len(self._found) >= _MOST:
                return None
            flow = self._found[id(origin)] = self._flow.without(
                origin.access.operation, origin.access.role
            )
        at = id(read.access.operation)
        place = next(k for k, each in enumerate(self._flow.reads[at]) if each is read)
        return flow.reads[at][place].demand


__all__ = ["Relief"]
