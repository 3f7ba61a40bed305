"""Every part of a term, and the divisors among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from verifier.symbolic.expr.division import bounds
from verifier.symbolic.expr.formulas import eq, or_
from verifier.symbolic.expr.terms import Atom, Bool, Div, Expr


def walk(term: Bool | Expr) -> Iterator[Bool | Expr | Atom]:
    """Every subterm once, parents first."""
    seen: dict[int, None] = {}
    stack: list[Bool | Expr | Atom] = [term]
    while stack:
        item = stack.pop()
        if id(item) in seen:
            continue
        seen[id(item)] = None
        yield item
        children: list[Bool | Expr | Atom] = []
        if isinstance(item, Expr):
            children.extend(item.atoms())
        elif isinstance(item, Bool):
            if item.expr is not None:
                children.append(item.expr)
            children.extend(item.args)
        else:
            children.extend(item.children())
        stack.extend(reversed(children))


def divisions(term: Bool) -> tuple[Div, ...]:
    """The quotients in a formula, each once, in the order of :func:`walk`: most facts are asked
    for theirs again and again."""
    if term._divisions is None:
        term._divisions = tuple(item for item in walk(term) if isinstance(item, Div))
    return term._divisions


def divisors(terms: Sequence[Bool]) -> list[Expr]:
    """The divisors in ``terms`` that may be zero for all their static bounds say."""
    out: dict[int, Expr] = {}
    for term in terms:
        for item in divisions(term):
            if may_be_zero(item.den):
                out.setdefault(id(item.den), item.den)
    return list(out.values())


def unless_undefined(condition: Bool) -> Bool:
    """The condition where it has a value: a divisor of it may be zero elsewhere."""
    return or_(*(eq(den, 0) for den in divisors((condition,))), condition)


def may_be_zero(den: Expr) -> bool:
    """Whether the static bounds of a divisor leave zero to it."""
    lo, hi = bounds(den)
    return (lo is None or lo <= 0) and (hi is None or hi >= 0)
