"""Arithmetic of the compute engine on float32 arrays.

Denormal inputs and results are zero (OKK-N05). Where a catalogue row gives what was measured
outside of the documented ranges, that is computed, not what mathematics says (OKK-N01 to OKK-N07).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

F: TypeAlias = NDArray[np.float32]
Array: TypeAlias = NDArray[Any]

_F32: Final = np.float32
_TINY: Final = np.finfo(np.float32).tiny

#: where the exponential's table begins and ends (OKK-075, OKK-N01)
EXP_LOW: Final = -103
EXP_HIGH: Final = 88
#: terms of the series of ``bdc_exp``, ``bdc_sigmoid`` and ``bdc_tanh`` (OKK-076)
TERMS: Final = 32


def flush(x: Array) -> F:
    """Denormal numbers as zero (OKK-N05)."""
    x = np.asarray(x, _F32)
    return np.where(np.abs(x) < _TINY, np.copysign(_F32(0), x), x)


def flushed(function: Callable[..., Array]) -> Callable[..., F]:
    """An operation on float32 arrays whose inputs and results are flushed."""
    return lambda *args: flush(function(*(flush(arg) for arg in args)))


add: Final = flushed(np.add)
sub: Final = flushed(np.subtract)
mul: Final = flushed(np.multiply)
sqrt: Final = flushed(np.sqrt)
neg: Final = flushed(lambda x: _F32(0) - x)


@flushed
def div(a: Array, b: Array) -> Array:
    """Division; a product with the reciprocal where that is none of the normal numbers (OKK-N05).

    The reciprocal of an infinity, and of what is less than twice the least normal number, is an
    infinity; one that would be denormal is zero.
    """
    infinite = np.isinf(b) | (np.abs(b) < 2 * _TINY)
    inverse = np.where(infinite, np.copysign(_F32(np.inf), b), flush(_F32(1) / b))
    return np.where(infinite | (inverse == 0), a * inverse, a / b)


@flushed
def rsqrt(x: Array) -> Array:
    return _F32(1) / np.sqrt(x)


@flushed
def mac(total: Array, a: Array, b: Array) -> Array:
    """``total + a * b``; the product is a result of its own, so a denormal one is zero."""
    return np.asarray(total + flush(a * b))


@flushed
def maximum(a: Array, b: Array) -> Array:
    """The greater one; the second if they are equal or cannot be compared (OKK-N06)."""
    return np.where(a > b, a, b)


def minimum(a: Array, b: Array) -> F:
    """The lesser one; the first if they are equal, the second if they cannot be compared. It is
    compared as flushed, and stored as it is."""
    return np.where(flush(a) <= flush(b), a, b).astype(_F32)


def greater(a: Array, b: Array) -> Array:
    return np.asarray(flush(a) > flush(b))


def neither_greater(a: Array, b: Array) -> Array:
    """Whether none is greater than the other: true if one of them is NaN."""
    return np.asarray(~greater(a, b) & ~greater(b, a))


def equal(a: Array, b: Array) -> Array:
    """Whether the bits are the same: so 0 and -0 are not equal, and a NaN is equal to itself."""
    return np.asarray(np.asarray(a, _F32).view(np.uint32) == np.asarray(b, _F32).view(np.uint32))


@flushed
def relu(x: Array) -> Array:
    """0 for NaN and -0 (OKK-N06)."""
    return np.where(x > 0, x, _F32(0))


def taylor_exp(x: Array, terms: int) -> F:
    """The series of the exponential up to the power ``terms`` (OKK-N04)."""
    return flush(_F32(1) + _series(flush(x), terms))


def _series(x: F, terms: int) -> F:
    """The series of the exponential without its first term."""
    total = np.zeros(x.shape, np.float64)
    power = np.ones(x.shape, np.float64)
    for k in range(1, terms + 1):
        power = power * x / k
        total = total + power
    return total.astype(_F32)


_EXP_TABLE: Final = np.exp(np.arange(EXP_LOW, EXP_HIGH + 1, dtype=np.float64)).astype(_F32)


def lookup_exp(x: Array) -> F:
    """The exponential of integers by table; 0 outside of it. The table has denormal numbers."""
    inside = (x >= EXP_LOW) & (x <= EXP_HIGH)
    return np.where(inside, _EXP_TABLE[np.where(inside, x - EXP_LOW, 0)], _F32(0)).astype(_F32)


def exp(x: Array, terms: int = TERMS) -> F:
    """A table for the whole part, a series for the rest; 0 from 89 on (OKK-N01).

    ``table + table * (series - 1)``: where that product is denormal, only the table is left.
    """
    x = flush(x)
    whole = to_int32(x)
    table = lookup_exp(whole)
    return mac(table, table, _series(x - whole.astype(_F32), terms))


def sigmoid(x: Array, terms: int = TERMS) -> F:
    """``1 / (1 + exp(-x))``: infinite where the exponential is, 1 beyond (OKK-N02)."""
    return div(_F32(1), add(_F32(1), exp(-flush(x), terms)))


def tanh(x: Array, terms: int = TERMS) -> F:
    """The hyperbolic tangent from one exponential and its reciprocal; minus infinity where one of
    the two is zero or infinite (OKK-N03)."""
    up = exp(x, terms)
    down = div(np.ones_like(up), up)
    inside = np.isfinite(up) & np.isfinite(down)
    wide, rest = up.astype(np.float64), 1 / np.where(inside, up, 1).astype(np.float64)
    found = np.where(inside, (wide - rest) / (wide + rest), -np.inf)
    return flush(np.where(np.isnan(x), x, found.astype(_F32)))


def to_int32(x: Array) -> NDArray[np.int32]:
    """Truncated toward zero, saturated (OKK-N07); NaN to the end that its sign says."""
    wide = np.where(np.isnan(x), np.copysign(np.inf, x), np.trunc(x.astype(np.float64)))
    return np.asarray(np.clip(wide, -(2.0**31), 2.0**31 - 1), np.int32)


def lookup_float(x: Array) -> F:
    """An integer as a float by table: its low 8 bits count (OKK-085, OKK-Y02)."""
    return x.astype(np.int8).astype(_F32)


# ------------------------------------------------------------------------ sliding windows


def _taps(
    size: tuple[int, int],
    kernel: tuple[int, int],
    strides: tuple[int, int],
    dilation: tuple[int, int],
) -> list[tuple[int, int, slice, slice]]:
    """For each element of a kernel the part of the padded image that it meets."""
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    out = [(s - r) // step + 1 for s, r, step in zip(size, reach, strides, strict=True)]
    return [
        (
            i,
            j,
            slice(i * dilation[0], i * dilation[0] + (out[0] - 1) * strides[0] + 1, strides[0]),
            slice(j * dilation[1], j * dilation[1] + (out[1] - 1) * strides[1] + 1, strides[1]),
        )
        for i in range(kernel[0])
        for j in range(kernel[1])
    ]


def pad(x: Array, padding: tuple[int, int, int, int], value: float = 0.0) -> Array:
    """An image with a border; ``padding``: top, bottom, left, right."""
    top, bottom, left, right = padding
    if not any(padding):
        return x
    return np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=value)


def conv2d(
    x: Array,
    weight: Array,
    padding: tuple[int, int, int, int] = (0, 0, 0, 0),
    strides: tuple[int, int] = (1, 1),
    dilation: tuple[int, int] = (1, 1),
    padding_value: float = 0.0,
) -> Array:
    """Cross-correlation of ``(N, IC, H, W)`` with ``(OC, IC, KH, KW)``, in the arrays' type."""

    def term(part: Array, tap: Array) -> Array:
        n, c, h, w = part.shape
        return np.asarray(np.matmul(tap, part.reshape(n, c, h * w))).reshape(n, -1, h, w)

    return _summed(pad(x, padding, padding_value), weight, strides, dilation, term)


def depthwise2d(
    x: Array,
    weight: Array,
    padding: tuple[int, int, int, int] = (0, 0, 0, 0),
    strides: tuple[int, int] = (1, 1),
    dilation: tuple[int, int] = (1, 1),
    padding_value: float = 0.0,
) -> Array:
    """Each channel of ``(N, C, H, W)`` with its own kernel of ``(1, C, KH, KW)``."""

    def term(part: Array, tap: Array) -> Array:
        return part * tap[:, :, None, None]

    return _summed(pad(x, padding, padding_value), weight, strides, dilation, term)


def _summed(
    x: Array,
    weight: Array,
    strides: tuple[int, int],
    dilation: tuple[int, int],
    term: Callable[[Array, Array], Array],
) -> Array:
    """The sum over the kernel's taps, in their order: ``term`` of the image under one and of its
    weights."""
    total: Any = None
    for i, j, rows, columns in _taps(x.shape[2:], weight.shape[2:], strides, dilation):
        found = term(x[:, :, rows, columns], weight[:, :, i, j])
        total = found if total is None else total + found
    return np.asarray(total)


def pool2d(
    x: Array,
    kernel: tuple[int, int],
    padding: tuple[int, int, int, int],
    strides: tuple[int, int],
    combine: Callable[[Any, Any], Array],
    padding_value: float,
    dilation: tuple[int, int] = (1, 1),
) -> Array:
    """``combine`` over the windows of each channel; the border has ``padding_value``."""
    x = pad(x, padding, padding_value)
    total: Any = None
    for _, _, rows, columns in _taps(x.shape[2:], kernel, strides, dilation):
        part = x[:, :, rows, columns]
        total = part if total is None else combine(part, total)
    return np.asarray(total)


def avg_pool2d(
    x: Array,
    kernel: tuple[int, int],
    padding: tuple[int, int, int, int] = (0, 0, 0, 0),
    strides: tuple[int, int] = (1, 1),
) -> F:
    """The mean of each window, the border counted as zeros (OKK-094)."""
    total = pool2d(flush(x), kernel, padding, strides, np.add, 0.0)
    return flush(total / _F32(kernel[0] * kernel[1]))


def max_pool2d(
    x: Array,
    kernel: tuple[int, int],
    padding: tuple[int, int, int, int] = (0, 0, 0, 0),
    strides: tuple[int, int] = (1, 1),
) -> F:
    """The greatest of each window; the border has the least number (OKK-095)."""
    low = -float(np.finfo(_F32).max)
    least = np.where(x > low, x, _F32(low))  # windows begin with the least number: NaN never wins
    return flush(pool2d(flush(least), kernel, padding, strides, maximum, low))
