"""Reshapes, access patterns and view methods, against NumPy on tensors of positions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sweeps import examples
from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic import views
from verifier.symbolic.expr import Expr
from verifier.symbolic.tensors import DType, View
from verifier.symbolic.values import Register, SliceValue

from .views_support import SPAN, Recorder, addresses, as_array, flat


@pytest.fixture(autouse=True)
def _context() -> None:
    E.fresh_context()


def c(*sizes: int) -> tuple[Expr, ...]:
    return tuple(E.const(size) for size in sizes)


def pair(step: int, count: int) -> tuple[Expr, Expr]:
    return E.const(step), E.const(count)


def rows(machine: Recorder, view: View, *bounds: tuple[int, int] | None) -> View:
    index = tuple(
        SliceValue(None, None, None)
        if b is None
        else SliceValue(E.const(b[0]), E.const(b[1]), None)
        for b in bounds
    )
    return views.subscript(machine, view, index, SPAN, generation="0.6")


def positions(view: View, env: dict[str, int] | None = None) -> list[int]:
    """Positions in row-major order of the elements, in the flat frame."""
    return list(addresses(views.linear_view(view), env).values())


def test_a_whole_tensor_gets_a_new_frame() -> None:
    machine = Recorder()
    a = machine.allocate("a", (6, 4, 10), "float32", Buffer.HBM)
    out = views.reshape(machine, a, c(24, -1), SPAN)
    assert out.exact and out.frame == c(24, 10)
    assert (as_array(out) == flat(24, 10)).all()
    t = machine.allocate("t", (128, 4, 6), "float32", Buffer.SBUF)
    flat_tile = views.reshape(machine, t, c(128, 24), SPAN)
    assert flat_tile.frame_partition == 0 and flat_tile.frame == c(128, 24)
    assert machine.broken() == []


def test_wrong_counts_and_partitions() -> None:
    machine = Recorder()
    t = machine.allocate("t", (64, 8), "float32", Buffer.SBUF)
    views.reshape(machine, t, c(32, 16), SPAN)
    views.reshape(machine, t, c(64, 9), SPAN)
    assert machine.broken() == ["reshape-partition", "reshape-count"]


def test_symbolic_split_and_flatten() -> None:
    machine = Recorder()
    k, n = E.symbol("K", 1), E.symbol("N", 1)
    a = machine.allocate("a", (k, n), "float32", Buffer.HBM)
    split = views.reshape(machine, a, (k // 128, E.const(128), n), SPAN)
    assert split.exact
    assert machine.texts() == ["K // 128 * 128 * N == K*N"] or machine.texts() == [
        "(K // 128) * 128 * N == K*N"
    ]
    part = views.subscript(
        machine,
        split,
        (E.const(1), SliceValue(E.const(0), E.const(64), None)),
        SPAN,
        generation="0.6",
    )
    joined = views.flatten_dims(machine, part, 0, 1, SPAN)
    assert joined.exact
    env = {"K": 256, "N": 3}
    assert positions(joined, env) == list(range(128 * 3, 192 * 3))


@settings(max_examples=examples(80), deadline=None)
@given(st.data())
def test_reshapes_of_parts_are_right_or_inexact(data: st.DataObject) -> None:
    E.fresh_context()
    machine = Recorder()
    sizes = data.draw(st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=3))
    view, array = machine.allocate("a", sizes, "float32", Buffer.HBM), flat(*sizes)
    bounds = []
    for size in sizes:
        start = data.draw(st.integers(0, size - 1))
        bounds.append((start, data.draw(st.integers(start + 1, size))))
    view, array = rows(machine, view, *bounds), array[tuple(slice(*b) for b in bounds)]
    for _ in range(2):
        count = array.size
        first = data.draw(st.sampled_from([d for d in range(1, count + 1) if count % d == 0]))
        rest = count // first
        second = data.draw(st.sampled_from([d for d in range(1, rest + 1) if rest % d == 0]))
        shape = (first, second, rest // second)
        view, array = views.reshape(machine, view, c(*shape), SPAN), array.reshape(shape)
        assert [int(E.evaluate(s, {})) for s in view.shape] == list(shape)
    flat_run = array.ravel()
    if machine.broken():  # elements that one axis cannot count
        assert {*machine.broken()} == {"view-precondition"}
        assert len({*np.diff(flat_run).tolist()}) > 1
        return
    if view.exact:
        assert positions(view) == array.ravel().tolist()
    if (np.diff(flat_run) == 1).all() and len(sizes) == 1:
        assert view.exact


def test_access_patterns_off_chip() -> None:
    machine = Recorder()
    a = machine.allocate("a", (16, 10), "float32", Buffer.HBM)
    out = views.ap(machine, a, [pair(20, 3), pair(2, 4)], E.const(5), None, SPAN)
    strided = np.lib.stride_tricks.as_strided(flat(16, 10).ravel()[5:], (3, 4), (20 * 8, 2 * 8))
    assert (as_array(out) == strided).all()
    assert machine.broken() == []
    views.ap(machine, a, [pair(10, 17), pair(1, 10)], E.const(0), None, SPAN)
    views.ap(machine, a, [pair(-1, 8)], E.const(5), None, SPAN)
    assert machine.broken() == ["access-bounds"] * 2


def test_access_patterns_on_chip() -> None:
    machine = Recorder()
    n = E.symbol("n", 1)
    t = machine.allocate("t", (128, 6 * n), "float32", Buffer.SBUF)
    out = views.ap(
        machine, t, [(6 * n, E.const(64)), (E.const(2), 3 * n)], 6 * n * 4 + 1, None, SPAN
    )
    assert out.frame == (E.const(128), 6 * n)
    assert out.start_partition is E.const(4)
    assert [check.rule for check in machine.checks if check.predicate is not E.TRUE] == []
    views.ap(machine, t, [(3 * n, E.const(64)), (E.const(1), n)], None, None, SPAN)
    assert machine.checks[-3].rule == "ap-partition-step"
    assert machine.checks[-3].text == "3*n == 6*n"
    runtime = views.ap(
        machine, t, [(6 * n, E.const(1))], None, None, SPAN, scalar_offset=Register("r")
    )
    assert runtime.indirect and not runtime.exact


def test_access_patterns_in_another_type_count_in_its_units() -> None:
    machine = Recorder()
    t = machine.allocate("t", (128, 32), "float32", Buffer.SBUF)
    out = views.ap(
        machine, t, [pair(64, 128), pair(1, 64)], E.const(0), DType.named("bfloat16"), SPAN
    )
    assert out.frame == c(128, 64) and machine.broken() == []


def test_methods() -> None:
    machine = Recorder()
    a = machine.allocate("a", (4, 6, 5), "float32", Buffer.HBM)
    n = flat(4, 6, 5)
    assert (as_array(views.permute(machine, a, (2, 0, 1), SPAN)) == n.transpose(2, 0, 1)).all()
    split = views.reshape_dim(machine, a, 1, c(2, -1), SPAN)
    assert (as_array(split) == n.reshape(4, 2, 3, 5)).all()
    grown = views.expand_dim(machine, a, -1, SPAN)
    assert grown.rank == 4
    wide = views.broadcast(machine, grown, 3, E.const(7), SPAN)
    assert wide.broadcast and (as_array(wide) == np.broadcast_to(n[..., None], (4, 6, 5, 7))).all()
    assert (as_array(views.squeeze_dim(machine, grown, 3, SPAN)) == n).all()
    picked = views.select(machine, a, 1, E.const(2), SPAN, generation="0.6")
    assert (as_array(picked) == n[:, 2]).all()
    part = views.slice_dim(
        machine, a, 1, E.const(1), E.const(6), E.const(2), SPAN, generation="0.6"
    )
    assert (as_array(part) == n[:, 1:6:2]).all()
    assert machine.broken() == []
    stacked = views.rearrange(machine, a, "a (b c) d", "c a (b d)", {"b": E.const(2)}, SPAN)
    assert stacked.rank == 3
    assert machine.broken() == ["view-precondition"]  # b and d are not contiguous after the move
    good = views.rearrange(machine, a, ("a", ("b", "c"), "d"), "b a (c d)", {"b": E.const(2)}, SPAN)
    assert (as_array(good) == n.reshape(4, 2, 3, 5).transpose(1, 0, 2, 3).reshape(2, 4, 15)).all()


def test_preconditions_on_chip() -> None:
    machine = Recorder()
    t = machine.allocate("t", (128, 4, 6), "float32", Buffer.SBUF)
    views.permute(machine, t, (1, 0, 2), SPAN)
    views.expand_dim(machine, t, 0, SPAN)
    views.squeeze_dim(machine, t, 1, SPAN)
    views.flatten_dims(machine, t, 0, 1, SPAN)
    assert machine.broken() == ["view-precondition"] * 4
    assert views.flatten_dims(machine, t, 1, 2, SPAN).exact


@pytest.mark.parametrize("method", ["flatten", "reshape"])
def test_extents_of_one_take_no_steps(method: str) -> None:
    """A part of each of n rows of a lane is contiguous where n == 1, and is followed as that."""
    machine = Recorder()
    n = E.fresh("n", 1, 4, E.Origin.INPUT)
    t = machine.allocate("t", (96, n, 40), "float32", Buffer.SBUF)
    part = rows(machine, t, None, None, (0, 20))
    if method == "flatten":
        merged = views.flatten_dims(machine, part, 1, 2, SPAN)
    else:
        merged = views.reshape(machine, part, (E.const(96), n * 20), SPAN)
    open_ = [check.predicate for check in machine.checks if check.predicate is not E.TRUE]
    assert open_ == [E.eq(n, 1)]
    assert merged.exact and merged.shape == (E.const(96), n * 20)


def test_reinterpretation_scales_the_last_dimension() -> None:
    machine = Recorder()
    t = machine.allocate("t", (128, 32), "float32", Buffer.SBUF)
    part = rows(machine, t, None, (8, 16))
    half = views.view_dtype(machine, part, DType.named("bfloat16"), SPAN)
    assert half.exact and half.frame == c(128, 64)
    assert as_array(half)[1].tolist() == list(range(64 + 16, 64 + 32))
    back = views.view_dtype(machine, half, DType.named("float32"), SPAN)
    assert (as_array(back) == as_array(part)).all()
    assert machine.broken() == []
    odd = machine.allocate("o", (128, 3), "bfloat16", Buffer.SBUF)
    views.view_dtype(machine, odd, DType.named("float32"), SPAN)
    assert machine.broken() == ["view-precondition"]


def test_broadcast_to() -> None:
    machine = Recorder()
    row = machine.allocate("row", (1, 5), "float32", Buffer.SBUF)
    wide = views.broadcast_to(machine, row, c(128, 5), SPAN)
    assert wide.broadcast and (as_array(wide) == np.broadcast_to(flat(1, 5), (128, 5))).all()
    views.broadcast_to(machine, wide, c(128, 6), SPAN)
    assert machine.broken() == ["view-precondition"]
