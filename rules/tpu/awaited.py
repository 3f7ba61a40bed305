"""Results that something waits for, and finds overwritten before anything has read them.

A pipeline makes a result in an iteration and takes it some iterations later. Which one a read is
to take shows where it is in as many iterations as what makes them, so many later: the first read is
for the first result, the last one for the last. What is made before the loop, or taken behind it,
counts with those in it. A loop behind the one that makes them, of as many iterations, takes them
one by one just so. If a stage of the pipeline has filled the place again by
then, and nothing has read it before, the result is lost, and what was to read it finds another one.

What is read by anything in between is no loss: sums and states are carried on. What is filled again
under another condition than that it is the turn of a stage may be mended on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from rules.tpu import flow, kit
from rules.tpu.flow import Instance, Use
from rules.tpu.ranges import Trips, shift, trips_of
from rules.tpu.results import Next, Results, terms, told
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool
from verifier.symbolic.memory.known import MOST_TURNS


class _Waiting(Struct, frozen=True):
    """A read of each result, ``age`` iterations after it, or in another loop behind all (None)."""

    use: Use
    age: int | None


class Awaited:
    """The results of a trace that are lost to what waits for them."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.table = results.table
        self.chip = results.chip

    def checks(self, write: Use) -> Iterator[Check]:
        """Per stage that fills the place of a result again too early."""
        yield from self._before_loop(write)
        if not write.loops or not self.results.varies(write):
            return
        made = trips_of(write, write)
        waiting = None if made is None else next(self._waiting(write, made), None)
        if made is None or waiting is None:
            return
        ages = range(MOST_TURNS + 1 if waiting.age is None else waiting.age + 1)
        for age in ages:
            for other in self.table.writes:
                later = self._stage(write, made, other, age)
                if later is not None and self._early(later, waiting):
                    check = self._judged(write, later, waiting)
                    if check.predicate is not E.TRUE:
                        yield check

    # ------------------------------------------------------------------ who waits

    def _waiting(self, write: Use, made: Trips) -> Iterator[_Waiting]:
        depth = len(write.loops)
        for read in self.table.reads:
            if len(read.loops) != depth or read.operation is write.operation:
                continue
            common = flow.shared(read.loops, write.loops)
            if common == depth:
                taken = trips_of(read, write)
                age = self._with_rest(write, made, taken) or shift(made, taken)
                if (
                    age
                    and age > 0
                    and self._takes(read, write, flow.back(write.loops, depth - 1, -age))
                ):
                    yield _Waiting(read, age)
            elif common == depth - 1 and self._one_by_one(read, write, made):
                yield _Waiting(read, None)

    def _with_rest(self, write: Use, made: Trips, taken: Trips | None) -> int | None:
        """How many iterations later a read begins that ends with the loop, if as many reads behind
        the loop take the last results."""
        if taken is None or taken.last is not made.last:
            return None
        age, depth, loop = taken.first - made.first, len(write.loops) - 1, write.loops[-1]
        if not age.is_const or not 1 <= age.const <= MOST_TURNS:
            return None
        held = {id(fact) for fact in write.path}
        rest = [
            read
            for read in self.table.reads
            if read.order > write.order
            and read.loops == write.loops[:depth]
            and all(id(fact) in held for fact in read.path)
        ]
        for left in reversed(range(age.const)):
            place = kit.moved(write.tensor, E.Substitution({loop.symbol: made.last - left}))
            found = (n for n, it in enumerate(rest) if kit.holds_all(self.chip, place, it.tensor))
            at = next(found, None)
            if at is None:
                return None
            rest = rest[at + 1 :]
        return age.const

    def _before_loop(self, write: Use) -> Iterator[Check]:
        """Of the first result, made before a loop that makes the others, each an iteration ahead of
        what takes it."""
        depth = len(write.loops)
        for other in self.table.writes:
            alike = (other.operation.name, other.touch.role)
            if alike != (write.operation.name, write.touch.role) or other.order < write.order:
                continue
            if len(other.loops) != depth + 1 or flow.shared(other.loops, write.loops) != depth:
                continue
            start = E.Substitution({other.loops[-1].symbol: E.const(0)})
            made, found = trips_of(other, write), flow.at(other, start)
            if made is None or found is None or made.first is not E.const(0):
                continue
            if not kit.fills_all(self.chip, found.tensor, write.tensor):
                continue
            later = Next(other, 0, found.facts)
            read = next(self._one_later(other, made, write, start), None)
            if read is None or not self._early(later, _Waiting(read, 0)):
                continue
            if self.results.varies(other):
                reads = [self._read(write, it) for it in self.results.may_read(write, later)]
                yield told(write, later, E.or_(*reads), read)
                return

    def _one_later(
        self, other: Use, made: Trips, first: Use, start: E.Substitution
    ) -> Iterator[Use]:
        """What takes a first result in the first iteration, and the others one iteration later."""
        for read in self.table.reads:
            if read.loops == other.loops and read.order > other.order:
                taken = trips_of(read, first)
                if taken is None or taken.first is not made.first:
                    continue
                if taken.last - made.last is E.const(1) and self._takes(read, first, start):
                    yield read

    def _one_by_one(self, read: Use, write: Use, made: Trips) -> bool:
        """Whether another loop takes the results one by one, behind the loop that makes them."""
        loop, other = write.loops[-1], read.loops[-1]
        if read.order < write.order or not _hangs_on(read, other.symbol):
            return False
        put = E.Substitution({other.symbol: loop.index})
        taken = trips_of(read, write)
        if taken is None or (taken.first, taken.last) != (made.first, made.last):
            return False
        return self._takes(read, write, put)

    def _takes(self, read: Use, write: Use, put: E.Substitution) -> bool:
        """Whether a read takes all of a result in the iteration that is said."""
        place = kit.moved(read.tensor, put)
        return kit.holds_all(self.chip, write.tensor, place)

    # ------------------------------------------------------------------ what comes too early

    def _stage(self, write: Use, made: Trips, other: Use, age: int) -> Next | None:
        """A stage of the same pipeline that may fill a result's place, so many iterations later."""
        depth = len(write.loops)
        if len(other.loops) != depth or flow.shared(other.loops, write.loops) != depth:
            return None
        unordered = self.results.unordered(write.operation, other.operation)
        if not age and (unordered or other.order <= write.order):
            return None
        if other is not write and shift(made, trips_of(other, write)) in (None, age):
            return None
        found = flow.at(other, flow.back(write.loops, depth - 1, -age) if age else _NOW)
        return None if found is None else Next(other, age, found.facts)

    def _early(self, later: Next, waiting: _Waiting) -> bool:
        """Whether it surely comes before what waits for the result."""
        if waiting.age is None or later.age < waiting.age:
            return True
        read = waiting.use
        if self.results.unordered(later.use.operation, read.operation):
            return False
        return later.use.order < read.order

    def _judged(self, write: Use, later: Next, waiting: _Waiting) -> Check:
        """That a stage does not fill the place of a result, or something has read that."""
        put = flow.back(write.loops, len(write.loops) - 1, -later.age)
        over = kit.moved(later.use.tensor, put) if later.age else later.use.tensor
        fills = kit.fills(self.chip, over, write.tensor)
        facts = tuple(fact for fact in (*later.facts, fills) if fact is not E.TRUE)
        reads = [self._read(write, found) for found in self.results.may_read(write, later)]
        return told(write, Next(later.use, later.age, facts), E.or_(*reads), waiting.use)

    def _read(self, write: Use, read: Instance) -> Bool:
        """When it may be that something reads some of a result."""
        inner = {loop.symbol for loop in read.use.loops[len(write.loops) :]}
        apart, ranges = kit.apart(self.chip, write.tensor, read.tensor)
        facts = [*read.facts, *(() if ranges else (E.not_(apart),))]
        return E.and_(*(fact for fact in facts if inner.isdisjoint(fact.free())))


_NOW: Final = E.Substitution({})


def _hangs_on(use: Use, symbol: E.Sym) -> bool:
    touches = use.operation.touches
    return any(symbol in term.free() for touch in touches for term in terms(touch.tensor))
