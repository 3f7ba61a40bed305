"""Other forms of conditional values, for those who take terms apart."""

from __future__ import annotations

from collections.abc import Iterable

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Atom, Expr, Ite, Substitution, Sym


class Minima(Substitution):
    """Rewrites ``a if a <= b else b`` to ``min(a, b)``, whose bounds are known."""

    def __init__(self, symbols: Iterable[Sym]) -> None:
        super().__init__({symbol: E.from_atom(symbol) for symbol in symbols})

    def atom(self, atom: Atom) -> Expr:
        if isinstance(atom, Ite):
            test, a, b = self.bool(atom.test), self.expr(atom.then), self.expr(atom.other)
            if test is E.le(a, b) or test is E.lt(a, b):
                return E.minimum(a, b)
            if test is E.ge(a, b) or test is E.gt(a, b):
                return E.maximum(a, b)
        return super().atom(atom)


class Chosen(Substitution):
    """Puts one of its two values for a conditional value."""

    def __init__(self, symbols: Iterable[Sym], choice: Ite, value: Expr) -> None:
        super().__init__({symbol: E.from_atom(symbol) for symbol in symbols})
        self._choice = choice
        self._value = value

    def atom(self, atom: Atom) -> Expr:
        return self._value if atom is self._choice else super().atom(atom)
