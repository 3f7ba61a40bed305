"""Quotients of integers as floats, against CPython's floats."""

from __future__ import annotations

import math
import operator as host
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.python.support import SPAN, machine, run
from verifier.symbolic import expr as E
from verifier.symbolic.python import quotients
from verifier.symbolic.python.inputs import Parameter
from verifier.symbolic.python.magnitudes import EXACT
from verifier.symbolic.python.vm import VM
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


MOST = 1 << 20


def symbol(name: str) -> E.Expr:
    return E.symbol(name, -MOST, MOST)


def symbols() -> tuple[VM, Ratio, Ratio]:
    vm = machine()
    a, b, c, d = map(symbol, "abcd")
    return vm, Ratio(a, b), Ratio(c, d)


def value(ratio: Ratio, **env: int) -> float:
    return E.evaluate(ratio.num, env) / E.evaluate(ratio.den, env)


@given(NUMS, DENS)
def test_rounding(num: int, den: int) -> None:
    vm, ratio, _ = symbols()
    env = {"a": num, "b": den}
    assert E.evaluate(quotients.floor(vm, ratio, SPAN), env) == math.floor(num / den)
    assert E.evaluate(quotients.ceiling(vm, ratio, SPAN), env) == math.ceil(num / den)
    assert E.evaluate(quotients.truncated(vm, ratio, SPAN), env) == int(num / den)
    assert E.evaluate(quotients.rounded(vm, ratio, SPAN), env) == round(num / den)


@given(NUMS, st.integers(1, 9))
def test_rounding_of_what_is_known_to_be_positive(num: int, den: int) -> None:
    vm = machine()
    ratio = Ratio(E.symbol("a", 0, MOST), E.const(den))
    env = {"a": abs(num)}
    assert E.evaluate(quotients.truncated(vm, ratio, SPAN), env) == int(abs(num) / den)
    assert E.evaluate(quotients.rounded(vm, ratio, SPAN), env) == round(abs(num) / den)


@given(NUMS, DENS, NUMS, DENS, st.sampled_from(sorted(COMPARISONS)))
def test_comparisons(a: int, b: int, c: int, d: int, op: str) -> None:
    vm, left, right = symbols()
    found = quotients.order(vm, op, left, right, SPAN)
    assert found is not None
    expected = COMPARISONS[op](Fraction(a, b), Fraction(c, d))  # type: ignore[arg-type]
    assert E.evaluate(found, {"a": a, "b": b, "c": c, "d": d}) == expected
    number = quotients.order(vm, op, left, symbol("c"), SPAN)
    assert number is not None
    assert E.evaluate(number, {"a": a, "b": b, "c": c}) == COMPARISONS[op](a / b, c)


@given(NUMS, POWERS, st.floats(-20, 20), st.sampled_from(sorted(COMPARISONS)))
def test_comparisons_with_floats(a: int, b: int, number: float, op: str) -> None:
    vm = machine()
    ratio = Ratio(symbol("a"), E.const(b))
    for left, right, expected in (
        (ratio, number, COMPARISONS[op](a / b, number)),
        (number, ratio, COMPARISONS[op](number, a / b)),
    ):
        found = quotients.order(vm, op, left, right, SPAN)
        if found is not None:
            assert E.evaluate(found, {"a": a}) == expected


@pytest.mark.parametrize("op", sorted(COMPARISONS))
@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_comparisons_with_what_is_no_number(op: str, number: float) -> None:
    vm = machine()
    found = quotients.order(vm, op, symbol("a"), number, SPAN)
    assert found is not None and E.evaluate(found, {"a": 3}) == COMPARISONS[op](3, number)


def test_a_float_next_to_a_quotient_is_not_told_from_it() -> None:
    vm = machine()
    ratio = Ratio(symbol("a"), E.const(3))
    assert quotients.order(vm, "<", ratio, 0.3333333333333333, SPAN) is None
    assert quotients.order(vm, "<", ratio, 1.0, SPAN) is not None
    assert quotients.order(vm, "==", Opaque("a float"), ratio, SPAN) is None


@given(NUMS, POWERS, NUMS, POWERS, st.sampled_from(sorted(OPERATORS)))
def test_arithmetic_that_does_not_round_is_exact(a: int, b: int, c: int, d: int, op: str) -> None:
    assume(op != "/" or c)
    vm = machine()
    left, right = Ratio(symbol("a"), E.const(b)), Ratio(symbol("c"), E.const(d))
    found = quotients.operator(vm, op, left, right, SPAN)
    assert isinstance(found, Ratio)
    assert value(found, a=a, c=c) == OPERATORS[op](a / b, c / d)


@given(NUMS, DENS, NUMS, DENS, st.sampled_from(sorted(OPERATORS)))
def test_arithmetic_is_exact_or_a_float(a: int, b: int, c: int, d: int, op: str) -> None:
    assume(op != "/" or c)
    vm = machine()
    for left, right in (
        (Ratio(symbol("a"), E.const(b)), Ratio(symbol("c"), E.const(d))),
        (Ratio(symbol("a"), E.const(b)), Ratio(E.const(c), E.const(d))),
        (Ratio(symbol("a"), symbol("b")), Ratio(E.const(c), E.const(d))),
        (Ratio(E.const(a), E.const(b)), Ratio(symbol("c"), E.const(d))),
    ):
        found = quotients.operator(vm, op, left, right, SPAN)
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


# ------------------------------------------------------------------------ large integers


@pytest.mark.parametrize(
    "source",
    ["int(n / 1)", "math.ceil(n / 2)", "math.floor(n / 3)", "round(n / 7)", "n / 3 < 5",
     "(n / 3).is_integer()", "float(n) == n"],
)  # fmt: skip
def test_integers_that_may_not_be_exact_as_floats_are_said(source: str) -> None:
    for most, small in ((EXACT // 2, True), (EXACT + 1, False), (None, False)):
        vm = machine("import math")
        outcome = run(vm, source, n=E.symbol("n", 0, most), math=run(vm, "math").value)
        checks = [check for check in vm.checks if check.rule == "wrong-value"]
        assert bool(checks) is not small, (source, most)
        assert not outcome.ended
        for check in checks:
            assert vm.trace.ledger[-1].symbols[0] in {s.name for s in check.check.predicate.free()}


@given(st.integers(-(EXACT), EXACT), st.integers(1, EXACT))
def test_quotients_up_to_the_limit_are_as_exact_as_that(num: int, den: int) -> None:
    vm = machine()
    ratio = Ratio(E.symbol("a", -EXACT, EXACT), E.const(den))
    assert quotients.exact(vm, ratio, SPAN) is E.TRUE
    env = {"a": num}
    assert E.evaluate(quotients.floor(vm, ratio, SPAN), env) == math.floor(num / den)
    assert E.evaluate(quotients.ceiling(vm, ratio, SPAN), env) == math.ceil(num / den)
    assert E.evaluate(quotients.truncated(vm, ratio, SPAN), env) == int(num / den)


@pytest.mark.parametrize("source", ["n / 1", "n / -3", "float(n)", "n * 1.0", "n + 0.5"])
def test_integers_that_no_float_is_as_large_as(source: str) -> None:
    for most in (2**1023, 2**1024 - 2**970 - 1, 2**1024 - 2**970, 2**1030):
        vm = machine()
        outcome = run(vm, source, n=E.symbol("n", 0, most))
        try:
            expected = None
            eval(source, {"n": most})
        except OverflowError:
            expected = OverflowError
        raised = [e for e in outcome.escapes if E.evaluate(e.guard, {"n": most})]
        found = raised[0].fault.error if raised and raised[0].fault is not None else None
        assert found is expected, (source, most.bit_length(), found)


def test_sizes_of_tensors_are_exact() -> None:
    vm = machine()
    x = Parameter("x", SPAN)
    n, m = vm.inputs.extent(x, 0), vm.inputs.extent(x, 1)
    for number in (n, n * m, n // 3 + m, E.minimum(n, m), n - m):
        assert quotients.exact(vm, Ratio(number, E.const(128)), SPAN) is E.TRUE
    assert {a.text for a in vm.trace.assumptions} == {"x.shape[0] < 2**40", "x.shape[1] < 2**40"}
    assert quotients.exact(vm, Ratio(n * n, E.const(1)), SPAN) is not E.TRUE


@pytest.mark.parametrize(
    "source", ["math.ceil(n / 2)", "math.ceil((n - 1) / (n + 1))", "n / 3 < 5"]
)
def test_integers_that_a_caller_gives_are_taken_to_be_exact(source: str) -> None:
    vm = machine("import math")
    vm.inputs.integers.append("n")
    outcome = run(vm, source, n=E.symbol("n", 0), math=run(vm, "math").value)
    assert not outcome.ended
    assert not [check for check in vm.checks if check.rule == "wrong-value"]
    assert "n < 2**52" in [made.text for made in vm.trace.assumptions]
    vm = machine("import math")
    vm.inputs.integers.append("n")
    run(vm, "math.ceil(n * n / 2)", n=E.symbol("n", 0), math=run(vm, "math").value)
    assert [check for check in vm.checks if check.rule == "wrong-value"]
