"""Comparisons of rounded quotients, and what they say of a remainder: for all small numbers."""

from __future__ import annotations

import itertools

import pytest

from verifier.engine.remainders import in_remainders, of_one_base
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool


@pytest.fixture(autouse=True)
def _context() -> None:
    E.fresh_context()


def forms() -> list[Bool]:
    n, d = E.symbol("n", 0), E.symbol("d", 0)
    found: list[Bool] = []
    for shift, apart, more in itertools.product(range(-4, 3), range(-2, 5), range(-2, 4)):
        for number in (n + shift, 2 * n + shift, shift - n):
            down, up = E.floordiv(number, d), -E.floordiv(-number - apart, d)
            found += (E.le(down + more, up), E.ge(down + more, up), E.le(up, down + more))
            found += (E.le(E.mod(number, d) + more, d), E.ge(E.mod(number, d) + more, d))
    return list(dict.fromkeys(found))


def test_it_is_the_same_wherever_the_divisor_is_positive() -> None:
    known = 0
    for fact in forms():
        found = in_remainders(fact)
        if found is None:
            continue
        known += 1
        same, positive = found
        for n, d in itertools.product(range(12), range(1, 7)):
            env = {"n": n, "d": d}
            assert E.evaluate(positive, env) == d
            assert E.evaluate(same, env) == E.evaluate(fact, env), (fact, same, env)
    assert known > 300


def test_what_is_left_out_and_what_is_turned_round() -> None:
    n, d = E.symbol("n", 0), E.symbol("d", 0)
    rest = E.ne(E.mod(n - 1, d), 0)
    for fact in (
        E.lt(E.floordiv(n - 1, d), -E.floordiv(1 - n, d)),
        E.le(E.mod(-n, d) + 2, d),
    ):
        found = in_remainders(fact)
        assert found is not None and found[0] is rest
    assert in_remainders(E.le(E.floordiv(n, d), n)) is None


def test_what_is_said_of_remainders_of_one_number_is_said_together() -> None:
    n = E.symbol("n", 0)
    bounds = [E.ge(E.mod(n + k, 6), least) for k in range(6) for least in (1, 2, 4)]
    bounds += [E.le(E.mod(n + k, 4), most) for k in range(3) for most in (1, 2)]
    bounds += [E.ne(E.mod(n, 4), 1), E.eq(E.mod(n, 3), 2)]
    joined = 0
    for pair in itertools.combinations(bounds, 2):
        found = of_one_base(pair)
        joined += len(found) == 1
        for size in range(24):
            each = [E.evaluate(fact, {"n": size}) for fact in pair]
            assert all(E.evaluate(fact, {"n": size}) for fact, _ in found) == all(each)
    assert joined > 60
    (both, parts), *rest = of_one_base((E.ge(E.mod(n, 30), 2), E.ge(E.mod(n + 27, 30), 28)))
    assert (both, len(parts), rest) == (E.eq(E.mod(n - 2, 30), 0), 2, [])
    # what divides it is said of each by itself
    assert len(of_one_base((E.eq(E.mod(n, 4), 0), E.eq(E.mod(n, 6), 0)))) == 2
