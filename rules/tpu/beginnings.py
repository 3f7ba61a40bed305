"""The first rounds of loops, one operation after the other.

What the algebra cannot say of any round may be plain in each of the first ones, where the index of
the loop is a number: which places are taken in turn, and what was put there before the loop. A loop
of few rounds is gone through as a whole; of others those that come first, and what stands behind
such a loop is as if there were no more. Where rounds do the same over and over
(:mod:`rules.tpu.recurring`), some may be left out: they leave what was left before them, if the
last two turns before them have left the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import lcm, prod
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from rules.memory.steps import by_loop
from rules.memory.unrolled import touches_at
from rules.tpu.recurring import ENDS, Recurring, divisors, recurring_loops
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.lanes import LocalTensor
from verifier.symbolic.memory.known import MOST_TURNS
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Operation, Trace
from verifier.symbolic.values import RecordValue

_SECTIONS: Final = frozenset({Trait.STARTS_PARALLEL, Trait.ENDS_PARALLEL})

#: operations that are gone through, all rounds together
_MOST: Final = 2 * MOST_TURNS * MOST_TURNS


class Left(Struct, frozen=True):
    """Rounds that were left out: those of a loop from ``count`` on, in one round of those around;
    they come again after so many ``turns``. ``some``: that there are any."""

    loop: Loop
    around: tuple[Expr, ...]
    count: int
    turns: int
    some: Bool


class Beginning(Struct, frozen=True):
    """The operations on local memory of the first rounds of all loops.

    ``origins``: by their order, those of the trace; ``rounds``: of each the indices of its loops.
    ``most``: by loop, how many rounds were gone through where there may be more. ``left``: where
    rounds were left out.
    """

    trace: Trace
    origins: dict[int, Operation]
    rounds: dict[int, tuple[Expr, ...]]
    most: dict[int, tuple[Loop, int]]
    left: list[Left]

    @property
    def all(self) -> Bool:
        """When all rounds of all loops are among them, or do what some do."""
        loops = [loop for loop, _ in self.most.values()]
        inner = {each.symbol for op in self.origins.values() for each in op.loops}
        if any(symbol in inner for loop in loops for symbol in loop.trips.free()):
            return E.FALSE
        return E.and_(*(E.le(loop.trips, count) for loop, count in self.most.values()))

    def among(self, op: Operation) -> Bool:
        """When an operation is among them, with all that is done before."""
        mine = {id(loop) for loop in op.loops}
        facts = (
            E.lt(loop.index, count) if key in mine else E.le(loop.trips, count)
            for key, (loop, count) in self.most.items()
            if key in mine or self._before(loop, op)
        )
        return E.and_(*facts)

    def _before(self, loop: Loop, op: Operation) -> bool:
        """Whether some round of a loop may come before an operation that is not in it."""
        return any(
            any(each is loop for each in other.loops)
            and (other.order < op.order or any(each in other.loops for each in op.loops))
            for other in self.origins.values()
        )

    def turns(self) -> Iterator[tuple[Operation | None, Operation | None, Bool]]:
        """What is done in the last turn before some rounds are left out, and in the one before it;
        None: there is nothing like it. And that some are left out."""
        done = {op.order: op for op in self.trace.operations}
        for left in self.left:
            depth = len(left.around)
            pair: list[dict[tuple[object, ...], Operation]] = [{}, {}]
            for order, at in self.rounds.items():
                loops = self.origins[order].loops
                if loops[depth : depth + 1] != (left.loop,) or at[:depth] != left.around:
                    continue
                age = left.count - at[depth].const if at[depth].is_const else 0
                if 0 < age <= 2 * left.turns:
                    key = (id(self.origins[order]), age % left.turns, *at[depth + 1 :])
                    pair[age > left.turns][key] = done[order]
            for key in pair[0] | pair[1]:
                yield pair[0].get(key), pair[1].get(key), left.some


def beginning(trace: Trace, leaving: bool = False) -> Beginning | None:
    """None: they are too many. ``leaving``: rounds that come again may be left out."""
    ops = [
        op
        for op in sorted(trace.operations, key=lambda op: op.order)
        if any(isinstance(touch.tensor, LocalTensor) for touch in op.touches)
        or not _SECTIONS.isdisjoint(op.traits)
    ]
    turns = _turns(ops)
    again = recurring_loops(ops) if leaving else {}
    most = 2 * turns + 1
    for rounds in (most + ENDS, most, turns + 2, 3, 2) if leaving else (most, turns + 2, 3, 2):
        plans = {
            id(loop): _Plan(_count(loop, rounds), None)
            if id(loop) not in again
            else _Plan(max(rounds, again[id(loop)].least), again[id(loop)])
            for op in ops
            for loop in op.loops
        }
        if sum(prod(plans[id(loop)].most for loop in op.loops) for op in ops) <= _MOST:
            walk = _Walk(plans)
            walk.through(ops, 0, {}, ())
            made = replace(trace, operations=walk.done)
            return Beginning(made, walk.origins, walk.rounds, walk.most, walk.left)
    return None


class _Plan(Struct, frozen=True):
    """How many rounds of a loop to go through, at least; and how they come again."""

    count: int
    again: Recurring | None

    @property
    def most(self) -> int:
        again = self.again
        return self.count + (0 if again is None else again.turns - 1 + again.last)

    @property
    def turns(self) -> int:
        return 1 if self.again is None else self.again.turns

    def of(self, trips: Expr) -> tuple[list[tuple[Expr, tuple[Bool, ...]]], Bool]:
        """The rounds to go through, with when each comes; when others are left out behind the
        first ``count``.

        What is left of a turn is done as in the first one that is left out.
        """
        count, again = self.count, self.again
        if trips.is_const and trips.const <= self.most:
            count, again = trips.const, None
        first = tuple(E.lt(number, trips) for number in range(count))
        rounds = [(E.const(number), first[: number + 1]) for number in range(count)]
        if again is None:
            return rounds, E.FALSE
        left = trips - (count + again.last)
        more: tuple[Bool, ...] = (*first, E.ge(left, 1))
        for number in range(again.turns - 1):
            more = (*more, E.gt(E.mod(left, again.turns), number))
            rounds.append((E.const(count + number), more))
        for number in range(again.last, 0, -1):
            rounds.append((trips - number, (*first, E.ge(trips - number, count))))
        return rounds, E.ge(left, 1)


def _turns(ops: Sequence[Operation]) -> int:
    """After how many rounds all places come again, as far as they do."""
    counts = {
        count
        for op in ops
        for touch in op.touches
        if isinstance(touch.tensor, LocalTensor)
        for loop in op.loops
        for count in divisors(touch.tensor.address, loop.symbol)
    }
    return min(lcm(1, *counts), MOST_TURNS)


def _count(loop: Loop, rounds: int) -> int:
    most = loop.trips.const if loop.trips.is_const else None
    return rounds if most is None or most > 2 * MOST_TURNS else most


class _Walk(Struct):
    plans: dict[int, _Plan]
    done: list[Operation] = field(default_factory=list)
    origins: dict[int, Operation] = field(default_factory=dict)
    rounds: dict[int, tuple[Expr, ...]] = field(default_factory=dict)
    most: dict[int, tuple[Loop, int]] = field(default_factory=dict)
    left: list[Left] = field(default_factory=list)

    def through(
        self,
        ops: Sequence[Operation],
        depth: int,
        at: dict[E.Sym, Expr],
        facts: tuple[Bool, ...],
    ) -> tuple[Bool, ...]:
        """What holds behind it besides, as far as it was gone through."""
        put = E.Substitution(at)
        ended: tuple[Bool, ...] = ()
        for loop, group in by_loop(ops, depth):
            if loop is None:
                for op in group:
                    self._do(op, put, (*facts, *ended))
                continue
            trips, plan = put.expr(loop.trips), self.plans[id(loop)]
            rounds, left = plan.of(trips)
            for index, reached in rounds:
                if E.FALSE not in reached:
                    one = {**at, loop.symbol: index}
                    ended += self.through(group, depth + 1, one, (*facts, *ended, *reached))
            if left is not E.FALSE:
                around = tuple(put.expr(each.index) for each in group[0].loops[:depth])
                self.left.append(Left(loop, around, plan.count, plan.turns, left))
            elif E.le(trips, len(rounds)) is not E.TRUE:
                self.most[id(loop)] = loop, len(rounds)
                ended = (*ended, E.le(trips, len(rounds)))
        return ended

    def _do(self, op: Operation, put: E.Substitution, facts: tuple[Bool, ...]) -> None:
        path = tuple(dict.fromkeys((*facts, *(put.bool(fact) for fact in op.path))))
        if E.FALSE in path:
            return
        order = len(self.done)
        operands = {
            role: replace(operand, value=_moved(operand.value, put))
            for role, operand in op.operands.items()
        }
        touches = touches_at(op.touches, put)
        done = replace(
            op, loops=(), path=path, order=order, operands=operands, touches=touches, unseen=set()
        )
        self.done.append(done)
        self.origins[order] = op
        self.rounds[order] = tuple(put.expr(loop.index) for loop in op.loops)


def _moved(value: object, put: E.Substitution) -> object:
    if isinstance(value, Expr):
        return put.expr(value)
    if isinstance(value, RecordValue):
        return replace(value, fields=tuple(_moved(each, put) for each in value.fields))
    if isinstance(value, tuple):
        return tuple(_moved(each, put) for each in value)
    return value
