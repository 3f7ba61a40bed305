"""Which integer inputs a contract admits negative numbers for.

An integer input is taken to be a size or a count, at least 0, unless something says otherwise. A
contract does if one of its comparisons would say nothing, or could never hold, of such numbers:
``n >= -33``, ``n == -3``, ``n != -1``, ``n < 0``. ``n <= 31`` and ``n % 4 == 0`` do not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from verifier.configuration import contracts as tree

Range: TypeAlias = tuple[float, float]
"""The least and the largest value; an infinity: there is none."""

COUNT: Range = (0, math.inf)
ANY: Range = (-math.inf, math.inf)
_SIZE: Range = (1, math.inf)


def admitted(conditions: Sequence[tree.Condition], known: Mapping[str, Range]) -> frozenset[str]:
    """The names of ``conditions`` that may be negative; ``known``: what its integers may be.

    Of those that are a :data:`COUNT` it is asked; all other names are sizes.
    """
    found: set[str] = set()
    for comparison in (c for condition in conditions for c in _comparisons(condition)):
        pairs = zip(comparison.operands, comparison.ops, comparison.operands[1:], strict=False)
        for left, op, right in pairs:
            alone = [s.id for s in (left, right) if isinstance(s, tree.Name)]
            counts = [name for name in alone if known.get(name) == COUNT]
            if not counts:
                names = (*_names(left), *_names(right))
                counts = [name for name in names if known.get(name) == COUNT]
            if _decided(left, op, right, known):
                for name in counts:
                    if not _decided(left, op, right, {**known, name: ANY}):
                        found.add(name)
    return frozenset(found)


def least(node: tree.Expression, known: Mapping[str, Range]) -> float:
    """What an expression is at least."""
    return _range(node, known)[0]


def _decided(
    left: tree.Expression, op: str, right: tree.Expression, known: Mapping[str, Range]
) -> bool:
    """Whether it holds for all numbers, or for none."""
    (a, b), (c, d) = _range(left, known), _range(right, known)
    if op in ("==", "!="):
        return b < c or d < a or a == b == c == d
    if op in ("<", ">="):
        return b < c or d <= a
    return b <= c or d < a


def _range(node: tree.Expression, known: Mapping[str, Range]) -> Range:
    if isinstance(node, tree.Int):
        return node.value, node.value
    if isinstance(node, tree.Name):
        return known.get(node.id, _SIZE)
    if isinstance(node, (tree.Extent, tree.ItemSize, tree.Programs)):
        return _SIZE
    if isinstance(node, tree.Negate):
        low, high = _range(node.operand, known)
        return -high, -low
    if isinstance(node, tree.Extreme):
        extreme = min if node.function == "min" else max
        parts = [_range(part, known) for part in node.args]
        return extreme(low for low, _ in parts), extreme(high for _, high in parts)
    if isinstance(node, tree.Either):
        then, other = _range(node.then, known), _range(node.other, known)
        return min(then[0], other[0]), max(then[1], other[1])
    return _combined(node.op, _range(node.left, known), _range(node.right, known))


def _combined(op: tree.BinaryOperator, left: Range, right: Range) -> Range:
    if op == "+":
        return left[0] + right[0], left[1] + right[1]
    if op == "-":
        return left[0] - right[1], left[1] - right[0]
    if op == "*":
        ends = [0 if 0 in (a, b) else a * b for a in left for b in right]
        return min(ends), max(ends)
    if right[0] <= 0:
        return ANY
    if op == "%":
        return 0, right[1] - 1
    ends = [_quotient(a, b) for a in left for b in right]
    return min(ends), max(ends)


def _quotient(number: float, by: float) -> float:
    if math.isinf(by):
        return -1 if number < 0 else 0
    return number if math.isinf(number) else number // by


def _comparisons(condition: tree.Condition) -> Iterator[tree.Comparison]:
    if isinstance(condition, tree.Comparison):
        yield condition
        for operand in condition.operands:
            yield from _within(operand)
    elif isinstance(condition, tree.Not):
        yield from _comparisons(condition.condition)
    elif isinstance(condition, tree.Junction):
        for part in condition.parts:
            yield from _comparisons(part)


def _within(node: tree.Expression) -> Iterator[tree.Comparison]:
    """The comparisons that choose what an expression is."""
    if isinstance(node, tree.Either):
        yield from _comparisons(node.test)
    for part in _parts(node):
        yield from _within(part)


def _names(node: tree.Expression) -> Iterator[str]:
    if isinstance(node, tree.Name):
        yield node.id
    for part in _parts(node):
        yield from _names(part)


def _parts(node: tree.Expression) -> tuple[tree.Expression, ...]:
    if isinstance(node, tree.Negate):
        return (node.operand,)
    if isinstance(node, tree.Binary):
        return (node.left, node.right)
    if isinstance(node, tree.Extreme):
        return node.args
    return (node.then, node.other) if isinstance(node, tree.Either) else ()


__all__ = ["ANY", "COUNT", "Range", "admitted", "least"]
