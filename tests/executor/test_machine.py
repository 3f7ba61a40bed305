"""Poison, masks, grids, registers, objects: what the machine does with small kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from verifier.executor import KernelError, KernelViolation, simulate

NKI = """
import nki
import nki.isa as nisa
import nki.language as nl
"""

BETA1 = """
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
"""


def made(folder: Path, body: str, name: str = "kernel", head: str = NKI, **options: Any) -> Any:
    path = folder / "file.py"
    path.write_text(head + body, encoding="utf-8")
    return simulate(f"{path}::{name}", **options)


def normal(*shape: int) -> Any:
    return np.random.default_rng(7).standard_normal(shape, np.float32)


COPY = """
@nki.jit
def kernel(x):
    P, F = x.shape
    y = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    nisa.dma_copy(dst=y, src=t)
    return y
"""


def test_what_nothing_wrote_is_reported_and_poisoned(tmp_path: Path) -> None:
    body = COPY.replace("dst=t, src=x", "dst=t[:, 0 : F - 1], src=x[:, 0 : F - 1]")
    with pytest.raises(KernelViolation, match="uninitialised-read"):
        made(tmp_path, body)(normal(32, 8))
    outcome = made(tmp_path, body, keep_going=True).outcome(normal(32, 8))
    assert np.isnan(outcome.outputs[0][:, -1]).all()
    np.testing.assert_array_equal(outcome.outputs[0][:, :-1], normal(32, 8)[:, :-1])


def test_an_input_is_not_changed_by_what_is_done_to_a_copy(tmp_path: Path) -> None:
    body = COPY.replace(
        "    nisa.dma_copy(dst=y, src=t)\n",
        "    nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=1.0)\n"
        "    nisa.dma_copy(dst=y, src=t)\n",
    )
    x = normal(32, 8)
    np.testing.assert_allclose(made(tmp_path, body)(x), x + 1)
    np.testing.assert_array_equal(x, normal(32, 8))


def test_a_copy_keeps_what_the_input_was(tmp_path: Path) -> None:
    body = """
@nki.jit
def kernel(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    z = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(dst=z, value=0.0)
    nisa.dma_copy(dst=t, src=x)
    nisa.dma_copy(dst=x, src=z)
    nisa.dma_copy(dst=y, src=t)
    return y
"""
    x = normal(16, 4)
    np.testing.assert_array_equal(made(tmp_path, body)(x), normal(16, 4))
    np.testing.assert_array_equal(x, 0)


def test_a_plan_is_not_used_for_another_layout(tmp_path: Path) -> None:
    body = """
@nki.jit
def kernel(x):
    P, F = x.shape
    y = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.shared_hbm)
    for width in (4, 4, 5):
        t = nl.ndarray((P, 4), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x[:, 0:width])
        nisa.dma_copy(dst=y[:, 0:4], src=t)
    return y
"""
    with pytest.raises(KernelViolation, match="dma-size"):
        made(tmp_path, body)(normal(8, 5))


def test_masks_leave_elements_alone(tmp_path: Path) -> None:
    body = """
@nki.jit
def kernel(x, limit):
    y = nl.ndarray((100, 30), dtype=x.dtype, buffer=nl.shared_hbm)
    i, j = nl.mgrid[0:128, 0:30]
    t = nl.load(x[i, j], mask=(i < limit))
    nl.store(y[i, j], value=t * 2.0, mask=(i < 100))
    return y
"""
    x = normal(100, 30)
    np.testing.assert_allclose(made(tmp_path, body, head=BETA1)(x, 100), 2 * x)


def test_an_index_past_the_mask_is_a_violation(tmp_path: Path) -> None:
    body = """
@nki.jit
def kernel(x):
    y = nl.ndarray((100, 30), dtype=x.dtype, buffer=nl.shared_hbm)
    i = nl.arange(128)[:, None]
    j = nl.arange(30)[None, :]
    t = nl.load(x[i, j], mask=(i < 101))
    nl.store(y[i, j], value=t, mask=(i < 100))
    return y
"""
    with pytest.raises(KernelViolation, match="slice-bounds") as caught:
        made(tmp_path, body, head=BETA1)(normal(100, 30))
    assert caught.value.diagnostics[0].span.line == 11


def test_instances_of_a_grid_share_their_result(tmp_path: Path) -> None:
    body = """
@nki.jit
def kernel(x):
    rows, columns = x.shape
    y = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    p, q = nl.program_id(0), nl.program_id(1)
    h, w = rows // nl.num_programs(0), columns // nl.num_programs(1)
    t = nl.load(x[p * h : (p + 1) * h, q * w : (q + 1) * w])
    nl.store(y[p * h : (p + 1) * h, q * w : (q + 1) * w], value=t + (p * 10 + q))
    return y
"""
    out = made(tmp_path, body, head=BETA1)[2, 3](np.zeros((4, 6), np.float32))
    np.testing.assert_array_equal(out[::2, ::2], [[0, 1, 2], [10, 11, 12]])


def test_kernels_call_kernels_and_take_lists(tmp_path: Path) -> None:
    body = """
@nki.jit
def add_one(tiles):
    for tile in tiles:
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=1.0)


@nki.jit
def kernel(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tiles = []
    for k in range(2):
        t = nl.ndarray((8, 4), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x[k * 8 : (k + 1) * 8, :])
        tiles.append(t)
    add_one(tiles)
    for k in range(2):
        nisa.dma_copy(dst=y[k * 8 : (k + 1) * 8, :], src=tiles[k])
    return y
"""
    np.testing.assert_allclose(made(tmp_path, body)(normal(16, 4)), normal(16, 4) + 1)


def test_objects_follow_the_rules_of_nki(tmp_path: Path) -> None:
    body = """
from dataclasses import dataclass, field
from nki.language import NKIObject

@dataclass
class Cut(NKIObject):
    width: int = 4
    height: int
    names = ("a", "b")
    found: list = field(default_factory=list)

    def __post_init__(self):
        self.area = self.width * (self.height or 1)

class Loose(NKIObject):
    left: int
    right: int

@nki.jit
def kernel(x):
    cut = Cut(height=3)
    assert cut.area == 12 and cut.found == [] and cut.names == ("a", "b")
    assert Cut().height is None and Cut(5, 2).area == 10
    pair = Loose(1)
    pair.extra = 4
    assert pair.right is None and pair.extra == 4
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=y, src=x)
    return y
"""
    np.testing.assert_array_equal(made(tmp_path, body)(normal(8, 4)), normal(8, 4))


def test_loops_on_the_device_and_registers(tmp_path: Path) -> None:
    body = """
@nki.jit
def kernel(x, counts):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    c = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    nisa.dma_copy(dst=c, src=counts)
    trips = nisa.register_alloc(0)
    nisa.register_load(dst=trips, src=c)
    for i in nl.dynamic_range(trips):
        nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=1.0)

    def body(i):
        nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=10.0)

    nl.fori_loop(0, 2, body)
    nisa.dma_copy(dst=y, src=t)
    return y
"""
    kernel = made(tmp_path, body, api_version="0.6")
    counts = np.array([[3]], np.int32)
    np.testing.assert_allclose(kernel(normal(8, 4), counts), normal(8, 4) + 23, rtol=1e-5)


def test_a_false_promise_of_independence_shows(tmp_path: Path) -> None:
    body = """
@nki.jit
def kernel(x):
    y = nl.ndarray((4, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((4, 8), dtype=x.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(4):
        nisa.dma_copy(dst=t, src=x[i * 4 : (i + 1) * 4, :])
    nisa.dma_copy(dst=y, src=t)
    return y
"""
    forward = made(tmp_path, body)(normal(16, 8))
    backward = made(tmp_path, body, loop_order="reversed")(normal(16, 8))
    assert not np.array_equal(forward, backward)


def test_errors_name_the_line(tmp_path: Path) -> None:
    body = "\n@nki.jit\ndef kernel(x):\n    return [][3]\n"
    with pytest.raises(KernelError, match=r"file\.py:8: IndexError"):
        made(tmp_path, body)(normal(4, 4))
    with pytest.raises(KernelError, match="no kernel `other`; it has kernel"):
        made(tmp_path, COPY, "other")
    with pytest.raises(KernelError, match="cannot read"):
        simulate(str(tmp_path / "none.py") + "::kernel")
    with pytest.raises(KernelError, match="unknown target"):
        made(tmp_path, COPY, target="gpu")


def test_a_run_is_on_the_target_that_the_decorator_names(tmp_path: Path) -> None:
    named = COPY.replace("@nki.jit", "@nki.jit(platform_target='trn3')")
    assert made(tmp_path, named).target.name == "trn3"
    assert made(tmp_path, named, target="trn1").target.name == "trn1"
    assert made(tmp_path, COPY).target.name == "trn2"


def test_a_run_says_what_the_decorator_does_not_take(tmp_path: Path) -> None:
    kernel = made(tmp_path, COPY.replace(".jit", ".jit(platform_target='trn2')"), api_version="0.3")
    assert kernel.outcome(normal(32, 12)).violations[0].rule == "api-signature"


def test_a_shape_alone_takes_no_memory(tmp_path: Path) -> None:
    from verifier.executor.machine import Options
    from verifier.executor.running import Shaped

    kernel = made(tmp_path, COPY.replace("dst=t, src=x", "dst=t[0:1, 0:1], src=x[0:1, 0:1]"))
    alone = type(kernel)(kernel.kernel, kernel.target, "0.3", Options(shapes_only=True))
    outcome = alone.outcome(Shaped("float32", (1 << 20, 1 << 15)))
    assert [d.rule for d in outcome.violations] == ["partition-extent"]


PARTS = """
@nki.jit
def kernel(x):
    P, F = x.shape
    y = nl.ndarray((P, F // 2), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.sbuf)
    u = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.sbuf)
    z = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(dst=u, value=0)
    nisa.dma_copy(dst=t[:, 0 : F // 2], src=x[:, 0 : F // 2])
    nisa.tensor_copy(dst=u, src=t)  # moves
    nisa.tensor_scalar(dst=z[:, LOW : LOW + F // 2], data=u[:, LOW : LOW + F // 2],
                       op0=nl.multiply, operand0=2.0)  # uses
    nisa.dma_copy(dst=y, src=z[:, LOW : LOW + F // 2])
    return y
"""


def test_poison_that_is_only_moved_does_no_harm(tmp_path: Path) -> None:
    x = normal(32, 12)
    found = made(tmp_path, PARTS.replace("LOW", "0"))(x)
    np.testing.assert_array_equal(found, 2 * x[:, :6])


def test_moved_poison_is_reported_when_it_is_used(tmp_path: Path) -> None:
    with pytest.raises(KernelViolation, match="`t` is read before all of it was written") as caught:
        made(tmp_path, PARTS.replace("LOW", "1"))(normal(32, 12))
    first = caught.value.diagnostics[0]
    lines = (tmp_path / "file.py").read_text(encoding="utf-8").splitlines()
    assert first.rule == "uninitialised-read"
    assert lines[first.span.line - 1].endswith("# moves")


def test_what_a_write_covers_later_is_no_longer_poison(tmp_path: Path) -> None:
    body = PARTS.replace("LOW", "1").replace(
        "  # moves", "\n    nisa.dma_copy(dst=u[:, F // 2 : F], src=x[:, F // 2 : F])"
    )
    x = normal(32, 12)
    np.testing.assert_array_equal(made(tmp_path, body)(x), 2 * x[:, 1:7])


def test_poisoned_columns_become_poisoned_rows(tmp_path: Path) -> None:
    body = """
@nki.jit
def kernel(x):
    P, F = x.shape
    y = nl.ndarray((F - FIRST, P), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.sbuf)
    p = nl.ndarray((F, P), dtype=x.dtype, buffer=nl.psum)
    s = nl.ndarray((F, P), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t[:, 32:F], src=x[:, 32:F])
    nisa.nc_transpose(dst=p, data=t)
    nisa.tensor_copy(dst=s, src=p)
    nisa.dma_copy(dst=y, src=s[FIRST:F, :])
    return y
"""
    x = normal(96, 64)
    found = made(tmp_path, body.replace("FIRST", "32"))(x)
    np.testing.assert_array_equal(found, x[:, 32:].T)
    with pytest.raises(KernelViolation, match="uninitialised-read"):
        made(tmp_path, body.replace("FIRST", "0"))(x)


def test_a_fold_over_an_outer_loop_is_kept_for_each_call_of_an_iteration(tmp_path: Path) -> None:
    body = """
@nki.jit
def kernel(x):
    y = nl.ndarray((2, 32, 24), dtype=x.dtype, buffer=nl.shared_hbm)
    for n in nl.affine_range(2):
        s = nl.zeros((32, 24), dtype=nl.float32, buffer=nl.sbuf)
        for k in nl.affine_range(4):
            for m in nl.affine_range(3):
                t = nl.load(x[n, k, :, m * 8 : m * 8 + 8])
                s[:, m * 8 : m * 8 + 8] = nl.loop_reduce(t, op=nl.add, loop_indices=[k])
        nl.store(y[n], value=s)
    return y
"""
    x = normal(2, 4, 32, 24)
    found = made(tmp_path, body, head=BETA1)(x)
    np.testing.assert_allclose(found, x.sum(axis=1), rtol=1e-5, atol=1e-6)


EXCHANGE = """
@nki.jit
def kernel(x):
    P, F = x.shape[1:]
    y = nl.ndarray((2, P, F), dtype=x.dtype, buffer=nl.shared_hbm)
    me = nl.program_id(0)
    own = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.sbuf)
    theirs = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=own, src=x[me])
    for turn in range(3):
        nisa.sendrecv(src=own, dst=theirs, send_to_rank=1 - me, recv_from_rank=1 - me, pipe_id=0)
        nisa.tensor_scalar(dst=theirs, data=theirs, op0=nl.add, operand0=1.0 + me)
        nisa.tensor_copy(dst=own, src=theirs)
    nisa.dma_copy(dst=y[me], src=own)
    return y
"""


def test_cores_exchange_what_they_have(tmp_path: Path) -> None:
    x = normal(2, 32, 8)
    found = made(tmp_path, EXCHANGE)[2](x)
    np.testing.assert_allclose(found[0], x[1] + 1 + 2 + 1, rtol=1e-5)
    np.testing.assert_allclose(found[1], x[0] + 2 + 1 + 2, rtol=1e-5)


def test_a_core_that_nobody_sends_to_is_named(tmp_path: Path) -> None:
    body = EXCHANGE.replace("range(3)", "range(3 - me)")
    with pytest.raises(KernelViolation, match="the other core does not answer"):
        made(tmp_path, body)[2](normal(2, 32, 8))
    with pytest.raises(KernelError, match="only one runs"):
        made(tmp_path, EXCHANGE)(normal(2, 32, 8))


def test_an_exception_in_a_core_that_runs_aside_has_its_line(tmp_path: Path) -> None:
    body = EXCHANGE.replace("for turn", 'assert me == 0, "no second core"\n    for turn')
    with pytest.raises(KernelError, match=r"file.py:\d+: AssertionError: no second core"):
        made(tmp_path, body)[2](normal(2, 32, 8))


def test_functions_of_numpy_are_operators(tmp_path: Path) -> None:
    body = """
@nki.jit
def kernel(x):
    y = nl.ndarray((x.shape[0], 2), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    nl.store(y[:, 0:1], value=nisa.tensor_reduce(np.max, t, 1))
    nl.store(y[:, 1:2], value=nisa.tensor_reduce(np.sum, t, 1))
    return y
"""
    x = normal(16, 24)
    found = made(tmp_path, body, head="import numpy as np\n" + BETA1)(x)
    np.testing.assert_allclose(found, np.stack([x.max(1), x.sum(1)], 1), rtol=1e-4, atol=1e-5)


def test_a_tensor_is_viewed_as_another_dtype(tmp_path: Path) -> None:
    body = """
@nki.jit
def kernel(x):
    P, F = x.shape
    y = nl.ndarray((P, F), dtype=nl.int32, buffer=nl.shared_hbm)
    t = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    assert t.size == P * F
    nisa.dma_copy(dst=y, src=t.view(nl.int32))
    return y
"""
    np.testing.assert_array_equal(made(tmp_path, body)(normal(24, 6)), normal(24, 6).view(np.int32))


def test_windows_on_an_input_stay_what_they_were(tmp_path: Path) -> None:
    body = """
@nki.jit
def kernel(x):
    P, F = x.shape
    y = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.shared_hbm)
    for _ in range(3):
        tiles = []
        for k in range(F):
            t = nl.ndarray((P, 1), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=t, src=x[:, k : k + 1])
            tiles.append(t)
    nisa.dma_copy(dst=x[:, 0:1], src=tiles[1])
    for k in range(F):
        nisa.dma_copy(dst=y[:, k : k + 1], src=tiles[k])
    return y
"""
    x = normal(8, 300)
    np.testing.assert_array_equal(made(tmp_path, body)(x.copy()), x)


TAKEN = """
@nki.jit
def kernel(x, rows):
    n, F = rows.shape[0], x.shape[1]
    y = nl.ndarray((n, F), dtype=x.dtype, buffer=nl.shared_hbm)
    at = nl.ndarray((n, 1), dtype=nl.int32, buffer=nl.sbuf)
    t = nl.ndarray((n, F), dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(dst=t, value=-1.0)
    nisa.dma_copy(dst=at, src=rows)
    there = x.ap(pattern=[[F, n], [1, F]], offset=0, vector_offset=at, indirect_dim=0)
    nisa.dma_copy(dst=t, src=there, oob_mode=nisa.oob_mode.MODE)
    nisa.dma_copy(dst=y, src=t)
    return y
"""

TAKEN_BETA1 = """
@nki.jit
def kernel(x, rows):
    n, F = rows.shape[0], x.shape[1]
    y = nl.ndarray((n, F), dtype=x.dtype, buffer=nl.shared_hbm)
    i = nl.arange(n)[:, None]
    j = nl.arange(F)[None, :]
    at = nl.load(rows[i, nl.arange(1)[None, :]])
    t = nl.load(x[at[i, 0], j], mask=(i < n - LESS))
    nl.store(y[i, j], t, mask=(i < n - LESS))
    return y
"""


def test_indices_in_tiles_stay_inside_unless_the_rest_is_skipped(tmp_path: Path) -> None:
    x = normal(40, 24)
    rows = np.array([[3], [39], [0], [40]], np.int32)
    expected = np.vstack([x[[3, 39, 0]], np.full((1, 24), -1, np.float32)])
    skips = made(tmp_path, TAKEN.replace("MODE", "skip"))
    np.testing.assert_array_equal(skips(x, rows), expected)
    fails = made(tmp_path, TAKEN.replace("MODE", "error"))
    with pytest.raises(KernelViolation, match=r"own-offset-bounds: element 960 of `x`") as caught:
        fails(x, rows)
    assert caught.value.diagnostics[0].span.line == 15
    np.testing.assert_array_equal(fails(x, rows[:3]), x[[3, 39, 0]])
    with pytest.raises(KernelViolation, match="element -24 of `x`"):
        fails(x, np.array([[-1]], np.int32))


def test_indices_of_elements_that_take_no_part_may_lie_outside(tmp_path: Path) -> None:
    x = normal(40, 24)
    rows = np.array([[3], [39], [0], [40]], np.int32)
    with pytest.raises(KernelViolation, match="index 40 leaves dimension 0 of `x`, of 40"):
        made(tmp_path, TAKEN_BETA1.replace("LESS", "0"), head=BETA1)(x, rows)
    masked = made(tmp_path, TAKEN_BETA1.replace("LESS", "1"), head=BETA1, keep_going=True)
    found = masked.outcome(x, rows)
    assert {d.rule for d in found.diagnostics} == {"output-not-written"}
    np.testing.assert_array_equal(found.outputs[0][:3], x[[3, 39, 0]])


@pytest.mark.parametrize(("body", "head", "line"), [(TAKEN, NKI, 15), (TAKEN_BETA1, BETA1, 13)])
def test_a_tile_of_indices_that_nothing_wrote_is_reported(
    tmp_path: Path, body: str, head: str, line: int
) -> None:
    body = body.replace("MODE", "error").replace("LESS", "0")
    body = body.replace("    nisa.dma_copy(dst=at, src=rows)\n", "    pass\n")
    empty = "nl.ndarray((nl.par_dim(n), 1), dtype=nl.int32, buffer=nl.sbuf)"
    body = body.replace("nl.load(rows[i, nl.arange(1)[None, :]])", empty)
    with pytest.raises(KernelViolation, match="uninitialised-read: `at`") as caught:
        made(tmp_path, body, head=head)(normal(40, 24), np.zeros((4, 1), np.int32))
    assert caught.value.diagnostics[0].span.line == line


def test_an_index_array_compares_with_what_is_no_number(tmp_path: Path) -> None:
    body = """
@nki.jit
def kernel(x, rows):
    n, F = rows.shape[0], x.shape[1]
    y = nl.ndarray((n, F), dtype=x.dtype, buffer=nl.shared_hbm)
    at = nl.load(rows)
    i = nl.arange(n)[:, None]
    assert (i == None) is False
    t = nl.load(x[at[i, 0], nl.arange(F)[None, :]])
    nl.store(y[...], t)
    return y
"""
    x = normal(40, 24)
    rows = np.array([[3], [39], [0]], np.int32)
    np.testing.assert_array_equal(made(tmp_path, body, head=BETA1)(x, rows), x[[3, 39, 0]])


COUNTED = """
@nki.jit
def kernel(x, n):
    P, F = x.shape
    y = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.sbuf)
    held = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=held, src=n)
    nisa.dma_copy(dst=t, src=x)
    count = nisa.register_alloc()
    nisa.register_load(dst=count, src=held)

    def step(i):
        nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=1.0)

    nl.fori_loop(0, count, step)
    nisa.dma_copy(dst=y, src=t)
    return y
"""


def test_calls_on_registers_are_checked(tmp_path: Path) -> None:
    x, n = normal(32, 8), np.array([[3]], np.int32)
    np.testing.assert_allclose(made(tmp_path, COUNTED)(x, n), x + 3, rtol=1e-5)
    unwritten = COUNTED.replace("    nisa.dma_copy(dst=held, src=n)\n", "")
    with pytest.raises(KernelViolation, match="uninitialised-read: `held`"):
        made(tmp_path, unwritten)(x, n)
    old = COUNTED.replace("register_load(dst=count, src=held)", "register_move(dst=count, imm=3)")
    old = old.replace("nl.fori_loop(0, count, step)", "step(count)")
    np.testing.assert_allclose(made(tmp_path, old, api_version="0.2")(x, n), x + 1, rtol=1e-5)
    with pytest.raises(KernelViolation, match=r"api-signature: .* no parameter `imm`"):
        made(tmp_path, old, api_version="0.4")(x, n)


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_what_numpy_makes_by_default_is_no_tensor(tmp_path: Path, dtype: str) -> None:
    with pytest.raises(KernelError, match=rf"'x': .* {dtype}: give it as {dtype[:-2]}32"):
        made(tmp_path, COPY)(np.ones((4, 4), dtype))


PUT = """
@nki.jit
def kernel(x, rows):
    n, F = rows.shape[0], x.shape[1]
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for k in range(F // 64):
        at = nl.ndarray((n, 1), dtype=rows.dtype, buffer=nl.sbuf)
        t = nl.ndarray((n, 64), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=at, src=rows)
        nisa.dma_copy(dst=t, src=x[0:n, k * 64 : (k + 1) * 64])
        there = y.ap(pattern=[[F, n], [1, 64]], offset=k * 64, vector_offset=at, indirect_dim=0)
        nisa.dma_copy(dst=there, src=t)
    return y
"""


def test_indices_without_numbers_name_anything(tmp_path: Path) -> None:
    from verifier.executor.machine import Options
    from verifier.executor.running import Shaped

    x, rows = normal(40, 128), np.random.default_rng(1).permutation(40).astype(np.int32)
    kernel = made(tmp_path, PUT)
    np.testing.assert_array_equal(kernel(x, rows[:, None])[rows], x)
    with pytest.raises(KernelViolation, match="output-not-written"):
        kernel(x, rows[:39, None])
    alone = type(kernel)(kernel.kernel, kernel.target, "0.3", Options(shapes_only=True))
    shapes = Shaped("float32", (96, 1024)), Shaped("int32", (96, 1))
    assert alone.outcome(*shapes).violations == []
    shapes = Shaped("float32", (1 << 24, 128)), Shaped("int32", (1 << 24, 1))
    assert [d.rule for d in alone.outcome(*shapes).violations] == ["partition-extent"]


LENT = """
@nki.jit
def kernel(x):
    rows, columns = x.shape
    y = nl.ndarray((3, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    for k in range(3):
        before = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
        again = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=before, src=t)
        nisa.tensor_copy(dst=again, src=before)
        nisa.tensor_scalar(dst=before, data=before, op0=nl.add, operand0=100.0)
        nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2.0)
        nisa.dma_copy(dst=y[k], src=again)
    return y
"""


def test_a_copy_of_a_tile_stays_what_the_tile_was(tmp_path: Path) -> None:
    x = normal(24, 40)
    y = made(tmp_path, LENT)(x)
    np.testing.assert_array_equal(y, np.stack([x, 2 * x, 4 * x]))


GATHER = """
@nki.jit
def kernel(x, index):
    assert x.dtype == nl.float32 and index.dtype == nl.uint32
    y = nl.ndarray((32, 4), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((32, 16), dtype=x.dtype, buffer=nl.sbuf)
    i = nl.ndarray((32, 4), dtype=nl.uint32, buffer=nl.sbuf)
    u = nl.ndarray((32, 4), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t[:, 0:10], src=x[:, 0:10])
    nisa.dma_copy(dst=i, src=index)
    nisa.nc_n_gather(dst=u, data=t, indices=i)
    nisa.dma_copy(dst=y, src=u)
    return y
"""


@pytest.mark.parametrize("column", [3, 9, 10, 15])
def test_a_gather_takes_what_is_undefined_only_where_an_index_names_it(
    tmp_path: Path, column: int
) -> None:
    kernel = made(tmp_path, GATHER)
    x = normal(32, 16)
    index = np.tile(np.array([0, 7, 2, 5], np.uint32), (32, 1))
    index[11, 2] = column
    if column < 10:
        want = np.take_along_axis(x, index.astype(np.int64), axis=1)
        np.testing.assert_array_equal(kernel(x, index), want)
        return
    with pytest.raises(KernelViolation, match="`t` is read before all of it was written"):
        kernel(x, index)


REDUCED = """
import nki.collectives as ncc


@nki.jit
def kernel(x, ranks):
    y = nl.ndarray((64, 100), dtype=x.dtype, buffer=nl.shared_hbm)
    sent = nl.ndarray((64, 100), dtype=x.dtype, buffer=nl.private_hbm)
    got = nl.ndarray((64, 100), dtype=x.dtype, buffer=nl.private_hbm)
    nisa.dma_copy(dst=sent, src=x)
    group = ncc.ReplicaGroup(ranks)
    ncc.all_reduce(srcs=[sent], dsts=[got], replica_group=group, op=nl.add)
    nisa.dma_copy(dst=y, src=got)
    return y
"""


@pytest.mark.parametrize(
    ("ranks", "disjoint"),
    [
        ([[0, 1], [2, 3]], True),
        ((range(2), np.array([2, 3])), True),
        ("of the caller's own", True),
        ([[0, 1], [1, 2]], False),
        ([[0, 1, 0]], False),
    ],
)
def test_no_rank_is_in_two_lists(tmp_path: Path, ranks: Any, disjoint: bool) -> None:
    kernel = made(tmp_path, REDUCED, keep_going=True)
    found = [d.message for d in kernel.outcome(normal(64, 100), ranks).violations]
    said = [message for message in found if "lists of ranks" in message]
    assert bool(said) is not disjoint, found
