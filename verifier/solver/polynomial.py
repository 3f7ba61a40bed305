"""Plain polynomials for the range prover: mutable dictionaries, no interning.

A polynomial maps a monomial (a tuple of atoms ordered by id; the empty tuple for the constant) to
its non-zero coefficient. The prover makes many short-lived ones; interning them would cost more
than it saves.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import gcd

from verifier.symbolic.expr import Atom, Expr

Mono = tuple[Atom, ...]
Poly = dict[Mono, int]
UNIT: Mono = ()


def from_expr(expr: Expr) -> Poly:
    out: Poly = dict(expr.terms)
    if expr.const:
        out[UNIT] = expr.const
    return out


def to_expr(poly: Poly) -> Expr:
    terms = dict(poly)
    constant = terms.pop(UNIT, 0)
    return Expr.make(terms, constant)


def add_scaled(target: Poly, source: Poly, factor: int) -> Poly:
    """``target + factor * source`` as a new polynomial."""
    out = dict(target)
    for mono, coef in source.items():
        total = out.get(mono, 0) + coef * factor
        if total:
            out[mono] = total
        else:
            out.pop(mono, None)
    return out


def _atom_id(atom: Atom) -> int:
    return atom.id


def multiply(left: Poly, right: Poly) -> Poly:
    if len(left) == 1 and UNIT in left:
        left, right = right, left
    if len(right) == 1 and UNIT in right:
        factor = right[UNIT]
        return {mono: coef * factor for mono, coef in left.items()}
    out: Poly = {}
    for m1, c1 in left.items():
        for m2, c2 in right.items():
            if not m1:
                mono = m2
            elif not m2:
                mono = m1
            else:
                mono = tuple(sorted((*m1, *m2), key=_atom_id))
            total = out.get(mono, 0) + c1 * c2
            if total:
                out[mono] = total
            else:
                out.pop(mono, None)
    return out


def by_degree(poly: Poly, atom: Atom) -> list[Poly]:
    """``[c0, c1, ...]`` with ``poly == c0 + c1 * atom + ...``."""
    out: list[Poly] = [{}]
    for mono, coef in poly.items():
        degree = 0
        for item in mono:
            if item is atom:
                degree += 1
        while len(out) <= degree:
            out.append({})
        rest = tuple(item for item in mono if item is not atom) if degree else mono
        out[degree][rest] = coef
    return out


def atoms(poly: Poly) -> list[Atom]:
    """The atoms of a polynomial, the youngest (highest id) first."""
    seen: dict[int, Atom] = {}
    for mono in poly:
        for atom in mono:
            seen[atom.id] = atom
    return [seen[key] for key in sorted(seen, reverse=True)]


def tighten(poly: Poly) -> Poly:
    """An equivalent of ``poly <= 0`` over the integers with coprime coefficients."""
    common = 0
    for mono, coef in poly.items():
        if mono:
            common = gcd(common, coef)
            if common == 1:
                return poly
    if common <= 1:
        return poly
    out: Poly = {mono: coef // common for mono, coef in poly.items() if mono}
    constant = -((-poly.get(UNIT, 0)) // common)
    if constant:
        out[UNIT] = constant
    return out


def exact_division(poly: Poly, divisor: Poly) -> Poly | None:
    """``q`` with ``q * divisor == poly`` for a one-term divisor, or None."""
    if len(divisor) != 1:
        return {UNIT: 1} if poly == divisor else None
    ((factor, scale),) = divisor.items()
    out: Poly = {}
    for mono, coef in poly.items():
        if coef % scale:
            return None
        rest = list(mono)
        for atom in factor:
            if atom not in rest:
                return None
            rest.remove(atom)
        out[tuple(rest)] = coef // scale
    return out


def put(poly: Poly, atom: Atom, value: Poly) -> Poly:
    """``poly`` with ``value`` in place of ``atom``."""
    parts = by_degree(poly, atom)
    total = parts[0]
    power: Poly = {UNIT: 1}
    for part in parts[1:]:
        power = multiply(power, value)
        total = add_scaled(total, multiply(part, power), 1)
    return total


def products(expr: Expr) -> Iterator[tuple[Expr, Expr]]:
    """Pairs of sums that an expression without a constant is the product of: ``(a - b, n - s)``."""
    poly = from_expr(expr)
    turned = {mono: -coef for mono, coef in poly.items()}
    each = {atom: by_degree(poly, atom)[-1] for atom in atoms(poly)}
    for one, other in combinations((sum_ for sum_ in each.values() if len(sum_) > 1), 2):
        whole = multiply(one, other)
        if whole != poly and whole != turned:
            continue
        sign = 1 if whole == poly else -1
        first, second = to_expr(one), to_expr(other) * sign
        yield from ((first, second), (second, first), (-first, -second), (-second, -first))
