"""Which integer inputs a contract admits negative numbers for.

An integer input is taken to be a size or a count, at least 0, unless something says otherwise. A
contract does if one of its comparisons would say nothing, or could never hold, of such numbers:
``n >= -33``, ``n == -3``, ``n != -1``, ``n < 0``. ``n <= 31`` and ``n % 4 == 0`` do not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from verifier.configuration import contracts as tree
from verifier.engine import contract_terms
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr


class Signs:
    """What the names of a contract may be, as far as their sign goes.

    ``counts`` are at least 0 unless the contract admits more, ``signed`` are any integers; all
    other names are sizes, at least 1.
    """

    def __init__(self, counts: Collection[str], signed: Collection[str]) -> None:
        self._counts = frozenset(counts)
        self._signed = frozenset(signed)

    def admitted(self, conditions: Sequence[tree.Condition]) -> frozenset[str]:
        """The counts that ``conditions`` admit negative numbers for."""
        return frozenset(
            name
            for comparison in _comparisons(conditions)
            for pair in _pairs(comparison)
            if self._is_decided(pair)
            for name in self._meant(pair)
            if not self._is_decided(pair, signed=name)
        )

    def may_be_negative(self, node: tree.Expression) -> bool:
        """Whether an expression is below 0 for some of what its names may be."""
        least, _ = E.bounds(self._integer(node))
        return least is None or least < 0

    def _meant(self, pair: tree.Comparison) -> Sequence[str]:
        """The counts that a comparison speaks of: what stands alone on a side, otherwise all."""
        alone = [side.id for side in pair.operands if isinstance(side, tree.Name)]
        counts = [name for name in alone if name in self._counts]
        return counts or [name for name in _names(pair) if name in self._counts]

    def _is_decided(self, pair: tree.Comparison, signed: str = "") -> bool:
        """Whether it holds for all numbers, or for none; one count may be ``signed``, too."""
        (found,) = contract_terms.compared(pair, lambda node: self._integer(node, signed))
        return found in (E.TRUE, E.FALSE)

    def _integer(self, node: tree.Expression, signed: str = "") -> Expr:
        def leaf(of: tree.Leaf) -> Expr:
            if isinstance(of, tree.Name) and (of.id in self._signed or of.id == signed):
                return E.symbol(f"signed {of.id}")
            if isinstance(of, tree.Name) and of.id in self._counts:
                return E.symbol(f"count {of.id}", lo=0)
            return _size(of)

        return contract_terms.integer(node, leaf, _either)


def _either(test: tree.Condition) -> Bool:
    return E.bool_symbol(f"test {test}")


def _pairs(comparison: tree.Comparison) -> Iterator[tree.Comparison]:
    """``a < b <= c`` as ``a < b`` and ``b <= c``."""
    operands = comparison.operands
    for op, left, right in zip(comparison.ops, operands, operands[1:], strict=False):
        yield tree.Comparison((left, right), (op,))


def _comparisons(conditions: Sequence[tree.Condition]) -> Iterator[tree.Comparison]:
    """All comparisons of conditions, and those by which their expressions choose what they are."""
    pending = list(conditions)

    def choose(test: tree.Condition) -> Bool:
        pending.append(test)
        return _either(test)

    while pending:
        condition = pending.pop()
        if isinstance(condition, tree.Not):
            pending.append(condition.condition)
        elif isinstance(condition, tree.Junction):
            pending.extend(condition.parts)
        elif isinstance(condition, tree.Alike):
            pending.extend((condition.first, condition.second))
        elif isinstance(condition, tree.Comparison):
            yield condition
            for operand in condition.operands:
                contract_terms.integer(operand, _size, choose)


def _names(comparison: tree.Comparison) -> Sequence[str]:
    """The names of what is compared."""
    found: list[str] = []

    def leaf(of: tree.Leaf) -> Expr:
        if isinstance(of, tree.Name):
            found.append(of.id)
        return _size(of)

    for operand in comparison.operands:
        contract_terms.integer(operand, leaf, _either)
    return found


def _size(of: tree.Leaf) -> Expr:
    return E.symbol(f"size {of}", lo=1)


__all__ = ["Signs"]
