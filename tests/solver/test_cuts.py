"""Sizes that are cut into parts of one size, the last one of which is shorter."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from verifier.solver import Query, Solver
from verifier.solver.cuts import parts_of_equal_size
from verifier.symbolic import expr as E

_WRITTEN = pytest.mark.parametrize(
    "rounded",
    [E.ceildiv, lambda a, n: -E.floordiv(-a, n), lambda a, n: E.floordiv(a + n - 1, n)],
    ids=["ceildiv", "negated", "added"],
)
_Rounded = Callable[[E.Expr, E.Expr], E.Expr]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    E.fresh_context()


@_WRITTEN
def test_what_is_said_of_parts_holds_of_all_small_sizes(rounded: _Rounded) -> None:
    a, n = E.symbol("a", 0), E.symbol("n", 0)
    atom = E.floordiv(a, rounded(a, n)).as_atom()
    assert isinstance(atom, E.Div)
    said = parts_of_equal_size(atom)
    assert said is not None
    for size in range(1, 70):
        for parts in range(1, 40):
            assert E.evaluate(said, {"a": size, "n": parts}), (size, parts)


def test_other_quotients_say_nothing_of_parts() -> None:
    a, b, n = E.symbol("a", 1), E.symbol("b", 1), E.symbol("n", 1)
    for quotient in (
        E.floordiv(a, n),
        E.floordiv(b, E.ceildiv(a, n)),
        E.floordiv(a, E.floordiv(a, n)),
        E.floordiv(a, E.ceildiv(a, n) + 1),
    ):
        atom = quotient.as_atom()
        assert isinstance(atom, E.Div)
        assert parts_of_equal_size(atom) is None


@_WRITTEN
@pytest.mark.parametrize(("most", "proved"), [(128, True), (200, False)])
def test_the_last_part_ends_where_the_size_does(rounded: _Rounded, most: int, proved: bool) -> None:
    """Rows that are folded over at most 128 partitions, each of at least as many elements."""
    size, rows, row = E.symbol("size", 1), E.symbol("rows", 1), E.symbol("row", 0)
    parts = E.minimum(E.floordiv(E.const(most), rows), E.floordiv(size, 128))
    part = rounded(size, parts)
    rest = E.mod(size, part)
    facts = (E.ne(parts, 0), E.ne(size, parts * part), E.lt(row, rows), E.le(rows, 128))
    ends = E.le(size * row + part * (parts - 1) + rest, size * rows)
    for goal in (E.ge(rest, 1), ends):
        answer = Solver().check(Query(facts, goal))
        assert answer.proved if proved else not answer.proved, answer
