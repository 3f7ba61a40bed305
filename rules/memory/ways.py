"""What is asked again of the accesses of a trace, each time less or more is taken to be defined."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from rules.memory.cases import Copy, before, between, common_loops, copy, depends_on, given
from rules.memory.formulas import Ranges
from verifier.symbolic import expr as E
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
        self._between: dict[tuple[Access, Copy, int, Access], list[Copy]] = {}
        self._along: dict[tuple[Access, Copy], Ranges] = {}
        self._except: dict[tuple[Copy, Bool], Copy] = {}

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

    def between(self, write: Access, first: Copy, level: int, later: Access) -> list[Copy]:
        """As :func:`.cases.between`."""
        key = write, first, level, later
        found = self._between.get(key)
        if found is None:
            found = self._between[key] = list(between(write, first, level, later))
        return found

    def along(self, access: Access, way: Copy) -> Ranges:
        """What is known of an access where another one has come before it in this way."""
        found = self._along.get((access, way))
        if found is None:
            found = self.ranges(access).also(way.ranges, way.private)
            self._along[access, way] = found
        return found

    def unless(self, way: Copy, condition: Bool) -> Copy:
        """The way where a condition does not hold."""
        found = self._except.get((way, condition))
        if found is None:
            constraints = (*way.constraints, E.not_(condition))
            found = self._except[way, condition] = dataclasses.replace(way, constraints=constraints)
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
