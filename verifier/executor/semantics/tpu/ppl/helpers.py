"""Helpers that ``ppl.language`` brings along, written in PPL."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from verifier.executor.semantics import alu
from verifier.executor.semantics.tpu.base import (
    Array,
    LaneIO,
    meaning,
    means,
)
from verifier.executor.semantics.tpu.ppl.numbers import (
    F32,
    as_float,
    put,
)
from verifier.symbolic.trace import Operation

#: how ``quick_pooling`` and ``pooling2`` combine elements: the greatest, or the sum
_MAX_POOLING: Final = 0


def _folded(io: LaneIO, x: Array) -> Array:
    fold = np.max if int(io.value("mode") or 0) == _MAX_POOLING else np.sum
    return np.asarray(fold(x, axis=3, keepdims=True))


@meaning("ppl.quick_pooling.rows")
def _pooling_rows(op: Operation, io: LaneIO) -> None:
    """Each element of an EU's unit of a row with those in the same place of the other units."""
    x = as_float(io, "in_tensor")
    n, c, h, w = x.shape
    unit = io.shape("partial")[3]
    rows = x.reshape(n, c, 1, h * w)
    rest = -(h * w) % unit
    fill = float(io.value("fill")) if io.has("fill") else 0.0
    rows = np.pad(rows, ((0, 0), (0, 0), (0, 0), (0, rest)), constant_values=fill)
    parts = rows.reshape(n, c, 1, -1, unit)
    fold = np.max if int(io.value("mode") or 0) == _MAX_POOLING else np.sum
    put(io, "partial", fold(parts, axis=3))


@meaning("ppl.quick_pooling")
def _pooling(op: Operation, io: LaneIO) -> None:
    found = _folded(io, as_float(io, "partial"))
    if io.has("scale") and int(io.value("mode") or 0) != _MAX_POOLING:
        found = found * F32(io.value("scale"))
    put(io, "out_tensor", found)


@meaning("ppl.pooling2")
def _pooling2(op: Operation, io: LaneIO) -> None:
    put(io, "dst", _folded(io, as_float(io, "qk_sub_tensor")))


def _helper(role: str, function: Callable[[Any], Any], op: Operation, io: LaneIO) -> None:
    put(io, "dst", function(as_float(io, role)))


_HELPERS: Final[dict[str, Callable[[Any], Any]]] = {
    "sigmoid_fp32": lambda x: F32(1) / (F32(1) + np.exp(-x)),
    "relu": lambda x: np.maximum(x, F32(0)),
    "flog": np.log,
    "mish_f32": lambda x: x * np.tanh(np.logaddexp(F32(0), x)),
    "softsign_fp32": lambda x: x / (F32(1) + np.abs(x)),
    "sqrt_fp32": np.sqrt,
    "fsin": np.sin,
    "fcos": np.cos,
    "farcsin": np.arcsin,
    "farccos": np.arccos,
    "ftan": np.tan,
    "fcot": lambda x: F32(1) / np.tan(x),
    "sinh_fp32": np.sinh,
    "cosh_fp32": np.cosh,
    "tanh_fp32": np.tanh,
    "arcsinh_fp32": np.arcsinh,
    "arccosh_fp32": np.arccosh,
    "arctanh_fp32": np.arctanh,
}
for _name, _single in _HELPERS.items():
    means(f"ppl.{_name}", partial(_helper, "local_input", _single))
means("ppl.exp_no_overflow", partial(_helper, "input", np.exp))


@meaning("ppl.prelu")
def _prelu(op: Operation, io: LaneIO) -> None:
    put(io, "dst", alu.prelu(as_float(io, "local_input"), as_float(io, "alpha")))


@meaning("ppl.softplus_f32")
def _softplus(op: Operation, io: LaneIO) -> None:
    beta = as_float(io, "beta")
    put(io, "dst", np.logaddexp(F32(0), beta * as_float(io, "local_input")) / beta)


@meaning("ppl.pow_f32")
def _power(op: Operation, io: LaneIO) -> None:
    put(io, "dst", np.power(as_float(io, "base"), as_float(io, "exponent")))
