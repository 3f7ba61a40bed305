"""What a condition is told in means the same as the condition, against trying every value."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.solver import systems
from tests.sweeps import examples
from verifier.engine.wording import divided, worded
from verifier.symbolic import expr as E

relaxed = settings(
    max_examples=examples(200),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def _of_inputs(formula: E.Bool) -> bool:
    return all(s.origin is E.Origin.INPUT for s in formula.free())


@st.composite
def _bounds(draw: st.DrawFn) -> E.Bool:
    """A bound of products and sizes, with factors that have something in common."""
    m, n, s = (systems.symbol(name) for name in ("m", "n", "s"))
    unit = draw(st.sampled_from([1, 2, 3, 4, 6]))
    total = E.const(draw(st.integers(-40, 40)))
    for product in (m, n, s, m * n, m * s, n * m * s):
        total = total + product * draw(st.integers(-7, 7)) * draw(st.sampled_from([1, unit]))
    return E.le(total, 0)


@relaxed
@given(st.data())
def test_bounds_in_larger_units_are_the_same_bounds(data: st.DataObject) -> None:
    systems.setup()
    bound = data.draw(st.one_of(_bounds(), systems.formulas().filter(_of_inputs)))
    step = st.sampled_from([2, 3, 4])
    known = [
        E.eq(systems.symbol(n) % data.draw(step), 0) for n in ("m", "n") if data.draw(st.booleans())
    ]
    told = divided(bound, known)
    for env in systems.assignments([*known, bound]):
        if all(E.evaluate(fact, env) for fact in known):
            assert E.evaluate(told, env) == E.evaluate(bound, env)


@relaxed
@given(st.data())
def test_what_is_told_is_python_that_means_the_same(data: st.DataObject) -> None:
    systems.setup()
    bound = data.draw(st.one_of(_bounds(), systems.formulas().filter(_of_inputs)))
    code = compile(worded(bound, (), {}), "<condition>", "eval")
    for env in systems.assignments([bound]):
        values = {**env, "min": min, "max": max}
        assert bool(eval(code, {"__builtins__": {}}, values)) == E.evaluate(bound, env)


def _told(bound: E.Bool, *known: E.Bool) -> str:
    return worded(bound, known, {})


def test_bytes_are_counted_as_somebody_would() -> None:
    E.fresh_context()
    n, d, size = (E.symbol(name, 1) for name in ("n", "d", "size"))
    total = n * 641 + n * size * 64 + n * d * 64
    assert _told(E.le(total, 64000), E.eq(n % 128, 0)) == "n*(d + size + 10) + n // 64 <= 1000"
    assert _told(E.le(total, 64001), E.eq(n % 64, 0)) == "n*(d + size + 10) + n // 64 <= 1000"
    assert _told(E.le(total, 64000)) == "n*(64*d + 64*size + 641) <= 64000"
    assert _told(E.le(total, 64000), E.eq(n % 32, 0)) == "n*(64*d + 64*size + 641) <= 64000"
    assert _told(E.le(n * d * 2 + d, 7), E.eq(d % 2, 0)) == "d // 2 + n*d <= 3"


def test_products_that_share_a_size_are_one() -> None:
    E.fresh_context()
    rows, columns, other = (E.symbol(name, 1) for name in ("rows", "columns", "other"))
    bound = E.le(
        rows * columns * 2 + rows * other * 4 + columns * other,
        rows * 6 + rows * columns * columns + 7,
    )
    assert (
        _told(bound) == "columns*(2*rows + other) + 4*rows*other <= rows*(columns*columns + 6) + 7"
    )
    assert _told(E.le(rows * columns + other, 9)) == "other + rows*columns <= 9"
