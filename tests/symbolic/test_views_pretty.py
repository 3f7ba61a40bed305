"""Terms in the kernel's own words; what is printed means what the term means."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.sweeps import examples
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.pretty import pretty, python


@pytest.fixture(autouse=True)
def _context() -> None:
    E.fresh_context()


def names() -> tuple[Expr, Expr, Expr]:
    return E.symbol("K", 1), E.symbol("M", 1), E.symbol("k", 0, None, E.Origin.LOOP)


def test_integers() -> None:
    big, m, k = names()
    assert pretty(E.const(0)) == "0"
    assert pretty(-big) == "-K"
    assert pretty(5 - big) == "5 - K"
    assert pretty(big % 128) == "K % 128"
    assert pretty(big % (m + 1)) == "K % (M + 1)"
    assert pretty(3 * (big % 128) - k) == "3*(K % 128) - k"
    assert pretty(E.ceildiv(big, 128)) == "ceil(K / 128)"
    assert pretty(E.ceildiv(big + 5, 128)) == "(K + 4) // 128 + 1"
    assert pretty(2 * E.ceildiv(big, 128) - 1) == "2*ceil(K / 128) - 1"
    assert pretty((big + 127) // 128 * 128) == "128*ceil(K / 128)"
    assert pretty(E.minimum(128, m - 128 * k)) == "min(128, M - 128*k)"
    assert pretty(E.ite(E.le(big, 5), big, m) + 3) == "(K if K <= 5 else M) + 3"


def test_a_quotient_by_nothing_has_a_text() -> None:
    n, m = E.symbol("n"), E.symbol("m")
    quotient = E.floordiv(-n + 3, m)
    (sizes,) = (atom for atom in quotient.atoms() if isinstance(atom, E.Div))
    (divisor,) = sizes.den.atoms()
    assert isinstance(divisor, E.Sym)
    nothing = E.Substitution({divisor: E.const(0)}).expr(quotient)
    assert pretty(nothing) == "-ceil((n - 3) / 0)"
    assert pretty(-nothing) == "ceil((n - 3) / 0)"


def test_a_number_rounded_up_is_told_once() -> None:
    n, cores = E.symbol("n", lo=0), E.symbol("c", lo=1)
    each = E.ceildiv(n, cores)
    term = E.lt(each * (cores - 1), n)  # the last one has something to do
    assert python(term) == "-(-n // c)*(c - 1) < n"
    assert pretty(term) == "ceil(n / c)*(c - 1) < n"
    assert python(E.eq((-n) % cores, 0)) == "(-n) % c == 0"
    more = E.le(2 * each * cores * n + each + 3, n * cores)
    for condition, number, count in itertools.product((term, more), range(9), range(1, 9)):
        env = {"n": number, "c": count}
        assert run(python(condition), env) == E.evaluate(condition, env), python(condition)


def test_comparisons() -> None:
    big, m, k = names()
    assert pretty(E.le(128 * k + 128, big)) == "128*k + 128 <= K"
    assert pretty(E.lt(k, big)) == "k < K"
    assert pretty(E.ge(big, 128)) == "K >= 128"
    assert pretty(E.eq(big % 128, 0)) == "K % 128 == 0"
    assert pretty(E.lt(k // 128, E.ceildiv(m, 128))) == "k // 128 < ceil(M / 128)"
    assert pretty(E.eq(big - m, 3)) == "K == M + 3"
    assert pretty(E.lt(k, E.ite(E.ge(m, 128), 128, m))) == "k < (128 if M >= 128 else M)"


@pytest.mark.parametrize("shift", [-9, -1, 0, 5, 6])
@pytest.mark.parametrize("bound", range(-1, 8))
def test_remainders_of_sums_are_told_by_what_is_added_to(shift: int, bound: int) -> None:
    big, _m, _k = names()
    remainder = (big + shift) % 7
    for term in (
        E.le(remainder, bound),
        E.ge(remainder, bound),
        E.eq(remainder, bound),
        E.ne(remainder, bound),
    ):
        text = pretty(term)
        for value in range(1, 16):
            assert eval(text, {"K": value}) == E.evaluate(term, {"K": value}), text
    assert pretty(E.le((big + 5) % 7, 5)) == "K % 7 != 1"


def test_enumerations_and_connectives() -> None:
    big, m, _k = names()
    dtype = E.symbol("q.dtype", 0, 2, domain=("float32", "bfloat16", "float16"))
    assert pretty(E.eq(dtype, 1)) == "q.dtype == bfloat16"
    assert pretty(E.ne(dtype, 0)) == "q.dtype != float32"
    assert pretty(E.or_(E.eq(dtype, 0), E.eq(dtype, 2))) == "q.dtype in (float32, float16)"
    both = E.and_(E.le(big, 5), E.or_(E.le(m, 3), E.bool_symbol("flag")))
    assert pretty(both) == "K <= 5 and (M <= 3 or flag)"
    assert pretty(E.not_(E.bool_symbol("flag"))) == "not flag"


def test_very_large_terms_are_cut() -> None:
    term: Expr = E.symbol("K")
    for step in range(60):
        term = E.ite(E.le(term, step), term + step, term * 3)
    assert len(pretty(term)) < 5000 and "..." in pretty(term)
    many = E.and_(*(E.ne(E.symbol("K"), step) for step in range(500)))
    assert pretty(many).endswith("...")


def test_fresh_symbols_lose_their_number() -> None:
    assert pretty(E.fresh("extent")) == "extent"
    assert pretty(E.symbol("k'4")) == "k"


SYMBOLS = ("a", "b", "c")


def terms() -> st.SearchStrategy[object]:
    leaves = st.one_of(st.integers(-9, 9), st.sampled_from(SYMBOLS))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(st.sampled_from("+-*"), inner, inner),
            st.tuples(st.sampled_from(["//", "%", "ceil"]), inner, st.integers(1, 9)),
            st.tuples(st.sampled_from(["min", "max", "if"]), inner, inner),
        ),
        max_leaves=8,
    )


def build(term: object) -> Expr:
    if isinstance(term, int):
        return E.const(term)
    if isinstance(term, str):
        return E.symbol(term)
    assert isinstance(term, tuple)
    op, left, right = term[0], build(term[1]), build(term[2])
    table = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "//": lambda: left // right,
        "%": lambda: left % right,
        "ceil": lambda: E.ceildiv(left, right),
        "min": lambda: E.minimum(left, right),
        "max": lambda: E.maximum(left, right),
        "if": lambda: E.ite(E.le(left, right), right, left),
    }
    return table[op]()


def run(text: str, env: dict[str, int]) -> object:
    """The printed text as Python, with exact ceiling divisions."""
    scope: dict[str, object] = {name: Fraction(value) for name, value in env.items()}
    scope.update(ceil=math.ceil, min=min, max=max)
    return eval(text, {"__builtins__": {}}, scope)


@settings(max_examples=examples(300), deadline=None)
@given(terms(), terms(), st.tuples(*[st.integers(-20, 20)] * 3))
def test_the_text_means_the_term(first: object, second: object, values: tuple[int, ...]) -> None:
    E.fresh_context()
    env = dict(zip(SYMBOLS, values, strict=True))
    a, b = build(first), build(second)
    assume("..." not in pretty(a))
    assert run(pretty(a), env) == E.evaluate(a, env)
    conditions: list[Bool] = [E.le(a, b), E.eq(a, b), E.ne(a, b)]
    conditions.append(E.and_(E.lt(a, b), E.or_(E.eq(a, 1), E.not_(E.le(b, 2)))))
    for condition in conditions:
        if "..." in pretty(condition):
            continue  # cut
        assert run(pretty(condition), env) == E.evaluate(condition, env), pretty(condition)
