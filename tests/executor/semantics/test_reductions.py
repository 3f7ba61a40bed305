"""Reductions, scans and statistics. Maxima and running sums exact, sums within 1e-5 of float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.executor.semantics.support import Array, Tensor, out, perform, result

RNG = np.random.default_rng(5)


def draw(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


shapes = st.tuples(st.integers(1, 9), st.integers(1, 7), st.integers(1, 5))


@given(shapes, st.sampled_from([(1, 2), (2,), 2, -1]), st.booleans())
def test_tensor_reduce(shape: tuple[int, int, int], axis: object, keep: bool) -> None:
    data = draw(*shape)
    axes = axis if isinstance(axis, tuple) else (axis,)
    for name, function in (("maximum", np.max), ("add", np.sum), ("multiply", np.prod)):
        expected = function(data.astype(np.float64), axis=axes, keepdims=True)
        sizes = expected.shape if keep else (shape[0], expected.size // shape[0])
        got = result("isa.tensor_reduce", out(*sizes), op=name, data=data, axis=axis, keepdims=keep)
        np.testing.assert_allclose(got.ravel(), expected.ravel(), rtol=1e-5, atol=1e-5)


def test_reductions_of_bits_and_their_negative() -> None:
    data = np.array([[0b0110, 0b0011]], np.uint8)
    got = result("isa.tensor_reduce", out(1, 1, dtype="uint8"), op="bitwise_or", data=data, axis=1)
    assert got.tolist() == [[0b0111]]
    got = result("isa.tensor_reduce", out(1, 1), op="add", data=data, axis=1, negate=True)
    assert got.tolist() == [[-9.0]]


def test_masked_elements_take_no_part() -> None:
    data = Tensor(draw(3, 6), mask=np.arange(6)[None, :] < np.full((3, 1), 4))
    kept = data.array[:, :4]
    for name, expected in (
        ("max", kept.max(1)),
        ("sum", kept.sum(1)),
        ("mean", kept.mean(1)),
        ("var", kept.var(1)),
    ):
        got = result(f"language.{name}", out(3, 1), x=data, axis=1)
        np.testing.assert_allclose(got[:, 0], expected, rtol=1e-5, atol=1e-6, err_msg=name)


@given(shapes)
def test_reductions_of_the_language(shape: tuple[int, int, int]) -> None:
    data = draw(*shape)
    for name, function in (
        ("sum", np.sum),
        ("mean", np.mean),
        ("min", np.min),
        ("prod", np.prod),
        ("var", np.var),
        ("all", np.all),
    ):
        expected = function(data.astype(np.float64), axis=(1, 2), keepdims=True)
        got = result(f"language.{name}", out(shape[0], 1), x=data, axis=(1, 2))
        np.testing.assert_allclose(got.ravel(), expected.ravel(), rtol=1e-5, atol=1e-5)


def test_softmax_and_rms_norm() -> None:
    x, w = draw(4, 10), draw(1, 10)
    powers = np.exp(x.astype(np.float64))
    got = result("language.softmax", out(4, 10), x=x, axis=-1)
    np.testing.assert_allclose(got, powers / powers.sum(1, keepdims=True), rtol=1e-5)
    got = result("language.rms_norm", out(4, 10), x=x, w=w, axis=1, n=10, epsilon=0.5)
    expected = x * w / np.sqrt((x.astype(np.float64) ** 2).mean(1, keepdims=True) + 0.5)
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_partitions_fold_into_one() -> None:
    data = draw(7, 4)
    folds = {"add": data.sum(0), "maximum": data.max(0), "average": data.mean(0)}
    for name, expected in folds.items():
        got = result("isa.tensor_partition_reduce", out(1, 4), op=name, data=data)
        np.testing.assert_allclose(got[0], expected, rtol=1e-5, atol=1e-6)


@given(
    st.integers(1, 5),
    st.integers(1, 12),
    st.sampled_from(["multiply", "add", "subtract", "maximum"]),
    st.sampled_from(["add", "subtract", "minimum"]),
    st.booleans(),
    st.booleans(),
)
def test_scans_follow_the_recurrence(
    lanes: int, length: int, op0: str, op1: str, back0: bool, back1: bool
) -> None:
    functions = {
        "multiply": np.multiply,
        "add": np.add,
        "subtract": np.subtract,
        "maximum": np.maximum,
        "minimum": np.minimum,
    }
    a, b, start = draw(lanes, length), draw(lanes, length), draw(lanes, 1)
    expected = np.empty_like(a)
    state = start[:, 0]
    for i in range(length):
        inner = (a[:, i], state) if not back0 else (state, a[:, i])
        value = functions[op0](*inner)
        outer = (value, b[:, i]) if not back1 else (b[:, i], value)
        expected[:, i] = state = functions[op1](*outer)
    got = result(
        "isa.tensor_tensor_scan",
        out(lanes, length),
        data0=a,
        data1=b,
        initial=start,
        op0=op0,
        op1=op1,
        reverse0=back0,
        reverse1=back1,
    )
    np.testing.assert_array_equal(got, expected)


def test_a_running_sum_carries_its_start() -> None:
    ones, data = np.ones((3, 50), np.float32), draw(3, 50)
    common = {"data0": ones, "data1": data, "op0": "multiply", "op1": "add"}
    got = result("isa.tensor_tensor_scan", out(3, 50), initial=2.0, **common)
    expected = np.add.accumulate(np.concatenate([np.full((3, 1), 2, np.float32), data], 1), axis=1)
    np.testing.assert_array_equal(got, expected[:, 1:])


@pytest.mark.parametrize("op1", ["add", "subtract", "multiply", "maximum", "minimum"])
def test_cumulative_results_continue_in_the_registers(op1: str) -> None:
    functions = {
        "add": np.add,
        "subtract": np.subtract,
        "multiply": np.multiply,
        "maximum": np.maximum,
        "minimum": np.minimum,
    }
    source, more = draw(3, 6), draw(3, 5)
    state: dict[object, object] = {}
    common = {"op0": "add", "op1": op1, "imm0": 0.5, "state": state}
    first = result("isa.tensor_scalar_cumulative", out(3, 6), src=source, **common)
    second = result(
        "isa.tensor_scalar_cumulative", out(3, 5), src=more, reduce_cmd="reduce", **common
    )
    start = {"multiply": 1.0, "maximum": -np.inf, "minimum": np.inf}.get(op1, 0.0)
    register = np.full(3, start, np.float32)
    expected = []
    for column in np.concatenate([source, more], axis=1).T:
        register = functions[op1](column + np.float32(0.5), register)
        expected.append(register)
    got = np.concatenate([first, second], axis=1)
    np.testing.assert_allclose(got, np.array(expected).T, rtol=1e-5, atol=1e-5)


def test_tensor_scalar_reduce() -> None:
    data = draw(4, 9)
    io = perform(
        "isa.tensor_scalar_reduce",
        dst=out(4, 9),
        data=data,
        op0="multiply",
        operand0=2.0,
        reduce_op="maximum",
        reduce_res=out(4, 1),
        reduce_res_negate=True,
    )
    np.testing.assert_array_equal(io.tensors["dst"].array, data * 2)
    np.testing.assert_array_equal(io.tensors["reduce_res"].array, -(data * 2).max(1, keepdims=True))


def test_range_select_and_select_reduce() -> None:
    data = draw(2, 6)
    low, high = np.array([[1], [0]], np.float32), np.array([[3], [9]], np.float32)
    io = perform(
        "isa.range_select",
        dst=out(2, 6),
        on_true_tile=data,
        comp_op0="greater_equal",
        comp_op1="less",
        bound0=low,
        bound1=high,
        range_start=0,
        reduce_res=out(2, 1),
        on_false_value=-3.4028235e38,
    )
    chosen = np.array([[0, 1, 1, 0, 0, 0], [1] * 6], np.bool_)
    expected = np.where(chosen, data, np.float32(-3.4028235e38))
    np.testing.assert_array_equal(io.tensors["dst"].array, expected)
    np.testing.assert_array_equal(io.tensors["reduce_res"].array, expected.max(1, keepdims=True))
    io = perform(
        "isa.select_reduce",
        dst=out(2, 6),
        predicate=chosen.astype(np.uint8),
        on_true=data,
        on_false=0.0,
        reduce_cmd="reset_reduce",
        reduce_op="maximum",
        reduce_res=out(2, 1),
        reverse_pred=True,
    )
    expected = np.where(chosen, np.float32(0), data)
    np.testing.assert_array_equal(io.tensors["dst"].array, expected)
    np.testing.assert_array_equal(io.tensors["reduce_res"].array, expected.max(1, keepdims=True))


@given(st.lists(st.integers(1, 40), min_size=1, max_size=4))
def test_statistics_of_parts_aggregate(widths: list[int]) -> None:
    parts = [draw(3, width) * 3 + 5 for width in widths]
    triples = [result("isa.bn_stats", out(3, 6), data=part) for part in parts]
    half = parts[0][:, 0::2]
    np.testing.assert_allclose(triples[0][:, 0], half.shape[1])
    np.testing.assert_allclose(triples[0][:, 1], half.mean(1), rtol=1e-5)
    np.testing.assert_allclose(triples[0][:, 2], half.var(1) * half.shape[1], rtol=1e-4, atol=1e-3)
    got = result("isa.bn_aggr", out(3, 2), data=np.concatenate(triples, axis=1))
    whole = np.concatenate(parts, axis=1).astype(np.float64)
    np.testing.assert_allclose(got[:, 0], whole.mean(1), rtol=1e-5)
    np.testing.assert_allclose(got[:, 1], whole.var(1), rtol=1e-4, atol=1e-4)


def test_loop_reduce_starts_over_when_iterations_repeat() -> None:
    state: dict[object, object] = {}
    total = 0.0
    for expected_total, index in ((1.0, 0), (3.0, 1), (4.0, 0)):
        total = expected_total - (0.0 if index == 0 else 1.0)
        x = np.full((2, 2), total, np.float32)
        got = result(
            "language.loop_reduce", out(2, 2), x=x, op="add", loop_indices=(index,), state=state
        )
        assert got[0, 0] == expected_total
