"""Elements that go through an engine in order: where in one shape those of another come from."""

from __future__ import annotations

from collections.abc import Sequence

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr


def in_order(
    own: Sequence[Expr], others: Sequence[Expr], index: Sequence[Expr]
) -> tuple[Expr, ...] | None:
    """Where in a shape the element is that streams by with the one at an index of another shape.

    Both are gone through row by row. None while that depends on sizes that are not known.
    """
    shared = min(len(own), len(others))
    first = next((k for k in range(shared) if own[k] is not others[k]), shared)
    rest = shared - first
    last = next((k for k in range(rest) if own[-1 - k] is not others[-1 - k]), rest)
    middle, across = own[first : len(own) - last], others[first : len(others) - last]
    passed = E.const(0)
    for size, at in zip(across, index[first:], strict=False):
        passed = passed * size + at
    found: list[Expr] = []
    step = E.const(1)
    for k in reversed(range(len(middle))):
        if not step.is_const:
            return None
        at = E.floordiv(passed, step)
        found.insert(0, at if k == 0 else E.mod(at, middle[k]))
        step = step * middle[k]
    return (*index[:first], *found, *index[len(others) - last :])


def as_many(own: Sequence[Expr], others: Sequence[Expr]) -> Bool:
    """Whether two shapes have as many elements."""
    return E.eq(_count(own), _count(others))


def _count(sizes: Sequence[Expr]) -> Expr:
    total = E.const(1)
    for size in sizes:
        total = total * size
    return total


__all__ = ["as_many", "in_order"]
