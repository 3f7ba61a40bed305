"""What the meanings of PPL functions share: operands as numbers, and how results are rounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from verifier.executor.semantics import casts
from verifier.executor.semantics.tpu.base import (
    Array,
    LaneIO,
    SemanticsMissing,
)

F32: Final = np.float32


def as_given(io: LaneIO, role: str) -> Array:
    """A tensor, or a number as an array without dimensions."""
    if io.is_tensor(role):
        return io.read(role)
    return np.asarray(io.value(role))


def as_float(io: LaneIO, role: str) -> Array:
    array = as_given(io, role)
    return array if array.dtype == F32 else array.astype(F32)


def as_whole(io: LaneIO, role: str) -> Array:
    """Integers, wide enough for what is computed with them."""
    array = as_given(io, role)
    return array.astype(np.int64) if array.dtype.kind in "iub" else np.asarray(array, np.int64)


def is_integer(dtype: str) -> bool:
    return casts.NUMPY[dtype].kind in "iu"


def rounding(io: LaneIO, role: str) -> str:
    value = io.value(role) if io.has(role) else None
    return "RM_HALF_TO_EVEN" if value is None else str(getattr(value, "name", value))


#: rounding of numbers to whole ones
ROUND: Final[dict[str, Callable[[Any], Any]]] = {
    "RM_HALF_TO_EVEN": np.rint,
    "RM_HALF_AWAY_FROM_ZERO": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    "RM_TOWARDS_ZERO": np.trunc,
    "RM_DOWN": np.floor,
    "RM_UP": np.ceil,
    "RM_HALF_UP": lambda x: np.floor(x + 0.5),
    "RM_HALF_DOWN": lambda x: np.ceil(x - 0.5),
}


def converted(array: Array, dtype: str, mode: str = "RM_HALF_TO_EVEN") -> Array:
    """Numbers as another type: floats to integers saturate, integers to integers saturate.

    Raises:
        SemanticsMissing: floats are rounded to narrower ones, but not to nearest even, towards
            zero, up or down.
    """
    kind = casts.NUMPY[dtype]
    if array.dtype == kind:
        return array
    if kind.kind in "iu":
        info = np.iinfo(kind)
        wide = array if array.dtype.kind in "iub" else _whole_numbers(array, mode)
        return np.clip(wide.astype(np.int64), info.min, info.max).astype(kind)
    near = casts.cast(array.astype(F32), dtype)
    if mode == "RM_HALF_TO_EVEN" or kind == F32 or not _is_inexact(array, near):
        return near
    return _directed(array.astype(F32), near, mode)


def _whole_numbers(array: Array, mode: str) -> Array:
    numbers = np.nan_to_num(array.astype(np.float64), nan=0.0, posinf=2.0**62, neginf=-(2.0**62))
    whole = np.clip(ROUND[mode](numbers), -(2.0**62), 2.0**62)
    return np.asarray(whole, np.int64)


def _is_inexact(array: Array, near: Array) -> bool:
    return bool(np.any(array.astype(F32) != near.astype(F32)))


def _directed(exact: Array, near: Array, mode: str) -> Array:
    """The neighbour of the nearest number in the direction that the mode asks for."""
    if mode not in ("RM_TOWARDS_ZERO", "RM_DOWN", "RM_UP"):
        raise SemanticsMissing("ppl.tiu.cast", f"floats with {mode}")
    found = near.astype(F32)
    if mode == "RM_TOWARDS_ZERO":
        wrong = np.abs(found) > np.abs(exact)
        away = np.zeros_like(wrong)
    elif mode == "RM_DOWN":
        wrong = found > exact
        away = exact < 0
    else:
        wrong = found < exact
        away = exact > 0
    bits = near.view(f"u{near.dtype.itemsize}")
    moved = np.where(away, bits + 1, bits - 1).astype(bits.dtype)
    return np.where(wrong, moved, bits).view(near.dtype)


def put(io: LaneIO, role: str, array: Array, mode: str = "RM_HALF_TO_EVEN") -> None:
    """Store numbers in the tensor's type; the tensor says how many."""
    value = converted(np.asarray(array), io.dtype(role), mode)
    shape = io.shape(role)
    if value.ndim == len(shape):
        value = value[tuple(slice(size) for size in shape)]
    io.write(role, np.broadcast_to(value, shape))


def wrap(io: LaneIO, role: str, values: Array, *, saturate: bool) -> None:
    """Store integers: their low bits, or the nearest number of the tensor's type."""
    kind = casts.NUMPY[io.dtype(role)]
    if kind.kind not in "iu":
        put(io, role, values)
        return
    if saturate:
        info = np.iinfo(kind)
        values = np.clip(values, info.min, info.max)
    io.write(role, np.broadcast_to(values.astype(kind), io.shape(role)))


def shifted(values: Array, by: Array, mode: str) -> Array:
    """``values * 2 ** by``; what is shifted out on the right is rounded."""
    left = np.clip(by, 0, 62).astype(np.int64)
    right = np.clip(-by, 0, 62).astype(np.int64)
    whole = values << left
    if not np.any(right):
        return whole
    down = whole >> right
    rest = whole - (down << right)
    half = np.where(right > 0, np.int64(1) << np.maximum(right - 1, 0), 0)
    up: Array
    if mode == "RM_HALF_TO_EVEN":
        up = (rest > half) | ((rest == half) & (down & 1 == 1))
    elif mode == "RM_HALF_AWAY_FROM_ZERO":
        up = (rest > half) | ((rest == half) & (whole > 0))
    elif mode == "RM_HALF_UP":
        up = rest >= half
    elif mode == "RM_HALF_DOWN":
        up = rest > half
    elif mode == "RM_UP":
        up = rest > 0
    elif mode == "RM_TOWARDS_ZERO":
        up = (rest > 0) & (whole < 0)
    else:
        up = np.zeros_like(rest, np.bool_)
    return np.where(right > 0, down + up, whole)


def has_floats(io: LaneIO, *roles: str) -> bool:
    return any(as_given(io, role).dtype.kind not in "iub" for role in roles)


def pair(io: LaneIO, first: str, second: str) -> tuple[Array, Array]:
    if has_floats(io, first, second):
        return as_float(io, first), as_float(io, second)
    return as_whole(io, first), as_whole(io, second)
