"""Choices that the path settles by its very words."""

from __future__ import annotations

import itertools

from tests.python.support import SPAN, machine
from verifier.engine import analyze_source
from verifier.symbolic import expr as E
from verifier.symbolic.expr.settling import Settling, has_choice

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, scaled: bool):
    rows, columns = x.shape
    assert rows <= 128 and columns <= 512
    width = columns + 24 if scaled else columns
    out = nl.ndarray((rows, width), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    flat = out.reshape((rows, 1, width))
    tile = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.memset(tile, value=1.0)
    scales = nl.ndarray((rows, 24), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.memset(scales, value=2.0)
    nisa.dma_copy(dst=flat[0:rows, 0, 0:columns], src=tile)
    if scaled:
        nisa.dma_copy(dst=flat[0:rows, 0, columns : columns + 23], src=scales[:, 0:23])
    return out
"""


def test_an_output_whose_width_is_a_choice_is_added_up_in_each_case() -> None:
    (kernel,) = analyze_source(KERNEL).kernels
    assert kernel.precondition is not None
    assert kernel.precondition.text == "not scaled", kernel.reasons


def test_a_number_is_what_the_path_has_bound() -> None:
    vm = machine()
    n, flag = E.symbol("n", 0), E.bool_symbol("q")
    value = E.ite(flag, n, 3) * 2
    with vm.guarded(flag):
        assert vm.as_int(value, SPAN) is n * 2
        with vm.guarded(E.ge(n, 4)):
            assert vm.as_int(value, SPAN) is n * 2
    with vm.guarded(E.not_(flag)):
        assert vm.as_int(value, SPAN) is E.const(6)
    assert vm.as_int(value, SPAN) is value


def test_it_says_what_the_value_is_wherever_the_path_is_taken() -> None:
    E.fresh_context()
    n, m = E.symbol("n", 0, 3), E.symbol("m", 0, 3)
    flag = E.bool_symbol("q")
    tests = [
        flag,
        E.ge(n, 2),
        E.eq(m, 1),
        E.and_(flag, E.ge(n, 2)),
        E.or_(E.not_(flag), E.eq(m, 1)),
    ]
    values = [E.ite(t, n + 1, m * 2) for t in tests]
    values += [E.ite(a, E.ite(b, n, 7), 5) // 2 for a, b in itertools.permutations(tests[:3], 2)]
    for first, second in itertools.product([*tests, *map(E.not_, tests)], repeat=2):
        settling = Settling([first, second])
        for value in values:
            found = settling.expr(value)
            for a, b, q in itertools.product(range(4), range(4), (False, True)):
                env: dict[str, int | bool] = {"n": a, "m": b, "q": q}
                if E.evaluate(first, env) and E.evaluate(second, env):
                    assert E.evaluate(found, env) == E.evaluate(value, env)


def test_the_choice_is_gone() -> None:
    E.fresh_context()
    n, flag, other = E.symbol("n", 0), E.bool_symbol("q"), E.bool_symbol("r")
    value = E.ite(flag, n, 4) * 3 + 1
    assert has_choice(value, {}) and not has_choice(n * 3, {})
    assert Settling([E.and_(flag, other)]).expr(value) is n * 3 + 1
    assert Settling([E.not_(flag)]).expr(value) is E.const(13)
    assert Settling([other]).expr(value) is value
    assert Settling([flag]).expr(E.ite(E.or_(flag, other), n, 4)) is n
    assert Settling([E.not_(flag)]).bool(E.and_(flag, other)) is E.FALSE
