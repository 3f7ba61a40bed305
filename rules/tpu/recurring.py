"""Loops whose rounds do the same to local memory over and over.

The first ones may do otherwise (what is set in the first round alone), and so may the last ones
(what is loaded ahead for a next round). Each of the others does what the one some turns before it
has done. So if a turn leaves what the turn before it has left, every later one does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import lcm
from typing import Final

from msgspec import Struct

from rules.memory.formulas import pruned
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Div, Expr
from verifier.symbolic.lanes import LocalTensor
from verifier.symbolic.memory.known import MOST_TURNS, Known
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import RecordValue

#: rounds at an end of a loop that may do otherwise than others
ENDS: Final = 2


class Recurring(Struct, frozen=True):
    """From round ``first`` on each one does what was done ``turns`` rounds before, but for the
    ``last`` ones."""

    first: int
    turns: int
    last: int

    @property
    def least(self) -> int:
        """So many rounds show two turns."""
        return self.first + 2 * self.turns


def recurring_loops(operations: Sequence[Operation]) -> dict[int, Recurring]:
    """The loops that do the same over and over."""
    inside: dict[int, tuple[Loop, list[Operation]]] = {}
    for op in operations:
        for loop in op.loops:
            inside.setdefault(id(loop), (loop, []))[1].append(op)
    found = {key: _recurring(loop, ops) for key, (loop, ops) in inside.items()}
    return {key: each for key, each in found.items() if each is not None}


def _recurring(loop: Loop, operations: Sequence[Operation]) -> Recurring | None:
    symbol = loop.symbol
    terms = {id(t): t for op in operations for t in _terms(op, loop) if symbol in t.free()}
    every = {symbol for term in terms.values() for symbol in term.free()}
    if any(each.origin in E.OPEN for each in every):
        return None  # who knows what they are in each round
    turns = lcm(1, *(count for term in terms.values() for count in divisors(term, symbol)))
    for last, first in product(range(ENDS + 1), repeat=2) if turns <= MOST_TURNS else ():
        found = Recurring(first, turns, last)
        if _comes_again(loop, terms.values(), found):
            return found
    return None


def _comes_again(loop: Loop, terms: Iterable[Expr | Bool], how: Recurring) -> bool:
    trips = loop.trips
    most = trips.const - how.last - how.first - how.turns - 1 if trips.is_const else None
    if most is not None and most < 0:
        return False
    index = E.fresh(loop.name or "i", 0, most, E.Origin.LOOP)
    later = index + (how.first + how.turns)
    known = Known((E.lt(later, trips - how.last),))
    put = [E.Substitution({loop.symbol: at}) for at in (index + how.first, later)]
    for term in terms:
        if isinstance(term, Bool):
            one, other = (pruned(each.bool(term), known) for each in put)
            if one is not other:
                return False
        elif put[0].expr(term) is not put[1].expr(term):
            return False
    return True


def _terms(op: Operation, loop: Loop) -> Iterator[Expr | Bool]:
    """What decides what an operation in a loop does to local memory."""
    yield from op.path
    yield from (each.trips for each in op.loops if each is not loop)
    for touch in op.touches:
        if isinstance(touch.tensor, LocalTensor):
            tensor = touch.tensor
            yield from (tensor.address, *tensor.shape, *tensor.strides)
    for operand in op.operands.values():
        yield from _numbers(operand.value)


def _numbers(value: object) -> Iterator[Expr | Bool]:
    if isinstance(value, (Expr, Bool)):
        yield value
    elif isinstance(value, RecordValue):
        for each in value.fields:
            yield from _numbers(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from _numbers(each)


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


__all__ = ["ENDS", "Recurring", "divisors", "recurring_loops"]
