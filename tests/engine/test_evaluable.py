"""Conditions are told in an order in which Python can evaluate them."""

from __future__ import annotations

import itertools

import pytest

from verifier.engine.evaluable import in_order
from verifier.solver.solver import Solver
from verifier.symbolic import expr as E
from verifier.symbolic.pretty import python

N, R, M = (E.symbol(name, 0, None) for name in "NRM")
DIVIDES = E.eq(E.mod(R, N), 0)


def told(*conditions: E.Bool, known: tuple[E.Bool, ...] = ()) -> list[str]:
    return [python(condition) for _, condition in in_order(conditions, known, Solver())]


@pytest.mark.parametrize(
    ("conditions", "known", "found"),
    [
        ([DIVIDES, E.le(N, 128)], [E.ge(N, 1)], ["R % N == 0", "N <= 128"]),
        ([DIVIDES, E.ge(N, 2)], [], ["N >= 2", "R % N == 0"]),
        ([DIVIDES, E.le(N, 128)], [], ["N <= 128", "N != 0 and R % N == 0"]),
        ([E.or_(DIVIDES, E.eq(N, 0))], [], ["N == 0 or R % N == 0"]),
        (
            [E.or_(E.and_(E.le(R, 7), DIVIDES, E.ge(N, 1)), E.ge(M, 5))],
            [],
            ["R <= 7 and N >= 1 and R % N == 0 or M >= 5"],
        ),
        ([E.le(E.ite(E.ge(N, 1), E.floordiv(R, N), 3), 4)], [], None),
    ],
)
def test_a_divisor_is_not_zero_where_it_divides(
    conditions: list[E.Bool], known: list[E.Bool], found: list[str] | None
) -> None:
    texts = told(*conditions, known=tuple(known))
    assert found is None or texts == found
    for n, r, m in itertools.product((0, 1, 3, 200), (0, 6, 7, 200), (0, 9)):
        values = {"N": n, "R": r, "M": m}
        if all(E.evaluate(fact, values) for fact in known):
            assert isinstance(eval(" and ".join(f"({t})" for t in texts), {}, values), bool)
