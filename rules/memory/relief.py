"""What would be defined if all had been set that is read: which of several reads is to blame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cmp_to_key

from rules.memory.cases import common_loops, contains, dominates
from rules.memory.defined import Flow
from rules.memory.reading import Read, Write
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool

#: how often a trace is asked: each time all of it is settled anew
_MOST = 16
#: iterations of a loop that are told apart where it is asked which of two reads runs first
_FIRST = 3


class Relief:
    """The flow of a trace, each time with other reads taken to be of what was set."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._found: dict[frozenset[int], Flow | None] = {}

    def origins(self, read: Read) -> list[Read]:
        """The reads of what may be undefined for this one: the first ones in the order in which
        they run, then others on the way, of tensors that are perhaps not written in full before."""
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
        return [*sorted(found.values(), key=_RUNS), *sorted(later, key=_RUNS)] or [read]

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

    def shares(self, read: Read) -> list[tuple[Read, Bool]]:
        """The reads by which something undefined decides, each with what has to hold so that it is
        not because of this one.

        That is what is demanded where all that the others are of was set. Where this is not known
        of some, or would take too long, the first one that runs stands for them.
        """
        found = self.origins(read)
        first = min(found, key=_RUNS)
        if len(found) < 2:
            return [(first, read.demand)]
        ranges = self._flow.ways.ranges(read.access)
        shares: list[tuple[Read, Bool]] = []
        known = True
        for origin in found:
            demand = self._demand(read, [each for each in found if each is not origin])
            known = known and demand is not None
            if demand is not None and not ranges.holds(demand):
                shares.append((origin, demand))
        if not (known and shares):
            return [(first, read.demand), *(share for share in shares if share[0] is not first)]
        origin, demand = shares[0]
        every = E.and_(*(demand for _, demand in shares))
        if not ranges.holds(E.implies(every, read.demand)):
            shares[0] = origin, E.and_(demand, E.implies(every, read.demand))
        return shares

    def _demand(self, read: Read, origins: Sequence[Read]) -> Bool | None:
        """What a read demands where all that others are of was set; None: that is not known, or
        more is asked of a trace than is worth it.
        """
        key = frozenset(map(id, origins))
        if key not in self._found:
            if len(self._found) >= _MOST:
                return None
            self._found[key] = self._flow.without(origins)
        flow = self._found[key]
        if flow is None:
            return None
        at = id(read.access.operation)
        place = next(k for k, each in enumerate(self._flow.reads[at]) if each is read)
        again = flow.reads[at][place]
        if again.demand is not E.TRUE and not again.exact:
            return None
        return again.demand


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
