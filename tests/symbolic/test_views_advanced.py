"""Index arrays and masks of Beta 1."""

from __future__ import annotations

import pytest

from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic import views
from verifier.symbolic.values import IndexMask, IndexTensor, SliceValue

from .views_support import SPAN, Recorder, addresses, as_array, flat

ALL = SliceValue(None, None, None)


@pytest.fixture(autouse=True)
def _context() -> None:
    E.fresh_context()


def indexed(machine: Recorder, n: int, items: tuple[object, ...]) -> IndexTensor:
    found = views.index_subscript(machine, views.arange(machine, E.const(n)), items, SPAN)
    assert found is not None
    return found


def column(machine: Recorder, n: int) -> IndexTensor:
    return indexed(machine, n, (ALL, None))


def row(machine: Recorder, n: int) -> IndexTensor:
    return indexed(machine, n, (None, ALL))


def plus(machine: Recorder, op: str, a: object, b: object) -> IndexTensor:
    out = views.index_binop(machine, op, a, b, SPAN)
    assert isinstance(out, IndexTensor)
    return out


def test_a_gather_agrees_with_numpy() -> None:
    machine = Recorder("beta1")
    a = machine.allocate("a", (20, 3, 30), "float32", Buffer.HBM)
    i, j = column(machine, 4), row(machine, 5)
    rows = plus(machine, "+", plus(machine, "*", 2, i), 3)
    cols = plus(machine, "*", j, 4)
    view = views.subscript(machine, a, (rows, E.const(2), cols), SPAN, generation="beta1")
    import numpy as np

    n = flat(20, 3, 30)
    want = n[2 * np.arange(4)[:, None] + 3, 2, 4 * np.arange(5)[None, :]]
    assert (as_array(view) == want).all()
    assert machine.checks == []
    views.use(machine, view, None, SPAN)
    assert {check.rule for check in machine.checks} == {"slice-bounds"}
    assert all(check.predicate is E.TRUE for check in machine.checks)


def test_positions_without_an_array_have_extent_one() -> None:
    machine = Recorder("beta1")
    t = machine.allocate("t", (128, 8), "float32", Buffer.SBUF)
    view = views.subscript(machine, t, (column(machine, 128), E.const(3)), SPAN, generation="beta1")
    assert view.shape == (E.const(128), E.const(1))


def test_two_aranges_along_one_position_are_one_axis() -> None:
    machine = Recorder("beta1")
    a = machine.allocate("a", (9, 9), "float32", Buffer.HBM)
    view = views.subscript(
        machine, a, (column(machine, 4), column(machine, 4)), SPAN, generation="beta1"
    )
    assert as_array(view).tolist() == [[0], [10], [20], [30]]
    views.subscript(machine, a, (column(machine, 4), column(machine, 3)), SPAN, generation="beta1")
    assert machine.broken() == ["index-shapes-agree"]


@pytest.mark.parametrize("first", [1, 2, 3])
@pytest.mark.parametrize("second", [1, 2, 3])
@pytest.mark.parametrize("third", [1, 3])
def test_lengths_that_are_not_known_broadcast_as_in_numpy(
    first: int, second: int, third: int
) -> None:
    """Either of two may be the one of a single index: the other one is the length then."""
    import numpy as np

    machine = Recorder("beta1")
    names = ("n", "m", "k")
    sizes = dict(zip(names, (first, second, third), strict=True))
    arrays = [
        views.index_subscript(machine, views.arange(machine, E.symbol(name, 1)), (None, ALL), SPAN)
        for name in names
    ]
    total = plus(machine, "+", plus(machine, "+", arrays[0], arrays[1]), arrays[2])
    held = all(E.evaluate(check.predicate, sizes) for check in machine.checks)
    lines = [np.arange(size) for size in sizes.values()]
    try:
        want = lines[0] + lines[1] + lines[2]
    except ValueError:
        assert not held
        return
    assert held
    ((_, axis),) = total.axes
    assert E.evaluate(axis.size, sizes) == want.size
    numbers = [
        E.evaluate(total.expr, {**sizes, axis.symbol.name: place}) for place in range(want.size)
    ]
    assert numbers == want.tolist()


def test_bounds_wait_for_the_mask() -> None:
    machine = Recorder("beta1")
    n, m = E.symbol("n", 1), E.symbol("m", 0, None, E.Origin.LOOP)
    a = machine.allocate("a", (n, 64), "float32", Buffer.HBM)
    i = column(machine, 128)
    rows = plus(machine, "+", plus(machine, "*", m, 128), i)
    view = views.subscript(machine, a, (rows, row(machine, 64)), SPAN, generation="beta1")
    mask = views.index_binop(machine, "<", rows, n, SPAN)
    assert isinstance(mask, IndexMask) and machine.checks == []
    used = views.use(machine, view, mask, SPAN)
    assert used.bounds == () and used.mask is not E.TRUE
    first = machine.checks[0]
    env: dict[str, int | bool] = {"n": 200, "m": 1, view.axes[1].symbol.name: 0}
    for k in range(128):
        env[view.axes[0].symbol.name] = k
        if all(E.evaluate(part, env) for part in first.given):
            assert E.evaluate(first.predicate, env)
    del env["m"]
    machine.checks.clear()
    views.use(machine, view, None, SPAN)
    assert machine.checks[0].text == "128*m + 127 < n"
    assert machine.checks[0].predicate is E.lt(128 * m + 127, n)
    in_order = addresses(used, {"n": 200, "m": 1})
    assert len(in_order) == 72 * 64


def test_a_mask_of_another_arange_is_matched_by_position() -> None:
    machine = Recorder("beta1")
    a = machine.allocate("a", (128, 64), "float32", Buffer.HBM)
    view = views.subscript(
        machine, a, (column(machine, 128), row(machine, 64)), SPAN, generation="beta1"
    )
    mask = views.index_binop(machine, "<", column(machine, 128), 100, SPAN)
    assert isinstance(mask, IndexMask)
    assert len(addresses(views.use(machine, view, mask, SPAN))) == 100 * 64


def test_operand_masks_restrict_their_own_operand() -> None:
    machine = Recorder("beta1")
    lhs = machine.allocate("lhs", (128, 64), "float32", Buffer.SBUF)
    i, j, other = column(machine, 128), row(machine, 64), row(machine, 64)
    view = views.subscript(machine, lhs, (i, j), SPAN, generation="beta1")
    a = views.index_binop(machine, "<", j, 60, SPAN)
    b = views.index_binop(machine, "<", other, 50, SPAN)
    both = views.mask_binop(machine, "&", a, b, SPAN)
    assert both is not None
    assert len(addresses(views.use(machine, view, both, SPAN))) == 128 * 60


def test_grids_name_their_axes() -> None:
    machine = Recorder("beta1")
    grid = views.mgrid(machine, [(E.const(0), E.const(4)), (E.const(2), E.const(7))])
    p, x = views.grid_part(grid, "p"), views.grid_part(grid, "x")
    assert p is not None and x is not None and views.grid_part(grid, "y") is None
    a = machine.allocate("a", (4, 10), "float32", Buffer.HBM)
    view = views.subscript(machine, a, (p, x), SPAN, generation="beta1")
    assert (as_array(view) == flat(4, 10)[:, 2:7]).all()


def test_mixing_slices_and_arrays() -> None:
    machine = Recorder("beta1")
    a = machine.allocate("a", (4, 10), "float32", Buffer.HBM)
    view = views.subscript(
        machine,
        a,
        (column(machine, 4), SliceValue(E.const(2), E.const(5), None)),
        SPAN,
        generation="beta1",
    )
    assert machine.broken() == ["beta1-mixed-indexing"] and view.rank == 3
    views.subscript(machine, a, views.arange(machine, E.const(4)), SPAN, generation="beta1")
    assert machine.broken()[-1] == "beta1-index-rank"


@pytest.mark.parametrize("which", ["rows", "columns", "both"])
def test_each_index_array_has_two_axes(which: str) -> None:
    machine = Recorder("beta1")
    a = machine.allocate("a", (3, 4, 10), "float32", Buffer.HBM)
    rows = views.arange(machine, E.const(4)) if which != "columns" else column(machine, 4)
    columns = views.arange(machine, E.const(10)) if which != "rows" else row(machine, 10)
    view = views.subscript(machine, a, (E.const(2), rows, columns), SPAN, generation="beta1")
    assert machine.broken() == ["beta1-index-rank"]
    assert (as_array(view) == flat(3, 4, 10)[2]).all()
