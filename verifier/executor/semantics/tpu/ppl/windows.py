"""Convolutions, pools and products of matrices."""

from __future__ import annotations

import numpy as np

from verifier.executor.semantics import casts
from verifier.executor.semantics.tpu import floats
from verifier.executor.semantics.tpu.base import (
    Array,
    LaneIO,
    Quad,
    SemanticsMissing,
    meaning,
)
from verifier.executor.semantics.tpu.ppl.numbers import (
    F32,
    as_float,
    as_given,
    as_whole,
    is_integer,
    put,
    rounding,
    shifted,
    wrap,
)
from verifier.symbolic.trace import Operation


def _border(io: LaneIO, role: str = "padding") -> Quad:
    value = io.value(role)
    if value is None:
        return (0, 0, 0, 0)
    top, bottom, left, right = (int(x) for x in value)
    return top, bottom, left, right


def _two(io: LaneIO, role: str) -> tuple[int, int]:
    value = io.value(role) if io.has(role) else None
    return (1, 1) if value is None else (int(value[0]), int(value[1]))


def _spread(io: LaneIO, x: Array) -> Array:
    """Zeros put between the rows and columns of an image (``ins``)."""
    value = io.value("ins") if io.has("ins") else None
    if value is None or not any(int(v) for v in value):
        return x
    down, across = int(value[0]) + 1, int(value[1]) + 1
    n, c, h, w = x.shape
    wide = np.zeros((n, c, (h - 1) * down + 1, (w - 1) * across + 1), x.dtype)
    wide[:, :, ::down, ::across] = x
    return wide


@meaning("ppl.tiu.pool_avg")
def _pool_avg(op: Operation, io: LaneIO) -> None:
    """The sum of each window times ``scale`` (TPU-C41, TPU-C42)."""
    integer = is_integer(io.dtype("src"))
    x = _spread(io, as_whole(io, "src") if integer else as_float(io, "src"))
    kernel, steps, dilation = (_two(io, role) for role in ("kernel", "stride", "dilation"))
    total = floats.pool2d(x, kernel, _border(io), steps, np.add, 0, dilation)
    scaled = total * as_given(io, "scale").astype(np.int64 if integer else F32)
    if integer:
        wrap(io, "dst", shifted(scaled, -as_whole(io, "rshift"), "RM_HALF_UP"), saturate=True)
    else:
        put(io, "dst", scaled)


@meaning("ppl.tiu.pool_max", "ppl.tiu.pool_min")
def _pool_extreme(op: Operation, io: LaneIO) -> None:
    greatest = op.name.endswith("max")
    dtype = casts.NUMPY[io.dtype("src")]
    x: Array
    if dtype.kind in "iu":
        x = as_whole(io, "src")
        info = np.iinfo(dtype)
        worst = float(info.min if greatest else info.max)
    else:
        x = as_float(io, "src")
        worst = -float(np.finfo(F32).max) if greatest else float(np.finfo(F32).max)
    kernel, steps, dilation = (_two(io, role) for role in ("kernel", "stride", "dilation"))
    fold = np.maximum if greatest else np.minimum
    put(io, "dst", floats.pool2d(x, kernel, _border(io), steps, fold, worst, dilation))


def _conv_weight(io: LaneIO, channels: int, out: int, kernel: tuple[int, int]) -> Array:
    """Weights as ``(OC, IC, KH, KW)``: in groups of input channels, of fp32 without (TPU-C05)."""
    if not io.is_tensor("weight"):
        return np.full((out, channels, *kernel), io.value("weight"))
    array = io.read("weight")
    taps = kernel[0] * kernel[1]
    group = array.shape[3]
    grouped = io.dtype("weight") != "float32" or array.shape[2] != 1
    if grouped and array.shape[2] * group >= taps * channels and array.shape[2] % taps == 0:
        # (1, OC, groups of channels x taps, channels of a group)
        parts = array.reshape(out, array.shape[2] // taps, taps, group)
        flat = parts.transpose(0, 1, 3, 2).reshape(out, -1, taps)[:, :channels]
        return flat.reshape(out, channels, *kernel)
    return array.reshape(out, channels, *kernel)


def _finish(io: LaneIO, found: Array, integer: bool) -> None:
    """What may follow a convolution or product: bias, sum, ReLU, and the type of the result."""
    if io.has("bias") and (not io.has("has_bias") or io.value("has_bias") or io.is_tensor("bias")):
        found = found + (as_whole(io, "bias") if integer else as_float(io, "bias"))
    if io.has("result_add") and io.value("result_add"):
        found = found + (as_whole(io, "dst") if integer else as_float(io, "dst"))
    relu = "result_relu" if io.has("result_relu") else "do_relu"
    if io.has(relu) and io.value(relu):
        found = np.maximum(found, 0)
    if integer:
        wrap(io, "dst", found, saturate=True)
    else:
        put(io, "dst", found)


@meaning("ppl.tiu.fconv", "ppl.tiu.conv")
def _conv(op: Operation, io: LaneIO) -> None:
    integer = op.name.endswith(".conv")
    if integer and (io.value("rq") or not io.value("sym")):
        raise SemanticsMissing(op.name, "requantised or asymmetric")
    x = as_whole(io, "src") if integer else as_float(io, "src")
    out = int(io.value("oc") or 0) or io.shape("dst")[1]
    kernel = _two(io, "kernel")
    weight = _conv_weight(io, x.shape[1], out, kernel).astype(x.dtype)
    if io.value("kernel_rotate"):
        weight = weight[:, :, ::-1, ::-1]
    value = io.value("pad_val") if integer and not io.is_tensor("pad_val") else 0
    found = floats.conv2d(
        _spread(io, x), weight, _border(io), _two(io, "stride"), _two(io, "dilation"), value
    )
    _finish(io, found[:, : io.shape("dst")[1]], integer)


@meaning("ppl.tiu.fdw_conv", "ppl.tiu.dw_conv")
def _depthwise(op: Operation, io: LaneIO) -> None:
    integer = op.name.endswith(".dw_conv")
    if integer and io.value("rq"):
        raise SemanticsMissing(op.name, "requantised")
    x = as_whole(io, "src") if integer else as_float(io, "src")
    weight = as_given(io, "weight").astype(x.dtype)
    if weight.ndim != 4:
        weight = np.full((1, x.shape[1], *_two(io, "kernel")), weight)
    weight = weight.reshape(1, x.shape[1], *_two(io, "kernel"))
    found = floats.depthwise2d(x, weight, _border(io), _two(io, "stride"), _two(io, "dilation"))
    if integer and io.has("rshift"):
        found = shifted(found, -as_whole(io, "rshift"), rounding(io, "round_mode"))
    _finish(io, found, integer)


def _sides(io: LaneIO, role: str, *, transposed: bool, integer: bool) -> Array:
    """A side of a product as a matrix, from ``(1, rows, 1, columns)`` (TPU-D10)."""
    array = as_whole(io, role) if integer else as_float(io, role)
    matrix = array.transpose(0, 2, 1, 3)
    return matrix.swapaxes(2, 3) if transposed else matrix


@meaning("ppl.tiu.fmm2", "ppl.tiu.mm2")
def _mm2(op: Operation, io: LaneIO) -> None:
    integer = op.name.endswith(".mm2")
    if integer and io.value("do_rq"):
        raise SemanticsMissing(op.name, "requantised")
    ltrans, rtrans = bool(io.value("ltrans")), bool(io.value("rtrans"))
    left = _sides(io, "left", transposed=ltrans, integer=integer)
    right = _sides(io, "right", transposed=rtrans, integer=integer)
    if integer and io.has("r_zp"):
        point = as_whole(io, "r_zp")
        point = point.transpose(0, 2, 1, 3) if point.ndim == 4 else point
        right = right - (point.swapaxes(2, 3) if point.ndim == 4 and rtrans else point)
    found = np.matmul(left, right)
    if (ltrans and rtrans) or io.value("rst_trans"):
        found = found.swapaxes(2, 3)
    _finish(io, found.transpose(0, 2, 1, 3), integer)


@meaning("ppl.tiu.fmm", "ppl.tiu.mm")
def _mm1(op: Operation, io: LaneIO) -> None:
    """Rows along n, columns along c and w (TPU-D01)."""
    integer = op.name.endswith(".mm")

    def matrix(role: str) -> Array:
        array = as_whole(io, role) if integer else as_float(io, role)
        return array.reshape(array.shape[0], -1)

    left, right = matrix("left"), matrix("right")
    left = left.T if io.value("ltrans") else left
    right = right.T if io.has("rtrans") and io.value("rtrans") else right
    inner = min(left.shape[1], right.shape[0])
    found = np.matmul(left[:, :inner], right[:inner])
    shape = io.shape("dst")
    if integer:
        before = as_whole(io, "dst").reshape(found.shape) if io.value("result_add") else 0
        found = found + (before << int(io.value("lshift")) if io.value("result_add") else 0)
        if io.is_tensor("bias"):
            found = found + as_whole(io, "bias").reshape(1, -1)
        found = shifted(found, -as_whole(io, "rshift"), rounding(io, "round_mode"))
        found = np.maximum(found, 0) if io.value("do_relu") else found
        wrap(io, "dst", found.reshape(shape), saturate=True)
        return
    if io.is_tensor("bias"):
        found = found + as_float(io, "bias").reshape(1, -1)
    if io.value("result_add"):
        found = found + as_float(io, "dst").reshape(found.shape)
    put(io, "dst", found.reshape(shape))
