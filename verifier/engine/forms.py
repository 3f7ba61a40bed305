"""What there is to read in a condition: its weight, its parts, what it says divides what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd, lcm
from typing import TypeAlias

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym


def is_plain(term: Bool) -> bool:
    """Whether a condition needs no explanation: a bound, an equality, a divisibility, a flag."""
    return weight(term) <= 4


#: what parts of a term come to that were looked at, which may be in it many times
_Seen: TypeAlias = dict[Expr | Bool, int]


def weight(term: Bool, seen: _Seen | None = None) -> int:
    """How much there is to read."""
    seen = {} if seen is None else seen
    if term in seen:
        return seen[term]
    if term.expr is None:
        total = 1 + sum(weight(part, seen) for part in term.args)
    elif (divided := divisibility(term) or divisibility(E.not_(term))) is not None:
        divisor = divided[1].as_atom()
        total = 2 + (size_of(divided[1], seen) if isinstance(divisor, E.Ite) else 0)
    elif (number := _bounded_remainder(term)) is not None:
        total = 4 + size_of(number, seen)
    else:
        total = size_of(term.expr, seen)
    return seen.setdefault(term, total)


def size_of(e: Expr, seen: _Seen | None = None) -> int:
    seen = {} if seen is None else seen
    if e in seen:
        return seen[e]
    total = (1 if e.const else 0) + sum(abs(factor) != 1 for _, factor in e.terms)
    for atom in (atom for mono, _ in e.terms for atom in mono):
        plain = isinstance(atom, (Sym, E.Table))
        total += 1 if plain else 3
        for part in () if plain else atom.children():
            total += size_of(part, seen) if isinstance(part, Expr) else weight(part, seen)
    return seen.setdefault(e, total)


def _bounded_remainder(term: Bool) -> Expr | None:
    """The number of whose remainder by another number it is said that it is at most or at least
    so much."""
    e = term.expr
    if e is None or len(e.terms) < 2:
        return None
    for atom in e.atoms():
        if isinstance(atom, E.Div) and atom.den.is_const:
            rest = atom.num - atom.den * E.from_atom(atom)
            if (e - rest).is_const or (e + rest).is_const:
                return atom.num
    return None


def divisibility(term: Bool) -> tuple[Expr, Expr] | None:
    """``(number, divisor)`` of a condition that says that one divides the other."""
    if term.expr is None or term.kind not in (E.BoolKind.EQ, E.BoolKind.LE):
        return None
    for atom in term.expr.atoms():
        if isinstance(atom, E.Div):
            rest = atom.num - atom.den * E.from_atom(atom)
            if term is E.eq(rest, 0):
                return atom.num, atom.den
    return None


def plainly(term: Bool) -> Bool:
    """A condition without quotients and choices of the least, where another one says the same."""
    expr = term.expr
    if term.kind in (E.BoolKind.AND, E.BoolKind.OR):
        join = E.and_ if term.kind is E.BoolKind.AND else E.or_
        return join(*map(plainly, term.args))
    if term.kind is not E.BoolKind.LE or expr is None:
        return term
    for atom in expr.atoms():
        factor = expr.coefficient(atom)
        rest = expr - E.from_atom(atom) * factor
        if isinstance(atom, E.Div) and atom.den.is_const and atom.den.const > 0:
            remainder = atom.num - atom.den * E.from_atom(atom)
            if expr is remainder:
                return E.eq(remainder, 0)
            if factor == 1 and atom not in rest.atoms():  # `a // k <= c` where `a <= k * c + k - 1`
                return plainly(E.lt(atom.num, (E.const(1) - rest) * atom.den))
            if factor == -1 and atom not in rest.atoms():  # `a // k >= c` where `a >= k * c`
                return plainly(E.ge(atom.num, rest * atom.den))
        if isinstance(atom, E.Extremum) and abs(factor) == 1 and atom not in rest.atoms():
            some = (atom.kind == "min") == (factor == 1)
            ways = [plainly(E.le(rest + part * factor, 0)) for part in atom.args]
            return E.or_(*ways) if some else E.and_(*ways)
    return term


def conjuncts(condition: Bool) -> tuple[Bool, ...]:
    """What all has to hold."""
    return condition.args if condition.kind is E.BoolKind.AND else (condition,)


def entails(one: Bool, other: Bool) -> bool:
    """Whether a condition says another one, which has a value for all inputs, by what every size is
    at least; False: don't know."""
    return not E.divisors((other,)) and _entails(one, other)


def _entails(one: Bool, other: Bool) -> bool:
    if one is other:
        return True
    if other.kind is E.BoolKind.AND:
        return all(_entails(one, part) for part in other.args)
    if one.kind is E.BoolKind.OR:
        return all(_entails(part, other) for part in one.args)
    if one.kind is E.BoolKind.AND:
        return any(_entails(part, other) for part in one.args)
    if other.kind is E.BoolKind.OR:
        return any(_entails(one, part) for part in other.args)
    if one.kind is not E.BoolKind.LE or other.kind is not E.BoolKind.LE:
        return False
    assert one.expr is not None and other.expr is not None
    return _is_below(other.expr, one.expr)


def _is_below(low: Expr, high: Expr) -> bool:
    """Whether ``low`` is at most zero where ``high`` is, as a multiple of it is at most one of
    that: those are looked at in which some term is the same."""
    factors = dict(high.terms)
    scales = {(1, 1)}
    for mono, factor in low.terms:
        other = factors.get(mono, 0)
        if factor * other > 0:
            common = gcd(factor, other)
            scales.add((abs(other) // common, abs(factor) // common))
    differences = (E.bounds(low * mine - high * theirs)[1] for mine, theirs in sorted(scales))
    return any(most is not None and most <= 0 for most in differences)


def steps_of(known: Iterable[Bool]) -> dict[E.Atom, int]:
    """What is known to divide each size."""
    steps: dict[E.Atom, int] = {}
    for fact in (part for demand in known for part in conjuncts(demand)):
        found = divisibility(fact)
        size = None if found is None else found[0].as_atom()
        if found is not None and size is not None and found[1].is_const and found[1].const > 0:
            steps[size] = lcm(steps.get(size, 1), found[1].const)
    return steps


def single(symbols: Sequence[Sym]) -> Sym | None:
    return symbols[0] if len(symbols) == 1 else None
