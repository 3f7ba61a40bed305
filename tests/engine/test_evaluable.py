"""Conditions are told in an order in which Python can evaluate them."""

from __future__ import annotations

import itertools

import pytest

from verifier.engine.evaluable import in_order
from verifier.solver.solver import Solver
from verifier.symbolic import expr as E
from verifier.symbolic.pretty import python


def told(*conditions: E.Bool, known: tuple[E.Bool, ...] = ()) -> list[str]:
    return [python(condition) for _, condition in in_order(conditions, known, Solver())]


def case(number: int) -> tuple[list[E.Bool], list[E.Bool], list[str] | None]:
    """Conditions, what is known before them, and how they are told where that is fixed."""
    n, r, m = (E.symbol(name, 0, None) for name in "NRM")
    divides = E.eq(E.mod(r, n), 0)
    cases: list[tuple[list[E.Bool], list[E.Bool], list[str] | None]] = [
        ([divides, E.le(n, 128)], [E.ge(n, 1)], ["R % N == 0", "N <= 128"]),
        ([divides, E.ge(n, 2)], [], ["N >= 2", "R % N == 0"]),
        ([divides, E.le(n, 128)], [], ["N <= 128", "N != 0 and R % N == 0"]),
        ([E.or_(divides, E.eq(n, 0))], [], ["N == 0 or R % N == 0"]),
        (
            [E.or_(E.and_(E.le(r, 7), divides, E.ge(n, 1)), E.ge(m, 5))],
            [],
            ["R <= 7 and N >= 1 and R % N == 0 or M >= 5"],
        ),
        ([E.le(E.ite(E.ge(n, 1), E.floordiv(r, n), 3), 4)], [], None),
    ]
    return cases[number]


@pytest.mark.parametrize("number", range(6))
def test_a_divisor_is_not_zero_where_it_divides(number: int) -> None:
    conditions, known, found = case(number)
    texts = told(*conditions, known=tuple(known))
    assert found is None or texts == found
    for n, r, m in itertools.product((0, 1, 3, 200), (0, 6, 7, 200), (0, 9)):
        values = {"N": n, "R": r, "M": m}
        if all(E.evaluate(fact, values) for fact in known):
            assert isinstance(eval(" and ".join(f"({t})" for t in texts), {}, values), bool)
