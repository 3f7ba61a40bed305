"""Choices that conditions settle by their very words: ``a if q else b`` is ``a`` where ``q`` holds.

What two paths have bound to one name is one value after they have met, with a choice in it. Where
the same question is asked again, that value is what the one path has bound.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable

from verifier.symbolic.expr.formulas import bool_symbol, not_, truth
from verifier.symbolic.expr.substitution import Substitution
from verifier.symbolic.expr.terms import Atom, Bool, BoolKind, Expr, Ite, from_atom


class Settling(Substitution):
    """Says of a condition that others settle what it is, and takes the sides of choices."""

    def __init__(self, conditions: Iterable[Bool]) -> None:
        facts = {part for condition in conditions for part in _conjuncts(condition)}
        symbols = {s: from_atom(s) for fact in facts for s in fact.free()}
        flags = {name: bool_symbol(name) for fact in facts for name in fact.flags()}
        super().__init__(symbols, flags)
        self._facts = facts

    def bool(self, b: Bool) -> Bool:
        known = self._settled(b)
        return super().bool(b) if known is None else truth(known)

    def _settled(self, test: Bool) -> builtins.bool | None:
        """Whether a condition, or its negation, is among the facts, or made of such."""
        if test in self._facts:
            return True
        if not_(test) in self._facts:
            return False
        if test.kind is BoolKind.AND or test.kind is BoolKind.OR:
            ends = test.kind is BoolKind.OR  # one part that is so decides
            parts = [self._settled(part) for part in test.args]
            if ends in parts:
                return ends
            return None if None in parts else not ends
        return None


def _conjuncts(condition: Bool) -> tuple[Bool, ...]:
    return condition.args if condition.kind is BoolKind.AND else (condition,)


def has_choice(value: Expr, known: dict[Expr, bool]) -> bool:
    """Whether there is a choice in a value; ``known`` remembers the answers."""
    found = known.get(value)
    if found is None:
        found = known[value] = any(_in_atom(atom, known) for atom in value.atoms())
    return found


def _in_atom(atom: Atom, known: dict[Expr, bool]) -> bool:
    if isinstance(atom, Ite):
        return True
    return any(isinstance(part, Expr) and has_choice(part, known) for part in atom.children())
