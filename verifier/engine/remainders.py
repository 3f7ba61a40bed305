"""Comparisons of rounded quotients as what they say of a remainder.

``a // b < -(-a // b)`` is ``a % b != 0``, and ``a % b + 2 <= b`` is ``(a + 1) % b != 0``, wherever
``b`` is positive.
"""

from __future__ import annotations

from collections.abc import Iterator

from verifier.symbolic import expr as E
from verifier.symbolic.expr import FALSE, TRUE, Bool, Expr


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
    """``x % d + a <= d``, or ``x % d >= d + b``."""
    for atom in e.atoms():
        if not isinstance(atom, E.Div) or atom.den.is_const:
            continue
        x, d = atom.num, atom.den
        rest = x - d * E.from_atom(atom)
        more, less = e - rest + d, e + rest - d
        if more.is_const:
            yield _below(x, d, more.const), d
        elif less.is_const:
            yield E.not_(_below(x, d, 1 - less.const)), d


def _below(x: Expr, d: Expr, a: int) -> Bool:
    """``x % d <= d - a``, where ``d`` is positive."""
    if a <= 1:
        return TRUE
    return divides(x + 1, d, False) if a == 2 else E.ge(E.mod(x + a - 1, d), a - 1)


def divides(p: Expr, d: Expr, holds: bool = True) -> Bool:
    """That a divisor leaves nothing of a number, or of what that is turned round, or something."""
    if p.terms and p.terms[0][1] < 0:
        p = -p
    return E.eq(E.mod(p, d), 0) if holds else E.ne(E.mod(p, d), 0)


__all__ = ["divides", "in_remainders"]
