"""Symbolic integers and truth values: hash-consed, normalised, independent of any solver.

An :class:`Expr` is a polynomial with integer coefficients over :class:`Atom` s; a :class:`Bool` is
a formula over comparisons of polynomials with zero. Both are built only through the functions of
this package, which fold constants and normalise, so that equal values are the same object.

Semantics are Python's: unbounded integers, floor division, ``a % b == a - b * (a // b)`` (the
remainder has no node of its own: it *is* that polynomial, so that the lemma between quotient and
remainder needs no solver).

:mod:`.terms` is what terms are made of, :mod:`.division` has bounds, quotients and choices,
:mod:`.formulas` comparisons and connectives, :mod:`.substitution` and :mod:`.evaluation` put values
in the place of symbols, :mod:`.walking` goes through the parts of a term.
"""

from __future__ import annotations

from verifier.symbolic.expr.division import (
    absolute,
    bounds,
    ceildiv,
    exact_quotient,
    floordiv,
    ite,
    least,
    maximum,
    minimum,
    mod,
    power,
    table,
    without,
)
from verifier.symbolic.expr.evaluation import (
    LARGEST_EXPONENT,
    LARGEST_LEAST,
    Evaluation,
    EvaluationError,
    evaluate,
)
from verifier.symbolic.expr.formulas import (
    and_,
    bool_symbol,
    eq,
    ge,
    gt,
    implies,
    le,
    lt,
    ne,
    not_,
    or_,
    truth,
)
from verifier.symbolic.expr.substitution import Substitution
from verifier.symbolic.expr.terms import (
    FALSE,
    GIVEN,
    JUNCTIONS,
    OPEN,
    TRUE,
    Atom,
    Bool,
    BoolKind,
    Context,
    Div,
    Expr,
    Extremum,
    Ite,
    Least,
    Origin,
    Power,
    Sym,
    Table,
    atom_free,
    const,
    fresh,
    fresh_context,
    from_atom,
    lift,
    symbol,
)
from verifier.symbolic.expr.walking import (
    divisions,
    divisors,
    may_be_zero,
    unless_undefined,
    walk,
)

__all__ = [
    "FALSE",
    "GIVEN",
    "JUNCTIONS",
    "LARGEST_EXPONENT",
    "LARGEST_LEAST",
    "OPEN",
    "TRUE",
    "Atom",
    "Bool",
    "BoolKind",
    "Context",
    "Div",
    "Evaluation",
    "EvaluationError",
    "Expr",
    "Extremum",
    "Ite",
    "Least",
    "Origin",
    "Power",
    "Substitution",
    "Sym",
    "Table",
    "absolute",
    "and_",
    "atom_free",
    "bool_symbol",
    "bounds",
    "ceildiv",
    "const",
    "divisions",
    "divisors",
    "eq",
    "evaluate",
    "exact_quotient",
    "floordiv",
    "fresh",
    "fresh_context",
    "from_atom",
    "ge",
    "gt",
    "implies",
    "ite",
    "le",
    "least",
    "lift",
    "lt",
    "maximum",
    "may_be_zero",
    "minimum",
    "mod",
    "ne",
    "not_",
    "or_",
    "power",
    "symbol",
    "table",
    "truth",
    "unless_undefined",
    "walk",
    "without",
]
