"""Strips that overlap, or start one column later except for the first: what they add up to."""

from __future__ import annotations

import pytest

from rules.memory.initialisation import unwritten_outputs
from tests.memory.build import Kernel
from tests.memory.decide import verdicts
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.regions import exists


@pytest.fixture(autouse=True)
def _context() -> None:
    E.fresh_context()


def strips(n: Expr, width: int, step: int, skip: int) -> Kernel:
    """Strips of ``width`` every ``step`` columns; all but the first leave out ``skip`` columns."""
    kernel = Kernel()
    out = kernel.output("out", (60, n))
    with kernel.loop("h", (n - width + step - 1) // step + 1) as h:
        start = h * step + E.ite(E.ne(h, 0), E.const(skip), E.const(0))
        end = E.minimum(h * step + width, n)
        kernel.write(kernel.view(out, (0, 60), (start, end - start)))
    kernel.returns(out)
    return kernel


@pytest.mark.parametrize(
    ("width", "step", "skip", "whole"),
    [(5, 4, 1, True), (5, 4, 0, True), (5, 4, 2, False), (9, 3, 6, True), (9, 3, 7, False)],
)
def test_strips(width: int, step: int, skip: int, whole: bool) -> None:
    n = E.symbol("n", 1, None)
    found = verdicts(unwritten_outputs, strips(n, width, step, skip).trace, E.ge(n, 30))
    assert list(found) == ([] if whole else ["refuted"])


def test_an_integer_between_two_quotients() -> None:
    x = E.symbol("x", 0, None)
    for a, b, shift in ((2, 3, 0), (3, 2, 1), (4, 4, 2), (5, 3, 4)):
        index = E.fresh("i", 0, None, E.Origin.LOOP)
        symbol = index.as_atom()
        assert isinstance(symbol, E.Sym)
        formula, exact = exists(
            [(symbol, E.const(9))], [E.ge(index * a, x), E.le(index * b, x + shift)]
        )
        assert exact
        for value in range(40):
            expected = any(i * a >= value and i * b <= value + shift for i in range(9))
            assert E.evaluate(formula, {"x": value}) is expected, (a, b, shift, value)
