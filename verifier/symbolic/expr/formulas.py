"""Formulas over comparisons of polynomials with zero."""

from __future__ import annotations

from collections.abc import Mapping

from verifier.symbolic.expr.division import bounds
from verifier.symbolic.expr.terms import (
    FALSE,
    JUNCTIONS,
    TRUE,
    Atom,
    Bool,
    BoolKind,
    Expr,
    formula,
    lift,
)


def truth(value: bool) -> Bool:
    return TRUE if value else FALSE


def bool_symbol(name: str) -> Bool:
    """A free truth value, e.g. a flag parameter."""
    return formula(BoolKind.VAR, name=name)


def le(a: Expr | int, b: Expr | int) -> Bool:
    return at_most_zero(lift(a) - b)


def at_most_zero(diff: Expr) -> Bool:
    """``diff <= 0``."""
    if diff.is_const:
        return truth(diff.const <= 0)
    lo, hi = bounds(diff)
    if hi is not None and hi <= 0:
        return TRUE
    if lo is not None and lo > 0:
        return FALSE
    g = diff.content()
    if g > 1:  # g*x + c <= 0  ==  x + ceil(c / g) <= 0
        diff = Expr.make({m: c // g for m, c in diff.terms}, -((-diff.const) // g))
    return formula(BoolKind.LE, diff)


def lt(a: Expr | int, b: Expr | int) -> Bool:
    return le(lift(a) + 1, b)


def ge(a: Expr | int, b: Expr | int) -> Bool:
    return le(b, a)


def gt(a: Expr | int, b: Expr | int) -> Bool:
    return lt(b, a)


def eq(a: Expr | int, b: Expr | int) -> Bool:
    return is_zero(lift(a) - b)


def is_zero(diff: Expr) -> Bool:
    """``diff == 0``."""
    if diff.is_const:
        return truth(diff.const == 0)
    lo, hi = bounds(diff)
    if (lo is not None and lo > 0) or (hi is not None and hi < 0):
        return FALSE
    g = diff.content()
    if diff.const % g:
        return FALSE
    if diff.terms[0][1] < 0:
        g = -g
    if g != 1:
        diff = Expr.make({m: c // g for m, c in diff.terms}, diff.const // g)
    return formula(BoolKind.EQ, diff)


def ne(a: Expr | int, b: Expr | int) -> Bool:
    return not_(eq(a, b))


def not_(a: Bool) -> Bool:
    if a is TRUE:
        return FALSE
    if a is FALSE:
        return TRUE
    if a._negation is None:  # formulas share their parts
        a._negation = _negated(a)
    return a._negation


def _negated(a: Bool) -> Bool:
    if a.kind is BoolKind.NOT:
        return a.args[0]
    if a.kind is BoolKind.LE:
        assert a.expr is not None
        return le(1, a.expr)
    if a.kind is BoolKind.EQ:
        return formula(BoolKind.NE, a.expr)
    if a.kind is BoolKind.NE:
        return formula(BoolKind.EQ, a.expr)
    if a.kind is BoolKind.AND:
        return or_(*(not_(x) for x in a.args))
    if a.kind is BoolKind.OR:
        return and_(*(not_(x) for x in a.args))
    return formula(BoolKind.NOT, args=(a,))


def and_(*args: Bool) -> Bool:
    return _junction(BoolKind.AND, TRUE, FALSE, args)


def or_(*args: Bool) -> Bool:
    return _junction(BoolKind.OR, FALSE, TRUE, args)


def _junction(kind: BoolKind, unit: Bool, zero: Bool, args: tuple[Bool, ...]) -> Bool:
    seen: dict[int, Bool] = {}
    for arg in args:
        for item in arg.args if arg.kind is kind else (arg,):
            if item is zero:
                return zero
            if item is not unit:
                seen.setdefault(id(item), item)
    if len(seen) > 1 and _opposed(seen):
        return zero
    other = BoolKind.OR if kind is BoolKind.AND else BoolKind.AND
    simpler = _without_decided(other, seen)
    if simpler is not None:
        return _junction(kind, unit, zero, simpler)
    if not seen:
        return unit
    if len(seen) == 1:
        return next(iter(seen.values()))
    return formula(kind, args=tuple(seen.values()))


def _opposed(items: Mapping[int, Bool]) -> bool:
    """Whether one of the items is the negation of another one."""
    leading: dict[tuple[Atom, ...], Bool] = {}
    for item in items.values():
        if item.kind is BoolKind.LE and item._negation is None:
            # of two that are each other's negation both have the same products
            assert item.expr is not None
            if leading.setdefault(item.expr.terms[0][0], item) is item:
                continue
        if item.kind not in JUNCTIONS and id(not_(item)) in items:
            return True
    return False


def _without_decided(inner: BoolKind, items: Mapping[int, Bool]) -> tuple[Bool, ...] | None:
    """The items with those of kind ``inner`` simplified by their neighbours, None if none changes.

    ``p and (not p or q)`` is ``p and q``; ``p and (p or q)`` is ``p``; likewise with both swapped.
    """
    out: list[Bool] = []
    changed = False
    for item in items.values():
        if item.kind is not inner:
            out.append(item)
            continue
        if any(id(arg) in items for arg in item.args):
            changed = True
            continue
        kept = [a for a in item.args if a.kind in JUNCTIONS or id(not_(a)) not in items]
        if len(kept) < len(item.args):
            changed = True
            out.append(or_(*kept) if inner is BoolKind.OR else and_(*kept))
        else:
            out.append(item)
    return tuple(out) if changed else None


def implies(a: Bool, b: Bool) -> Bool:
    return or_(not_(a), b)
