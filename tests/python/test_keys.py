"""Values as keys: the equality and hash of CPython's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.python.programs import same, same_for, unknown
from tests.python.support import SPAN, machine
from tests.python.support import given as made
from verifier.symbolic import expr as E
from verifier.symbolic.python.flow import Ended, Wait
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.keys import key_of, matches, value_of
from verifier.symbolic.python.terms import join
from verifier.symbolic.tensors import LoopKind
from verifier.symbolic.values import Opaque, Range

HASHABLE = st.recursive(
    st.one_of(
        st.integers(-2, 2),
        st.booleans(),
        st.sampled_from([None, "a", b"a", 1.0, 0.5, 1 + 0j, ..., frozenset({1, 2}), range(2)]),
    ),
    lambda inner: st.lists(inner, max_size=2).map(tuple),
    max_leaves=3,
)


@given(HASHABLE, HASHABLE)
def test_keys_are_equal_as_their_values_are(a: object, b: object) -> None:
    vm = machine()
    one, other = key_of(vm, made(vm, a), SPAN), key_of(vm, made(vm, b), SPAN)
    assert one is not UNBOUND and other is not UNBOUND
    assert (one == other) == (a == b)
    if a == b:
        assert hash(one) == hash(other)
    assert len({one: 0, other: 0}) == len({a: 0, b: 0})


@given(st.one_of(st.integers(), st.booleans(), st.text(), st.none(), st.floats(allow_nan=False)))
def test_a_key_gives_its_value_back(value: object) -> None:
    vm = machine()
    mine = made(vm, value)
    again = value_of(key_of(vm, mine, SPAN))
    assert type(again) is type(mine) and again == mine
    assert value_of((1, (2, "a"))) == (E.const(1), (E.const(2), "a"))


@pytest.mark.parametrize("value", [[], {}, set(), ([],), (1, {})])
def test_what_cannot_be_a_key_is_an_error(value: object) -> None:
    vm = machine()
    with vm.landing(Wait.HANDLERS) as landing, pytest.raises(Ended):
        key_of(vm, made(vm, value), SPAN)
    (escape,) = landing.escapes
    assert escape.fault is not None and escape.fault.error is TypeError


def test_what_depends_on_the_inputs_is_no_key() -> None:
    vm = machine()
    n = E.symbol("n")
    zero, one = E.const(0), E.const(1)
    for value in (n, E.eq(n, 1), (1, n), Range(zero, n, one, LoopKind.RANGE), Opaque("something")):
        assert key_of(vm, value, SPAN) is UNBOUND


def test_when_a_symbol_is_one_of_some_keys() -> None:
    vm = machine()
    n = E.symbol("n", 0, 5)
    found = matches(vm, [1, 7, 3], n, SPAN)
    assert found is not None and [key for _, key in found] == [1, 3]  # it is never 7
    for value in range(6):
        for same_key, key in found:
            assert E.evaluate(same_key, {"n": value}) == (value == key)
    pairs = matches(vm, [(1, 2), (3, 4)], (n, E.const(2)), SPAN)
    assert pairs is not None and [key for _, key in pairs] == [(1, 2)]
    assert matches(vm, [1], join(E.eq(n, 1), "a", None), SPAN) is None
    assert matches(vm, [1], Opaque("something"), SPAN) is None


PROGRAMS = {
    "numbers that are equal share a slot": """
def run():
    d = {1: "one", True: "true", 1.0: "float", 0: "zero", False: "false"}
    return list(d.items()), {True: 1}[1.0]
""",
    "members of enumerations": """
from enum import Enum, IntEnum
class A(Enum):
    X = 1
class B(IntEnum):
    X = 1
def run():
    d = {A.X: "a", B.X: "b", 1: "c"}
    return len(d), d[A.X], d[B.X], A.X in {1: 0}, 1 in {B.X: 0}
""",
    "instances": """
class P:
    def __init__(self, x): self.x = x
def run():
    a, b = P(1), P(1)
    return {a: 1}.get(b), {a: 1}[a], len({a, b, a})
""",
    "named tuples and tuples": """
from collections import namedtuple
P = namedtuple("P", "x y")
def run(): return {(1, 2): "t"}[P(1, 2)], P(1, 2) in {(1, 2)}
""",
    "no hash": """
class P:
    def __eq__(self, other): return True
def run(): return {P(): 1}
""",
    "frozen sets and ranges": """
def run():
    d = {frozenset({1, 2}): "f", range(3): "r"}
    return d[frozenset([2, 1])], d[range(0, 3, 1)]
""",
    "functions, types and methods": """
class A:
    def m(self): return 1
def f(): return 1
def run():
    a = A()
    d = {f: 1, int: 2, A: 3, len: 4, a.m: 5}
    return d[f], d[int], d[A], d[len], d[a.m]
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(PROGRAMS[name])


def test_a_hash_of_the_programs_own_is_not_followed() -> None:
    unknown("""
        class P:
            def __eq__(self, other): return True
            def __hash__(self): return 1
        def run(): return len({P(), P()})
    """)


def test_a_symbol_as_a_key() -> None:
    program = """
        def run(n, m):
            d = {0: "zero", 1: "one", 2: "two"}
            return d[n], n in d, (n, m) in {(1, 1): 0, (2, 0): 1}
    """
    same_for(program, n=range(4), m=range(2))
