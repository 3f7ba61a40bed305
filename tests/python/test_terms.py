"""Whole values: joined at a condition, compared, there or not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from verifier.symbolic import expr as E
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.terms import as_formula, join, presence, same, some
from verifier.symbolic.values import Guarded, Opaque, Ref

VALUES = st.recursive(
    st.one_of(
        st.integers(-2, 2),
        st.booleans(),
        st.sampled_from(["a", "b", None, 1.5, 0.0, -0.0, UNBOUND, Ref(1), Ref(2)]),
    ),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)


def made(value: object) -> object:
    """A value of the host as the machine has it."""
    if isinstance(value, tuple):
        return tuple(made(item) for item in value)
    if isinstance(value, int) and not isinstance(value, bool):
        return E.const(value)
    return value


def chosen(value: object, env: dict[str, int]) -> object:
    if isinstance(value, Guarded):
        (value,) = [item for guard, item in value.cases if E.evaluate(guard, env)]
    if isinstance(value, tuple):
        return tuple(chosen(item, env) for item in value)
    return E.evaluate(value, env) if isinstance(value, (E.Expr, E.Bool)) else value


def agrees(found: object, expected: object) -> bool:
    return found == expected and repr(found) == repr(expected)


@given(VALUES, VALUES, VALUES)
def test_a_joined_value_is_either(a: object, b: object, c: object) -> None:
    E.fresh_context()
    s, t = (E.eq(E.symbol(name, 0, 1), 1) for name in "st")
    two = join(t, made(a), made(b))
    three = join(s, two, made(c))
    around = join(s, made(c), two)
    for x in (0, 1):
        inner = a if x else b
        assert agrees(chosen(two, {"t": x}), inner)
        assert agrees(chosen(three, {"t": x, "s": 1}), inner)
        assert agrees(chosen(three, {"t": x, "s": 0}), c)
        assert agrees(chosen(around, {"t": x, "s": 1}), c)
        assert agrees(chosen(around, {"t": x, "s": 0}), inner)


@given(VALUES, VALUES)
def test_the_guards_of_a_joined_value_are_disjoint(a: object, b: object) -> None:
    E.fresh_context()
    s, t = (E.eq(E.symbol(name, 0, 1), 1) for name in "st")
    value = join(s, join(t, made(a), made(b)), join(t, made(b), made(a)))
    if isinstance(value, Guarded):
        for env in ({"s": x, "t": y} for x in (0, 1) for y in (0, 1)):
            assert sum(bool(E.evaluate(guard, env)) for guard, _ in value.cases) == 1


@given(VALUES)
def test_a_value_is_the_same_as_itself(value: object) -> None:
    assert same(made(value), made(value))


@given(VALUES, VALUES)
def test_what_is_the_same_is_equal_and_of_one_type(a: object, b: object) -> None:
    if same(made(a), made(b)):
        assert agrees(a, b)


def test_what_is_equal_and_not_the_same() -> None:
    assert not same(0.0, -0.0)
    assert not same(True, E.const(1))
    assert not same((True,), (E.const(1),))
    assert same(float("nan"), float("nan"))
    assert not same("1", b"1")
    x = E.symbol("x")
    assert same(x + 1, x + 1) and not same(x + 1, x + 2)


def test_values_that_a_condition_settles() -> None:
    assert join(E.TRUE, "a", "b") == "a"
    assert join(E.FALSE, "a", "b") == "b"


def test_when_a_value_is_there() -> None:
    t = E.eq(E.symbol("t", 0, 1), 1)
    assert presence(UNBOUND) is E.FALSE
    assert presence(None) is E.TRUE
    assert presence(join(t, "a", UNBOUND)) is t
    assert presence(join(t, "a", "b")) is E.TRUE


def test_whether_a_count_is_not_zero() -> None:
    t = E.eq(E.symbol("t", 0, 1), 1)
    assert some(E.ite(t, 1, 0)) is t
    n = E.symbol("n", 0)
    for value in range(4):
        assert E.evaluate(some(n), {"n": value}) == (value > 0)


def test_truth_values_as_formulas() -> None:
    t = E.eq(E.symbol("t", 0, 1), 1)
    assert as_formula(True) is E.TRUE and as_formula(False) is E.FALSE and as_formula(t) is t
    for value in (1, E.const(1), None, Opaque("something")):
        assert as_formula(value) is None
