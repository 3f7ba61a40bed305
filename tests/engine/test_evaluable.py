"""Conditions are told in an order in which Python can evaluate them."""

from __future__ import annotations

import itertools

import pytest

from verifier.engine import analyze_source
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


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        ("N % step == 0", "step in (5, 8)", "verified"),
        ("N % step == 0", "step >= 1 and step != 9", "verified"),
        ("N % step == 0", "N >= step", "conditional"),
        ("N % step == 0", "N // step >= 1", "conditional"),
        ("(1, 8)[step] == 8", "step == 1", "verified"),
        ("(1, 8)[step] == 8", "(1, 8)[step] < 9", "conditional"),
    ],
)
def test_an_input_that_is_rejected_in_either_way_is_no_fault(
    before: str, after: str, status: str
) -> None:
    """An error of Python before the assertion that excludes the input rejects it just as well."""
    text = (
        "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n@nki.jit\n"
        "def k(x, step: int):\n    P, N = x.shape\n    assert P == 24 and N == 40\n"
        f"    assert {before}\n    assert {after}\n"
        "    y = nl.ndarray((P, N), dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    t = nl.ndarray((P, N), dtype=x.dtype, buffer=nl.sbuf)\n"
        "    nisa.dma_copy(dst=t, src=x)\n    nisa.dma_copy(dst=y, src=t)\n    return y\n"
    )
    (kernel,) = analyze_source(text).kernels
    assert kernel.status == status
