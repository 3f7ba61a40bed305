"""Functions of PPL, each in a kernel of its own, against plain NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from verifier.executor import simulate
from verifier.executor.running import Outcome
from verifier.executor.semantics.tpu.ppl.numbers import converted, shifted

Array = Any
NAMES = {
    "float32": "float32",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "int8": "int8",
    "uint8": "uint8",
    "int16": "int16",
    "uint16": "uint16",
    "int32": "int32",
    "uint32": "uint32",
}

HEADER = """\
import ppl
import ppl.language as pl


@ppl.jit
def tried(out_ptr, {pointers}):
    everything = pl.gtensor({out}, pl.GLOBAL, out_ptr)
    out = pl.make_tensor({out}, pl.{dtype}{align})
{loads}
{body}
    pl.dma.store(everything, out)
"""


def outcome(
    folder: Path, body: str, out: Array, *inputs: Array, target: str = "bm1684x", align: str = ""
) -> Outcome:
    """A run of a kernel that loads ``x0``, ``x1`` ... and stores ``out``."""
    loads = []
    for k, array in enumerate(inputs):
        shape = list(array.shape)
        dtype = NAMES[array.dtype.name]
        loads += [
            f"    g{k} = pl.gtensor({shape}, pl.GLOBAL, p{k})",
            f"    x{k} = pl.make_tensor({shape}, pl.{dtype})",
            f"    pl.dma.load(x{k}, g{k})",
        ]
    text = HEADER.format(
        pointers=", ".join(f"p{k}" for k in range(len(inputs))),
        out=list(out.shape),
        dtype=NAMES[out.dtype.name],
        align=f", align_mode=pl.{align}" if align else "",
        loads="\n".join(loads),
        body="\n".join(f"    {line}" for line in body.splitlines()),
    )
    path = folder / "kernel.py"
    path.write_text(text, encoding="utf-8")
    return simulate(f"{path}::tried", target, keep_going=True).outcome(out, *inputs)


def run(folder: Path, body: str, out: Array, *inputs: Array, **how: Any) -> Array:
    found = outcome(folder, body, out, *inputs, **how)
    assert found.ended is None, found.ended
    assert found.violations == [], found.violations
    return found.outputs[0]


def drawn(seed: int, *shape: int, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


SHAPE = (2, 40, 3, 7)
A, B = drawn(1, *SHAPE), drawn(2, *SHAPE)
OUT = np.zeros(SHAPE, np.float32)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("fadd", np.add),
        ("fsub", np.subtract),
        ("fmul", np.multiply),
        ("maximum", np.maximum),
        ("minimum", np.minimum),
        ("fdiv", np.divide),
        ("sub_abs", lambda a, b: np.abs(a - b)),
        ("gt", lambda a, b: (a > b).astype(np.float32)),
    ],
)
def test_two_operands(tmp_path: Path, name: str, function: Any) -> None:
    assert np.array_equal(run(tmp_path, f"pl.tiu.{name}(out, x0, x1)", OUT, A, B), function(A, B))
    # a constant that comes last would be how often a quotient is refined
    steps = ", num_iter=3" if name == "fdiv" else ""
    got = run(tmp_path, f"pl.tiu.{name}(out, x0, 0.75{steps})", OUT, A)
    assert np.array_equal(got, function(A, np.float32(0.75)))


def test_a_constant_that_comes_last_is_no_operand(tmp_path: Path) -> None:
    """It is the shift, or the number of steps: what stands first is a source then."""
    got = run(tmp_path, "y = pl.tiu.fdiv(x0, x1, 3)\npl.tiu.move(out, y)", OUT, A, B)
    assert np.array_equal(got, np.divide(A, B))
    # a name that is assigned is a value of the run
    got = run(tmp_path, "k = 0.75\npl.tiu.fdiv(out, x0, k)", OUT, A)
    assert np.array_equal(got, np.divide(A, np.float32(0.75)))
    a = np.full(SHAPE, 3, np.int32)
    got = run(tmp_path, "y = pl.tiu.add(x0, x0, 2)\npl.tiu.move(out, y)", 0 * a, a)
    assert np.array_equal(got, a * 8)
    found = outcome(tmp_path, "pl.tiu.fdiv(out, x0, 0.75)", OUT, A)
    assert {d.rule for d in found.violations} == {"uninitialised-read"}


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_rounded_once(tmp_path: Path, kind: Any) -> None:
    a, b = A.astype(kind), B.astype(kind)
    got = run(tmp_path, "pl.tiu.fmul(out, x0, x1)", OUT.astype(kind), a, b)
    assert got.dtype == np.dtype(kind)
    assert np.array_equal(got, (a.astype(np.float32) * b.astype(np.float32)).astype(kind))


def test_results_without_a_destination_and_operators(tmp_path: Path) -> None:
    body = "s = pl.tiu.fadd(x0, x1)\nt = s * x1 - x0\npl.tiu.move(out, t)"
    assert np.array_equal(run(tmp_path, body, OUT, A, B), (A + B) * B - A)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("fexp", np.exp),
        ("floor", np.floor),
        ("ceiling", np.ceil),
        ("abs", np.abs),
    ],
)
def test_one_operand(tmp_path: Path, name: str, function: Any) -> None:
    assert np.array_equal(run(tmp_path, f"pl.tiu.{name}(out, x0)", OUT, A), function(A))


def test_integers_shift_round_and_saturate(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-128, 128, SHAPE).astype(np.int8) for _ in range(2))
    out = np.zeros(SHAPE, np.int8)
    got = run(tmp_path, "pl.tiu.add(out, x0, x1, -1, pl.RM_HALF_UP, saturation=True)", out, a, b)
    total = a.astype(np.int64) + b
    assert np.array_equal(got, np.clip((total + 1) >> 1, -128, 127))
    wide = np.zeros(SHAPE, np.int16)
    got = run(tmp_path, "pl.tiu.mul(out, x0, x1)", wide, a, b)
    assert np.array_equal(got, a.astype(np.int16) * b)


def test_shifts_round_as_they_are_told() -> None:
    x = np.array([5, 6, 7, -5, -6, -7], np.int64)
    by = np.int64(-2)
    rounded = {
        "RM_HALF_TO_EVEN": [1, 2, 2, -1, -2, -2],
        "RM_HALF_UP": [1, 2, 2, -1, -1, -2],
        "RM_HALF_DOWN": [1, 1, 2, -1, -2, -2],
        "RM_HALF_AWAY_FROM_ZERO": [1, 2, 2, -1, -2, -2],
        "RM_TOWARDS_ZERO": [1, 1, 1, -1, -1, -1],
        "RM_DOWN": [1, 1, 1, -2, -2, -2],
        "RM_UP": [2, 2, 2, -1, -1, -1],
    }
    for mode, wanted in rounded.items():
        assert shifted(x, np.asarray(by), mode).tolist() == wanted, mode
    assert shifted(x, np.asarray(3), "RM_DOWN").tolist() == (x << 3).tolist()


def test_casts(tmp_path: Path) -> None:
    big = A * 100
    got = run(tmp_path, "pl.tiu.cast(out, x0, mode=pl.RM_DOWN)", np.zeros(SHAPE, np.int8), big)
    assert np.array_equal(got, np.clip(np.floor(big), -128, 127).astype(np.int8))
    got = run(tmp_path, "pl.tiu.cast(out, x0)", np.zeros(SHAPE, np.float16), A)
    assert np.array_equal(got, A.astype(np.float16))


def test_casts_to_halves_in_one_direction() -> None:
    x = drawn(4, 1000)
    down, up = (converted(x, "bfloat16", mode) for mode in ("RM_DOWN", "RM_UP"))
    assert np.all(down.astype(np.float32) <= x) and np.all(up.astype(np.float32) >= x)
    zero = converted(x, "bfloat16", "RM_TOWARDS_ZERO").astype(np.float32)
    assert np.array_equal(zero, np.where(x > 0, down.astype(np.float32), up.astype(np.float32)))


def test_products(tmp_path: Path) -> None:
    left, right = (drawn(k, 1, size, 1, 48, dtype=np.float16) for k, size in ((5, 30), (6, 50)))
    l64, r64 = left[0, :, 0].astype(np.float64), right[0, :, 0].astype(np.float64)
    out = np.zeros((1, 30, 1, 50), np.float32)
    body = "pl.tiu.fmm2(out, x0, x1, rtrans=True, out_dtype=pl.float32)"
    got = run(tmp_path, body, out, left, right)
    assert np.allclose(got[0, :, 0], l64 @ r64.T, rtol=1e-5, atol=1e-5)
    straight = np.ascontiguousarray(right.transpose(0, 3, 2, 1))
    body = "pl.tiu.fill(out, 1.0)\npl.tiu.fmm2(out, x0, x1, result_add=True, out_dtype=pl.float32)"
    got = run(tmp_path, body, out, left, straight)
    assert np.allclose(got[0, :, 0], l64 @ r64.T + 1, rtol=1e-5, atol=1e-5)
    rows = np.ascontiguousarray(left.transpose(0, 3, 2, 1))
    turned = np.zeros((1, 50, 1, 30), np.float32)
    body = "pl.tiu.fmm2(out, x0, x1, ltrans=True, rtrans=True, out_dtype=pl.float32)"
    got = run(tmp_path, body, turned, rows, right)
    assert np.allclose(got[0, :, 0], (l64 @ r64.T).T, rtol=1e-5, atol=1e-5)


def test_integer_products(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    left = rng.integers(-128, 128, (1, 20, 1, 33)).astype(np.int8)
    right = rng.integers(-128, 128, (1, 33, 1, 40)).astype(np.int8)
    got = run(tmp_path, "pl.tiu.mm2(out, x0, x1)", np.zeros((1, 20, 1, 40), np.int32), left, right)
    assert np.array_equal(got[0, :, 0], left[0, :, 0].astype(np.int32) @ right[0, :, 0])


def test_depthwise_and_pools(tmp_path: Path) -> None:
    x = drawn(8, 2, 70, 8, 9)
    seen = np.lib.stride_tricks.sliding_window_view(x, (3, 2), (2, 3))[:, :, ::2]
    out = np.zeros(seen.shape[:4], np.float32)
    where = "[3, 2], [0, 0, 0, 0], [2, 1], [1, 1]"
    got = run(tmp_path, f"pl.tiu.pool_max(out, x0, {where})", out, x)
    assert np.array_equal(got, seen.max((4, 5)))
    got = run(tmp_path, f"pl.tiu.pool_avg(out, x0, {where}, 0.5)", out, x)
    assert np.allclose(got, seen.sum((4, 5)) * 0.5, rtol=1e-5, atol=1e-5)


def test_moves(tmp_path: Path) -> None:
    x = drawn(9, 3, 20, 4, 6)
    got = run(
        tmp_path,
        "pl.dma.load_transpose_nc(out, g0)",
        np.zeros((20, 3, 4, 6), np.float32),
        x,
    )
    assert np.array_equal(got, x.transpose(1, 0, 2, 3))
    got = run(
        tmp_path,
        "pl.dma.load_transpose_cw(out, g0)",
        np.zeros((3, 6, 4, 20), np.float32),
        x,
    )
    assert np.array_equal(got, x.transpose(0, 3, 2, 1))
    got = run(tmp_path, "pl.dma.reverse(out, g0, 2)", np.zeros_like(x), x)
    assert np.array_equal(got, x[:, :, ::-1])
    row = drawn(10, 2, 1, 4, 6)
    got = run(tmp_path, "pl.tiu.broadcast(out, x0)", np.zeros((2, 64, 4, 6), np.float32), row)
    assert np.array_equal(got, np.broadcast_to(row, (2, 64, 4, 6)))


def test_parts_of_tensors(tmp_path: Path) -> None:
    x = drawn(11, 2, 130, 4, 6)
    body = (
        "pl.tiu.fill(out, 0.0)\n"
        "part = x0.sub_view([1, 64, 2, 3], [1, 64, 1, 2])\n"
        "pl.tiu.move(out[0:1, 0:64, 1:3, 1:4], part)"
    )
    got = run(tmp_path, body, np.zeros((1, 64, 4, 6), np.float32), x)
    wanted = np.zeros((1, 64, 4, 6), np.float32)
    wanted[:, :, 1:3, 1:4] = x[1:2, 64:128, 1:3, 2:5]
    assert np.array_equal(got, wanted)


def test_reading_what_nothing_wrote(tmp_path: Path) -> None:
    body = "t = pl.make_tensor([2, 40, 3, 7], pl.float32)\npl.tiu.fadd(out, x0, t)"
    found = outcome(tmp_path, body, OUT, A)
    assert "uninitialised-read" in {d.rule for d in found.diagnostics}
    assert np.isnan(found.outputs[0]).all()


CORES = """\
import ppl
import ppl.language as pl


@ppl.jit
def totals(out_ptr, x_ptr, width):
    core = pl.get_core_index()
    cores = pl.get_core_num()
    shared = pl.gtensor([1, 1, 1, width], pl.L2, dtype=pl.float32)
    x_all = pl.gtensor([1, cores, 1, width], pl.GLOBAL, x_ptr)
    out_all = pl.gtensor([1, cores, 1, width], pl.GLOBAL, out_ptr)
    mine = pl.make_tensor([1, 1, 1, 100], pl.float32, [1, 1, 1, width])
    pl.dma.load(mine, x_all.sub_view([1, 1, 1, width], [0, core, 0, 0]))
    pl.dma.zero(shared)
    pl.sync()
    pl.dma.reduce(shared, mine, pl.ALL_REDUCE_PSUM_WR, pl.ALL_REDUCE_ADD)
    pl.sync()
    pl.dma.load(mine, shared)
    pl.dma.store(out_all.sub_view([1, 1, 1, width], [0, core, 0, 0]), mine)
"""


def test_cores_meet_where_they_synchronise(tmp_path: Path) -> None:
    path = tmp_path / "totals.py"
    path.write_text(CORES, encoding="utf-8")
    x = drawn(12, 4, 90)
    kernel = simulate(f"{path}::totals", "sg2260e", keep_going=True)
    found = kernel[1, 4].outcome(np.zeros_like(x), x, 90)
    assert found.ended is None
    assert np.allclose(found.outputs[0], np.broadcast_to(x.sum(0), x.shape), rtol=1e-5, atol=1e-5)
    few = simulate(f"{path}::totals", "bm1688")[1, 3].outcome(np.zeros_like(x), x, 90)
    assert few.ended is not None and "bm1688 has 2 cores" in few.ended[1]


def test_constant_beside_its_keyword(tmp_path: Path) -> None:
    """A constant that comes last is taken, not what the keyword of the same name says."""
    x = np.array([[[[3, 100, -128, 7, 0]]]], np.int8)
    body = "pl.tiu.add(out, x0, x0, 1, saturation=False)"
    found = run(tmp_path, body, np.zeros_like(x), x)
    np.testing.assert_array_equal(found, np.clip(2 * x.astype(int), -128, 127))
