"""The first rounds of loops, one operation after the other.

What the algebra cannot say of any round may be plain in each of the first ones, where the index of
the loop is a number: which places are taken in turn, and what was put there before the loop. A loop
of few rounds is gone through as a whole; of others those that come first, and what stands behind
such a loop is as if there were no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import lcm, prod
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from rules.tpu import kit
from rules.tpu.unrolled import by_loop, touches_at
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Div, Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.lanes import LocalTensor
from verifier.symbolic.memory.known import MOST_TURNS
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Operation, Trace
from verifier.symbolic.values import RecordValue

_SECTIONS: Final = frozenset({Trait.STARTS_PARALLEL, Trait.ENDS_PARALLEL})

#: operations that are gone through, all rounds together
_MOST: Final = 2 * MOST_TURNS * MOST_TURNS


class Beginning(Struct, frozen=True):
    """The operations on local memory of the first rounds of all loops.

    ``origins``: by their order, those of the trace. ``most``: by loop, how many rounds were gone
    through where there may be more.
    """

    trace: Trace
    origins: dict[int, Operation]
    most: dict[int, tuple[Loop, int]]

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


def beginning(trace: Trace) -> Beginning | None:
    """None: they are too many."""
    ops = [
        op
        for op in sorted(trace.operations, key=lambda op: op.order)
        if any(isinstance(touch.tensor, LocalTensor) for touch in op.touches)
        or not _SECTIONS.isdisjoint(kit.traits(op))
    ]
    turns = _turns(ops)
    for rounds in (2 * turns + 1, turns + 2, 3, 2):
        counts = {id(loop): _count(loop, rounds) for op in ops for loop in op.loops}
        if sum(prod(counts[id(loop)] for loop in op.loops) for op in ops) <= _MOST:
            walk = _Walk(counts)
            walk.through(ops, 0, {}, ())
            return Beginning(replace(trace, operations=walk.done), walk.origins, walk.most)
    return None


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


def divisors(term: Expr | Bool, symbol: E.Sym) -> Iterator[int]:
    """The small numbers that something with a symbol is divided by."""
    if symbol not in term.free():
        return
    if isinstance(term, Bool):
        parts: Iterable[Expr | Bool] = term.args if term.expr is None else (term.expr,)
        for part in parts:
            yield from divisors(part, symbol)
        return
    for mono, _ in term.terms:
        for atom in mono:
            if isinstance(atom, Div) and atom.den.is_const and 2 <= atom.den.const <= MOST_TURNS:
                yield atom.den.const
            for child in atom.children():
                yield from divisors(child, symbol)


def _count(loop: Loop, rounds: int) -> int:
    most = loop.trips.const if loop.trips.is_const else None
    return rounds if most is None or most > 2 * MOST_TURNS else most


class _Walk(Struct):
    counts: dict[int, int]
    done: list[Operation] = field(default_factory=list)
    origins: dict[int, Operation] = field(default_factory=dict)
    most: dict[int, tuple[Loop, int]] = field(default_factory=dict)

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
            trips, count = put.expr(loop.trips), self.counts[id(loop)]
            reached: tuple[Bool, ...] = ()
            for number in range(count):
                reached = (*reached, E.lt(number, trips))
                if reached[-1] is E.FALSE:
                    break
                one = {**at, loop.symbol: E.const(number)}
                ended += self.through(group, depth + 1, one, (*facts, *ended, *reached))
            if E.le(trips, count) is not E.TRUE:
                self.most[id(loop)] = loop, count
                ended = (*ended, E.le(trips, count))
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


def _moved(value: object, put: E.Substitution) -> object:
    if isinstance(value, Expr):
        return put.expr(value)
    if isinstance(value, RecordValue):
        return replace(value, fields=tuple(_moved(each, put) for each in value.fields))
    if isinstance(value, tuple):
        return tuple(_moved(each, put) for each in value)
    return value
