"""Elementwise instructions against NumPy. Tolerance 2e-6 relative (float32) for functions, exact
for arithmetic that NumPy makes in the same order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.executor.semantics.support import Array, Tensor, out, perform, result
from verifier.dialects.nki.isa import INSTRUCTIONS
from verifier.executor.semantics import SEMANTICS, SemanticsMissing, alu

RNG = np.random.default_rng(11)


def draw(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


shapes = st.tuples(st.integers(1, 9), st.integers(1, 7), st.integers(1, 5))


def test_every_instruction_has_semantics() -> None:
    assert set(INSTRUCTIONS) <= set(SEMANTICS)


@given(shapes)
def test_tensor_tensor_takes_tiles_of_other_rank(shape: tuple[int, int, int]) -> None:
    a, b = draw(*shape), draw(shape[0], shape[1] * shape[2])
    got = result(
        "isa.tensor_tensor", out(shape[0], shape[2], shape[1]), data1=a, data2=b, op="subtract"
    )
    np.testing.assert_array_equal(got.ravel(), a.ravel() - b.ravel())


def test_integer_sums_are_exact_on_gpsimd_only() -> None:
    a = np.array([[2**24 + 1, 2**31 - 1]], np.int32)
    b = np.array([[2, 1]], np.int32)
    arguments = {"data1": a, "data2": b, "op": "add"}
    exact = result("isa.tensor_tensor", out(1, 2, dtype="int32"), engine="gpsimd", **arguments)
    assert exact.tolist() == [[2**24 + 3, -(2**31)]]
    rounded = result("isa.tensor_tensor", out(1, 2, dtype="int32"), **arguments)
    assert rounded.tolist() == [[2**24 + 2, 2**31 - 1]]


def test_bit_operations_never_leave_the_integers() -> None:
    a = np.array([[-1, 0x7FFFFFFF, 5]], np.int32)
    b = np.array([[4, 33, 1]], np.int32)
    for op, expected in (
        ("right_shift", [[0x0FFFFFFF, 0, 2]]),
        ("left_shift", [[-16, 0, 10]]),
        ("bitwise_and", [[4, 33, 1]]),
        ("bitwise_xor", [[-5, 0x7FFFFFFF ^ 33, 4]]),
    ):
        got = result("isa.tensor_tensor", out(1, 3, dtype="int32"), data1=a, data2=b, op=op)
        assert got.tolist() == expected, op


@given(shapes, st.booleans(), st.booleans())
def test_tensor_scalar(shape: tuple[int, int, int], back0: bool, back1: bool) -> None:
    data, column = draw(*shape), draw(shape[0], 1)
    got = result(
        "isa.tensor_scalar",
        out(*shape),
        data=data,
        op0="subtract",
        operand0=column,
        reverse0=back0,
        op1="multiply",
        operand1=3.0,
        reverse1=back1,
    )
    lane = column[:, :, None]
    np.testing.assert_array_equal(got, ((lane - data) if back0 else (data - lane)) * np.float32(3))


def test_tensor_scalar_bits_and_comparisons() -> None:
    data = np.array([[0x12, 0xFF]], np.uint8)
    got = result(
        "isa.tensor_scalar",
        out(1, 2, dtype="uint8"),
        data=data,
        op0="right_shift",
        operand0=4,
        op1="bitwise_and",
        operand1=1,
    )
    assert got.tolist() == [[1, 1]]
    got = result(
        "isa.tensor_scalar", out(1, 2, dtype="uint8"), data=data, op0="greater", operand0=20
    )
    assert got.tolist() == [[0, 1]]
    got = result(
        "isa.tensor_scalar", out(1, 2), data=draw(1, 2) ** 2 + 1, op0="rsqrt", operand0=None
    )
    assert (got > 0).all()


def test_scalar_tensor_tensor_reverses_the_second_operator() -> None:
    data, other, lane = draw(4, 6), draw(4, 6), draw(4, 1)
    got = result(
        "isa.scalar_tensor_tensor",
        out(4, 6),
        data=data,
        op0="multiply",
        operand0=lane,
        op1="subtract",
        operand1=other,
        reverse1=True,
    )
    np.testing.assert_array_equal(got, other - data * lane)


REFERENCES: dict[str, Callable[[float], float]] = {
    "gelu": lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))),
    "gelu_dx": lambda x: (
        0.5 * (1 + math.erf(x / math.sqrt(2))) + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    ),
    "gelu_apprx_tanh": lambda x: (
        0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ),
    "gelu_apprx_sigmoid": lambda x: x / (1 + math.exp(-1.702 * x)),
    "silu": lambda x: x / (1 + math.exp(-x)),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "softplus": lambda x: math.log1p(math.exp(x)),
    "mish": lambda x: x * math.tanh(math.log1p(math.exp(x))),
    "erf": math.erf,
    "erf_dx": lambda x: 2 / math.sqrt(math.pi) * math.exp(-x * x),
    "exp": math.exp,
    "tanh": math.tanh,
    "arctan": math.atan,
    "sin": math.sin,
    "relu": lambda x: max(x, 0.0),
    "square": lambda x: x * x,
    "abs": abs,
    "sign": lambda x: math.copysign(1, x),
    "copy": lambda x: x,
}


@pytest.mark.parametrize("name", sorted(REFERENCES))
def test_activation_functions(name: str) -> None:
    x = np.linspace(-6, 6, 400, dtype=np.float32).reshape(4, 100)
    got = result("isa.activation", out(4, 100), engine="scalar", data=x, op=name)
    expected = np.array([REFERENCES[name](float(v)) for v in x.ravel()]).reshape(x.shape)
    np.testing.assert_allclose(got, expected, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["gelu", "silu", "gelu_apprx_sigmoid"])
def test_derivatives_are_slopes(name: str) -> None:
    x = np.linspace(-4, 4, 101)
    function = REFERENCES[name]
    slope = [(function(v + 1e-5) - function(v - 1e-5)) / 2e-5 for v in x]
    got = alu.UNARY[f"{name}_dx"](x.astype(np.float32))
    np.testing.assert_allclose(got, slope, atol=1e-5)


def test_the_error_function_is_exact_to_float32_and_beyond() -> None:
    x = np.linspace(-7, 7, 5001)
    np.testing.assert_allclose(alu.erf(x), [math.erf(v) for v in x], atol=1e-12)


def test_activation_scales_shifts_and_narrows() -> None:
    data = draw(3, 4, 5).astype(ml_dtypes.bfloat16)
    scale, bias = draw(3, 1), draw(3, 1)
    got = result(
        "isa.activation",
        out(3, 20, dtype="bfloat16"),
        op="copy",
        data=data,
        scale=scale,
        bias=bias,
    )
    wide = data.astype(np.float32).reshape(3, 20) * scale + bias
    np.testing.assert_array_equal(got.astype(np.float32), wide.astype(ml_dtypes.bfloat16))


def test_a_chain_of_activations_shares_the_registers() -> None:
    state: dict[object, object] = {}
    a, b = draw(5, 8), draw(5, 8)
    common: dict[str, Any] = {"op": "square", "reduce_op": "add", "state": state}
    perform("isa.activation", dst=out(5, 8), data=a, reduce_cmd="reset_reduce", **common)
    io = perform(
        "isa.activation", dst=out(5, 8), data=b, reduce_cmd="reduce", reduce_res=out(5, 1), **common
    )
    expected = (a**2).sum(1, keepdims=True) + (b**2).sum(1, keepdims=True)
    np.testing.assert_allclose(io.tensors["reduce_res"].array, expected, rtol=1e-6)


def test_activation_reduce_starts_over() -> None:
    a = draw(5, 8)
    io = perform(
        "isa.activation_reduce",
        dst=out(5, 8),
        op="exp",
        data=a,
        reduce_op="add",
        reduce_res=out(5, 1),
    )
    expected = np.exp(a).sum(1, keepdims=True)
    np.testing.assert_allclose(io.tensors["reduce_res"].array, expected, rtol=1e-6)


def test_activate2_and_exponential() -> None:
    data, lane = draw(4, 6), draw(4, 1)
    got = result(
        "isa.activate2",
        out(4, 6),
        op="prelu",
        data=data,
        imm0=lane,
        imm1=2.0,
        op0="multiply",
        op1="subtract",
        relu_param=0.5,
    )
    inner = data * lane - np.float32(2)
    np.testing.assert_array_equal(got, np.where(inner > 0, inner, inner * np.float32(0.5)))
    io = perform(
        "isa.exponential",
        dst=out(4, 6),
        src=data,
        max_value=lane,
        reduce_cmd="load_reduce",
        reduce_init=1.0,
        reduce_res=out(4, 1),
    )
    powers = np.exp(data - lane)
    np.testing.assert_allclose(io.tensors["dst"].array, powers, rtol=2e-6)
    total = 1 + powers.sum(1, keepdims=True)
    np.testing.assert_allclose(io.tensors["reduce_res"].array, total, rtol=2e-6)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("add", np.add),
        ("subtract", np.subtract),
        ("multiply", np.multiply),
        ("maximum", np.maximum),
        ("greater", np.greater),
        ("abs_max", lambda a, b: np.maximum(abs(a), abs(b))),
    ],
)
def test_binary_functions_of_the_language(name: str, function: object) -> None:
    a, b = draw(3, 5), draw(3, 1)
    assert callable(function)
    got = result(f"language.{name}", out(3, 5), x=a, y=b)
    np.testing.assert_array_equal(got, function(a, b).astype(np.float32))
    got = result(f"language.{name}", out(3, 5), x=2.0, y=a)
    np.testing.assert_array_equal(got, function(np.float32(2), a).astype(np.float32))


def test_language_bits_where_and_unary() -> None:
    bits = np.array([[1, 6]], np.uint8)
    assert result("language.invert", out(1, 2, dtype="uint8"), x=bits).tolist() == [[254, 249]]
    assert result("language.left_shift", out(1, 2, dtype="uint8"), x=bits, y=1).tolist() == [
        [2, 12]
    ]
    condition = np.array([[1.0, 0.0]], np.float32)
    got = result("language.where", out(1, 2), condition=condition, x=draw(1, 2) * 0 + 7, y=-1.0)
    assert got.tolist() == [[7.0, -1.0]]
    assert result("language.floor", out(1, 2), x=condition - 0.5).tolist() == [[0.0, -1.0]]
    assert result("language.logical_not", out(1, 2), x=condition).tolist() == [[0.0, 1.0]]


def test_dropout_keeps_or_zeroes() -> None:
    data = draw(16, 64)
    got = result("isa.dropout", out(16, 64), data=data, prob=0.25)
    kept = got != 0
    np.testing.assert_array_equal(got[kept], data[kept])
    assert 0.65 < kept.mean() < 0.85
    assert not result("isa.dropout", out(16, 64), data=data, prob=1.0).any()


def test_an_unknown_operator_is_named() -> None:
    with pytest.raises(SemanticsMissing, match=r"isa\.activation .*op nonsense"):
        result("isa.activation", out(2, 2), data=draw(2, 2), op="nonsense")


def test_masks_keep_what_is_there() -> None:
    held = Tensor(np.full((2, 3), 9, np.float32), mask=np.array([[1, 0, 1]] * 2, np.bool_))
    got = result("isa.reciprocal", held, data=np.full((2, 3), 4, np.float32))
    assert got.tolist() == [[0.25, 9.0, 0.25]] * 2
