"""Two conditions that together say that one thing is so exactly when another one is."""

from __future__ import annotations

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Sym


def equivalent(first: Bool, second: Bool) -> tuple[Bool, Bool] | None:
    """``(p, q)`` where both together say ``p == q``: ``p or not q`` and ``q or not p``.

    Each of ``p`` and ``q`` is about one symbol; they are what is, not what is not.
    """
    symbols = first.free()
    if len(symbols) != 2 or second.free() != symbols:
        return None
    sides = [_said_of(condition, symbol) for condition in (first, second) for symbol in symbols]
    p, not_q, not_p, q = sides
    if p is None or q is None or not_p is None or not_q is None:
        return None
    if E.not_(p) is not not_p or E.not_(q) is not not_q:
        return None
    return (not_p, not_q) if _denies(p) and _denies(q) else (p, q)


def _said_of(condition: Bool, symbol: Sym) -> Bool | None:
    """The alternatives that are about a symbol alone, if there are some and the rest is not."""
    if condition.kind is not E.BoolKind.OR:
        return None
    own = [part for part in condition.args if symbol in part.free()]
    return E.or_(*own) if own and all(len(part.free()) == 1 for part in own) else None


def _denies(condition: Bool) -> bool:
    return condition.kind in (E.BoolKind.AND, E.BoolKind.NE)
