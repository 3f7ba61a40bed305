"""Comparisons of rounded quotients as what they say of a remainder.

``a // b < -(-a // b)`` is ``a % b != 0``, and ``a % b + 2 <= b`` is ``(a + 1) % b != 0``, wherever
``b`` is positive. What is said of quotients by numbers alone may come again with each period of
them: of ``2*(a // 640) + 2 <= -(-a // 320)`` only ``a % 640`` matters, and it is counted out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import gcd, lcm
from typing import TypeAlias

from verifier.symbolic import expr as E
from verifier.symbolic.expr import FALSE, TRUE, Bool, Expr

#: conditions, each with those that it stands for
Joining: TypeAlias = Callable[[Iterable[Bool]], list[tuple[Bool, tuple[Bool, ...]]]]

#: the longest period that is counted out
_PERIOD = 2048


def in_remainders(fact: Bool) -> tuple[Bool, Expr] | None:
    """The same of a remainder, and what has to be positive for that; None: it is nothing such."""
    e = fact.expr
    if fact.kind is not E.BoolKind.LE or e is None:
        return None
    return next(iter((*_two(e), *_own(e))), None)


def _two(e: Expr) -> list[tuple[Bool, Expr]]:
    """``p // d + (-p - k) // d + m <= 0``, or of the sum of both that it is at least ``m``."""
    quotients = [atom for atom in e.atoms() if isinstance(atom, E.Div)]
    if len(quotients) != 2 or len(e.terms) != 2:
        return []
    one, other = quotients
    sign = e.coefficient(one)
    apart = -(one.num + other.num)
    if one.den is not other.den or sign not in (1, -1) or e.coefficient(other) != sign:
        return []
    if not apart.is_const:
        return []
    found = _rounds(one.num, one.den, apart.const, e.const if sign == 1 else 1 - e.const)
    if found is None:
        return []
    return [(found if sign == 1 else E.not_(found), one.den)]


def _rounds(p: Expr, d: Expr, k: int, m: int) -> Bool | None:
    """That ``-(-(p % d + k) // d)`` is at least ``m``, where ``d`` is positive."""
    if m == 1:  # p % d + k >= 1
        return TRUE if k >= 1 else divides(p, d, False) if k == 0 else E.ge(E.mod(p, d), 1 - k)
    if m != 2:
        return None
    # p % d >= d - t
    t = k - 1
    return FALSE if t <= 0 else divides(p + 1, d, True) if t == 1 else E.lt(E.mod(p + t, d), t)


def _own(e: Expr) -> Iterator[tuple[Bool, Expr]]:
    """``x % d + a <= d``, or ``x % d >= d + b``, or that ``x % d`` is at most 0 or at least 1."""
    for atom in e.atoms():
        if not isinstance(atom, E.Div) or atom.den.is_const:
            continue
        x, d = atom.num, atom.den
        rest = x - d * E.from_atom(atom)
        more, less = e - rest + d, e + rest - d
        if e is rest or e is 1 - rest:
            yield divides(x, d, e is rest), d
        elif more.is_const:
            yield _below(x, d, more.const), d
        elif less.is_const:
            yield E.not_(_below(x, d, 1 - less.const)), d


def _below(x: Expr, d: Expr, a: int) -> Bool:
    """``x % d <= d - a``, where ``d`` is positive."""
    if a <= 1:
        return TRUE
    return divides(x + 1, d, False) if a == 2 else E.ge(E.mod(x + a - 1, d), a - 1)


def divides(p: Expr, d: Expr, holds: bool = True) -> Bool:
    """That a divisor leaves nothing of a number, or something: of what that is turned round,
    without multiples of the divisor and without a factor that has nothing in common with it."""
    p = _less_multiples(p, d)
    if p.terms[0][1] < 0 if p.terms else p.const < 0:
        p = -p
    rest, common = E.mod(p, d), gcd(p.content(), p.const)
    if d.is_const and common > 1:
        number = Expr.make({mono: factor // common for mono, factor in p.terms}, p.const // common)
        rest = E.mod(number, d.const // gcd(d.const, common))
    return E.eq(rest, 0) if holds else E.ne(rest, 0)


def _less_multiples(p: Expr, d: Expr) -> Expr:
    """A number without the summands that are multiples of a product."""
    if d.is_const or d.const or len(d.terms) != 1:
        return p
    kept = p
    for mono, factor in p.terms:
        summand = Expr.make({mono: factor}, 0)
        if E.exact_quotient(summand, d) is not None:
            kept = kept - summand
    return kept


# ------------------------------------------------------------------------ what is periodic


def of_a_period(fact: Bool) -> Bool | None:
    """The same of one remainder, for a comparison of quotients of one number by numbers; None: it
    is nothing such, or comes again with no period, or has no short form."""
    found = _counted_out(fact)
    return None if found is None else _of_remainders(*found)


def of_one_base(facts: Iterable[Bool]) -> list[tuple[Bool, tuple[Bool, ...]]]:
    """Facts, each with those that it stands for: ``n % 30 >= 2`` and ``(n + 27) % 30 >= 28`` are
    ``n % 30 == 2``. What divides one number is said of each divisor by itself."""
    out: dict[Bool, tuple[Bool, ...]] = {fact: (fact,) for fact in facts}
    bases: dict[Expr, list[tuple[Bool, list[bool]]]] = {}
    for fact in out:
        found = _counted_out(fact)
        if found is not None:
            bases.setdefault(found[0], []).append((fact, found[1]))
    for base, each in bases.items():
        size = lcm(*(len(good) for _, good in each))
        if len(each) < 2 or size > _PERIOD or all(f.kind is E.BoolKind.EQ for f, _ in each):
            continue
        whole = [[good[v % len(good)] for v in range(size)] for _, good in each]
        shared = list(map(all, zip(*whole, strict=True)))
        both = None if shared in whole else _of_remainders(base, shared)  # one says it all
        if both is None or both.kind in (E.BoolKind.CONST, *E.JUNCTIONS):
            continue
        parts = tuple(fact for fact, _ in each)
        for fact in parts:
            del out[fact]
        out[both] = parts
    return list(out.items())


def _counted_out(fact: Bool) -> tuple[Expr, list[bool]] | None:
    """A number, and for each of its remainders by a period whether a fact holds; None: it compares
    no quotients of one number by numbers, or comes again with no period."""
    e = fact.expr
    if e is None:
        return None
    parts = [(mono[0], c) for mono, c in e.terms if len(mono) == 1]
    quotients = [
        (q, c) for q, c in parts if isinstance(q, E.Div) and q.den.is_const and q.den.const > 1
    ]
    if not quotients:
        return None
    base = _upright(quotients[0][0].num)
    period = lcm(*(q.den.const for q, _ in quotients))
    signs = [_sign(q.num, base) for q, _ in quotients]
    rest = e - sum((E.from_atom(q) * c for q, c in quotients), start=E.const(0))
    slope = _multiple(rest, base)
    if slope is None or 0 in signs or not base.terms or not 1 < period <= _PERIOD:
        return None
    counted = [
        (sign, q.num.const, q.den.const, c) for sign, (q, c) in zip(signs, quotients, strict=True)
    ]
    if slope * period + sum(c * sign * (period // d) for sign, _, d, c in counted):
        return None

    def holds(v: int) -> bool:
        value = rest.const + slope * v + sum(c * ((s * v + k) // d) for s, k, d, c in counted)
        if fact.kind is E.BoolKind.LE:
            return value <= 0
        return (value == 0) is (fact.kind is E.BoolKind.EQ)

    return base, [holds(v) for v in range(period)]


def _upright(number: Expr) -> Expr:
    """A number without what is added to it, turned round if it begins with a minus."""
    number = number - number.const
    return -number if number.terms and number.terms[0][1] < 0 else number


def _sign(number: Expr, base: Expr) -> int:
    """Whether a number is the base and something that is added, or that turned round; else 0."""
    number = number - number.const
    return 1 if number == base else -1 if number == -base else 0


def _multiple(number: Expr, base: Expr) -> int | None:
    """How often a number has the base, beside what is added; None: it has something else."""
    if not number.terms:
        return 0
    factor = dict(base.terms).get(number.terms[0][0], 0)
    count = number.terms[0][1] // factor if factor else 0
    return count if (number - base * count).is_const else None


def _of_remainders(base: Expr, good: list[bool]) -> Bool | None:
    """That the remainder of a number is one of the ``good``, by the shortest period of these."""
    size = next(
        d
        for d in range(1, len(good) + 1)
        if len(good) % d == 0 and good == good[:d] * (len(good) // d)
    )
    good = good[:size]
    if size == 1:
        return TRUE if good[0] else FALSE
    ends = [v for v in range(size) if good[v] and not good[(v + 1) % size]]
    starts = [v for v in range(size) if good[v] and not good[v - 1]]
    if len(ends) != 1:
        return None
    (first,), (last,), rest = starts, ends, E.mod(base, size)
    if sum(good) == 1:
        return E.eq(E.mod(base - first, size), 0)
    if sum(good) == size - 1:
        return E.ne(E.mod(base - last - 1, size), 0)
    above, below = E.ge(rest, first), E.le(rest, last)
    if first > last:
        return E.or_(above, divides(base, E.const(size)) if last == 0 else below)
    return below if first == 0 else above if last == size - 1 else E.and_(above, below)


__all__ = ["Joining", "divides", "in_remainders", "of_a_period", "of_one_base"]
