"""Operators by name: arithmetic and comparisons on float32, bit operations on integers, activation
functions of the Scalar Engine (NKI-T14, NKI-T15).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from verifier.executor.semantics.base import Array, SemanticsMissing

F: TypeAlias = NDArray[np.float32]
Binary: TypeAlias = Callable[[Any, Any], Any]
Unary: TypeAlias = Callable[[Any], Any]

_F32: Final = np.float32


def _truth(function: Binary, kind: type = np.float32) -> Binary:
    """A comparison as arithmetic: 1 where it holds."""
    return lambda a, b: function(a, b).astype(kind)


#: comparisons as truth values
COMPARISONS: Final[dict[str, Binary]] = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "less": np.less,
    "less_equal": np.less_equal,
}
_LOGICAL: Final[dict[str, Binary]] = {
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}


#: arithmetic of two float32 operands
ARITHMETIC: Final[dict[str, Binary]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "power": np.power,
    "mod": np.mod,
    "fmod": np.fmod,
    "abs_max": lambda a, b: np.maximum(np.abs(a), np.abs(b)),
    "abs_min": lambda a, b: np.minimum(np.abs(a), np.abs(b)),
    "bypass": lambda a, b: a,
    **{name: _truth(function) for name, function in {**COMPARISONS, **_LOGICAL}.items()},
}


def _unsigned(array: Array) -> Array:
    kind = array.dtype
    return array.view(np.dtype(f"u{kind.itemsize}")) if kind.kind == "i" else array


def _shift(left: bool, a: Array, b: Array) -> Array:
    """Logical shifts (NKI-T08); by the width or more everything is shifted out."""
    pattern = _unsigned(np.asarray(a))
    width = pattern.dtype.itemsize * 8
    count = np.asarray(b).astype(np.int64)
    inside = (count >= 0) & (count < width)
    by = np.where(inside, count, 0).astype(pattern.dtype)
    moved = np.left_shift(pattern, by) if left else np.right_shift(pattern, by)
    return np.where(inside, moved, np.zeros((), pattern.dtype)).astype(pattern.dtype).view(a.dtype)


#: bit operations of two integer operands of one type
BITWISE: Final[dict[str, Binary]] = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "left_shift": lambda a, b: _shift(True, a, b),
    "right_shift": lambda a, b: _shift(False, a, b),
    "invert": lambda a, b: np.invert(a),
}


def _power(a: Array, b: Array) -> Array:
    return np.where(b >= 0, np.power(a, np.maximum(b, 0)), 0)


#: arithmetic of integers as GpSimd makes it, on int64 (NKI-T04); the result's low bits count
INTEGER: Final[dict[str, Binary]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "power": _power,
    "mod": lambda a, b: np.mod(a, np.where(b == 0, 1, b)),
    "abs_max": lambda a, b: np.maximum(np.abs(a), np.abs(b)),
    "abs_min": lambda a, b: np.minimum(np.abs(a), np.abs(b)),
    "bypass": lambda a, b: a,
    **{name: _truth(function, np.int64) for name, function in {**COMPARISONS, **_LOGICAL}.items()},
}


# --------------------------------------------------------------------------- the error function

#: beyond this the error function is 1 in float64 to 3e-14
_ERF_END: Final = 5.4


@cache
def _erf_terms() -> NDArray[np.float64]:
    """Chebyshev coefficients of ``erf(sqrt(u)) / sqrt(u)`` on ``0 <= u <= _ERF_END ** 2``.

    Interpolated once, at the Chebyshev nodes, from :func:`math.erf`; the function is entire, so
    the terms fall off quickly: the series is within 1e-12 of the error function.
    """
    count = 48
    angles = (np.arange(count) + 0.5) * (np.pi / count)
    points = (np.cos(angles) + 1.0) * (_ERF_END**2 / 2)
    values = np.array([math.erf(math.sqrt(u)) / math.sqrt(u) for u in points])
    terms = np.array(
        [2.0 / count * float(np.sum(values * np.cos(k * angles))) for k in range(count)]
    )
    terms[0] /= 2
    significant = np.flatnonzero(np.abs(terms) > 1e-14)
    return terms[: int(significant[-1]) + 1]


def erf(x: Array) -> NDArray[np.float64]:
    """The error function to 1e-12, in float64."""
    wide = np.clip(np.asarray(x, np.float64), -_ERF_END, _ERF_END)
    t = np.square(wide) * (4.0 / _ERF_END**2) - 2.0
    ahead = np.zeros_like(t)
    behind = np.zeros_like(t)
    terms = _erf_terms()
    for term in terms[:0:-1]:
        ahead, behind = t * ahead - behind + term, ahead
    return np.asarray(wide * (0.5 * t * ahead - behind + terms[0]))


# --------------------------------------------------------------------------- unary functions


def _sigmoid(x: F) -> F:
    return np.asarray(_F32(1) / (_F32(1) + np.exp(-x)), np.float32)


def _softplus(x: F) -> F:
    return np.asarray(np.logaddexp(_F32(0), x), np.float32)


def _erf32(x: F) -> F:
    return erf(x).astype(np.float32)


def _normal_cdf(x: F) -> NDArray[np.float64]:
    return np.asarray(0.5 * (1.0 + erf(x.astype(np.float64) * math.sqrt(0.5))))


def _gelu(x: F) -> F:
    return np.where(np.isneginf(x), _F32(0), x * _normal_cdf(x)).astype(np.float32)


def _gelu_dx(x: F) -> F:
    wide = np.clip(x.astype(np.float64), -40.0, 40.0)
    density = np.exp(-0.5 * wide * wide) / math.sqrt(2 * math.pi)
    return np.asarray(_normal_cdf(x) + wide * density, np.float32)


def _gelu_tanh(x: F) -> F:
    inner = _F32(math.sqrt(2 / math.pi)) * (x + _F32(0.044715) * x * x * x)
    return np.asarray(_F32(0.5) * x * (_F32(1) + np.tanh(inner)), np.float32)


def _gelu_sigmoid(x: F) -> F:
    return np.asarray(x * _sigmoid(_F32(1.702) * x), np.float32)


def _gelu_sigmoid_dx(x: F) -> F:
    s = _sigmoid(_F32(1.702) * x)
    return np.asarray(s + _F32(1.702) * x * s * (_F32(1) - s), np.float32)


def _silu_dx(x: F) -> F:
    s = _sigmoid(x)
    return np.asarray(s * (_F32(1) + x * (_F32(1) - s)), np.float32)


def prelu(x: F, slope: Any) -> F:
    """``x`` where positive, ``slope * x`` elsewhere."""
    return np.where(x > 0, x, x * np.asarray(slope, np.float32)).astype(np.float32)


#: functions of one float32 operand; activation functions among them
UNARY: Final[dict[str, Unary]] = {
    "copy": lambda x: x,
    "bypass": lambda x: x,
    "abs": np.abs,
    "square": np.square,
    "sigmoid": _sigmoid,
    "relu": lambda x: np.maximum(x, _F32(0)),
    "prelu": lambda x: prelu(x, 0.0),
    "gelu": _gelu,
    "gelu_dx": _gelu_dx,
    "gelu_apprx_tanh": _gelu_tanh,
    "gelu_apprx_sigmoid": _gelu_sigmoid,
    "gelu_apprx_sigmoid_dx": _gelu_sigmoid_dx,
    "silu": lambda x: x * _sigmoid(x),
    "silu_dx": _silu_dx,
    "tanh": np.tanh,
    "softplus": _softplus,
    "mish": lambda x: x * np.tanh(_softplus(x)),
    "erf": _erf32,
    "erf_dx": lambda x: _F32(2 / math.sqrt(math.pi)) * np.exp(-x * x),
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "arctan": np.arctan,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: _F32(1) / np.sqrt(x),
    "reciprocal": lambda x: _F32(1) / x,
    "sign": np.sign,
    "negative": np.negative,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "logical_not": lambda x: np.equal(x, 0).astype(np.float32),
}

#: operators of an ``op0`` field that take no second operand (NKI-TSC09)
ONE_OPERAND: Final = frozenset(
    {"abs", "square", "relu", "rsqrt", "reciprocal", "negative", "logical_not", "sqrt", "sign"}
)


def unary(name: str, instruction: str) -> Unary:
    """The function of that name.

    Raises:
        SemanticsMissing: there is none.
    """
    function = UNARY.get(name)
    if function is None:
        raise SemanticsMissing(instruction, f"op {name}")
    return function


def binary(name: str, instruction: str) -> Binary:
    """The float32 operator of that name; a function of one operand ignores the second.

    Raises:
        SemanticsMissing: there is none.
    """
    function = ARITHMETIC.get(name)
    if function is not None:
        return function
    if name in ONE_OPERAND:
        single = UNARY[name]
        return lambda a, b: single(a)
    raise SemanticsMissing(instruction, f"op {name}")


# --------------------------------------------------------------------------- reductions

#: what a reduction starts from (NKI-AC07), and what masked-out elements count as
IDENTITY: Final[dict[str, float]] = {
    "add": 0.0,
    "average": 0.0,
    "subtract": 0.0,
    "multiply": 1.0,
    "maximum": -math.inf,
    "minimum": math.inf,
    "abs_max": 0.0,
    "abs_min": math.inf,
    "logical_and": 1.0,
    "logical_or": 0.0,
    "logical_xor": 0.0,
}


def _sum(x: Array, axis: Any) -> Any:
    return np.add.reduce(x, axis=axis, keepdims=True)


#: over axes that stay with extent 1
_REDUCE: Final[dict[str, Callable[[Array, Any], Any]]] = {
    "add": _sum,
    "average": lambda x, axis: np.mean(x, axis=axis, keepdims=True),
    "multiply": lambda x, axis: np.multiply.reduce(x, axis=axis, keepdims=True),
    "maximum": lambda x, axis: np.maximum.reduce(x, axis=axis, keepdims=True),
    "minimum": lambda x, axis: np.minimum.reduce(x, axis=axis, keepdims=True),
    "abs_max": lambda x, axis: np.maximum.reduce(np.abs(x), axis=axis, keepdims=True),
    "abs_min": lambda x, axis: np.minimum.reduce(np.abs(x), axis=axis, keepdims=True),
    "logical_and": lambda x, axis: np.all(x != 0, axis=axis, keepdims=True).astype(np.float32),
    "logical_or": lambda x, axis: np.any(x != 0, axis=axis, keepdims=True).astype(np.float32),
    "logical_xor": lambda x, axis: (np.sum(x != 0, axis=axis, keepdims=True) % 2).astype(
        np.float32
    ),
    "bitwise_and": lambda x, axis: np.bitwise_and.reduce(x, axis=axis, keepdims=True),
    "bitwise_or": lambda x, axis: np.bitwise_or.reduce(x, axis=axis, keepdims=True),
    "bitwise_xor": lambda x, axis: np.bitwise_xor.reduce(x, axis=axis, keepdims=True),
}


def reduce(name: str, x: Array, axes: tuple[int, ...], instruction: str) -> Array:
    """``x`` folded over ``axes``, which stay with extent 1; all of trailing axes for ``subtract``.

    Raises:
        SemanticsMissing: there is no such reduction.
    """
    if not axes:
        return x
    if name == "subtract":
        # the first element minus all others, in the order of the elements
        first = tuple(slice(0, 1) if k in axes else slice(None) for k in range(x.ndim))
        return np.asarray(2 * x[first] - _sum(x, axes))
    function = _REDUCE.get(name)
    if function is None:
        raise SemanticsMissing(instruction, f"reduction with {name}")
    return np.asarray(function(x, axes))
