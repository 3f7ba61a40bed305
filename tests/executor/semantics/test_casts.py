"""Conversions between element types. Everything here is exact."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.executor.semantics import casts
from verifier.executor.semantics.base import SemanticsMissing

floats = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.lists(floats, min_size=1, max_size=20))
def test_integers_round_to_even_and_saturate(values: list[float]) -> None:
    array = np.array(values, np.float32)
    for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32"):
        limits = np.iinfo(casts.NUMPY[name])
        expected = [min(max(round(float(v)), limits.min), limits.max) for v in array]
        assert casts.cast(array, name).tolist() == expected


def test_halves_go_to_even_and_specials_to_the_ends() -> None:
    array = np.array([0.5, 1.5, 2.5, -0.5, -1.5, np.inf, -np.inf, np.nan], np.float32)
    assert casts.cast(array, "int16").tolist() == [0, 2, 2, 0, -2, 32767, -32768, 0]


@given(st.integers(-(2**31), 2**31 - 1))
def test_wide_integers_pass_through_float32(number: int) -> None:
    array = np.array([number], np.int32)
    assert casts.cast(array, "float32")[0] == np.float32(number)
    assert casts.cast(array, "int32")[0] == number
    through = int(np.float32(number))
    assert casts.cast(array, "uint32")[0] == min(max(through, 0), 2**32 - 1)
    assert casts.exact(array, "uint32")[0] == max(number, 0)
    assert casts.bits(array, "uint16")[0] == number % 2**16


@given(st.lists(floats, min_size=1, max_size=20))
def test_tfloat32_keeps_ten_bits_of_mantissa(values: list[float]) -> None:
    array = np.array(values, np.float32)
    rounded = casts.cast(array, "tfloat32")
    bits = rounded.view(np.uint32)
    finite = np.isfinite(rounded)
    assert not (bits[finite] & 0x1FFF).any()
    normal = finite & (np.abs(array) >= 2**-126)
    assert (np.abs(rounded - array)[normal] <= np.abs(array)[normal] * 2.0**-11).all()


def test_tfloat32_ties_go_to_even() -> None:
    step = 2.0**-10
    array = np.array([1 + step / 2, 1 + 1.5 * step, np.inf, np.nan], np.float32)
    rounded = casts.tf32(array)
    assert rounded[0] == 1.0 and rounded[1] == 1 + 2 * step and rounded[2] == np.inf
    assert np.isnan(rounded[3])


def test_narrow_floats_overflow_as_their_format_says() -> None:
    array = np.array([1e6, -1e6], np.float32)
    assert np.isinf(casts.cast(array, "float16").astype(np.float32)).all()
    assert np.isinf(casts.cast(array, "float8_e4m3").astype(np.float32)).all()
    assert np.isnan(casts.cast(array, "float8_e4m3fn").astype(np.float32)).all()
    smallest = np.array([-3.4028235e38], np.float32)
    assert casts.cast(smallest, "bfloat16").astype(np.float32)[0] == -np.inf


def test_truth_values_are_what_is_not_zero() -> None:
    assert casts.cast(np.array([0.0, 0.25, -3.0], np.float32), "bool_").tolist() == [
        False,
        True,
        True,
    ]


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=8))
def test_packed_bytes_come_apart_and_together(words: list[int]) -> None:
    packed = np.array([words], np.uint32)
    apart = casts.split(packed, "float8_e5m2_x4")
    expected = packed.view(np.uint8).reshape(1, -1, 4).view(ml_dtypes.float8_e5m2)
    np.testing.assert_array_equal(apart, expected.astype(np.float32))
    finite = np.where(np.isfinite(apart), apart, np.float32(0))
    again = casts.split(casts.join(finite, "float8_e5m2_x4"), "float8_e5m2_x4")
    np.testing.assert_array_equal(again, finite)


def test_four_bit_floats() -> None:
    values = np.array([[[0.0, 0.5, -6.0, 1.5]]], np.float32)
    packed = casts.join(values, "float4_e2m1fn_x4")
    assert packed.dtype == np.uint16 and packed.shape == (1, 1)
    assert packed[0, 0] == 0x0 | 0x1 << 4 | 0xF << 8 | 0x3 << 12
    np.testing.assert_array_equal(casts.split(packed, "float4_e2m1fn_x4"), values)


def test_values_do_not_become_packed() -> None:
    with pytest.raises(SemanticsMissing, match="float8_e5m2_x4"):
        casts.cast(np.ones(3, np.float32), "float8_e5m2_x4")
    assert casts.cast(np.zeros(3, np.float32), "float8_e5m2_x4").tolist() == [0, 0, 0]
