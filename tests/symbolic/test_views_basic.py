"""Basic indexing, against NumPy where NKI agrees with it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sweeps import examples
from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic.tensors import View
from verifier.symbolic.values import DynamicSlice, Register, SliceValue
from verifier.symbolic.views import subscript, substitute_view, use

from .views_support import SPAN, Recorder, as_array, flat


@pytest.fixture(autouse=True)
def _context() -> None:
    E.fresh_context()


def sl(start: object = None, stop: object = None, step: object = None) -> SliceValue:
    def lift(value: object) -> object:
        return E.const(value) if isinstance(value, int) else value

    return SliceValue(lift(start), lift(stop), lift(step))


def sub(machine: Recorder, view: View, *items: object, generation: str = "0.6") -> View:
    index = tuple(E.const(i) if isinstance(i, int) else i for i in items)
    return subscript(machine, view, index, SPAN, generation=generation)


def shape(view: View) -> list[int]:
    return [int(E.evaluate(size, {})) for size in view.shape]


def test_slices_and_integers_of_an_hbm_tensor() -> None:
    machine = Recorder()
    a = machine.allocate("a", (6, 7, 8), "float32", Buffer.HBM)
    assert (as_array(sub(machine, a, sl(1, 5, 2), 3, sl(2))) == flat(6, 7, 8)[1:5:2, 3, 2:]).all()
    assert (as_array(sub(machine, a, -1, Ellipsis, sl(-3))) == flat(6, 7, 8)[-1, ..., -3:]).all()
    assert (as_array(sub(machine, a, 2)) == flat(6, 7, 8)[2]).all()
    assert shape(sub(machine, a, 2, 3, 4)) == [1]
    assert machine.broken() == []


def test_tiles_keep_two_dimensions() -> None:
    machine = Recorder()
    t = machine.allocate("t", (128, 4, 9), "float32", Buffer.SBUF)
    assert shape(sub(machine, t, 3)) == [1, 4, 9]
    assert shape(sub(machine, t, sl(), 3)) == [128, 9]
    assert shape(sub(machine, t, sl(), 3, 5)) == [128, 1]
    assert shape(sub(machine, t, 0, 3, 5)) == [1, 1]
    assert as_array(sub(machine, t, 2, 3, 5)).tolist() == [[2 * 36 + 3 * 9 + 5]]
    row = sub(machine, t, 7, sl(1, 3))
    assert row.start_partition is E.const(7)


def test_block_tensors_of_beta_1_drop_their_blocks() -> None:
    machine = Recorder("beta1")
    t = machine.allocate("t", (3, 128, 16), "float32", Buffer.SBUF, partition_axis=1)
    block = sub(machine, t, 2, generation="beta1")
    assert shape(block) == [128, 16]
    assert (as_array(block) == flat(3, 128, 16)[2]).all()
    assert shape(sub(machine, t, 2, sl(), 3, generation="beta1")) == [128, 1]
    assert shape(sub(machine, t, 2, 5, sl(), generation="beta1")) == [1, 16]


def test_bounds_are_stated_in_the_kernels_names() -> None:
    machine = Recorder()
    rows, m = E.symbol("lhsT.shape[1]", 1), E.symbol("m", 0, None, E.Origin.LOOP)
    a = machine.allocate("lhsT", (64, rows), "float32", Buffer.HBM)
    tile = sub(machine, a, sl(), SliceValue(m * 128, m * 128 + 128, None))
    assert tile.shape[1] is E.const(128)
    assert machine.texts() == ["128*m + 128 <= lhsT.shape[1]"]
    moved = substitute_view(tile, E.Substitution({m.as_atom(): E.const(2)}))  # type: ignore[dict-item]
    assert as_array(moved, {"lhsT.shape[1]": 1000})[0, 0] == 256


def test_what_is_out_of_bounds_or_empty_is_checked() -> None:
    machine = Recorder()
    a = machine.allocate("a", (6, 7), "float32", Buffer.HBM)
    sub(machine, a, sl(0, 8))
    sub(machine, a, 6)
    sub(machine, a, sl(3, 3))
    sub(machine, a, sl(), sl(5, 2, 1))
    sub(machine, a, sl(None, None, -1))
    sub(machine, a, 0, 0, 0)
    assert machine.broken() == ["slice-bounds"] * 6


def test_a_clamped_slice_and_a_provably_negative_index() -> None:
    machine = Recorder()
    n, i = E.symbol("n", 1), E.symbol("i", 0)
    k = E.symbol("k")
    machine.facts.append(E.lt(k, 0))
    a = machine.allocate("a", (n,), "float32", Buffer.HBM)
    tile = sub(machine, a, SliceValue(i * 128, E.minimum(i * 128 + 128, n), None))
    assert tile.shape[0] is E.minimum(i * 128 + 128, n) - i * 128
    rows = machine.allocate("rows", (n, 4), "float32", Buffer.HBM)
    assert sub(machine, rows, k).coords[0] is n + k


def test_offsets_known_at_run_time_only() -> None:
    machine = Recorder()
    a = machine.allocate("a", (6, 70), "float32", Buffer.HBM)
    view = sub(machine, a, sl(), DynamicSlice(Register("r"), E.const(16)))
    assert shape(view) == [6, 16]
    assert view.indirect and view.held
    used = use(machine, view, None, SPAN)
    assert used.indirect and not used.exact and not used.held
    assert machine.ledger and not machine.checks
    static = sub(machine, a, sl(), DynamicSlice(E.const(64), E.const(16)))
    assert not static.indirect
    assert machine.broken() == ["slice-bounds"]


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_chains_of_subscripts_agree_with_numpy(data: st.DataObject) -> None:
    E.fresh_context()
    machine = Recorder()
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    view, array = machine.allocate("a", sizes, "float32", Buffer.HBM), flat(*sizes)
    for _ in range(data.draw(st.integers(1, 3))):
        items: list[object] = []
        keys: list[object] = []
        for position, size in enumerate(array.shape):
            start = data.draw(st.integers(0, size - 1))
            stop = data.draw(st.integers(start + 1, size))
            step = data.draw(st.integers(1, 3))
            if position and data.draw(st.booleans()):
                shift = data.draw(st.sampled_from([0, size]))
                items.append(start - shift)
                keys.append(start - shift)
            else:
                items.append(sl(start, stop, step))
                keys.append(slice(start, stop, step))
        view, array = sub(machine, view, *items), array[tuple(keys)]
    assert machine.broken() == []
    assert np.array_equal(as_array(view), array)
