"""Conversions between element types as the engines make them.

Arithmetic is float32; a result is converted once, on its way into storage: to the narrower floats
by rounding to nearest even (out of range: infinity, NaN in the formats without one), to integers by
rounding to nearest even with saturation (NKI-T10). Integers of different types convert through
float32 (NKI-CPY05), equal types are copied bit for bit.
"""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from verifier.executor.semantics.base import Array, SemanticsMissing

F32: Final = np.dtype(np.float32)

#: how storage of each dtype is held; packed formats as the integer of their size
NUMPY: Final[dict[str, np.dtype[Any]]] = {
    "float32": F32,
    "tfloat32": F32,
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float16": np.dtype(np.float16),
    "float8_e4m3": np.dtype(ml_dtypes.float8_e4m3),
    "float8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "float8_e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "float8_e8m0fnu": np.dtype(ml_dtypes.float8_e8m0fnu),
    "int32": np.dtype(np.int32),
    "uint32": np.dtype(np.uint32),
    "int16": np.dtype(np.int16),
    "uint16": np.dtype(np.uint16),
    "int8": np.dtype(np.int8),
    "uint8": np.dtype(np.uint8),
    "bool_": np.dtype(np.bool_),
    "float8_e5m2_x4": np.dtype(np.uint32),
    "float8_e4m3fn_x4": np.dtype(np.uint32),
    "float4_e2m1fn_x4": np.dtype(np.uint16),
    "int64": np.dtype(np.int64),
    "uint64": np.dtype(np.uint64),
    "float64": np.dtype(np.float64),
}

PACKED: Final = frozenset({"float8_e5m2_x4", "float8_e4m3fn_x4", "float4_e2m1fn_x4"})

#: the bounds of each integer type as floats of twice the precision (all exact)
_BOUNDS: Final[dict[np.dtype[Any], tuple[float, float]]] = {
    np.dtype(t): (float(np.iinfo(t).min), float(np.iinfo(t).max))
    for t in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32)
}


def is_integer(array: Array) -> bool:
    """Whether the elements are integers or truth values."""
    return array.dtype.kind in "iub"


def up(array: Array) -> NDArray[np.float32]:
    """The values as an engine computes with them: float32."""
    return array if array.dtype == F32 else array.astype(np.float32)


def tf32(array: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rounded to nearest even at 10 bits of mantissa (NKI-T00h)."""
    bits = np.ascontiguousarray(array).view(np.uint32)
    rounded = (bits + np.uint32(0x0FFF) + ((bits >> np.uint32(13)) & np.uint32(1))) & np.uint32(
        0xFFFFE000
    )
    return np.where(np.isfinite(array), rounded.view(np.float32), array).astype(np.float32)


def _to_integer(array: Array, dtype: np.dtype[Any]) -> Array:
    low, high = _BOUNDS[dtype]
    wide = np.rint(array.astype(np.float64))
    if not np.isfinite(wide).all():
        wide = np.nan_to_num(wide, nan=0.0, posinf=high, neginf=low)
    return np.clip(wide, low, high).astype(dtype)


def cast(array: Array, name: str) -> Array:
    """Values as dtype ``name``; an array that is held that way already comes back as it is.

    Raises:
        KeyError: there is no dtype of that name.
        SemanticsMissing: values cannot be converted to a packed dtype (NKI-D12).
    """
    dtype = NUMPY[name]
    if array.dtype == dtype:
        return tf32(array) if name == "tfloat32" else array
    if name in PACKED:
        if array.dtype == dtype or not array.any():
            return array.astype(dtype)
        raise SemanticsMissing(f"a conversion to {name}")
    if dtype.kind == "b":
        return np.asarray(array.astype(np.float32) != 0)
    if dtype in _BOUNDS:
        if array.dtype.kind == "b":
            return array.astype(dtype)
        return _to_integer(array if array.dtype.kind == "f" else up(array), dtype)
    if dtype.kind in "iu":  # 64 bit, of the host only
        return array.astype(dtype)
    with np.errstate(all="ignore"):
        values = up(array)
        if name == "float32":
            return values
        if name == "tfloat32":
            return tf32(values)
        return values.astype(dtype)


def exact(array: Array, name: str) -> Array:
    """Integers as dtype ``name`` without the way through float32: saturated where too large."""
    dtype = NUMPY[name]
    if array.dtype == dtype or dtype not in _BOUNDS:
        return cast(array, name)
    low, high = _BOUNDS[dtype]
    return np.clip(array.astype(np.int64), int(low), int(high)).astype(dtype)


def bits(array: Array, name: str) -> Array:
    """Integers as dtype ``name`` by their low bits, as bit operations write them."""
    dtype = NUMPY[name]
    if dtype.kind == "b":
        return (array & 1).astype(np.bool_)
    return array.astype(dtype) if dtype.kind in "iu" else cast(array, name)


def split(array: Array, name: str) -> NDArray[np.float32]:
    """The four values of each packed element, in a new last axis (lowest bits first)."""
    if name == "float4_e2m1fn_x4":
        shifts = np.arange(0, 16, 4, dtype=np.uint16)
        codes = ((array[..., None] >> shifts) & np.uint16(15)).astype(np.uint8)
        return np.asarray(codes.view(ml_dtypes.float4_e2m1fn), np.float32)
    kind = ml_dtypes.float8_e5m2 if name == "float8_e5m2_x4" else ml_dtypes.float8_e4m3fn
    packed = np.ascontiguousarray(array).astype("<u4", copy=False)
    return np.asarray(packed.view(np.uint8).reshape(*array.shape, 4).view(kind), np.float32)


def join(values: NDArray[np.float32], name: str) -> Array:
    """Packed elements from float32 values whose last axis has four; saturating."""
    if name == "float4_e2m1fn_x4":
        small = np.clip(values, -6.0, 6.0).astype(ml_dtypes.float4_e2m1fn)
        codes = (small.view(np.uint8) & np.uint8(15)).astype(np.uint16)
        return np.asarray(
            codes[..., 0] | codes[..., 1] << 4 | codes[..., 2] << 8 | codes[..., 3] << 12
        ).astype(np.uint16)
    kind = ml_dtypes.float8_e5m2 if name == "float8_e5m2_x4" else ml_dtypes.float8_e4m3fn
    limit = 57344.0 if kind is ml_dtypes.float8_e5m2 else 448.0
    bytes_ = np.ascontiguousarray(np.clip(values, -limit, limit).astype(kind)).view(np.uint8)
    return bytes_.view("<u4")[..., 0]
