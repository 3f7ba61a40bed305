"""What is left without some integers means the same, against trying every value."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sweeps import examples
from verifier.solver.elimination import exists
from verifier.symbolic import expr as E
from verifier.symbolic.pretty import pretty

from . import systems

relaxed = settings(
    max_examples=examples(200),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
_PRIVATE = ("i", "t")


def _symbols() -> list[E.Sym]:
    return [s for name in _PRIVATE for s in systems.symbol(name).free()]


def _least(factor: E.Expr) -> bool:
    lo, _ = E.bounds(factor)
    return lo is not None and lo >= 1


def _is_there(formula: E.Bool, given: Mapping[str, int | bool]) -> bool:
    """Whether some values of the private symbols satisfy a formula."""
    ranges = [range(systems.BOX[n][0], systems.BOX[n][1] + 1) for n in _PRIVATE]
    return any(
        bool(E.evaluate(formula, {**given, **dict(zip(_PRIVATE, values, strict=True))}))
        for values in itertools.product(*ranges)
    )


@relaxed
@given(st.data())
def test_nothing_is_added_and_nothing_lost(data: st.DataObject) -> None:
    systems.setup()
    formula = E.and_(*data.draw(st.lists(systems.formulas(), min_size=1, max_size=3)))
    found = exists(formula, _symbols(), _least)
    if found is None:
        return
    for case in found:
        assert not {s.name for s in case.free()} & {*_PRIVATE}
    outer = [n for n in systems.BOX if n not in _PRIVATE]
    ranges = [range(systems.BOX[n][0], systems.BOX[n][1] + 1) for n in outer]
    for values in itertools.product(*ranges):
        for flag in (False, True):
            given: dict[str, int | bool] = {**dict(zip(outer, values, strict=True)), "flag": flag}
            said = any(bool(E.evaluate(case, given)) for case in found)
            assert said == _is_there(formula, given)


def test_a_bound_at_the_last_iteration() -> None:
    E.fresh_context()
    rows, size = (E.symbol(n, 1, None, E.Origin.INPUT) for n in ("rows", "size"))
    trip = E.symbol("i", 0, None, E.Origin.LOOP)
    broken = E.and_(E.lt(trip, rows // 128), E.gt(trip * 128 + 128, size))
    found = exists(broken, trip.free(), _least)
    assert found is not None
    assert [pretty(case) for case in found] == ["rows // 128 >= 1 and size < 128*(rows // 128)"]


def test_rows_that_no_tile_covers() -> None:
    E.fresh_context()
    rows = E.symbol("rows", 1, None, E.Origin.INPUT)
    row = E.symbol("row", 0, None, E.Origin.POINT)
    broken = E.and_(E.lt(row, rows), E.ge(row, rows // 128 * 128))
    found = exists(broken, row.free(), _least)
    assert found is not None
    assert [pretty(case) for case in found] == ["rows % 128 >= 1"]


def test_a_product_of_what_is_eliminated_has_no_answer() -> None:
    E.fresh_context()
    size = E.symbol("size", 1, None, E.Origin.INPUT)
    i, j = (E.symbol(n, 0, None, E.Origin.LOOP) for n in ("i", "j"))
    assert exists(E.ge(i * j * i, size), [*i.free(), *j.free()], _least) is None
