"""Strips that overlap, or start one column later except for the first: what they add up to."""

from __future__ import annotations

import itertools

import pytest

from rules.memory.initialisation import unwritten_outputs
from tests.memory.build import Kernel
from tests.memory.decide import verdicts
from verifier.engine.analysis import analyze_source
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


@pytest.mark.parametrize("largest", [True, False])
def test_an_integer_that_all_alternatives_want_on_one_side(largest: bool) -> None:
    """However many alternatives there are: no case of any of them is looked at."""
    x, y, n = (E.symbol(name, 0, None) for name in "xyn")
    index = E.fresh("i", 0, None, E.Origin.LOOP)
    symbol = index.as_atom()
    assert isinstance(symbol, E.Sym)
    bounds = (x, x + 2, y, y + 1, x + y, x * 2, y * 2)
    sided = [E.ge(index, b) if largest else E.le(index, b - 3) for b in bounds]
    facts = [
        E.or_(E.and_(one, E.eq(E.mod(y, 2), 0)), other) for one, other in itertools.pairwise(sided)
    ]
    formula, exact = exists([(symbol, n)], facts)
    assert exact
    for a, b, c in itertools.product(range(6), range(6), range(5)):
        env = {"x": a, "y": b, "n": c}
        expected = any(all(E.evaluate(f, {**env, symbol.name: i}) for f in facts) for i in range(c))
        assert E.evaluate(formula, env) is expected, env


_RUNNING = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def running(x, rows: int, step: int):
    n, v = x.shape
    assert n >= 1 and 1 <= rows <= 96 and 1 <= step <= 700
    assert x.dtype == nl.float32
    out = nl.ndarray((n, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    chunk = nl.ndarray((rows, step), dtype=nl.float32, buffer=nl.sbuf)
    most = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    best = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    found = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    for b in range((n + rows - 1) // rows):
        first = b * rows
        there = min(rows, n - first)
        nisa.memset(dst=best, value=-1e30)
        for c in range((v + step - 1) // step):
            start = c * step
            end = min(start + step, v)
            if end - start < step:
                nisa.memset(dst=chunk, value=-1e30)
            nisa.dma_copy(
                dst=chunk[0:there, 0 : end - start], src=x[first : first + there, start:end]
            )
            nisa.tensor_reduce(op=nl.maximum, data=chunk, dst=most, axis=1)
            nisa.tensor_tensor(dst=found, data1=best, data2=most, op=nl.maximum)
            nisa.tensor_copy(dst=best, src=found)
        nisa.dma_copy(dst=out[first : first + there], src=best[0:there])
    return out
"""


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("", ""),  # rows of the last block that nothing loads spoil themselves, in all later chunks
        ("dst=chunk[0:there, 0 :", "dst=chunk[1:there, 0 :"),  # a row that is stored is never there
        ("nisa.memset(dst=best, value=-1e30)", "pass"),
    ],
)
def test_what_is_undefined_spreads_from_iteration_to_iteration(wrong: str, right: str) -> None:
    text = _RUNNING.replace(wrong, right) if wrong else _RUNNING
    text = text.replace("src=x[first :", "src=x[first + 1 :") if "chunk[1:" in right else text
    (kernel,) = analyze_source(text).kernels
    assert (kernel.status == "verified") is (not wrong)
    assert kernel.status in ("verified", "conditional", "violated", "unknown")
