"""Symbolic integers against Python's own: building, folding and evaluating agree."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sweeps import examples
from verifier.symbolic import expr as E

NAMES = ("a", "b", "c", "d")
RANGES = {"a": (None, None), "b": (0, None), "c": (1, 300), "d": (-7, 9)}
TABLE = {0: 1, 1: 2, 2: 4, 3: 1, 4: 8}

Env = dict[str, int]


@dataclass(frozen=True)
class Term:
    """A recipe: builds a symbolic term, and computes the same on plain integers."""

    build: Callable[[], E.Expr]
    plain: Callable[[Env], int]


@dataclass(frozen=True)
class Test:
    build: Callable[[], E.Bool]
    plain: Callable[[Env], bool]

    __test__ = False


def name(which: str) -> Term:
    lo, hi = RANGES[which]
    return Term(lambda: E.symbol(which, lo, hi), lambda env: env[which])


def number(value: int) -> Term:
    return Term(lambda: E.const(value), lambda env: value)


def ceiling(a: int, b: int) -> int:
    return -(-a // b)


BINARY: dict[str, tuple[Callable[..., E.Expr], Callable[[int, int], int]]] = {
    "add": (operator.add, operator.add),
    "sub": (operator.sub, operator.sub),
    "mul": (operator.mul, operator.mul),
    "floordiv": (E.floordiv, operator.floordiv),
    "mod": (E.mod, operator.mod),
    "ceildiv": (E.ceildiv, ceiling),
    "min": (E.minimum, min),
    "max": (E.maximum, max),
}
COMPARE: dict[str, tuple[Callable[..., E.Bool], Callable[[int, int], bool]]] = {
    "le": (E.le, operator.le),
    "lt": (E.lt, operator.lt),
    "ge": (E.ge, operator.ge),
    "gt": (E.gt, operator.gt),
    "eq": (E.eq, operator.eq),
    "ne": (E.ne, operator.ne),
}


def binary(kind: str, left: Term, right: Term) -> Term:
    build, plain = BINARY[kind]
    return Term(
        lambda: build(left.build(), right.build()),
        lambda env: plain(left.plain(env), right.plain(env)),
    )


def compare(kind: str, left: Term, right: Term) -> Test:
    build, plain = COMPARE[kind]
    return Test(
        lambda: build(left.build(), right.build()),
        lambda env: plain(left.plain(env), right.plain(env)),
    )


def junction(both: bool, left: Test, right: Test) -> Test:
    build = E.and_ if both else E.or_

    def plain(env: Env) -> bool:
        first, second = left.plain(env), right.plain(env)
        return (first and second) if both else (first or second)

    return Test(lambda: build(left.build(), right.build()), plain)


def negation(inner: Test) -> Test:
    return Test(lambda: E.not_(inner.build()), lambda env: not inner.plain(env))


def choice(test: Test, left: Term, right: Term) -> Term:
    def plain(env: Env) -> int:
        chosen, other = left.plain(env), right.plain(env)
        return chosen if test.plain(env) else other

    return Term(lambda: E.ite(test.build(), left.build(), right.build()), plain)


def lookup(index: Term) -> Term:
    """A table at an index that is brought into its domain."""
    return Term(
        lambda: E.table("t", E.mod(index.build(), len(TABLE)), TABLE),
        lambda env: TABLE[index.plain(env) % len(TABLE)],
    )


INTERESTING = (-512, -129, -128, -3, -2, -1, 0, 1, 2, 3, 4, 6, 64, 127, 128, 129, 512)
leaves = st.one_of(
    st.sampled_from(NAMES).map(name),
    st.sampled_from(INTERESTING).map(number),
)


def formulas_over(terms: st.SearchStrategy[Term]) -> st.SearchStrategy[Test]:
    plain = st.builds(compare, st.sampled_from(sorted(COMPARE)), terms, terms)
    return st.one_of(plain, plain.map(negation), st.builds(junction, st.booleans(), plain, plain))


def grow(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    return st.one_of(
        st.builds(binary, st.sampled_from(sorted(BINARY)), inner, inner),
        st.builds(choice, formulas_over(inner), inner, inner),
        st.builds(lookup, inner),
    )


terms = st.recursive(leaves, grow, max_leaves=6)
formulas = formulas_over(terms)


@st.composite
def environments(draw: st.DrawFn) -> Env:
    env = {}
    for which, (lo, hi) in RANGES.items():
        near = st.integers(-20 if lo is None else lo, 20 if hi is None else hi)
        far = st.sampled_from([v for v in INTERESTING if within(v, lo, hi)])
        env[which] = draw(st.one_of(near, far))
    return env


def within(value: int, lo: int | None, hi: int | None) -> bool:
    return (lo is None or value >= lo) and (hi is None or value <= hi)


@settings(max_examples=examples(400), deadline=None)
@given(terms, environments())
def test_building_then_evaluating_is_computing(term: Term, env: Env) -> None:
    E.fresh_context()
    try:
        expected = term.plain(env)
    except ZeroDivisionError:
        return
    built = term.build()
    assert E.evaluate(built, env) == expected
    lo, hi = E.bounds(built)
    assert within(expected, lo, hi)
    assert {sym.name for sym in built.free()} <= set(NAMES)


@settings(max_examples=examples(300), deadline=None)
@given(formulas, environments())
def test_formulas_evaluate_like_python(test: Test, env: Env) -> None:
    E.fresh_context()
    try:
        expected = test.plain(env)
    except ZeroDivisionError:
        return
    built = test.build()
    assert E.evaluate(built, env) == expected
    assert E.evaluate(E.not_(built), env) == (not expected)
    assert E.not_(E.not_(built)) is built or E.evaluate(E.not_(E.not_(built)), env) == expected


@settings(max_examples=examples(300), deadline=None)
@given(terms, formulas, environments(), st.lists(leaves, min_size=4, max_size=4))
def test_substitution_commutes_with_evaluation(
    term: Term, test: Test, env: Env, values: list[Term]
) -> None:
    E.fresh_context()
    replaced = dict(zip(NAMES, values, strict=True))
    inner = {which: value.plain(env) for which, value in replaced.items()}
    if not all(within(value, *RANGES[which]) for which, value in inner.items()):
        return  # a value outside a symbol's bounds is no value of the symbol
    try:
        expected, truth = term.plain(inner), test.plain(inner)
    except ZeroDivisionError:
        return
    symbols = {}
    for which, value in replaced.items():
        atom = name(which).build().as_atom()
        assert isinstance(atom, E.Sym)
        symbols[atom] = value.build()
    step = E.Substitution(symbols)
    assert E.evaluate(step.expr(term.build()), env) == expected
    assert E.evaluate(step.bool(test.build()), env) == truth


@settings(max_examples=examples(200), deadline=None)
@given(terms, environments())
def test_replacing_everything_by_numbers_folds(term: Term, env: Env) -> None:
    E.fresh_context()
    try:
        expected = term.plain(env)
    except ZeroDivisionError:
        return
    symbols = {}
    for which in NAMES:
        atom = name(which).build().as_atom()
        assert isinstance(atom, E.Sym)
        symbols[atom] = E.const(env[which])
    folded = E.Substitution(symbols).expr(term.build())
    assert folded.is_const
    assert folded.const == expected


@pytest.mark.parametrize("a", range(-9, 10))
@pytest.mark.parametrize("b", [-4, -3, -1, 1, 3, 4])
def test_floor_semantics_with_negative_divisors(a: int, b: int) -> None:
    E.fresh_context()
    x, y = E.symbol("x"), E.symbol("y")
    env = {"x": a, "y": b}
    assert E.evaluate(x // b, env) == a // b
    assert E.evaluate(x // y, env) == a // b
    assert E.evaluate(x % b, env) == a % b
    assert E.evaluate(x % y, env) == a % b
    assert E.evaluate((5 * x + 3) // (-2 * y), env) == (5 * a + 3) // (-2 * b)
    assert E.evaluate((x * y + 1) // y, env) == (a * b + 1) // b
    assert E.evaluate(E.ceildiv(x, y), env) == ceiling(a, b)


def test_equal_values_are_the_same_object() -> None:
    E.fresh_context()
    m, k = E.symbol("m", 1), E.symbol("k", 0)
    assert (m + k) * 2 is 2 * k + m * 2
    assert (128 * m) // 128 is m
    assert (128 * m) % 128 is E.const(0)
    assert (m // 4) // 32 is m // 128
    assert E.minimum(m, 128, m) is E.minimum(m, 128)
    assert E.le(2 * m, 7) is E.le(m, 3)
    assert E.eq(2 * m, 7) is E.FALSE
    assert E.lt(k, 0) is E.FALSE
    assert E.and_(E.le(m, 3), E.gt(m, 3)) is E.FALSE
    assert E.or_(E.le(m, 3), E.gt(m, 3)) is E.TRUE


def test_formulas_are_simplified_by_their_neighbours() -> None:
    E.fresh_context()
    p, q, r = (E.bool_symbol(name) for name in "pqr")
    neither = E.or_(E.not_(p), E.not_(q))
    assert E.and_(p, E.or_(E.not_(p), q)) is E.and_(p, q)
    assert E.or_(p, E.and_(E.not_(p), q)) is E.or_(p, q)
    assert E.and_(p, E.or_(p, q)) is p
    assert E.or_(E.and_(p, q, r), E.and_(neither, p, q)) is E.and_(p, q, r)


def test_remainder_is_bounded_without_a_solver() -> None:
    E.fresh_context()
    m = E.symbol("m", 1)
    assert E.bounds(m % 128) == (0, 127)
    assert E.lt(m % 128, 128) is E.TRUE


def test_flags_are_replaced_inside_conditionals() -> None:
    E.fresh_context()
    m, flag = E.symbol("m", 1), E.bool_symbol("flag")
    value = E.ite(flag, m, 2 * m)
    assert E.Substitution({}, {"flag": E.FALSE}).expr(value) is 2 * m
    assert E.Substitution({}, {"flag": E.TRUE}).expr(value) is m


def test_lookup_outside_the_table_is_an_error_only_when_evaluated() -> None:
    E.fresh_context()
    outside = E.table("t", E.const(99), TABLE)
    with pytest.raises(E.EvaluationError):
        E.evaluate(outside, {})


def test_a_part_that_decides_does_so_beside_one_that_has_no_value() -> None:
    """In whatever order the parts are held."""
    E.fresh_context()
    x, y = E.symbol("x"), E.symbol("y")
    divides = E.eq(x % y, 0)
    by_zero = {"x": 6, "y": 0}
    assert E.evaluate(E.or_(divides, E.eq(y, 0)), by_zero)
    assert not E.evaluate(E.and_(divides, E.ge(y, 1)), by_zero)
    with pytest.raises(E.EvaluationError):
        E.evaluate(E.or_(divides, E.ge(y, 1)), by_zero)
    with pytest.raises(E.EvaluationError):
        E.evaluate(E.and_(divides, E.eq(y, 0)), by_zero)


def test_evaluation_errors() -> None:
    E.fresh_context()
    x, y = E.symbol("x"), E.symbol("y")
    with pytest.raises(E.EvaluationError):
        E.evaluate(x // y, {"x": 1, "y": 0})
    with pytest.raises(E.EvaluationError):
        E.evaluate(x, {})
    with pytest.raises(E.EvaluationError):
        E.evaluate(E.bool_symbol("flag"), {})
    with pytest.raises(TypeError):
        bool(x)
    with pytest.raises(TypeError):
        bool(E.le(x, y))


@pytest.mark.parametrize(
    ("first", "second"),
    [*itertools.product(itertools.product((None, -3, -1, 0, 2), (None, -2, 0, 1, 4)), repeat=2)],
)
def test_bounds_of_products_are_those_of_all_values(
    first: tuple[int | None, int | None], second: tuple[int | None, int | None]
) -> None:
    sides = [
        range(-9 if lo is None else lo, (9 if hi is None else hi) + 1) for lo, hi in (first, second)
    ]
    if not all(sides):
        return
    x, y = (E.symbol(name, *side) for name, side in zip("xy", (first, second), strict=True))
    lo, hi = E.bounds(x * y)
    products = {a * b for a, b in itertools.product(*sides)}
    assert lo is None or lo <= min(products)
    assert hi is None or hi >= max(products)
    if None not in (*first, *second):
        assert (lo, hi) == (min(products), max(products))


def test_a_choice_between_what_is_equal_where_it_matters_is_no_choice() -> None:
    E.fresh_context()
    n, m = E.symbol("n", lo=1), E.symbol("m", lo=1)
    assert E.ite(E.eq(n, 1), 1, n) is n
    assert E.ite(E.eq(n, m), n, m) is m
    assert E.ite(E.eq(n, m), m, n) is n
    assert E.ite(E.ne(n, 1), 1, n) is not n
    assert E.ite(E.eq(n, 1), 2, n) is not n


_FACTORS = st.lists(
    st.tuples(st.integers(-3, 3), st.lists(st.sampled_from(NAMES), max_size=2)), max_size=3
)


@given(_FACTORS, _FACTORS, st.integers(-2, 2))
def test_what_is_multiplied_is_divided_again(
    one: list[tuple[int, list[str]]], other: list[tuple[int, list[str]]], rest: int
) -> None:
    symbols = {name: E.symbol(f"divided {name}") for name in NAMES}

    def total(terms: list[tuple[int, list[str]]]) -> E.Expr:
        out = E.const(0)
        for factor, names in terms:
            part = E.const(factor)
            for each in names:
                part = part * symbols[each]
            out = out + part
        return out

    a, b = total(one), total(other)
    if not b.is_const:
        assert E.exact_quotient(a * b, b) is a
        found = E.exact_quotient(a * b + rest, b)
        assert found is a if not rest else found is None


def test_a_remainder_is_below_its_divisor_also_where_its_number_is_bounded() -> None:
    n = E.symbol("n", 1, 6000)
    rest = E.mod(n + 511, 512)
    assert E.bounds(rest) == (0, 511)
    assert E.floordiv(rest + 3584, 4096) is E.const(0)
    assert E.bounds(E.mod(E.symbol("k", 2, 5), 512) * 3 + 1) == (7, 16)
