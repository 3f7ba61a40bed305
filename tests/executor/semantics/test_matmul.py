"""Products and transposes. Products within 1e-5 of float64 (float32 sums of at most 128 terms);
transposes and quantised products of powers of two exact."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.executor.semantics.support import Array, Tensor, out, perform, result
from verifier.executor.semantics import casts

RNG = np.random.default_rng(3)


def draw(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


@given(st.integers(1, 20), st.integers(1, 9), st.integers(1, 17), st.sampled_from(["new", "add"]))
def test_products_contract_the_partitions(k: int, m: int, n: int, how: str) -> None:
    stationary, moving = draw(k, m), draw(k, n)
    dst = out(m, n, fill=3, buffer="psum")
    got = result("isa.nc_matmul", dst, stationary=stationary, moving=moving, adds=how == "add")
    expected = stationary.astype(np.float64).T @ moving + (3 if how == "add" else 0)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def test_accumulation_may_differ_by_element() -> None:
    adds = np.array([[True, False]])
    got = result(
        "isa.nc_matmul",
        out(1, 2, fill=10),
        stationary=np.ones((4, 1), np.float32),
        moving=np.ones((4, 2), np.float32),
        adds=adds,
    )
    assert got.tolist() == [[14.0, 4.0]]


def test_masked_rows_add_nothing() -> None:
    mask = np.zeros((4, 2), np.bool_)
    mask[:3] = True
    moving = Tensor(np.full((4, 2), np.nan, np.float32), mask=mask)
    moving.array[:3] = 1
    got = result("isa.nc_matmul", out(2, 2), stationary=np.ones((4, 2), np.float32), moving=moving)
    assert got.tolist() == [[3.0, 3.0]] * 2


def test_double_row_contracts_two_rows_per_partition() -> None:
    a = draw(8, 2, 3).astype(ml_dtypes.float8_e4m3)
    b = draw(8, 2, 5).astype(ml_dtypes.float8_e4m3)
    got = result("isa.nc_matmul", out(3, 5), stationary=a, moving=b, perf_mode="double_row")
    expected = np.einsum("kim,kin->mn", a.astype(np.float64), b.astype(np.float64))
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def test_transposes_carry_infinities() -> None:
    data = draw(4, 3)
    data[1, 2], data[2, 0] = np.inf, np.nan
    eye = np.eye(4, dtype=np.float32)
    got = result("isa.nc_matmul", out(3, 4), stationary=data, moving=eye, is_transpose=True)
    np.testing.assert_array_equal(got, data.T)
    np.testing.assert_array_equal(result("isa.nc_transpose", out(3, 4), data=data), data.T)
    np.testing.assert_array_equal(result("language.transpose", out(3, 4), x=data), data.T)


def test_free_axes_are_flattened_by_a_transpose() -> None:
    data = draw(5, 2, 3)
    got = result("isa.nc_transpose", out(6, 5), data=data)
    np.testing.assert_array_equal(got, data.reshape(5, 6).T)


def test_language_matmul() -> None:
    x, y = draw(6, 4), draw(6, 5)
    got = result("language.matmul", out(4, 5), x=x, y=y, transpose_x=True)
    np.testing.assert_allclose(got, x.T @ y, rtol=1e-6)
    got = result("language.matmul", out(4, 5), x=draw(4, 6) * 0 + 1, y=y)
    np.testing.assert_allclose(got, np.broadcast_to(y.sum(0), (4, 5)), rtol=1e-5, atol=1e-6)


def test_quantised_values_come_back_by_their_scales() -> None:
    source = draw(64, 16).astype(ml_dtypes.bfloat16)
    source[:8, :4] = 0
    # how far numbers lie apart: in proportion, and the small ones of a block
    kinds = ("float8_e4m3fn_x4", 2.0**-3, 2.0**-9), ("float8_e5m2_x4", 2.0**-2, 2.0**-16)
    for kind, step, least in kinds:
        io = perform(
            "isa.quantize_mx",
            dst=out(64, 4, dtype=kind),
            src=source,
            dst_scale=out(64, 4, dtype="uint8", fill=255),
        )
        scales = io.tensors["dst_scale"].array
        assert (scales[4:32] == 255).all() and (scales[36:] == 255).all()
        groups = np.concatenate([scales[0:4], scales[32:36]]).astype(np.int64) - 127
        factor = np.repeat(2.0**groups, 8, axis=0)
        values = casts.split(io.tensors["dst"].array, kind) * factor[:, :, None]
        wide = source.astype(np.float32).reshape(64, 4, 4)
        apart = np.maximum(np.abs(wide) * step, least * factor[:, :, None])
        assert (np.abs(values - wide) <= apart).all()
        assert groups[0, 0] == -127
        got = result(
            "isa.nc_matmul_mx",
            out(4, 4),
            stationary=Tensor(io.tensors["dst"].array, kind),
            moving=Tensor(io.tensors["dst"].array, kind),
            stationary_scale=Tensor(scales),
            moving_scale=Tensor(scales),
        )
        expected = np.einsum("pmi,pni->mn", values, values)
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def test_scales_of_one_quadrant_lie_together() -> None:
    data = np.full((32, 2), 0x3C3C3C3C, np.uint32)  # 1.0 four times
    scales = np.full((4, 2), 128, np.uint8)  # 2
    got = result(
        "isa.nc_matmul_mx",
        out(2, 2),
        stationary=Tensor(data, "float8_e5m2_x4"),
        moving=Tensor(data, "float8_e5m2_x4"),
        stationary_scale=scales,
        moving_scale=scales,
    )
    assert got.tolist() == [[512.0, 512.0]] * 2


def test_scales_doubled_in_0_5() -> None:
    source = np.full((32, 4), 3.0, np.float32).astype(ml_dtypes.bfloat16)
    found = []
    for api in ("0.4", "0.5"):
        io = perform(
            "isa.quantize_mx",
            api=api,
            dst=out(32, 1, dtype="float8_e4m3fn_x4"),
            src=source,
            dst_scale=out(4, 1, dtype="float8_e8m0fnu"),
        )
        found.append(int(io.tensors["dst_scale"].array.view(np.uint8)[0, 0]) - 127)
        values = casts.split(io.tensors["dst"].array, "float8_e4m3fn_x4")
        assert (values * 2.0 ** found[-1] == 3).all()
    assert found == [1 - 8, 1 - 7]


def test_scales_of_several_tensors_may_share_a_tile() -> None:
    data = np.full((32, 2), 0x3C3C3C3C, np.uint32)  # 1.0 four times
    scales = np.full((4, 6), 127, np.uint8)
    scales[:, 2:] = 200
    got = result(
        "isa.nc_matmul_mx",
        out(2, 2),
        stationary=Tensor(data, "float8_e5m2_x4"),
        moving=Tensor(data, "float8_e5m2_x4"),
        stationary_scale=scales,
        moving_scale=scales,
    )
    assert got.tolist() == [[128.0, 128.0]] * 2
