"""Quotients of integers as floats, against CPython's floats."""

from __future__ import annotations

import math
import operator as host
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from verifier.symbolic import expr as E
from verifier.symbolic.python import quotients
from verifier.symbolic.values import Opaque, Ratio

NUMS = st.integers(-40, 40)
DENS = st.integers(-9, 9).filter(bool)
POWERS = st.sampled_from([1, 2, 4, 8, 16])
OPERATORS: dict[str, Callable[[float, float], float]] = {
    "+": host.add,
    "-": host.sub,
    "*": host.mul,
    "/": host.truediv,
}
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "==": host.eq,
    "!=": host.ne,
    "<": host.lt,
    "<=": host.le,
    ">": host.gt,
    ">=": host.ge,
}


def symbols() -> tuple[Ratio, Ratio]:
    E.fresh_context()
    a, b, c, d = (E.symbol(name) for name in "abcd")
    return Ratio(a, b), Ratio(c, d)


def value(ratio: Ratio, **env: int) -> float:
    return E.evaluate(ratio.num, env) / E.evaluate(ratio.den, env)


@given(NUMS, DENS)
def test_rounding(num: int, den: int) -> None:
    ratio, _ = symbols()
    env = {"a": num, "b": den}
    assert E.evaluate(quotients.floor(ratio), env) == math.floor(num / den)
    assert E.evaluate(quotients.ceiling(ratio), env) == math.ceil(num / den)
    assert E.evaluate(quotients.truncated(ratio), env) == int(num / den)
    assert E.evaluate(quotients.rounded(ratio), env) == round(num / den)


@given(NUMS, st.integers(1, 9))
def test_rounding_of_what_is_known_to_be_positive(num: int, den: int) -> None:
    E.fresh_context()
    ratio = Ratio(E.symbol("a", 0), E.const(den))
    env = {"a": abs(num)}
    assert E.evaluate(quotients.truncated(ratio), env) == int(abs(num) / den)
    assert E.evaluate(quotients.rounded(ratio), env) == round(abs(num) / den)


@given(NUMS, DENS, NUMS, DENS, st.sampled_from(sorted(COMPARISONS)))
def test_comparisons(a: int, b: int, c: int, d: int, op: str) -> None:
    left, right = symbols()
    found = quotients.order(op, left, right)
    assert found is not None
    expected = COMPARISONS[op](Fraction(a, b), Fraction(c, d))  # type: ignore[arg-type]
    assert E.evaluate(found, {"a": a, "b": b, "c": c, "d": d}) == expected
    number = quotients.order(op, left, E.symbol("c"))
    assert number is not None
    assert E.evaluate(number, {"a": a, "b": b, "c": c}) == COMPARISONS[op](a / b, c)


@given(NUMS, POWERS, st.floats(-20, 20), st.sampled_from(sorted(COMPARISONS)))
def test_comparisons_with_floats(a: int, b: int, number: float, op: str) -> None:
    E.fresh_context()
    ratio = Ratio(E.symbol("a"), E.const(b))
    for left, right, expected in (
        (ratio, number, COMPARISONS[op](a / b, number)),
        (number, ratio, COMPARISONS[op](number, a / b)),
    ):
        found = quotients.order(op, left, right)
        if found is not None:
            assert E.evaluate(found, {"a": a}) == expected


@pytest.mark.parametrize("op", sorted(COMPARISONS))
@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_comparisons_with_what_is_no_number(op: str, number: float) -> None:
    E.fresh_context()
    found = quotients.order(op, E.symbol("a"), number)
    assert found is not None and E.evaluate(found, {"a": 3}) == COMPARISONS[op](3, number)


def test_a_float_next_to_a_quotient_is_not_told_from_it() -> None:
    ratio = Ratio(E.symbol("a"), E.const(3))
    assert quotients.order("<", ratio, 0.3333333333333333) is None
    assert quotients.order("<", ratio, 1.0) is not None
    assert quotients.order("==", Opaque("a float"), ratio) is None


@given(NUMS, POWERS, NUMS, POWERS, st.sampled_from(sorted(OPERATORS)))
def test_arithmetic_that_does_not_round_is_exact(a: int, b: int, c: int, d: int, op: str) -> None:
    assume(op != "/" or c)
    E.fresh_context()
    left, right = Ratio(E.symbol("a"), E.const(b)), Ratio(E.symbol("c"), E.const(d))
    found = quotients.operator(op, left, right)
    assert isinstance(found, Ratio)
    assert value(found, a=a, c=c) == OPERATORS[op](a / b, c / d)


@given(NUMS, DENS, NUMS, DENS, st.sampled_from(sorted(OPERATORS)))
def test_arithmetic_is_exact_or_a_float(a: int, b: int, c: int, d: int, op: str) -> None:
    assume(op != "/" or c)
    E.fresh_context()
    for left, right in (
        (Ratio(E.symbol("a"), E.const(b)), Ratio(E.symbol("c"), E.const(d))),
        (Ratio(E.symbol("a"), E.const(b)), Ratio(E.const(c), E.const(d))),
        (Ratio(E.symbol("a"), E.symbol("b")), Ratio(E.const(c), E.const(d))),
        (Ratio(E.const(a), E.const(b)), Ratio(E.symbol("c"), E.const(d))),
    ):
        found = quotients.operator(op, left, right)
        if isinstance(found, Ratio):
            assert value(found, a=a, b=b, c=c) == OPERATORS[op](a / b, c / d)
        else:
            assert isinstance(found, Opaque) and found.harmless


@pytest.mark.parametrize("number", [math.inf, math.nan, -0.0, 1e300, 1e-300, "1", None])
def test_what_is_no_modest_quotient(number: object) -> None:
    assert quotients.as_ratio(number) is None


@pytest.mark.parametrize("number", [0.5, -3.25, 7.0, 0.0])
def test_floats_as_quotients(number: float) -> None:
    ratio = quotients.as_ratio(number)
    assert ratio is not None and value(ratio) == number
