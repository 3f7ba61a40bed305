"""What the elimination of indices makes of terms: see :mod:`.regions`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Div, Expr, Extremum, Sym
from verifier.symbolic.views.common import conjuncts

#: bounds tried for one sum
CANDIDATES: Final = 32


def between(
    lowers: Sequence[tuple[Expr, Expr]], uppers: Sequence[tuple[Expr, Expr]]
) -> Iterator[Bool]:
    """When some integer ``s`` has every ``a*s >= low`` and every ``b*s <= high``."""
    for a, low in lowers:
        for b, high in uppers:
            if any(coef.is_const and coef.const == 1 for coef in (a, b)):
                between = E.le(low * b, high * a)
            else:  # ceil(low / a) <= floor(high / b)
                between = E.le(-E.floordiv(-low, a), E.floordiv(high, b))
            yield from conjuncts(between)


def divisors(term: Expr, symbol: Sym) -> Iterator[int]:
    """What a symbol is divided by in a term: of quotients in a quotient the innermost first.

    By the outer one it would be divided again and again: a part of it stays in the inner one.
    """
    for atom in term.atoms():
        if not isinstance(atom, Div) or symbol not in atom.num.free():
            continue
        if any(isinstance(a, Div) and symbol in E.atom_free(a) for a in atom.num.atoms()):
            yield from divisors(atom.num, symbol)
        elif atom.den.is_const and atom.den.const > 1 and atom.num.coefficient(symbol):
            yield atom.den.const


def whole_quotients(terms: Iterable[Expr | Bool], symbol: Sym) -> Iterator[Div]:
    """The quotients of a symbol by something that is no number."""
    for term in terms:
        for item in E.walk(term) if symbol in term.free() else ():
            if isinstance(item, Div) and item.num.as_atom() is symbol and not item.den.is_const:
                yield item


def divides(divisor: Expr, value: Expr) -> bool:
    if divisor.is_const:
        d = divisor.const
        return value.const % d == 0 and all(coef % d == 0 for _, coef in value.terms)
    return E.exact_quotient(value, divisor) is not None


def upper_bounds(size: Expr) -> list[Expr]:
    """Upper bounds of an extent: itself, and with ``min`` replaced by each of its arguments."""
    found = [size]
    for mono, coef in size.terms:
        atom = mono[0]
        if len(mono) != 1 or not isinstance(atom, Extremum):
            continue
        if (atom.kind == "min") == (coef > 0):
            rest = size - E.from_atom(atom) * coef
            for arg in atom.args:
                found.extend(upper_bounds(rest + arg * coef))
    return found[:CANDIDATES]
