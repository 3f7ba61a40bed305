"""What is asked again of the accesses of a trace, each time less or more is taken to be defined."""

from __future__ import annotations

from collections.abc import Iterator

from rules.memory.cases import Copy, before, common_loops, copy, depends_on, given
from rules.memory.formulas import Ranges
from verifier.symbolic.expr import Bool
from verifier.symbolic.memory.index import Access, Index, tensor
from verifier.symbolic.tensors import LoopKind

#: a way, and the loop of whose earlier iterations it is
Way = tuple[Copy, int | None]


class Ways:
    """What is known of accesses, and the ways in which they come before others, each found once."""

    def __init__(self, table: Index) -> None:
        self._table = table
        self._ranges: dict[Access, Ranges] = {}
        self._given: dict[tuple[Access, Bool], Access] = {}
        self._before: dict[tuple[Access, Access, int, bool], list[Copy]] = {}
        self._levels: dict[tuple[Access, Access], list[Way]] = {}

    def ranges(self, access: Access) -> Ranges:
        found = self._ranges.get(access)
        if found is None:
            found = self._ranges[access] = Ranges(access, self._table.assumed(access.order))
        return found

    def given(self, access: Access, condition: Bool) -> Access:
        """As :func:`.cases.given`."""
        found = self._given.get((access, condition))
        if found is None:
            found = self._given[access, condition] = given(access, condition)
        return found

    def before(
        self, earlier: Access, later: Access, *, inside: int = 0, private_grid: bool = False
    ) -> list[Copy]:
        """As :func:`.cases.before`."""
        key = earlier, later, inside, private_grid
        found = self._before.get(key)
        if found is None:
            ways = before(earlier, later, inside=inside, private_grid=private_grid)
            found = self._before[key] = list(ways)
        return found

    def levels(self, write: Access, access: Access) -> list[Way]:
        """The ways in which a write comes before a read; and the loop of an earlier iteration."""
        found = self._levels.get((write, access))
        if found is None:
            found = self._levels[write, access] = list(_levels(write, access))
        return found


def _levels(write: Access, access: Access) -> Iterator[Way]:
    instance = tensor(access.view)
    shared = common_loops(write.loops, access.loops)
    precedes = write.order < access.order
    if precedes:
        found = copy(write, shared, instance=instance)
        if found is not None:
            yield found, None
    for level in range(shared):
        loop = write.loops[level]
        if loop.kind is LoopKind.GRID:
            continue
        if precedes and not depends_on(write, write.loops[level:shared]):
            continue
        found = copy(write, level, below=loop.index, instance=instance)
        if found is not None:
            yield found, level


__all__ = ["Way", "Ways"]
