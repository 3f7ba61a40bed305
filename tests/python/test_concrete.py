"""The bridge to the host: values go there and back, and what would exhaust it does not go."""

from __future__ import annotations

import operator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.python.support import SPAN, agrees, machine, run
from verifier.symbolic import expr as E
from verifier.symbolic.python import concrete
from verifier.symbolic.python.concrete import SYMBOLIC, from_host, to_host
from verifier.symbolic.python.flow import Ended, Wait
from verifier.symbolic.python.heap import UNBOUND, DictBox, ListBox, Many
from verifier.symbolic.tensors import LoopKind
from verifier.symbolic.values import Opaque, Range, Ratio

PLAIN = st.one_of(
    st.integers(),
    st.booleans(),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.floats(allow_nan=False),
    st.complex_numbers(allow_nan=False),
    st.sampled_from([None, ..., NotImplemented, range(1, 9, 2), slice(1, None, 2)]),
)
KEYS = st.one_of(st.integers(), st.text(max_size=3), st.tuples(st.integers(), st.text(max_size=2)))
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(KEYS, inner, max_size=3),
        st.sets(KEYS, max_size=3),
        st.frozensets(KEYS, max_size=3),
    ),
    max_leaves=4,
)


@given(VALUES)
def test_there_and_back(value: Any) -> None:
    vm = machine()
    mine = from_host(vm, value)
    assert mine is not UNBOUND
    again = to_host(vm, mine)
    assert type(again) is type(value) and again == value
    assert repr(again) == repr(value) or "{" in repr(value)  # sets have no order


def test_the_host_gets_copies() -> None:
    vm = machine()
    ref = vm.heap.new(ListBox.of([E.const(1)]))
    to_host(vm, ref).append(2)
    assert to_host(vm, ref) == [1]


def test_what_is_not_concrete_has_no_value_there() -> None:
    vm = machine()
    n = E.symbol("n")
    index = vm.loop_symbol("i")
    one = E.const(1)
    lists = [ListBox.of([n]), ListBox((Many(n, index, ("a",)),)), DictBox({"a": n})]
    shuffled = DictBox({"a": 1, "b": 2}, shuffled=True)
    optional = DictBox({"a": UNBOUND})
    refs = [vm.heap.new(box) for box in (*lists, shuffled, optional)]
    values = [
        n,
        E.eq(n, 1),
        (1, n),
        Range(n, n, one, LoopKind.RANGE),
        Ratio(n, one),
        Opaque("x"),
        *refs,
    ]
    for value in values:
        assert to_host(vm, value) is SYMBOLIC
        assert to_host(vm, ("a", (value,))) is SYMBOLIC


@pytest.mark.parametrize(
    "value", [object(), int, len, 1 << 5000, "x" * 70_000, [object()], {(1, int): 2}]
)
def test_what_does_not_come_back(value: object) -> None:
    assert from_host(machine(), value) is UNBOUND


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (operator.mul, ("ab", 10**9)),
        (operator.mul, ([1], 10**9)),
        (operator.pow, (7, 10**9)),
        (operator.lshift, (1, 10**9)),
        (operator.mod, ("%999999d", 1)),
        (operator.mod, ("%*d", (10**9, 1))),
        (str.ljust, ("a", 10**9)),
        (str.zfill, ("a", 10**9)),
        (bytes, (10**9,)),
        (str.join, ("," * 60_000, ["a"] * 60_000)),
        (format, ("a", "999999")),
    ],
)
def test_what_would_exhaust_the_host_is_not_computed(function: Any, args: tuple[Any, ...]) -> None:
    vm = machine()
    found = concrete.run(vm, SPAN, function, *args)
    assert isinstance(found, Opaque)


@given(st.sampled_from(sorted(concrete.OPERATORS)), PLAIN, PLAIN)
def test_operators_are_the_hosts(op: str, left: Any, right: Any) -> None:
    vm = machine()
    value: object = None
    with vm.landing(Wait.HANDLERS) as landing:
        try:
            value = concrete.operate(vm, op, left, right, SPAN)
        except Ended:
            value = UNBOUND
    if isinstance(value, Opaque):
        return  # too large
    try:
        expected = concrete.OPERATORS[op](left, right)
    except Exception as error:
        (escape,) = landing.escapes
        assert value is UNBOUND and escape.fault is not None
        assert escape.fault.error is type(error)
        return
    held = to_host(vm, value)
    assert type(held) is type(expected) and (held == expected or repr(held) == repr(expected))


def test_an_error_of_the_host_has_its_arguments() -> None:
    source = """
def run():
    out = []
    for f in (lambda: int("x"), lambda: {}["k"], lambda: "abc".index("z"), lambda: 1 / 0):
        try:
            f()
        except Exception as error:
            out.append(type(error).__name__)
    return out
"""
    agrees("run()", {}, source)


def test_nothing_of_the_program_is_run_on_the_host() -> None:
    ran = run(machine(), "__import__('os').getcwd()")
    assert ran.host is SYMBOLIC or ran.ended or ran.skipped
