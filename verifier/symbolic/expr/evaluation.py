"""The value of terms on plain integers."""

from __future__ import annotations

from collections.abc import Mapping

from verifier.symbolic.expr.terms import (
    TRUE,
    Atom,
    Bool,
    BoolKind,
    Div,
    Expr,
    Extremum,
    Ite,
    Sym,
    Table,
)


class EvaluationError(ArithmeticError):
    """A division by zero, or a symbol without a value."""


def evaluate(term: Expr | Bool, env: Mapping[str, int | bool]) -> int | bool:
    """The value of a term on plain integers; ``env`` maps symbol and flag names to values.

    Raises:
        EvaluationError: a symbol has no value, or a divisor is zero.
    """
    if isinstance(term, Bool):
        return _evaluate_bool(term, env)
    total = term.const
    for mono, coef in term.terms:
        product = coef
        for atom in mono:
            product *= _evaluate_atom(atom, env)
        total += product
    return total


def _evaluate_atom(atom: Atom, env: Mapping[str, int | bool]) -> int:
    if isinstance(atom, Sym):
        try:
            return int(env[atom.name])
        except KeyError:
            raise EvaluationError(f"no value for {atom.name}") from None
    if isinstance(atom, Div):
        den = evaluate(atom.den, env)
        if den == 0:
            raise EvaluationError("division by zero")
        return int(evaluate(atom.num, env)) // int(den)
    if isinstance(atom, Extremum):
        values = [int(evaluate(a, env)) for a in atom.args]
        return min(values) if atom.kind == "min" else max(values)
    if isinstance(atom, Ite):
        return int(evaluate(atom.then if evaluate(atom.test, env) else atom.other, env))
    if isinstance(atom, Table):
        index = int(evaluate(atom.index, env))
        for key, value in atom.values:
            if key == index:
                return value
        raise EvaluationError(f"{atom.name} has no entry {index}")
    raise AssertionError(atom)  # pragma: no cover


def _evaluate_bool(b: Bool, env: Mapping[str, int | bool]) -> bool:
    if b.kind is BoolKind.CONST:
        return b is TRUE
    if b.kind is BoolKind.VAR:
        try:
            return bool(env[b.name])
        except KeyError:
            raise EvaluationError(f"no value for {b.name}") from None
    if b.expr is not None:
        value = evaluate(b.expr, env)
        return value <= 0 if b.kind is BoolKind.LE else (value == 0) == (b.kind is BoolKind.EQ)
    if b.kind is BoolKind.NOT:
        return not _evaluate_bool(b.args[0], env)
    if b.kind is BoolKind.AND:
        return all(_evaluate_bool(a, env) for a in b.args)
    return any(_evaluate_bool(a, env) for a in b.args)
