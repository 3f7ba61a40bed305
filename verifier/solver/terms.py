"""Walks over terms that several tiers need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym


def defined(term: Bool) -> Bool:
    """What makes a formula true by parts that have a value: no divisor in them is zero."""
    if term.kind in E.JUNCTIONS:
        parts = tuple(map(defined, term.args))
        return E.and_(*parts) if term.kind is E.BoolKind.AND else E.or_(*parts)
    return E.and_(term, *(E.ne(den, 0) for den in E.divisors([term])))


def guarded_divisor(terms: Sequence[Bool]) -> bool:
    """Whether a possibly zero divisor is evaluated in some cases only (a conditional, ``or``)."""
    for term in terms:
        for item in E.walk(term):
            parts: Sequence[Bool | Expr] = ()
            if isinstance(item, E.Ite):
                parts = (item.then, item.other)
            elif isinstance(item, Bool) and item.kind in E.JUNCTIONS:
                parts = item.args
            for part in parts:
                for inner in E.walk(part):
                    if isinstance(inner, E.Div) and E.may_be_zero(inner.den):
                        return True
    return False


def symbols(terms: Sequence[Bool]) -> list[Sym]:
    """The symbols of ``terms`` in the order of their creation."""
    found = {sym.id: sym for term in terms for sym in term.free()}
    return [found[key] for key in sorted(found)]


def connected(facts: Sequence[Bool], *goals: Bool) -> list[Bool]:
    """The facts that share symbols or flags with a goal, directly or through other facts."""
    keys = [_keys(fact) for fact in facts]
    reached = {key for goal in goals for key in _keys(goal)}
    taken = [False] * len(facts)
    grown = True
    while grown:
        grown = False
        for position, key in enumerate(keys):
            if not taken[position] and (not key or not reached.isdisjoint(key)):
                taken[position] = True
                reached |= key
                grown = True
    return [fact for fact, used in zip(facts, taken, strict=True) if used]


def _keys(term: Bool) -> frozenset[str]:
    names = {sym.name for sym in term.free()}
    names.update(f"flag~{name}" for name in term.flags())
    return frozenset(names)


def holds(terms: Sequence[Bool], env: Mapping[str, int | bool]) -> bool:
    """Whether all terms are true.

    Raises:
        EvaluationError: a term cannot be evaluated.
    """
    return all(bool(E.evaluate(term, env)) for term in terms)


def within_bounds(syms: Sequence[Sym], env: Mapping[str, int | bool]) -> bool:
    return all(
        (sym.lo is None or env[sym.name] >= sym.lo) and (sym.hi is None or env[sym.name] <= sym.hi)
        for sym in syms
    )


def default(sym: Sym) -> int:
    """The value of a symbol that nothing constrains."""
    if sym.lo is not None:
        return max(sym.lo, 1) if sym.hi is None or sym.hi >= 1 else sym.lo
    return 1 if sym.hi is None else min(1, sym.hi)
