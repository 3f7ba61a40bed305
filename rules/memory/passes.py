"""How often a program instance goes through its barriers, in terms of its index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Operation

#: iterations that are looked at one by one
MOST: Final = 200


class Passes(Struct):
    """Counts barriers of instances whose indices are those of the loops ``grid``.

    ``also``: what else is another number for each of them.
    """

    grid: tuple[Loop, ...]
    also: frozenset[E.Sym] = frozenset()
    #: by loops and conditions that are the same for all instances: how often they hold
    shared: dict[tuple[object, ...], Expr] = field(default_factory=dict)
    #: whether there are others, whose number is known
    counted: bool = False

    @property
    def own(self) -> set[E.Sym]:
        return {loop.symbol for loop in self.grid} | self.also

    def uneven(self, barrier: Operation) -> bool:
        """Whether how often instances come to it may depend on their index."""
        terms: list[Expr | Bool] = [*barrier.path, *(loop.trips for loop in barrier.loops)]
        return any(not self.own.isdisjoint(term.free()) for term in terms)

    def count(self, path: Sequence[Bool], around: Sequence[Loop]) -> Expr | None:
        """How often an instance comes to what is on a path, in loops; None: that cannot be told."""
        loops = [loop for loop in around if loop not in self.grid]
        mine = [fact for fact in path if not self.own.isdisjoint(fact.free())]
        others = [fact for fact in path if fact not in mine]
        turns = {loop.symbol for loop in loops}
        apart = not any(turns & set(fact.free()) for fact in mine)
        common: list[Expr | Bool] = [*others, *(loop.trips for loop in loops)]
        same = apart and all(self.own.isdisjoint(term.free()) for term in common)
        known = _sum(path, loops, 1 if same else MOST)
        if known is None and same:
            key = (*map(id, loops), None, *map(id, others))
            times = self.shared.setdefault(key, E.fresh("times", 1, None, E.Origin.POINT))
            return E.ite(E.and_(*mine), times, 0)
        self.counted = True
        return known

    def one_way(self, paths: Sequence[tuple[Sequence[Bool], Sequence[Loop]]]) -> bool:
        """Whether what one iteration has too few of, no other one makes up for.

        So it is taken to be where conditions are bounds, which do not turn from one to the next.
        """
        turns = {loop.symbol for _, loops in paths for loop in loops} - self.own
        return all(
            fact.kind is E.BoolKind.LE
            for path, _ in paths
            for fact in path
            if not self.own.isdisjoint(fact.free()) and turns & set(fact.free())
        )

    @property
    def exact(self) -> bool:
        """Whether all that is the same for all instances may be taken for any number."""
        return not self.shared or (len(self.shared) == 1 and not self.counted)


def _sum(facts: Sequence[Bool], loops: Sequence[Loop], most: int) -> Expr | None:
    """In how many of the iterations of loops facts hold."""
    if not loops:
        return E.ite(E.and_(*facts), 1, 0)
    loop, *rest = loops
    terms: list[Expr | Bool] = [*facts, *(inner.trips for inner in rest)]
    if not any(loop.symbol in term.free() for term in terms):
        inner = _sum(facts, rest, most)
        return None if inner is None else loop.trips * inner
    only = next((at for fact in facts if (at := _pinned(fact, loop)) is not None), None)
    if only is not None:
        put = E.Substitution({loop.symbol: only})
        inside = (E.ge(only, 0), E.lt(only, loop.trips))
        moved = [inner.of(put.expr(inner.trips)) for inner in rest]
        return _sum([*inside, *(put.bool(fact) for fact in facts)], moved, most)
    if not loop.trips.is_const or loop.trips.const > most:
        return None
    total = E.const(0)
    for turn in range(loop.trips.const):
        put = E.Substitution({loop.symbol: E.const(turn)})
        part = _sum(
            [put.bool(fact) for fact in facts],
            [inner.of(put.expr(inner.trips)) for inner in rest],
            most // loop.trips.const,
        )
        if part is None:
            return None
        total = total + part
    return total


def _pinned(fact: Bool, loop: Loop) -> Expr | None:
    """The one iteration in which a fact may hold, if it says which."""
    if fact.kind is not E.BoolKind.EQ or fact.expr is None:
        return None
    step = fact.expr.coefficient(loop.symbol)
    if step not in (1, -1):
        return None
    at = (loop.index * step - fact.expr) * step
    return None if loop.symbol in at.free() else at


__all__ = ["MOST", "Passes"]
