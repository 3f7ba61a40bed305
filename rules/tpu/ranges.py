"""The iterations of a loop that the stages of a pipeline are in."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from rules.tpu.flow import Use
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.memory.known import MOST_TURNS
from verifier.symbolic.views.common import conjuncts


class Trips(Struct, frozen=True):
    """The iterations of a loop that a use is in: all from the first to the last."""

    first: Expr
    last: Expr


def trips_of(use: Use, other: Use) -> Trips | None:
    """The iterations of its innermost loop that a use is in.

    None: that hangs on something else, which does not hold of the ``other`` use as well.
    """
    loop = use.loops[-1]
    held = {id(part) for fact in other.path for part in conjuncts(fact)}
    first, last = [E.const(0)], [loop.trips - 1]
    for fact in (part for each in use.path for part in conjuncts(each)):
        if loop.symbol not in fact.free():
            if id(fact) not in held:
                return None
            continue
        if fact.kind is not E.BoolKind.LE or fact.expr is None:
            return None
        slope = fact.expr.coefficient(loop.symbol)
        rest = fact.expr - loop.index * slope
        if loop.symbol in rest.free() or slope not in (1, -1):
            return None
        (last if slope == 1 else first).append(rest if slope == -1 else -rest)
    begin, end = _extreme(first, 1), _extreme(last, -1)
    return None if begin is None or end is None else Trips(begin, end)


def _extreme(values: Sequence[Expr], sign: int) -> Expr | None:
    """The largest of some terms (1) or the least (-1), if they differ by numbers."""
    best = values[0]
    for value in values[1:]:
        distance = value - best
        if not distance.is_const:
            return None
        best = value if distance.const * sign > 0 else best
    return best


def shift(made: Trips, taken: Trips | None) -> int | None:
    """How many iterations later one is than another, all the way; earlier, if less than none."""
    if taken is None:
        return None
    begin, end = taken.first - made.first, taken.last - made.last
    if begin is not end or not begin.is_const or abs(begin.const) > MOST_TURNS:
        return None
    return begin.const
