"""Operators on symbolic integers: CPython's for every value, or an unknown that is listed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.python.support import SPAN, agrees_for, machine, run
from verifier.symbolic import expr as E
from verifier.symbolic.python.flow import Ended, Wait
from verifier.symbolic.python.integers import (
    bounded_unknown,
    by_value,
    nonzero,
    operator,
    order,
    range_of,
)
from verifier.symbolic.trace import LedgerKind

OPERATORS = ["+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>", "**"]


@given(
    st.sampled_from(OPERATORS),
    st.sampled_from(["n", "m", "n + 1", "n * 2 - m", "5", "-3", "0"]),
    st.sampled_from(["n", "m", "m - n", "2", "-1", "0", "7"]),
)
def test_operators(op: str, left: str, right: str) -> None:
    agrees_for(f"({left}) {op} ({right})", {"n": range(-3, 4), "m": range(5)}, known=False)


@pytest.mark.parametrize("op", OPERATORS)
def test_what_is_known_of_small_numbers(op: str) -> None:
    agrees_for(f"n {op} m", {"n": range(5), "m": range(1, 4)})


@pytest.mark.parametrize(
    "source",
    ["-n", "+n", "~n", "abs(n)", "n.bit_length()", "divmod(n, m)", "int(n)"],
)
def test_of_one_number(source: str) -> None:
    agrees_for(source, {"n": range(-4, 5), "m": range(1, 4)})


@given(st.integers(0, 255), st.integers(0, 300))
def test_masks(mask: int, value: int) -> None:
    vm = machine()
    n = E.symbol("n", 0)
    for op, expected in (("&", value & mask),):
        found = operator(vm, op, n, E.const(mask), SPAN)
        if not vm.trace.ledger:
            assert E.evaluate(found, {"n": value}) == expected


def test_a_division_by_what_may_be_zero() -> None:
    vm = machine()
    n = E.symbol("n", 0)
    with vm.landing(Wait.HANDLERS) as landing:
        operator(vm, "//", E.const(7), n, SPAN)
    (escape,) = landing.escapes
    assert escape.fault is not None and escape.fault.error is ZeroDivisionError
    assert [E.evaluate(escape.guard, {"n": k}) for k in (0, 1)] == [True, False]
    assert vm.decide(E.gt(n, 0)) is True  # what follows runs only otherwise
    nonzero(vm, E.const(-2), SPAN)
    with pytest.raises(Ended):
        nonzero(vm, E.const(0), SPAN)


def test_comparisons() -> None:
    n = E.symbol("n")
    for op, expected in (("<", [1, 0, 0]), ("==", [0, 1, 0]), (">=", [0, 1, 1]), ("!=", [1, 0, 1])):
        found = order(op, n, E.const(1))
        assert [E.evaluate(found, {"n": k}) for k in range(3)] == [bool(k) for k in expected]


def test_the_values_that_an_integer_may_have() -> None:
    vm = machine()
    n, m = E.symbol("n", 2, 9), E.symbol("m")
    assert range_of(vm, n) == range(2, 10)
    assert range_of(vm, m) is None
    vm.narrow(E.and_(E.ge(m, -1), E.le(m, 3)))
    assert range_of(vm, m) == range(-1, 4)
    assert range_of(vm, m, most=3) is None
    found = by_value(n, range(2, 10), lambda k: E.const(k * k))
    assert all(E.evaluate(found, {"n": k}) == k * k for k in range(2, 10))


def test_what_is_too_large_is_unknown_within_its_bounds() -> None:
    vm = machine()
    found = bounded_unknown(vm, "a number", SPAN, 0, 5)
    assert E.bounds(found) == (0, 5) and len(vm.trace.ledger) == 1
    assert bounded_unknown(vm, "a number", SPAN, 3, 3) is E.const(3)
    for source in ("n ** 40", "2 ** (n * n)", "n ** n"):
        outcome = run(machine(), source, n=E.symbol("n", 0))
        assert isinstance(outcome.value, E.Expr)
        assert [entry.kind for entry in outcome.vm.trace.ledger] == [LedgerKind.OPAQUE], source
    outcome = run(machine(), "n ** 40", n=E.symbol("n"))
    assert isinstance(outcome.value, E.Expr) and E.bounds(outcome.value)[0] == 0
