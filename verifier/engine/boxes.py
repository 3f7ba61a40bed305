"""Bounds of single sizes that conditions on several sizes may come to, by their values.

``ceil(r / 128) + ceil(c / 50) <= 2`` is ``r <= 128 and c <= 50``. What is found here fits for the
sizes that were looked at; that it does for all is for the solver to prove.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, product
from math import prod

from verifier.engine.evaluable import is_met
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Sym

#: sizes of one condition, and of all conditions that are looked at together
_SIZES = 3
#: rows of sizes that are looked at
_POINTS = 1500
#: beyond every size
_MOST = 1 << 40
#: multiples of a bound that are looked at
_MULTIPLES = (1, 2, 7, 21, 50)


def box(clause: Bool) -> Iterator[Bool]:
    """That each size is at most what it may be where the others are least."""
    bounds = _corner(clause)
    if len(bounds) < 2 or len(bounds) < len(clause.free()):
        return
    if is_met(clause, {s.name: most for s, most in bounds.items()}):
        yield E.and_(*(E.le(E.from_atom(s), most) for s, most in bounds.items()))


def together(conditions: Sequence[Bool], known: Sequence[Bool]) -> Iterator[Bool]:
    """Bounds, or that a part is a whole one or all there is (``b >= 64 or n <= b``), that take the
    place of some conditions beside what is ``known``."""
    for sizes in dict.fromkeys(condition.free() for condition in conditions):
        if 2 <= len(sizes) <= _SIZES and not any(map(_is_other, sizes)):
            of_these = [c for c in conditions if set(sizes).issuperset(c.free()) and not c.flags()]
            yield from _of_sizes(sizes, of_these, known)


def _of_sizes(
    sizes: Sequence[Sym], conditions: Sequence[Bool], known: Sequence[Bool]
) -> Iterator[Bool]:
    found: dict[Bool, None] = {}
    values: dict[Sym, set[int]] = {s: {s.lo or 0} for s in sizes}
    for condition in conditions:
        for size, most in _corner(condition).items():
            found[E.le(E.from_atom(size), most)] = None
            values[size].update(most * k + more for k in _MULTIPLES for more in (0, 1))
    for den in dict.fromkeys(den for condition in conditions for den in _divisors(condition)):
        for one, other in permutations(sizes, 2):
            enough = E.ge(E.from_atom(other), den)
            found[E.or_(enough, E.le(E.from_atom(one), E.from_atom(other)))] = None
            values[other].update((den - 1, den, den + 1, 3 * den))
    if prod(map(len, values.values())) > _POINTS:
        return
    points = [
        point
        for row in product(*(sorted(v) for v in values.values()))
        if _admitted(known, point := dict(zip((s.name for s in values), row, strict=True)))
    ]
    for candidate in found:
        if _replaces(candidate, conditions, points):
            yield candidate


def _replaces(
    candidate: Bool, conditions: Sequence[Bool], points: Sequence[Mapping[str, int]]
) -> bool:
    """Whether a candidate holds where all conditions do, and one of these wherever it does."""
    within = [point for point in points if is_met(candidate, point)]
    outside = (point for point in points if is_met(candidate, point) is False)
    if any(all(is_met(c, point) for c in conditions) for point in outside):
        return False
    return any(all(is_met(c, point) for point in within) for c in conditions)


def _divisors(condition: Bool) -> Iterator[int]:
    """The numbers that a condition divides by."""
    for item in E.walk(condition):
        if isinstance(item, E.Div) and item.den.is_const and item.den.const > 1:
            yield item.den.const


def _admitted(known: Sequence[Bool], point: Mapping[str, int]) -> bool:
    there = (fact for fact in known if all(s.name in point for s in fact.free()))
    return all(not fact.flags() and is_met(fact, point) for fact in there)


def _corner(clause: Bool) -> dict[Sym, int]:
    """The most that each size of a condition may be where the others are least."""
    sizes = clause.free()
    if not 2 <= len(sizes) <= _SIZES or any(map(_is_other, sizes)) or clause.flags():
        return {}
    least = {s.name: s.lo or 0 for s in sizes}
    if not is_met(clause, least):
        return {}
    found: dict[Sym, int] = {}
    for size in sizes:
        low, high = least[size.name], _MOST
        if is_met(clause, {**least, size.name: high}):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            if is_met(clause, {**least, size.name: middle}):
                low = middle
            else:
                high = middle
        found[size] = low
    return found


def _is_other(symbol: Sym) -> bool:
    """Whether a symbol is no size."""
    return symbol.domain is not None or bool(symbol.words)


__all__ = ["box", "together"]
