"""The value of terms on plain integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from verifier.symbolic.expr.terms import (
    TRUE,
    Atom,
    Bool,
    BoolKind,
    Div,
    Expr,
    Extremum,
    Ite,
    Least,
    Power,
    Sym,
    Table,
)

#: powers of greater exponents have no value
LARGEST_EXPONENT: Final = 4096
#: numbers that are tried for the least one
LARGEST_LEAST: Final = 512


class EvaluationError(ArithmeticError):
    """A division by zero, or a symbol without a value."""


def evaluate(term: Expr | Bool, env: Mapping[str, int | bool]) -> int | bool:
    """The value of a term on plain integers; ``env`` maps symbol and flag names to values.

    Raises:
        EvaluationError: a symbol has no value, or a divisor is zero.
    """
    return Evaluation(env).of(term)


class Evaluation:
    """The values of terms and their parts for one environment, each found once: terms share them.

    Raises:
        EvaluationError: as :func:`evaluate`.
    """

    __slots__ = ("_atoms", "_env", "_formulas")

    def __init__(self, env: Mapping[str, int | bool]) -> None:
        self._env = env
        self._atoms: dict[Atom, int] = {}
        self._formulas: dict[Bool, bool] = {}

    def of(self, term: Expr | Bool) -> int | bool:
        return self._bool(term) if isinstance(term, Bool) else self._int(term)

    def symbol(self, sym: Sym) -> int:
        try:
            return int(self._env[sym.name])
        except KeyError:
            raise EvaluationError(f"no value for {sym.name}") from None

    def flag(self, name: str) -> bool:
        try:
            return bool(self._env[name])
        except KeyError:
            raise EvaluationError(f"no value for {name}") from None

    def _int(self, term: Expr) -> int:
        total = term.const
        for mono, coef in term.terms:
            product = coef
            for atom in mono:
                product *= self.atom(atom)
            total += product
        return total

    def atom(self, atom: Atom) -> int:
        if isinstance(atom, Sym):
            return self.symbol(atom)
        found = self._atoms.get(atom)
        if found is None:
            found = self._atoms[atom] = self._composite(atom)
        return found

    def _composite(self, atom: Atom) -> int:
        if isinstance(atom, Div):
            den = self._int(atom.den)
            if den == 0:
                raise EvaluationError("division by zero")
            return self._int(atom.num) // den
        if isinstance(atom, Extremum):
            values = [self._int(a) for a in atom.args]
            return min(values) if atom.kind == "min" else max(values)
        if isinstance(atom, Ite):
            return self._int(atom.then if self._bool(atom.test) else atom.other)
        if isinstance(atom, Table):
            index = self._int(atom.index)
            for key, value in atom.values:
                if key == index:
                    return value
            raise EvaluationError(f"{atom.name} has no entry {index}")
        if isinstance(atom, Power):
            exponent = self._int(atom.exponent)
            if exponent > LARGEST_EXPONENT:
                raise EvaluationError("a power that is too large")
            return atom.base**exponent if exponent >= 0 else 0
        if isinstance(atom, Least):
            return self._least(atom)
        raise AssertionError(atom)  # pragma: no cover

    def _least(self, atom: Least) -> int:
        test, index = atom.test, atom.index
        env: dict[str, int | bool] = {s.name: self.symbol(s) for s in test.free() if s is not index}
        env.update((name, self.flag(name)) for name in test.flags())
        key = (*env.values(),)
        if key not in atom.found:
            numbers = range(LARGEST_LEAST)
            holds = (Evaluation({**env, index.name: k}).of(test) for k in numbers)
            atom.found[key] = next((k for k, held in enumerate(holds) if not held), None)
        found = atom.found[key]
        if found is None:
            raise EvaluationError(f"{atom.name} are too many")
        return found

    def _bool(self, b: Bool) -> bool:
        if b.kind is BoolKind.CONST:
            return b is TRUE
        if b.kind is BoolKind.VAR:
            return self.flag(b.name)
        if b.expr is not None:
            value = self._int(b.expr)
            return value <= 0 if b.kind is BoolKind.LE else (value == 0) == (b.kind is BoolKind.EQ)
        found = self._formulas.get(b)
        if found is None:
            found = self._formulas[b] = self._connective(b)
        return found

    def _connective(self, b: Bool) -> bool:
        """Parts are held in an order of our own: one that decides does so beside one that has no
        value, as where ``w == 0 or n % w == 0`` is written."""
        if b.kind is BoolKind.NOT:
            return not self._bool(b.args[0])
        decided = b.kind is BoolKind.OR
        without: EvaluationError | None = None
        for part in b.args:
            try:
                if self._bool(part) is decided:
                    return decided
            except EvaluationError as error:
                without = error
        if without is not None:
            raise without
        return not decided
