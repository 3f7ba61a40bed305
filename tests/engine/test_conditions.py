"""Sets of conditions keep their meaning, and none follows from the others."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.solver import systems
from tests.sweeps import examples
from verifier.engine.conditions import Item, Normal
from verifier.engine.evaluable import is_met
from verifier.engine.forms import entails
from verifier.hardware.dtypes import DTYPES
from verifier.solver.solver import Solver
from verifier.symbolic import expr as E
from verifier.symbolic.pretty import python

relaxed = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def _of_inputs(formula: E.Bool) -> bool:
    return all(s.origin is E.Origin.INPUT for s in formula.free())


@relaxed
@given(st.data())
def test_the_form_says_the_same_of_what_is_admitted(data: st.DataObject) -> None:
    systems.setup()
    known = data.draw(st.lists(systems.formulas().filter(_of_inputs), max_size=2))
    wanted = data.draw(st.lists(systems.formulas().filter(_of_inputs), min_size=1, max_size=4))
    items = [Item(condition, (position,)) for position, condition in enumerate(wanted)]
    form = [item.condition for item in Normal(known, Solver()).form(items)]
    before, after = E.and_(*wanted), E.and_(*form)
    for env in systems.assignments([*known, before, after]):
        if all(E.evaluate(fact, env) for fact in known):
            assert E.evaluate(before, env) == E.evaluate(after, env)


@relaxed
@given(st.data())
def test_no_condition_follows_from_the_others(data: st.DataObject) -> None:
    systems.setup()
    wanted = data.draw(st.lists(systems.formulas().filter(_of_inputs), min_size=2, max_size=4))
    items = [Item(condition, (position,)) for position, condition in enumerate(wanted)]
    form = [item.condition for item in Normal((), Solver()).form(items)]
    if any(condition is E.FALSE for condition in form):
        return
    for condition in form:
        others = tuple(other for other in form if other is not condition)
        assert systems.brute_force(others, condition) is not None


def _read(*conditions: E.Bool, known: tuple[E.Bool, ...] = ()) -> list[str]:
    items = [Item(condition, (position,)) for position, condition in enumerate(conditions)]
    return [python(item.condition) for item in Normal(known, Solver()).form(items)]


def test_what_somebody_would_write() -> None:
    E.fresh_context()
    rows, columns, other = (E.symbol(n, 1) for n in ("rows", "columns", "other"))
    tiles = rows // 128
    assert _read(E.le(rows, tiles * 128)) == ["rows % 128 == 0"]
    assert _read(E.or_(E.le(tiles, 0), E.le(tiles * 128, other))) == ["128*(rows // 128) <= other"]
    assert _read(E.le(rows, tiles * 128), E.le(tiles * 128, other)) == [
        "rows % 128 == 0",
        "rows <= other",
    ]
    assert _read(E.le(rows, other), E.le(other, rows)) == ["rows == other"]
    assert _read(E.le(rows * 4 + 8, 1000)) == ["rows <= 248"]
    assert _read(E.le(columns, 64), known=(E.eq(columns, rows), E.le(rows, 60))) == []


def test_what_one_condition_says_of_another() -> None:
    E.fresh_context()
    n, m, k = E.symbol("n", 1), E.symbol("m", 1), E.symbol("k", 0)
    tiles = n // 128
    assert entails(E.le(n * 14 + tiles * 512, 4000), E.le(n * 12 + tiles * 256, 4096))
    assert not entails(E.le(n * 12 + tiles * 256, 4096), E.le(n * 14 + tiles * 512, 4000))
    assert entails(E.or_(E.le(n, 60), E.le(m, 8)), E.or_(E.le(m, 9), E.le(n, 61)))
    assert not entails(E.or_(E.le(n, 60), E.le(m, 8)), E.le(n, 61))
    assert entails(E.and_(E.le(n, 60), E.ge(m, 8)), E.and_(E.le(n, 61), E.ge(m, 7)))
    assert not entails(E.le(n + m // k, 9), E.le(m // k, 9))  # which has no value at k == 0


def test_comparisons_of_products_lose_what_they_share() -> None:
    E.fresh_context()
    rows, columns, other = (E.symbol(n, 1) for n in ("rows", "columns", "other"))
    steps = E.symbol("steps", 0)
    assert _read(E.eq(rows * columns, rows * other)) == ["columns == other"]
    assert _read(E.le(rows * rows * columns, rows * rows * other)) == ["columns <= other"]
    assert _read(E.eq(rows * columns, rows * 64)) == ["columns == 64"]
    assert _read(E.eq(steps * rows, steps * other)) == ["rows*steps == other*steps"]
    assert _read(E.eq(steps * rows, steps * other), known=(E.ge(steps, 1),)) == ["rows == other"]


def test_alternatives_are_said_plainly() -> None:
    E.fresh_context()
    rows, other = E.symbol("rows", 1), E.symbol("other", 1)
    padded = E.ge((rows + 127) % 128, 127)
    assert _read(E.or_(E.ge(other, 300), padded)) == ["other >= 300 or rows % 128 == 0"]


def test_an_extremum_that_is_settled_is_its_argument() -> None:
    E.fresh_context()
    rows = E.symbol("rows", 1)
    covered = E.le(rows, E.maximum(rows // 128, 2) * 128)
    assert _read(covered, E.ge(rows, 256)) == ["rows % 128 == 0", "rows >= 256"]


def test_bounds_of_multiples_are_multiples() -> None:
    E.fresh_context()
    rows = E.symbol("rows", 1)
    by_four = E.eq(rows % 4, 0)
    assert _read(by_four, E.le(rows, 515)) == ["rows % 4 == 0", "rows <= 512"]
    assert _read(E.ge(rows, 250), known=(by_four, E.eq(rows % 6, 0))) == ["rows >= 252"]
    assert _read(E.le(rows, 514), known=(by_four, E.eq(rows % 6, 0))) == ["rows <= 504"]
    assert _read(E.le(rows, 512), E.ge(rows, 256), known=(by_four,)) == [
        "rows <= 512",
        "rows >= 256",
    ]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        # of quotients by numbers, what comes again
        (lambda r: E.le(-(-r // 112), (r + 110) // 112), "rows % 112 != 1"),
        (lambda r: E.eq(-(-r // 96), 2 * ((r + 95) // 192)), "rows % 192 >= 97 or rows % 192 == 0"),
        (lambda r: E.eq(-(-r // 64), (r + 39) // 64 + 1), "rows % 64 <= 24 and rows % 64 != 0"),
        (lambda r: E.le(r // 24, 4 * (r // 96)), "rows % 96 <= 23"),
        (lambda r: E.ge((r * 7) // 5, 3), "rows >= 3"),  # no period
        # each case of an extremum
        (lambda r: E.le(E.minimum(128, r), (r + 127) % 128 + 1), "rows % 128 == 0 or rows <= 128"),
        (lambda r: E.le(-(-r // 112), E.maximum(1, r // 112)), "rows <= 112 or rows % 112 == 0"),
        # what is at most the least that it may be
        (lambda r: E.le(r, 1), "rows == 1"),
        (lambda r: E.or_(E.eq(r, 2), E.eq(r, 4), E.eq(r, 32)), "rows in (2, 4, 32)"),
    ],
)
def test_what_quotients_and_extrema_come_to(said: Callable[[E.Expr], E.Bool], text: str) -> None:
    E.fresh_context()
    condition = said(E.symbol("rows", 1))
    assert " and ".join(_read(condition)) == text
    for rows in range(1, 500):
        assert bool(E.evaluate(condition, {"rows": rows})) == eval(text)


def test_shares_and_remainders_beside_a_divisor_that_is_positive() -> None:
    E.fresh_context()
    rows, parts = E.symbol("rows", 1), E.symbol("parts", 0)
    there, whole = E.ge(parts, 1), E.eq(rows % parts, 0)
    assert _read(there, E.le(parts, (rows - 1) % parts + 1)) == ["rows % parts == 0", "parts >= 1"]
    assert _read(whole, E.lt(rows, 129 * parts), known=(there,))[-1] == "rows <= 128*parts"
    assert _read(there, whole, E.le(rows // parts, 128))[-1] == "rows // parts <= 128"
    there = E.and_(there, E.le(parts, 70))
    assert _read(whole, E.le(rows // parts, 128), known=(there,))[-1] == "rows <= 128*parts"
    assert _read(E.ge(rows * parts, 1)) == ["parts >= 1"]
    assert _read(E.lt(rows // parts, rows), known=(there,)) == ["parts >= 2"]


def test_bounds_of_quotients_are_bounds_of_what_is_divided() -> None:
    E.fresh_context()
    rows, parts, other = E.symbol("rows", 1), E.symbol("parts", 0), E.symbol("other", 1)
    whole = E.ge((parts - rows) // (parts - 1), 1)
    assert _read(whole, E.ne(parts, 1)) == ["parts == 0 or rows == 1", "parts != 1"]
    assert _read(whole, E.ge(parts, 2)) == ["rows == 1", "parts >= 2"]
    assert _read(E.ge(rows // other, 3)) == ["3*other <= rows"]
    assert _read(E.le(rows // other, 3)) == ["rows < 4*other"]


@relaxed
@given(st.data())
def test_quotients_by_sizes_of_either_sign_keep_their_meaning(data: st.DataObject) -> None:
    systems.setup()
    m, n, s = (systems.symbol(name) for name in ("m", "n", "s"))
    den = data.draw(st.sampled_from([m, n, s, m - 2, s - m, 1 - n, m * s]))
    num = data.draw(systems.expressions())
    bound = data.draw(st.sampled_from([E.le, E.ge]))(num // den, data.draw(st.integers(-3, 4)))
    if not _of_inputs(bound):
        return
    wanted = [E.ne(den, 0), bound]
    items = [Item(condition, (position,)) for position, condition in enumerate(wanted)]
    form = [item.condition for item in Normal((), Solver()).form(items)]
    for env in systems.assignments([*wanted, *form]):
        before = all(E.evaluate(condition, env) for condition in wanted)  # the zero first
        try:
            after = all(E.evaluate(condition, env) for condition in form)
        except E.EvaluationError:
            after = False
        assert before == after


def test_a_choice_that_is_the_size_of_an_element_is_that() -> None:
    E.fresh_context()
    names = tuple(DTYPES)
    dtype = E.symbol("x.dtype", 0, len(names) - 1, domain=names)
    code = {name: position for position, name in enumerate(names)}
    bytes_ = E.ite(E.eq(dtype, code["float32"]), 4, 2)
    few = E.or_(*(E.eq(dtype, code[name]) for name in ("float32", "bfloat16", "float16")))
    rows = E.symbol("rows", 1)
    limit = E.le(rows * bytes_, 1000)
    assert _read(limit, known=(few,)) == ["rows*x.dtype.itemsize <= 1000"]
    assert _read(limit) == ["(4 if x.dtype == float32 else 2)*rows <= 1000"]


def test_a_size_that_only_one_number_is_left_of_is_that_number() -> None:
    E.fresh_context()
    d, n = E.symbol("d", lo=1), E.symbol("n", lo=1)
    known = (E.le(d, 128),)
    capacity = E.le(1408 * d + n, 1_180_160)
    assert _read(E.ge(d, 128), capacity, known=known) == ["d == 128", "n <= 999936"]
    assert _read(E.ge(d, 127), capacity, known=known) != ["d == 128", "n <= 999936"]
    assert _read(E.ge(d, 128), E.le(d, n), known=known) == ["d == 128", "n >= 128"]


def test_a_choice_that_comes_to_one_side_beside_the_others_is_that_side() -> None:
    """What instructions broadcast has the length of the one that is not one element long."""
    E.fresh_context()
    a, b = E.symbol("a", lo=1), E.symbol("b", lo=1)
    wide = E.ite(E.eq(a, 1), b, a)
    alike = E.or_(E.eq(a, b), E.eq(b, 1))
    assert _read(alike, E.le(3 * wide + b, 96)) == ["3*a + b <= 96", "a == b or b == 1"]
    either = E.or_(E.eq(a, b), E.eq(a, 1), E.eq(b, 1))
    assert _read(E.le(wide, 96), known=(either,)) == ["a <= 96", "b <= 96"]
    assert _read(E.le(wide, 96)) == ["(b if a == 1 else a) <= 96"]


def test_a_bound_of_what_a_flag_chooses_is_the_flag() -> None:
    E.fresh_context()
    early = E.bool_symbol("early")
    assert _read(E.le(E.ite(E.not_(early), 112_000, 0), 100_992)) == ["early"]
    assert _read(E.le(E.ite(early, 112_000, 0), 100_992)) == ["not early"]


@relaxed
@given(st.data())
def test_what_divides_in_one_alternative_takes_no_input_from_the_others(
    data: st.DataObject,
) -> None:
    """Alternatives one of which divides by what another one says to be zero."""
    systems.setup()
    m, n, s = (systems.symbol(name) for name in ("m", "n", "s"))
    den = data.draw(st.sampled_from([m - n, s - m, m - 2, 2 * n - s]))
    num = data.draw(systems.expressions())
    bound = data.draw(st.sampled_from([E.le, E.ge]))(num // den, data.draw(st.integers(-3, 4)))
    guard = data.draw(st.sampled_from([E.le(den, 0), E.ge(den, 0), E.eq(den, 0)]))
    wanted = [E.or_(guard, bound), *data.draw(st.lists(systems.formulas(), max_size=1))]
    if not all(map(_of_inputs, wanted)):
        return
    items = [Item(condition, (position,)) for position, condition in enumerate(wanted)]
    form = [item.condition for item in Normal((), Solver()).form(items)]
    for env in systems.assignments([*wanted, *form]):
        before = all(is_met(condition, env) for condition in wanted)
        assert before == all(is_met(condition, env) for condition in form)


def test_a_product_that_is_zero_is_the_factor_that_may_be() -> None:
    E.fresh_context()
    rows, first, width, other = (E.symbol(name, 1) for name in ("rows", "first", "width", "other"))
    same = E.eq((rows - first) * (width - other), 0)
    assert _read(same, known=(E.lt(first, rows),)) == ["width == other"]
    assert _read(same, known=(E.gt(first, rows),)) == ["width == other"]
    fits = E.le((rows - first) * (width - other), 0)
    assert _read(fits, known=(E.lt(first, rows),)) == ["width <= other"]
    assert _read(fits, known=(E.gt(first, rows),)) == ["other <= width"]
