"""What would be defined if a certain read were: which of several reads is to blame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cmp_to_key

from rules.memory.cases import common_loops, contains, dominates
from rules.memory.defined import Flow
from rules.memory.reading import Read, Write
from rules.memory.samples import remedy
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool

#: how often a trace is asked: each time all of it is settled anew
_MOST = 4
#: iterations of a loop that are told apart where it is asked which of two reads runs first
_FIRST = 3


class Relief:
    """The flow of a trace, each time with another read taken to be of what is defined."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._found: dict[frozenset[int], Flow] = {}

    def origins(self, read: Read) -> tuple[list[Read], list[Read]]:
        """The first reads of what may be undefined for this one, in the order in which they run;
        and others on the way, of tensors that are perhaps not written in full before."""
        found: dict[int, Read] = {}
        passed: dict[int, Read] = {}
        left = [read]
        while left:
            at = left.pop()
            if id(at) in passed:
                continue
            passed[id(at)] = at
            earlier = list(self._before(at))
            left += earlier
            if not earlier or not self._written_before(at):
                found[id(at)] = at
        if not found:  # all come round in loops: it begins where what wrote it may not have run
            found = {n: at for n, at in passed.items() if not self._written_before(at, surely=True)}
        later = [
            at
            for n, at in passed.items()
            if n not in found and not self._written_before(at, surely=True)
        ]
        return sorted(found.values(), key=_RUNS), sorted(later, key=_RUNS)

    def _written_before(self, read: Read, surely: bool = False) -> bool:
        """Whether some write of the text precedes a read: if not, it begins with what is there."""
        access, view = read.access, read.access.view
        return view.storage.initialised or any(
            write.access.order < access.order
            and not (surely and (write.partial or not dominates(write.access, access)))
            and not (surely and not contains(write.access.view, view))
            for write in self._flow.writes.get(id(view.storage), ())
        )

    def _before(self, read: Read) -> Iterator[Read]:
        """The reads that a read may have got what is undefined from."""
        flow = self._flow
        for write in flow.writes.get(id(read.access.view.storage), ()):
            comes = flow.ways.before(write.access, read.access)
            if not comes or flow.carried(write) is E.TRUE or self._nothing(write):
                continue
            for source in flow.sources(write):
                if source.defined is not E.TRUE and source is not read:
                    yield source

    def _nothing(self, write: Write) -> bool:
        """Whether there is no element that a write is about."""
        return self._flow.known(write).without(E.not_(write.access.view.mask)) is E.TRUE

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


def _first(read: Read, loops: int) -> list[int]:
    """The first iteration of each of the outermost loops in which something undefined is read; as
    far as it is one of the first few."""
    access = read.access
    lost = [*access.path, *access.given, E.not_(E.and_(read.defined, read.demand))]
    found: list[int] = []
    for loop in access.loops[:loops]:
        for number in range(_FIRST):
            put = E.Substitution({loop.symbol: E.const(number)})
            there = [put.bool(fact) for fact in lost]
            if E.FALSE not in there:
                lost = there
                break
        else:
            number = _FIRST
        found.append(number)
    return found


def _in_order(one: Read, other: Read) -> int:
    """Which of two reads something undefined comes to first when the kernel runs."""
    common = common_loops(one.access.loops, other.access.loops)
    mine, its = _first(one, common), _first(other, common)
    if mine == its:
        return one.access.order - other.access.order
    return -1 if mine < its else 1


_RUNS = cmp_to_key(_in_order)

__all__ = ["Relief"]
