"""Functions of OKKernel, each in a kernel of its own, against plain NumPy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from verifier.dialects.okk import isa
from verifier.executor import simulate
from verifier.executor.semantics.tpu import floats, integers
from verifier.executor.semantics.tpu.base import MEANINGS
from verifier.hardware.engines import Engine

Array = Any
SHAPE = (2, 67, 3, 5)

HEADER = """\
import okk

S = 2 * 2 * 128


@okk.kernel
def tried({names}, y: okk.SystemAddr):
    okk.initialize()
    shape = okk.dim4({shape})
{loads}
{body}
    okk.gdma_32bit_cpy_L2S(y, 8 * S, shape, None, None)
    okk.poll()
"""


def run(folder: Path, body: str, *inputs: Array, result: Any = np.float32) -> Array:
    """What a kernel makes of 32-bit tensors at ``0``, ``S``, ``2 * S`` ..., at ``8 * S``."""
    names = [f"x{k}" for k in range(len(inputs))]
    loads = [
        f"    okk.gdma_32bit_cpy_S2L({k} * S, {name}, shape, None, None)"
        for k, name in enumerate(names)
    ]
    text = HEADER.format(
        names=", ".join(f"{name}: okk.SystemAddr" for name in names),
        shape=", ".join(map(str, inputs[0].shape)),
        loads="\n".join(loads),
        body="\n".join(f"    {line}" for line in body.splitlines()),
    )
    path = folder / "kernel.py"
    path.write_text(text, encoding="utf-8")
    out = np.zeros(inputs[0].shape, result)
    return simulate(f"{path}::tried", "bm1684")(*inputs, out)


def drawn(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape or SHAPE).astype(np.float32)


A, B = drawn(1), drawn(2)
ST = "shape, None, None"
TWO = "8 * S, 0, S, shape, None, None, None"

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "max": np.maximum,
    "min": np.minimum,
}


@pytest.mark.parametrize("name", BINARY)
def test_two_tensors(tmp_path: Path, name: str) -> None:
    assert np.array_equal(run(tmp_path, f"okk.bdc_{name}({TWO})", A, B), BINARY[name](A, B))


@pytest.mark.parametrize("name", BINARY)
def test_a_tensor_and_a_constant(tmp_path: Path, name: str) -> None:
    got = run(tmp_path, f"okk.bdc_{name}_C(8 * S, 0, 1.75, {ST})", A)
    assert np.array_equal(got, BINARY[name](A, np.float32(1.75)))


def test_a_constant_and_a_tensor(tmp_path: Path) -> None:
    got = run(tmp_path, f"okk.bdc_C_sub(8 * S, 0, 1.75, {ST})", A)
    assert np.array_equal(got, np.float32(1.75) - A)
    got = run(tmp_path, f"okk.bdc_C_div(8 * S, 0, 1.75, {ST})", A)
    assert np.array_equal(got, np.float32(1.75) / A)


def test_sums_of_products(tmp_path: Path) -> None:
    body = f"okk.bdc_32bit_cpy(8 * S, S, {ST})\nokk.bdc_mac({TWO})"
    assert np.array_equal(run(tmp_path, body, A, B), B + A * B)
    body = f"okk.bdc_32bit_cpy(8 * S, S, {ST})\nokk.bdc_mac_C(8 * S, 0, 0.5, {ST})"
    assert np.array_equal(run(tmp_path, body, A, B), B + A * np.float32(0.5))


SINGLE: dict[str, tuple[str, Callable[[Any], Any], float]] = {
    "reciprocal": (f"okk.bdc_reciprocal(8 * S, 0, {ST})", lambda x: 1 / x, 0),
    "neg": (f"okk.bdc_neg(8 * S, 0, {ST})", lambda x: -x, 0),
    "relu": (f"okk.bdc_relu(8 * S, 0, {ST})", lambda x: np.maximum(x, 0), 0),
    "sqrt": (
        "okk.bdc_mul(S, 0, 0, shape, None, None, None)\nokk.bdc_sqrt(8 * S, S, shape)",
        np.abs,
        1e-6,
    ),
    "exp": ("okk.bdc_exp(8 * S, 0, S, shape)", np.exp, 1e-6),
    "exp_tunable": ("okk.bdc_exp_tunable(8 * S, 0, S, shape, 8)", np.exp, 1e-5),
    "sigmoid": ("okk.bdc_sigmoid(8 * S, 0, S, shape)", lambda x: 1 / (1 + np.exp(-x)), 1e-6),
    "tanh": ("okk.bdc_tanh(8 * S, 0, S, shape)", np.tanh, 1e-6),
    "taylor": ("okk.bdc_taylor_exp(8 * S, 0, shape, 30)", np.exp, 1e-5),
}


@pytest.mark.parametrize("name", SINGLE)
def test_one_tensor(tmp_path: Path, name: str) -> None:
    body, function, tolerance = SINGLE[name]
    got, wanted = run(tmp_path, body, A), function(A)
    assert np.all(np.abs(got - wanted) <= tolerance * np.maximum(np.abs(wanted), 0.1))


@np.errstate(all="ignore")
def test_numbers_beyond_the_documented_ranges() -> None:
    """What was measured, not what mathematics says (OKK-N01 to OKK-N07)."""
    x = np.array([88.75, 89.0, -103.0, 0.0], np.float32)
    assert floats.exp(x).tolist() == [np.inf, 0.0, 0.0, 1.0]
    assert floats.sigmoid(np.array([-89.0, 128.0], np.float32)).tolist() == [1.0, 1.0]
    assert floats.tanh(np.array([-87.0, 89.0], np.float32)).tolist() == [-np.inf, -np.inf]
    tiny = np.array([1e-40], np.float32)
    assert floats.mul(tiny, np.float32(10)).tolist() == [0.0]
    one, end = np.ones(1, np.float32), np.array([np.inf], np.float32)
    assert floats.div(one, end).tolist() == [np.inf] and floats.div(-one, end).tolist() == [-np.inf]
    assert floats.div(one, np.zeros(1, np.float32)).tolist() == [np.inf]
    broken = np.array([np.nan, -0.0], np.float32)
    assert floats.relu(broken).tobytes() == np.zeros(2, np.float32).tobytes()
    assert floats.maximum(broken, np.zeros(2, np.float32)).tolist() == [0.0, 0.0]
    many = np.array([2.9, -2.9, 3e9, -3e9], np.float32)
    assert floats.to_int32(many).tolist() == [2, -2, 2**31 - 1, -(2**31)]


@np.errstate(all="ignore")
def test_denormal_numbers_in_between() -> None:
    """A product of ``mac`` and a reciprocal are results of their own: denormal ones are zero."""
    few = np.array([1e-20, 1e-10], np.float32)
    total = np.full(2, 1e-36, np.float32)
    assert floats.mac(total, few, few[::-1] * np.float32(1e-9)).tolist() == total.tolist()
    huge = np.array([1e38, -2.0, np.inf], np.float32)
    assert floats.div(huge, np.float32(1e38))[:2].tolist() == [0.0, 0.0]
    assert np.isnan(floats.div(huge, np.float32(1e38))[2])
    assert floats.div(np.array([1.0, -1.0], np.float32), np.float32(2e-38)).tolist() == [
        np.inf,
        -np.inf,
    ]
    assert np.isnan(floats.div(np.zeros(1, np.float32), np.float32(np.inf)))
    tail = np.exp(np.array([-87.0], np.float64)).astype(np.float32)
    assert floats.exp(np.array([-87.9], np.float32)).tolist() == tail.tolist()
    tiny, zero = np.array([1e-40], np.float32), np.zeros(1, np.float32)
    assert floats.relu(tiny).tolist() == floats.maximum(tiny, zero).tolist() == [0.0]
    assert floats.minimum(tiny, zero).tolist() == tiny.tolist()
    assert not np.signbit(floats.neg(zero))
    nans = np.array([np.nan, -np.nan], np.float32)
    nans[1] = np.copysign(nans[0], np.float32(-1))
    assert floats.to_int32(nans).tolist() == [2**31 - 1, -(2**31)]


@np.errstate(all="ignore")
def test_comparisons_of_odd_numbers() -> None:
    x = np.array([1e-40, 0.0, np.nan, np.inf], np.float32)
    y = np.array([0.0, -0.0, np.nan, np.inf], np.float32)
    assert floats.greater(x, y).tolist() == [False] * 4
    assert floats.equal(x, y).tolist() == [False, False, True, True]
    assert floats.neither_greater(x, y).tolist() == [True] * 4
    low = -np.finfo(np.float32).max
    image = np.array([-np.inf, np.nan, 2.0, np.nan], np.float32).reshape(1, 1, 2, 2)
    assert floats.max_pool2d(image, (1, 2)).reshape(-1).tolist() == [low, 2.0]


def test_signs_of_packed_operands_in_a_reversed_difference(tmp_path: Path) -> None:
    """The constant is the first source, so the tensor has the sign of the second one."""
    x = np.full((4, 3, 2, 2), -2, np.int32)
    # four images are packed into one, and all four are stored: the others hold what was there
    call = "okk.gdma_32bit_cpy_S2L(8 * S, x0, shape, None, None)\n"
    call += "okk.bdc_fixed_point_packed_C_sub(8 * S, 0, 200, shape, None, None, {}, 0)"
    got = run(tmp_path, call.format("okk.U8_OP_S8_TO_S8"), x, result=np.uint32)
    assert np.all(got[0] == 0x7F7F7F7F)
    got = run(tmp_path, call.format("okk.U8_OP_U8_TO_S8"), x, result=np.uint32)
    assert np.all(got[0] == 0xC9C9C9CA)


def test_comparisons_select(tmp_path: Path) -> None:
    got = run(
        tmp_path, f"okk.bdc_greater_select_value(8 * S, 0, S, okk.x32.fp32(2.5), {ST}, None)", A, B
    )
    assert np.array_equal(got, np.where(A > B, np.float32(2.5), 0))
    got = run(
        tmp_path,
        f"okk.bdc_C_greater_select_value(8 * S, 0, 0.5, okk.x32.s32(-7), {ST})",
        A,
        result=np.int32,
    )
    assert np.array_equal(got, np.where(A < 0.5, -7, 0))
    body = (
        "okk.bdc_greater_select(8 * S, okk.fp32_or_addr(addr=0), okk.fp32_or_addr(value=0.25), "
        "okk.x32_or_addr(addr=S), okk.x32_or_addr(value=okk.x32.fp32(-1.0)), shape)"
    )
    assert np.array_equal(run(tmp_path, body, A, B), np.where(A > 0.25, B, np.float32(-1)))


def test_words(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    x, y = (rng.integers(-(2**31), 2**31, SHAPE).astype(np.int32) for _ in range(2))
    for name, function in {
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }.items():
        got = run(tmp_path, f"okk.bdc_32bit_{name}({TWO})", x, y, result=np.int32)
        assert np.array_equal(got, function(x, y))
        body = f"okk.bdc_32bit_{name}_C(8 * S, 0, okk.x32.u32(0xF0F0F0F0), {ST})"
        wanted = function(x.view(np.uint32), np.uint32(0xF0F0F0F0))
        assert np.array_equal(run(tmp_path, body, x, result=np.uint32), wanted)
    got = run(tmp_path, f"okk.bdc_32bit_arithmetic_shift_C(8 * S, 0, -5, {ST})", x, result=np.int32)
    assert np.array_equal(got, x >> 5)
    got = run(tmp_path, f"okk.bdc_32bit_logical_shift_C(8 * S, 0, -5, {ST})", x, result=np.uint32)
    assert np.array_equal(got, x.view(np.uint32) >> np.uint32(5))
    by = rng.integers(-31, 32, SHAPE).astype(np.int32)
    got = run(tmp_path, f"okk.bdc_32bit_logical_shift({TWO})", x, by, result=np.uint32)
    u = x.view(np.uint32).astype(np.uint64)
    wanted = np.where(
        by > 0, u << np.maximum(by, 0).astype(np.uint64), u >> np.maximum(-by, 0).astype(np.uint64)
    )
    assert np.array_equal(got, wanted.astype(np.uint32))


def test_constants_fill(tmp_path: Path) -> None:
    assert np.all(
        run(tmp_path, "okk.bdc_32bit_set_C(8 * S, okk.x32.fp32(-3.5), shape, None)", A) == -3.5
    )
    body = "okk.gdma_32bit_set_C_local(8 * S, okk.x32.s8x4(1, -2, 3, -4), shape, None)".replace(
        "s8x4(1, -2, 3, -4)", "s8x4((1, -2, 3, -4))"
    )
    got = run(tmp_path, body, A, result=np.int32)
    assert got.view(np.int8).reshape(-1, 4)[5].tolist() == [1, -2, 3, -4]


@pytest.mark.parametrize("bits", [8, 16])
def test_narrow_constants_have_the_strides_of_words(tmp_path: Path, bits: int) -> None:
    """Without strides, filling bytes or halves steps by 32 elements from feature to feature."""
    fill = f"okk.gdma_{bits}bit_set_C_local(8 * S, okk.x{bits}.u{bits}(0x11), shape, None)"
    body = f"okk.bdc_32bit_cpy(8 * S, 0, {ST})\n{fill}"
    x = np.zeros((2, 3, 4, 9), np.int32)
    got = run(tmp_path, body, x, result=np.uint32)
    kind = np.dtype(f"u{bits // 8}")
    first = got[0, 0].reshape(-1).view(kind)
    assert np.all(first[:36] == 0x11) and np.all(first[36:64] == 0)
    assert np.all(first[64:72] == 0x11)  # the second n: 64 elements on, in the words of the first
    assert np.all(got[1] == 0)


def test_packed_numbers_leave_the_dummies_of_a_word_alone(tmp_path: Path) -> None:
    x = np.full((3, 5, 2, 3), 0x05050505, np.int32)
    keep = np.full((3, 5, 2, 3), 0x77777777, np.int32)
    none = "shape, None, None"
    head = f"okk.bdc_32bit_cpy(8 * S, S, {ST})\nt = okk.dim4(3, 5, 2, 3)\n"
    add = "okk.bdc_fixed_point_packed_add(8 * S, 0, 0, t, None, None, None, okk.S8_OP_S8_TO_S8, 0)"
    got = run(tmp_path, head + add, x, keep, result=np.uint32)
    assert np.all(got[0] == 0x770A0A0A) and np.all(got[1:] == 0x77777777)
    shift = f"okk.bdc_fixed_point_packed_16bit_logical_shift_C(8 * S, 0, 4, {none})"
    got = run(tmp_path, head + shift, x, keep, result=np.uint32)
    assert np.all(got[0] == 0x50505050) and np.all(got[1] == 0x77775050)


def test_casts(tmp_path: Path) -> None:
    big = A * 1000
    got = run(tmp_path, "okk.bdc_fp32_to_int32(8 * S, 0, shape)", big, result=np.int32)
    assert np.array_equal(got, np.trunc(big).astype(np.int32))
    small = np.random.default_rng(4).integers(-128, 128, SHAPE).astype(np.int32)
    got = run(tmp_path, "okk.bdc_lookup_int32_to_fp32(8 * S, 0, shape)", small)
    assert np.array_equal(got, small.astype(np.float32))
    got = run(tmp_path, "okk.bdc_4N_int8_to_fp32(8 * S, 0, S, shape, True, True)", small)
    wanted = small[:1].view(np.int8).reshape(1, 67, 3, 5, 4).transpose(0, 4, 1, 2, 3)[0][:2]
    assert np.array_equal(got, wanted.astype(np.float32))


def test_source_strides_of_zero_broadcast(tmp_path: Path) -> None:
    got = run(tmp_path, "okk.bdc_add(8 * S, 0, S, shape, None, None, okk.dim4(0, 32, 0, 0))", A, B)
    lane_firsts = np.broadcast_to(B[:1, :, :1, :1], SHAPE)
    assert np.array_equal(got, A + lane_firsts)


def test_packed_arithmetic_saturates() -> None:
    a = np.array([100, -100, 5, -5, 127], np.int64)
    assert integers.saturate(a + a, 8, True).tolist() == [127, -128, 10, -10, 127]
    assert integers.rounded_shift(np.array([5, -5, -200], np.int64), 1).tolist() == [3, -2, -100]
    words = np.random.default_rng(5).integers(0, 2**32, (2, 3, 4, 5), np.uint32)
    for bits in (8, 16):
        numbers = integers.unpack(words, bits, True)
        assert numbers.shape == (2 * 32 // bits, 3, 4, 5)
        assert np.array_equal(integers.pack(numbers), words)


def test_matrices_at_a_start_lane_that_wraps(tmp_path: Path) -> None:
    """Transfers ignore the start lane, products do not: rows are mixed up (INC-25)."""
    text = """\
import okk


@okk.kernel
def moved(lane: int, y: okk.SystemAddr, x: okk.SystemAddr, unit: okk.SystemAddr):
    okk.initialize()
    base = lane * okk.local_mem_size_per_npu()
    okk.gdma_32bit_matrix_S2L(base, x, 4, 96, 32, 96)
    okk.gdma_32bit_matrix_S2L(base + 4096, unit, 96, 96, 32, 96)
    okk.bdc_matmul(base + 65536, base, base + 4096, 0, 4, 96, 96, 32, 32, False, False)
    okk.gdma_32bit_matrix_L2S(y, base + 65536, 4, 96, 32, 96)
    okk.poll()
"""
    path = tmp_path / "moved.py"
    path.write_text(text, encoding="utf-8")
    x, unit = drawn(6, 4, 96), np.eye(96, dtype=np.float32)
    for lane, right in ((0, True), (61, True), (62, False)):
        kernel = simulate(f"{path}::moved", "bm1684", keep_going=True)
        outcome = kernel.outcome(lane, np.zeros_like(x), x, unit)
        assert outcome.ended is None
        assert np.array_equal(outcome.outputs[0], x) is right


def test_a_tensor_that_is_too_long_lands_in_the_next_lane(tmp_path: Path) -> None:
    text = """\
import okk


@okk.kernel
def spilled(y: okk.SystemAddr, x: okk.SystemAddr):
    okk.initialize()
    end = okk.local_mem_size_per_npu() - 128
    shape = okk.dim4(1, 1, 1, 64)
    okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
    okk.bdc_add_C(end, 0, 1.0, shape, None, None)
    okk.gdma_32bit_cpy_L2S(y, okk.local_mem_size_per_npu(), okk.dim4(1, 1, 1, 32), None, None)
    okk.poll()
"""
    path = tmp_path / "spilled.py"
    path.write_text(text, encoding="utf-8")
    x = drawn(7, 64)
    outcome = simulate(f"{path}::spilled", keep_going=True).outcome(np.zeros(32, np.float32), x)
    assert "okk-local-extent" in {d.rule for d in outcome.diagnostics}
    assert np.array_equal(outcome.outputs[0], x[32:] + 1)


def test_every_function_has_a_meaning() -> None:
    missing = [i.name for i in isa.INSTRUCTIONS.values() if i.engines.default is not Engine.CONTROL]
    assert [name for name in missing if name not in MEANINGS] == []
