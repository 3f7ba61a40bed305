"""Plainer words say the same: for all small sizes, of what is written and of what is drawn."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.solver import systems
from tests.sweeps import examples
from verifier.engine.conditions import Item, Normal, of_dtypes
from verifier.engine.evaluable import is_met
from verifier.engine.plain import each_divides, of_each_divisor, resolved, unrounded
from verifier.engine.remainders import divides
from verifier.hardware.dtypes import DTYPES, ITEMSIZE
from verifier.solver.solver import Solver
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.pretty import python

relaxed = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def _halves(h: Expr, w: Expr) -> Bool:
    return E.eq(h * w, 4 * (h // 2) * (w // 2))


def _least(h: Expr, w: Expr) -> Bool:
    return E.and_(E.le((15 - h) % w, 14), E.or_(E.le(w, 15), E.lt(h, w)))


def _tiles(h: Expr, w: Expr) -> Bool:
    up, down = E.ceildiv(h, 6), E.ceildiv(w, 10)
    return E.and_(
        E.le(w, 60),
        E.lt((6 * up + 118) // 125, down),
        E.or_(E.le(6 * up + 6, w), E.le(w, 9)),
        E.le(20 * down + 5 * down // 6, up + 19),
    )


def _first_that_divides(h: Expr, w: Expr) -> Bool:
    few = E.ite(E.eq(h % 6, 0), 6, 3)
    return E.eq(h % E.ite(E.eq(h % 12, 0), 12, few), 0)


def _at_least(number: Expr, least: int) -> Expr:
    """The number from some least one on, and one below it."""
    return E.ite(E.ge(number, least), number, 1)


def _whole_or_all(h: Expr, w: Expr) -> Bool:
    parts = E.lt((h + 15 - w) // 16, E.ceildiv(h, 16))
    return E.and_(parts, E.or_(E.ge(w, 16), E.le(h, 15)))


def _both_sides(h: Expr, w: Expr) -> Bool:
    less = E.le(3 * h + w, 40)
    return E.and_(E.or_(E.le(w, 5), less), E.or_(E.ge(w, 6), less))


@pytest.mark.parametrize(
    ("said", "texts"),
    [
        (_halves, ["h % 2 == 0", "w % 2 == 0"]),
        (lambda h, w: E.le(h * w * 3, 45 * (h // 3) * (w // 5)), ["h % 3 == 0", "w % 5 == 0"]),
        (lambda h, w: E.eq(3 * w % 32, 0), ["w % 32 == 0"]),
        (lambda h, w: E.ne((6 * w - 2) % 16, 0), ["3*w % 8 != 1"]),
        (lambda h, w: E.eq((h + 4 - 4 * w) % (4 * w), 0), ["(h + 4) % (4*w) == 0"]),
        (lambda h, w: E.eq(E.const(-9) % w, 0), ["9 % w == 0"]),
        (lambda h, w: E.le(-(-h * w // 32), 3), ["h*w <= 96"]),
        (lambda h, w: E.or_(E.eq(h // 8, 0), E.eq(w, 2)), ["h <= 7 or w == 2"]),
        (lambda h, w: E.or_(E.ge(h // w, 1), E.eq(w, 2)), ["w <= h or w == 2"]),
        (_least, ["w <= 15 or h <= 15"]),
        (_tiles, ["w <= 9", "h <= 6"]),
        (lambda h, w: E.le(E.ceildiv(h, 12) + E.ceildiv(w, 5), 2), ["h <= 12", "w <= 5"]),
        (_first_that_divides, ["h % 3 == 0"]),
        (lambda h, w: E.le(w * (h // _at_least(w, 2)), 15), ["w*(h // w) <= 15"]),
        (lambda h, w: E.le(_at_least(h // 4, 1), w), ["h // 4 <= w"]),
        (_whole_or_all, ["w >= 16 or h <= w"]),
        (lambda h, w: E.le((-h) % w, 0), ["h % w == 0"]),
        (lambda h, w: E.ge((h - 2) % w, 1), ["(h - 2) % w != 0"]),
        (_both_sides, ["3*h + w <= 40"]),
        (lambda h, w: E.or_(E.eq(w, 1), E.and_(E.ge(w, 2), E.eq(h, 1))), ["w == 1 or h == 1"]),
    ],
)
def test_plain_words(said: Callable[[Expr, Expr], Bool], texts: list[str]) -> None:
    E.fresh_context()
    condition = said(E.symbol("h", 1), E.symbol("w", 1))
    form = [i.condition for i in Normal((), Solver()).form([Item(condition, (0,))])]
    assert [python(one) for one in form] == texts
    for h, w in itertools.product(range(1, 34), repeat=2):
        met = all(E.evaluate(one, {"h": h, "w": w}) for one in form)
        assert met == E.evaluate(condition, {"h": h, "w": w})


def _one_by_one(conditions: Iterable[Bool]) -> Iterable[tuple[Bool, Bool]]:
    for condition in conditions:
        yield condition, unrounded(condition)
        yield condition, of_each_divisor(condition)
        each = each_divides(condition)
        if each is not None:
            yield condition, each
    written = list(conditions)
    yield E.and_(*written), E.and_(*(one for one, _ in resolved(written)))


@relaxed
@given(st.data())
def test_what_needs_no_proof_says_the_same(data: st.DataObject) -> None:
    systems.setup()
    m, n, s = (systems.symbol(name) for name in ("m", "n", "s"))
    number = data.draw(systems.expressions())
    den = data.draw(st.sampled_from([E.const(2), E.const(5), m, n, s + 1]))
    test = data.draw(systems.comparisons())
    least = data.draw(st.integers(-3, 4))
    compare = data.draw(st.sampled_from([E.le, E.ge, E.eq, E.ne]))
    bound = compare(number // den, least)
    chosen = E.eq(E.mod(number, E.ite(test, 4, 3)), 0)
    shares = compare((m + 1) * (n + 1), 6 * ((m + 1) // 2) * ((n + 1) // 3))
    sided = [E.or_(test, bound), E.or_(bound, E.not_(test)), chosen, shares]
    for before, after in _one_by_one(sided):
        for env in systems.assignments([before, after]):
            assert is_met(before, env) == is_met(after, env), (before, after, env)
    before, after = E.eq(E.mod(number * 6 + least, 9), 0), divides(number * 6 + least, E.const(9))
    for env in systems.assignments([before, after]):
        assert E.evaluate(before, env) == E.evaluate(after, env)


def test_conditions_on_dtypes_are_plain_beside_sizes() -> None:
    E.fresh_context()
    names = tuple(DTYPES)
    first, second = (E.symbol(f"{n}.dtype", 0, len(names) - 1, domain=names) for n in "xy")
    mixed, n, b = E.bool_symbol("mixed"), E.symbol("n", 1), E.symbol("b", 0)
    none = (E.eq(n // 512, 0), E.le(n // b, 0))
    few = (0, 3)
    conditions = [
        E.or_(*none, *(E.eq(one, v) for v in few), E.and_(*(E.ne(other, v) for v in few)))
        for one, other in ((first, second), (second, first))
    ]
    chosen = E.ite(mixed, 0, first)
    wide = E.or_(*(E.eq(chosen, v) for v in few))
    conditions += [E.or_(E.ge(n, 2), wide), E.or_(E.le(n, 1), wide)]
    items = [Item(condition, (position,)) for position, condition in enumerate(conditions)]
    form = of_dtypes(Normal((E.ge(b, 1),), Solver()).met(items))
    assert [python(item.condition) for item in form] == [
        "(x.dtype in (float32, tfloat32)) == (y.dtype in (float32, tfloat32)) or n <= 511 or n < b",
        "(float32 if mixed else x.dtype) in (float32, tfloat32)",
    ]
    assert [item.of for item in form] == [(0, 1), (2, 3)]
    assert python(E.ne(chosen, 3)) == "(float32 if mixed else x.dtype) != tfloat32"


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (
            lambda h, w, k, size: E.le((w * (k + 1) + 1) * size, k * size + 212992),
            "(w + w*k + 1 - k)*x.dtype.itemsize <= 212992",
        ),
        (
            lambda h, w, k, size: E.le(h * w * (3 * k * size + 32), 32 * h + 32 * w + 70965),
            "3*x.dtype.itemsize*h*w*k + 32*(h - 1)*(w - 1) <= 70997",
        ),
        (
            lambda h, w, k, size: E.le(h * size + 60 * w, 12 * w * k + 12 * k + 77),
            "60*w + x.dtype.itemsize*h <= 12*k + 12*w*k + 77",
        ),
    ],
)
def test_sums_are_told_as_products(said: Callable[..., Bool], text: str) -> None:
    E.fresh_context()
    names = tuple(DTYPES)
    dtype = E.symbol("x.dtype", 0, len(names) - 1, domain=names)
    size = E.table("itemsize", dtype, ITEMSIZE)
    condition = said(*(E.symbol(name, 1) for name in "hwk"), size)
    assert python(condition) == text
    told = text.replace("x.dtype.itemsize", "size")
    for h, w, k in itertools.product((1, 2, 3, 7, 40, 300, 9000), repeat=3):
        for code in range(4):
            met = E.evaluate(condition, {"h": h, "w": w, "k": k, "x.dtype": code})
            assert met == eval(told, {"h": h, "w": w, "k": k, "size": ITEMSIZE[code]})


def test_what_types_take_is_a_number_where_others_name_them() -> None:
    E.fresh_context()
    names = tuple(DTYPES)
    first, second = (E.symbol(f"{n}.dtype", 0, len(names) - 1, domain=names) for n in "xy")
    one, other = (E.table("itemsize", dtype, ITEMSIZE) for dtype in (first, second))
    n, m = E.symbol("n", 1), E.symbol("m", 1)
    narrow = E.or_(E.eq(first, 1), E.eq(first, 2))
    limit = E.le(n * one + m * other, 1000)
    items = [Item(condition, (p,)) for p, condition in enumerate((narrow, limit))]
    form = [item.condition for item in Normal((), Solver()).form(items)]
    assert [python(one) for one in form] == [
        "x.dtype in (bfloat16, float16)",
        "2*n + y.dtype.itemsize*m <= 1000",
    ]
    only = [Item(E.le(one * n, 8 * n), (0,)), Item(E.le(one, 2), (1,))]
    assert [python(i.condition) for i in Normal((narrow,), Solver()).form(only)] == []
    assert [python(i.condition) for i in Normal((), Solver()).form([items[1]])] == [
        "x.dtype.itemsize*n + y.dtype.itemsize*m <= 1000"
    ]
    for x, y, rows, columns in itertools.product(range(19), range(19), (1, 60, 249), (1, 60, 249)):
        env = {"x.dtype": x, "y.dtype": y, "n": rows, "m": columns}
        met = E.evaluate(narrow, env) and E.evaluate(limit, env)
        assert met == all(E.evaluate(condition, env) for condition in form)


def test_what_sizes_come_to_together_is_found_beside_other_sizes() -> None:
    E.fresh_context()
    h, w, k, m = (E.symbol(name, 1) for name in "hwkm")
    capacity = E.le(E.ceildiv(w, 16) * k * (m + 3), 4096)
    items = [Item(_whole_or_all(h, w), (0,)), Item(capacity, (1,))]
    assert [python(i.condition) for i in Normal((), Solver()).form(items)] == [
        "(-(-w // 16))*(3*k + k*m) <= 4096",
        "w >= 16 or h <= w",
    ]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (lambda none, true, few: E.or_(none, E.not_(true), few), "not bool(x) or n <= 5"),
        (lambda none, true, few: E.or_(few, E.and_(E.not_(none), true)), "n <= 5 or bool(x)"),
        (lambda none, true, few: E.or_(none, true), "x is None or bool(x)"),
        (lambda none, true, few: E.and_(none, E.not_(true)), "x is None and not bool(x)"),
    ],
)
def test_none_is_not_true(said: Callable[..., Bool], text: str) -> None:
    E.fresh_context()
    condition = said(
        E.bool_symbol("x is None"), E.bool_symbol("bool(x)"), E.le(E.symbol("n", 1), 5)
    )
    assert python(condition) == text
    for x, n in itertools.product((None, 0, 3), (5, 6)):
        env = {"x is None": x is None, "bool(x)": bool(x), "n": n}
        assert E.evaluate(condition, env) == eval(text)


def test_types_asked_for_where_something_is_true_are_said_once() -> None:
    E.fresh_context()
    names = tuple(DTYPES)
    dtype = E.symbol("y.dtype", 0, len(names) - 1, domain=names)
    none, true = E.bool_symbol("x is None"), E.bool_symbol("bool(x)")
    few = E.or_(E.eq(dtype, 0), E.eq(dtype, 3))
    items = [Item(E.or_(E.not_(none), few), (0,)), Item(E.or_(true, few), (1,))]
    known = E.or_(E.not_(true), E.not_(none))
    assert [i.condition for i in of_dtypes(Normal((known,), Solver()).met(items))] == [
        items[1].condition
    ]
    assert len(of_dtypes(Normal((), Solver()).met(items))) == 2
