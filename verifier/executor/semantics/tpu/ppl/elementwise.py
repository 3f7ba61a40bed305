"""Functions of elements: one for each element of a tensor."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from verifier.executor.semantics import casts
from verifier.executor.semantics.tpu.base import (
    LaneIO,
    meaning,
    means,
)
from verifier.executor.semantics.tpu.ppl.numbers import (
    F32,
    ROUND,
    as_float,
    as_given,
    as_whole,
    has_floats,
    is_integer,
    pair,
    put,
    rounding,
    shifted,
    wrap,
)
from verifier.symbolic.trace import Operation

#: a shift or a number of iterations that was not given
_UNSET: Final = -100


def _binary(function: Callable[[Any, Any], Any], op: Operation, io: LaneIO) -> None:
    if is_integer(io.dtype("dst")) and not has_floats(io, "src0", "src1"):
        wrap(io, "dst", function(as_whole(io, "src0"), as_whole(io, "src1")), saturate=False)
    else:
        put(io, "dst", function(as_float(io, "src0"), as_float(io, "src1")))


def _shifted_binary(function: Callable[[Any, Any], Any], op: Operation, io: LaneIO) -> None:
    """Integer arithmetic with a shift of the result; floats are computed as they are."""
    if not is_integer(io.dtype("dst")):
        _binary(function, op, io)
        return
    values = function(as_whole(io, "src0"), as_whole(io, "src1"))
    shift = as_whole(io, "shift")
    if io.is_tensor("shift") or int(shift) != _UNSET:
        values = shifted(values, shift, rounding(io, "mode"))
    wrap(io, "dst", values, saturate=bool(io.value("saturation")))


_BINARY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "fadd": np.add,
    "fsub": np.subtract,
    "fmul": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "sub_abs": lambda a, b: np.abs(a - b),
    "fadd_sqr": lambda a, b: (a + b) ** 2,
    "fsub_sqr": lambda a, b: (a - b) ** 2,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}
for _name, _function in _BINARY.items():
    means(f"ppl.tiu.{_name}", partial(_binary, _function))
for _name in ("add", "sub", "mul"):
    _function = _BINARY[f"f{_name}"]
    means(f"ppl.tiu.{_name}", partial(_shifted_binary, _function))


@meaning("ppl.tiu.fdiv", "ppl.tiu.truediv")
def _divide(op: Operation, io: LaneIO) -> None:
    put(io, "dst", as_float(io, "src0") / as_float(io, "src1"))


@meaning("ppl.tiu.fmac")
def _fmac(op: Operation, io: LaneIO) -> None:
    put(io, "dst", as_float(io, "dst") + as_float(io, "src0") * as_float(io, "src1"))


@meaning("ppl.tiu.mac")
def _mac(op: Operation, io: LaneIO) -> None:
    mode = rounding(io, "r_mode")
    before = as_whole(io, "dst") << int(io.value("lshift"))
    total = before + as_whole(io, "src0") * as_whole(io, "src1")
    wrap(io, "dst", shifted(total, -as_whole(io, "rshift"), mode), saturate=True)


@meaning("ppl.tiu.fmul_add")
def _fmul_add(op: Operation, io: LaneIO) -> None:
    put(io, "dst", as_float(io, "src0") * as_float(io, "src1") + as_float(io, "src2"))


@meaning("ppl.tiu.fscale", "ppl.tiu.fbias")
def _scale(op: Operation, io: LaneIO) -> None:
    found = as_float(io, "src")
    if io.has("scale"):
        found = found * as_float(io, "scale")
    if io.has("bias"):
        found = found + as_float(io, "bias")
    put(io, "dst", found)


_COMPARE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "gt": np.greater,
    "lt": np.less,
    "eq": np.equal,
}


@meaning("ppl.tiu.gt", "ppl.tiu.lt", "ppl.tiu.eq")
def _compare(op: Operation, io: LaneIO) -> None:
    test = _COMPARE[op.name.removeprefix("ppl.tiu.")](*pair(io, "src0", "src1"))
    put(io, "dst", np.where(test, np.asarray(io.value("true_val")), 0))


@meaning("ppl.tiu.gt_select", "ppl.tiu.lt_select", "ppl.tiu.eq_select")
def _select(op: Operation, io: LaneIO) -> None:
    compare = _COMPARE[op.name.removeprefix("ppl.tiu.").removesuffix("_select")]
    test = compare(*pair(io, "src0", "src1"))
    put(io, "dst", np.where(test, *pair(io, "src2", "src3")))


@meaning("ppl.tiu.max_gt_select", "ppl.tiu.min_lt_select")
def _extreme_select(op: Operation, io: LaneIO) -> None:
    greater = "max_gt" in op.name
    a, b = pair(io, "src0", "src1")
    chosen = np.where((np.greater if greater else np.less)(a, b), *pair(io, "src2", "src3"))
    put(io, "out0", (np.maximum if greater else np.minimum)(a, b))
    put(io, "out1", chosen)


def _unary(function: Callable[[Any], Any], op: Operation, io: LaneIO) -> None:
    put(io, "dst", function(as_float(io, "src")))


_UNARY: Final[dict[str, Callable[[Any], Any]]] = {
    "fexp": np.exp,
    "floor": np.floor,
    "ceiling": np.ceil,
    "fsqrt": np.sqrt,
    "frsqrt": lambda x: F32(1) / np.sqrt(x),
    "fsin_base": np.sin,
    "fcos_base": np.cos,
    "ftan_base": np.tan,
    "farcsin_base": np.arcsin,
    "farccos_base": np.arccos,
    "flog_base": np.log,
}
for _name, _single in _UNARY.items():
    means(f"ppl.tiu.{_name}", partial(_unary, _single))


@meaning("ppl.tiu.abs")
def _absolute(op: Operation, io: LaneIO) -> None:
    if has_floats(io, "src"):
        put(io, "dst", np.abs(as_float(io, "src")))
    else:
        wrap(io, "dst", np.abs(as_whole(io, "src")), saturate=False)


@meaning("ppl.tiu.round")
def _rounded(op: Operation, io: LaneIO) -> None:
    put(io, "dst", ROUND[rounding(io, "r_mode")](as_float(io, "src")))


@meaning("ppl.tiu.bitwise_not")
def _not(op: Operation, io: LaneIO) -> None:
    wrap(io, "dst", np.invert(as_whole(io, "src")), saturate=False)


@meaning("ppl.tiu.cast")
def _cast(op: Operation, io: LaneIO) -> None:
    put(io, "dst", as_given(io, "src"), rounding(io, "mode"))


def _bits_of(io: LaneIO, role: str) -> int:
    return 8 * casts.NUMPY[io.dtype(role)].itemsize


@meaning("ppl.tiu.shift")
def _shift(op: Operation, io: LaneIO) -> None:
    values = shifted(as_whole(io, "src"), as_whole(io, "shift"), rounding(io, "r_mode"))
    wrap(io, "dst", values, saturate=True)


@meaning("ppl.tiu.logical_shift")
def _logical_shift(op: Operation, io: LaneIO) -> None:
    """Zeros come in; what is shifted out on the right is rounded (TPU-B11)."""
    values = as_whole(io, "src") & ((1 << _bits_of(io, "src")) - 1)
    wrap(io, "dst", shifted(values, as_whole(io, "shift"), rounding(io, "r_mode")), saturate=False)


@meaning("ppl.tiu.circular_shift")
def _circular_shift(op: Operation, io: LaneIO) -> None:
    bits = _bits_of(io, "src")
    values = (as_whole(io, "src") & ((1 << bits) - 1)).astype(np.uint64)
    by = (as_whole(io, "shift") % bits).astype(np.uint64)
    turned = (values << by) | (values >> ((np.uint64(bits) - by) % np.uint64(bits)))
    mask = np.uint64((1 << bits) - 1)
    wrap(io, "dst", (turned & mask).astype(np.int64), saturate=False)


@meaning("ppl.tiu.clz", "ppl.tiu.clo")
def _leading(op: Operation, io: LaneIO) -> None:
    """Leading zeros, or ones, of each integer."""
    bits = _bits_of(io, "src")
    values = as_whole(io, "src") & ((1 << bits) - 1)
    if op.name.endswith("clo"):
        values = ~values & ((1 << bits) - 1)
    length = np.zeros_like(values)
    for k in range(bits):
        length = np.where(values >> k & 1 == 1, k + 1, length)
    put(io, "dst", bits - length)


@meaning("ppl.tiu.vc_min", "ppl.tiu.vc_max")
def _correlate(op: Operation, io: LaneIO) -> None:
    """Each element of one vector with each of another (TPU-B24)."""
    a, b = pair(io, "src0", "src1")
    function = np.minimum if op.name.endswith("min") else np.maximum
    found = function(a.reshape(-1, 1), b.reshape(1, -1))
    put(io, "dst", found.reshape(io.shape("dst")))
