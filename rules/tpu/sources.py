"""Reads of a pipeline that take one stage's results in some iterations, and others in the next.

What a read in a loop takes is what was written last to its place: by some call, so many iterations
before. Where one reads a result of an earlier iteration, stages work hand in hand, each so many
iterations behind the one before: from one iteration to the next it is to read the next result of
the same call. If it does not, a stage is left out for one of the parts, has filled the place too
early or another one, or has stopped before what reads it.

Places are taken in turn, so which writes meet a read is decided for each remainder of the index by
folding; what is left are the ranges of iterations, over which a solver decides. Nothing is said
where an address is no such place, where a condition is no range of iterations that ends with the
read's but for some, and where it may be meant: results that are made in one of two ways, states
that are begun and carried on, and what adds another operand to the result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import lcm
from typing import Final

from msgspec import Struct

from rules.tpu import flow, kit
from rules.tpu.flow import Use, Uses
from rules.tpu.kit import function, words
from rules.tpu.ranges import trips_of
from rules.tpu.results import Results
from rules.tpu.untaken import divisors
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool
from verifier.symbolic.lanes import LocalTensor
from verifier.symbolic.memory.known import MOST_TURNS
from verifier.symbolic.memory.lives import exclusive
from verifier.symbolic.tensors import Loop

#: writes to a place that are followed back
_MOST_SOURCES: Final = 4


class _Source(Struct, frozen=True):
    """What a write leaves, so many iterations before it is read."""

    write: Use
    age: int


class Sources:
    """What the reads of a trace take, iteration by iteration."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.chip = results.chip
        self.table: Uses = results.table
        self._places: dict[tuple[int, int], LocalTensor] = {}
        self._met: dict[tuple[int, int], bool] = {}

    def checks(self, lost: Collection[Use]) -> Iterator[tuple[Check, list[Use]]]:
        """Per read, and what it takes; not of what is ``lost`` anyhow."""
        for read in self.table.reads:
            found = self._of(read) if read.loops else None
            if found is not None and not any(write in lost for write in found[1]):
                yield found

    def _of(self, read: Use) -> tuple[Check, list[Use]] | None:
        loop = read.loops[-1]
        near = list(self._near(read))
        writes = [use for use in near if use.loops == read.loops]
        if not writes or len(writes) < len(near) or trips_of(read, read) is None:
            return None
        count = lcm(
            *(n for use in (read, *writes) for n in divisors(use.tensor.address, loop.symbol))
        )
        turned = any(loop.symbol in write.tensor.address.free() for write in writes)
        if count > MOST_TURNS or (turned and loop.symbol not in read.tensor.address.free()):
            return None
        chains: list[tuple[_Source, ...]] = []
        for rest in range(count):
            chain = self._chain(read, writes, loop, count, rest)
            if chain is None:
                return None
            chains.append(chain)
        found = E.or_(*self._breaks(read, loop, chains))
        if found is E.FALSE:
            return None
        sources = list(dict.fromkeys(each.write for chain in chains for each in chain))
        return self._check(read, found, sources), sources

    def _near(self, read: Use) -> Iterator[Use]:
        """The writes in its loop that may meet it in some iteration."""
        for use in (*self.table.writes, *self.table.destroyed):
            if flow.shared(use.loops, read.loops) == len(read.loops) and self._may_meet(use, read):
                yield use

    # ------------------------------------------------------------------ what was there last

    def _chain(
        self, read: Use, writes: Sequence[Use], loop: Loop, count: int, rest: int
    ) -> tuple[_Source, ...] | None:
        """The writes to its place before it, the last one first; None: that is not known."""
        place = self._place(read, loop, count, rest)
        if loop.symbol in place.address.free():
            return None
        out: list[_Source] = []
        for age in range(2 * count + MOST_TURNS // 2):
            for write in sorted(writes, key=lambda use: -use.order):
                there = self._place(write, loop, count, rest - age)
                apart, _ = kit.apart(self.chip, there, place)
                if apart is E.TRUE:
                    continue
                if not age and self.results.unordered(write.operation, read.operation):
                    return None  # a race, which has a rule of its own
                if not age and write.order >= read.order:
                    continue
                if not kit.fills_all(self.chip, there, place):
                    return None
                out.append(_Source(write, age))
                if len(out) == _MOST_SOURCES or _covers(write, age, read):
                    return tuple(out)
        return tuple(out)

    def _place(self, use: Use, loop: Loop, count: int, rest: int) -> LocalTensor:
        """Where a use is in the iterations with a remainder."""
        key = (id(use), rest % count)
        if key not in self._places:
            rounds = E.fresh(loop.name or "i", 0, None, E.Origin.LOOP)
            put = E.Substitution({loop.symbol: rounds * count + rest % count})
            self._places[key] = kit.moved(use.tensor, put)
        return self._places[key]

    # ------------------------------------------------------------------ from one to the next

    def _breaks(self, read: Use, loop: Loop, chains: Sequence[Sequence[_Source]]) -> Iterator[Bool]:
        """When an iteration takes one source, and the next one another; or another one than what
        an earlier iteration leaves where all stages are at work."""
        alike = all(chain == chains[0] for chain in chains)
        if alike and chains[0] and chains[0][0].age:
            for n, source in enumerate(chains[0]):
                if self._differ(read, chains[0][0], source, alike):
                    yield self._taken(loop, chains[0], n, 0)
            return
        goes_on = E.Substitution({loop.symbol: loop.index + 1})
        again = E.and_(*(goes_on.bool(fact) for fact in (*read.path, loop.within)))
        for rest, chain in enumerate(chains):
            follows = chains[(rest + 1) % len(chains)]
            turn = E.TRUE if alike else E.eq(E.mod(loop.index, len(chains)), rest)
            for n, source in enumerate(chain):
                here = self._taken(loop, chain, n, 0)
                for m, after in enumerate(follows):
                    if not self._differ(read, source, after, alike):
                        continue
                    yield E.and_(turn, again, here, self._taken(loop, follows, m, 1))
            if alike:
                return

    def _taken(self, loop: Loop, chain: Sequence[_Source], n: int, later: int) -> Bool:
        """That the iteration, or the ``later`` one, takes a source: no later one is there."""
        facts = [self._there(loop, chain[n], later)]
        facts += [E.not_(self._there(loop, source, later)) for source in chain[:n]]
        return E.and_(*facts)

    def _there(self, loop: Loop, source: _Source, later: int) -> Bool:
        put = E.Substitution({loop.symbol: loop.index - (source.age - later)})
        facts = (*source.write.path, *source.write.within, E.ge(loop.index, 0))
        return E.and_(*(put.bool(fact) for fact in facts))

    def _differ(self, read: Use, one: _Source, other: _Source, alike: bool) -> bool:
        """Whether two sources are none of the same stage, and that is not meant."""
        if one == other or max(one.age, other.age) < 1:
            return False
        if one.write is other.write and not self.results.varies(one.write):
            return False
        if not all(self._is_stage(source.write, read) for source in (one, other)):
            return False
        if one.age == other.age and exclusive(one.write.path, other.write.path):
            return False
        return not alike or not any(self._carried(source.write, read) for source in (one, other))

    def _is_stage(self, write: Use, read: Use) -> bool:
        """Whether it begins and ends as many iterations before a read as others do, but for some,
        and makes its result of its last one, if of any, and nothing else."""
        made, taken = trips_of(write, read), trips_of(read, read)
        if made is None or taken is None:
            return False
        ends = (taken.first - made.first, taken.last - made.last)
        if not all(end.is_const and abs(end.const) <= MOST_TURNS for end in ends):
            return False
        mine = [use for use in self.table.reads if use.operation is write.operation]
        return len(mine) < 2 or not any(self._may_meet(write, use) for use in mine)

    def _carried(self, write: Use, read: Use) -> bool:
        """Whether a result may be made of what the reading operation has made."""
        seen: set[int] = set()
        left = [write.operation]
        while left:
            op = left.pop()
            if op is read.operation:
                return True
            if id(op) in seen:
                continue
            seen.add(id(op))
            for use in self.table.reads:
                if use.operation is op:
                    near = (w for w in self.table.writes if flow.shared(w.loops, use.loops))
                    left += [w.operation for w in near if self._may_meet(w, use)]
        return False

    def _may_meet(self, write: Use, read: Use) -> bool:
        key = (id(write), id(read))
        if key not in self._met:
            found = flow.anywhere(write, 0)
            self._met[key] = found is not None and not self.results.apart(read, found)
        return self._met[key]

    def _check(self, read: Use, found: Bool, sources: Sequence[Use]) -> Check:
        role, name = words(read.touch.role), function(read.operation)
        return Check(
            predicate=E.not_(found),
            span=read.span,
            text=f"each iteration reads the next result of the same call as {role} of `{name}`",
            message=f"{role} of `{name}` is not in each iteration what the same call has left",
            facts=("OKK-X07", "ADR-11"),
            given=read.within,
            notes=tuple(
                Note(write.span, f"`{function(write.operation)}` fills the place")
                for write in sources
                if write.operation is not read.operation
            ),
            help=("give the stages the same iterations and places, each so many later",),
            path=read.path,
            order=read.order,
        )


def _covers(write: Use, age: int, read: Use) -> bool:
    """Whether a write is there in all iterations of a read, so many before each."""
    made, taken = trips_of(write, read), trips_of(read, read)
    if made is None or taken is None:
        return False
    begins, ends = made.first + age - taken.first, made.last + age - taken.last
    return begins.is_const and ends.is_const and begins.const <= 0 <= ends.const
