"""What would be defined if a certain read were: which of several reads is to blame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rules.memory.defined import Flow, Read
from rules.memory.formulas import Ranges
from verifier.symbolic import expr as E

#: how often a trace is asked: each time all of it is settled anew
_MOST = 4


class Relief:
    """The flow of a trace, each time with another read taken to be of what is defined."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._found: dict[int, Flow] = {}

    def cause(self, read: Read, origins: Sequence[Read]) -> Read:
        """The first of the reads without which nothing undefined decides; none: the first."""
        if len(origins) > 1:
            for origin in origins:
                if self._relieved(read, origin):
                    return origin
        return origins[0]

    def _relieved(self, read: Read, origin: Read) -> bool:
        flow = self._found.get(id(origin))
        if flow is None:
            if len(self._found) >= _MOST:
                return False
            flow = self._found[id(origin)] = self._without(origin)
        at = id(read.access.operation)
        place = next(k for k, each in enumerate(self._flow.reads[at]) if each is read)
        demand = flow.reads[at][place].demand
        return Ranges(read.access, flow.table.assumed(read.access.order)).holds(demand)

    def _without(self, origin: Read) -> Flow:
        """The flow in which an operand is wholly defined, whatever its reads are carried to."""
        access = origin.access
        reads = {
            at: [
                replace(
                    read,
                    defined=E.TRUE,
                    demand=E.TRUE,
                    exact=True,
                    blame=None,
                    assumed=False,
                    open=False,
                    done=read.access.operation is access.operation
                    and read.access.role == access.role,
                )
                for read in each
            ]
            for at, each in self._flow.reads.items()
        }
        flow = Flow(self._flow.table, reads, self._flow.writes)
        flow.settle()
        return flow


__all__ = ["Relief"]
