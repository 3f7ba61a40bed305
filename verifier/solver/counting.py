"""Loops that count through a product of sizes: bounds of the quotients that take the count apart.

``for k in range(a * b)`` with ``k // b`` and ``k % b`` is how kernels walk over two dimensions in
one loop. That ``k // b < a`` follows from ``k < a * b`` by dividing, which linear reasoning does not
find for symbolic ``b``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from verifier.solver.terms import walk
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr


def quotient_bounds(ranges: Sequence[Bool], terms: Iterable[Bool]) -> tuple[Bool, ...]:
    """Facts on the quotients in ``terms`` that follow from ``index < a * b`` among ``ranges``.

    From ``0 <= k < a * b`` and ``a >= 1`` follow ``b >= 1`` and ``k // b < a``.
    """
    limits = [found for fact in ranges if (found := _limit(fact)) is not None]
    if not limits:
        return ()
    out: dict[int, Bool] = {}
    for term in terms:
        for item in walk(term):
            if not isinstance(item, E.Div) or item.den.is_const:
                continue
            for index, limit in limits:
                if item.num is not index:
                    continue
                count = E.exact_quotient(limit, item.den)
                if count is None:
                    continue
                inside = E.lt(E.from_atom(item), count)
                fact = E.or_(E.le(count, 0), E.and_(E.ge(item.den, 1), inside))
                out.setdefault(id(fact), fact)
    return tuple(out.values())


def _limit(fact: Bool) -> tuple[Expr, Expr] | None:
    """``(index, limit)`` of a loop's range ``index < limit`` whose limit is no plain number."""
    if fact.kind != "le" or fact.expr is None:
        return None
    for symbol in fact.expr.free():
        if symbol.origin != "loop" or fact.expr.coefficient(symbol) != 1:
            continue
        index = E.from_atom(symbol)
        limit = index - fact.expr + 1
        if symbol not in limit.free() and not limit.is_const:
            return index, limit
    return None


__all__ = ["quotient_bounds"]
