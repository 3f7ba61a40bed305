"""The functions of ``ppl.language``: the Tensor Instruction Unit and the DMA engines.

Floats are computed in float32 and rounded once, to nearest even unless the call says otherwise;
integers are computed exactly and wrap, or saturate where the call says so. A tensor with one
element along a dimension stands for as many as the others have (TPU-A09).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from verifier.executor.semantics import alu, casts
from verifier.executor.semantics.tpu import floats
from verifier.executor.semantics.tpu.base import (
    Array,
    LaneIO,
    Quad,
    SemanticsMissing,
    meaning,
    means,
)
from verifier.symbolic.trace import Operation

_F32: Final = np.float32
#: a shift or a number of iterations that was not given
_UNSET: Final = -100


# ------------------------------------------------------------------------ operands and results


def _vec(io: LaneIO, role: str) -> Array:
    """A tensor, or a number as an array without dimensions."""
    if io.is_tensor(role):
        return io.read(role)
    return np.asarray(io.value(role))


def _float(io: LaneIO, role: str) -> Array:
    array = _vec(io, role)
    return array if array.dtype == _F32 else array.astype(_F32)


def _whole(io: LaneIO, role: str) -> Array:
    """Integers, wide enough for what is computed with them."""
    array = _vec(io, role)
    return array.astype(np.int64) if array.dtype.kind in "iub" else np.asarray(array, np.int64)


def _is_integer(dtype: str) -> bool:
    return casts.NUMPY[dtype].kind in "iu"


def _mode(io: LaneIO, role: str) -> str:
    value = io.value(role) if io.has(role) else None
    return "RM_HALF_TO_EVEN" if value is None else str(getattr(value, "name", value))


#: rounding of numbers to whole ones
_ROUND: Final[dict[str, Callable[[Any], Any]]] = {
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
    near = casts.cast(array.astype(_F32), dtype)
    if mode == "RM_HALF_TO_EVEN" or kind == _F32 or not _is_inexact(array, near):
        return near
    return _directed(array.astype(_F32), near, mode)


def _whole_numbers(array: Array, mode: str) -> Array:
    numbers = np.nan_to_num(array.astype(np.float64), nan=0.0, posinf=2.0**62, neginf=-(2.0**62))
    whole = np.clip(_ROUND[mode](numbers), -(2.0**62), 2.0**62)
    return np.asarray(whole, np.int64)


def _is_inexact(array: Array, near: Array) -> bool:
    return bool(np.any(array.astype(_F32) != near.astype(_F32)))


def _directed(exact: Array, near: Array, mode: str) -> Array:
    """The neighbour of the nearest number in the direction that the mode asks for."""
    if mode not in ("RM_TOWARDS_ZERO", "RM_DOWN", "RM_UP"):
        raise SemanticsMissing("ppl.tiu.cast", f"floats with {mode}")
    found = near.astype(_F32)
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


def _put(io: LaneIO, role: str, array: Array, mode: str = "RM_HALF_TO_EVEN") -> None:
    """Store numbers in the tensor's type; the tensor says how many."""
    value = converted(np.asarray(array), io.dtype(role), mode)
    shape = io.shape(role)
    if value.ndim == len(shape):
        value = value[tuple(slice(size) for size in shape)]
    io.write(role, np.broadcast_to(value, shape))


def _wrap(io: LaneIO, role: str, values: Array, *, saturate: bool) -> None:
    """Store integers: their low bits, or the nearest number of the tensor's type."""
    kind = casts.NUMPY[io.dtype(role)]
    if kind.kind not in "iu":
        _put(io, role, values)
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


# ------------------------------------------------------------------------ elementwise


def _binary(function: Callable[[Any, Any], Any], op: Operation, io: LaneIO) -> None:
    if _is_integer(io.dtype("dst")) and not _has_floats(io, "src0", "src1"):
        _wrap(io, "dst", function(_whole(io, "src0"), _whole(io, "src1")), saturate=False)
    else:
        _put(io, "dst", function(_float(io, "src0"), _float(io, "src1")))


def _has_floats(io: LaneIO, *roles: str) -> bool:
    return any(_vec(io, role).dtype.kind not in "iub" for role in roles)


def _shifted_binary(function: Callable[[Any, Any], Any], op: Operation, io: LaneIO) -> None:
    """Integer arithmetic with a shift of the result; floats are computed as they are."""
    if not _is_integer(io.dtype("dst")):
        _binary(function, op, io)
        return
    values = function(_whole(io, "src0"), _whole(io, "src1"))
    shift = _whole(io, "shift")
    if io.is_tensor("shift") or int(shift) != _UNSET:
        values = shifted(values, shift, _mode(io, "mode"))
    _wrap(io, "dst", values, saturate=bool(io.value("saturation")))


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
    _put(io, "dst", _float(io, "src0") / _float(io, "src1"))


@meaning("ppl.tiu.fmac")
def _fmac(op: Operation, io: LaneIO) -> None:
    _put(io, "dst", _float(io, "dst") + _float(io, "src0") * _float(io, "src1"))


@meaning("ppl.tiu.mac")
def _mac(op: Operation, io: LaneIO) -> None:
    mode = _mode(io, "r_mode")
    before = _whole(io, "dst") << int(io.value("lshift"))
    total = before + _whole(io, "src0") * _whole(io, "src1")
    _wrap(io, "dst", shifted(total, -_whole(io, "rshift"), mode), saturate=True)


@meaning("ppl.tiu.fmul_add")
def _fmul_add(op: Operation, io: LaneIO) -> None:
    _put(io, "dst", _float(io, "src0") * _float(io, "src1") + _float(io, "src2"))


@meaning("ppl.tiu.fscale", "ppl.tiu.fbias")
def _scale(op: Operation, io: LaneIO) -> None:
    found = _float(io, "src")
    if io.has("scale"):
        found = found * _float(io, "scale")
    if io.has("bias"):
        found = found + _float(io, "bias")
    _put(io, "dst", found)


_COMPARE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "gt": np.greater,
    "lt": np.less,
    "eq": np.equal,
}


def _pair(io: LaneIO, first: str, second: str) -> tuple[Array, Array]:
    if _has_floats(io, first, second):
        return _float(io, first), _float(io, second)
    return _whole(io, first), _whole(io, second)


@meaning("ppl.tiu.gt", "ppl.tiu.lt", "ppl.tiu.eq")
def _compare(op: Operation, io: LaneIO) -> None:
    test = _COMPARE[op.name.removeprefix("ppl.tiu.")](*_pair(io, "src0", "src1"))
    _put(io, "dst", np.where(test, np.asarray(io.value("true_val")), 0))


@meaning("ppl.tiu.gt_select", "ppl.tiu.lt_select", "ppl.tiu.eq_select")
def _select(op: Operation, io: LaneIO) -> None:
    compare = _COMPARE[op.name.removeprefix("ppl.tiu.").removesuffix("_select")]
    test = compare(*_pair(io, "src0", "src1"))
    _put(io, "dst", np.where(test, *_pair(io, "src2", "src3")))


@meaning("ppl.tiu.max_gt_select", "ppl.tiu.min_lt_select")
def _extreme_select(op: Operation, io: LaneIO) -> None:
    greater = "max_gt" in op.name
    a, b = _pair(io, "src0", "src1")
    chosen = np.where((np.greater if greater else np.less)(a, b), *_pair(io, "src2", "src3"))
    _put(io, "out0", (np.maximum if greater else np.minimum)(a, b))
    _put(io, "out1", chosen)


def _unary(function: Callable[[Any], Any], op: Operation, io: LaneIO) -> None:
    _put(io, "dst", function(_float(io, "src")))


_UNARY: Final[dict[str, Callable[[Any], Any]]] = {
    "fexp": np.exp,
    "floor": np.floor,
    "ceiling": np.ceil,
    "fsqrt": np.sqrt,
    "frsqrt": lambda x: _F32(1) / np.sqrt(x),
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
    if _has_floats(io, "src"):
        _put(io, "dst", np.abs(_float(io, "src")))
    else:
        _wrap(io, "dst", np.abs(_whole(io, "src")), saturate=False)


@meaning("ppl.tiu.round")
def _rounded(op: Operation, io: LaneIO) -> None:
    _put(io, "dst", _ROUND[_mode(io, "r_mode")](_float(io, "src")))


@meaning("ppl.tiu.bitwise_not")
def _not(op: Operation, io: LaneIO) -> None:
    _wrap(io, "dst", np.invert(_whole(io, "src")), saturate=False)


@meaning("ppl.tiu.cast")
def _cast(op: Operation, io: LaneIO) -> None:
    _put(io, "dst", _vec(io, "src"), _mode(io, "mode"))


def _bits_of(io: LaneIO, role: str) -> int:
    return 8 * casts.NUMPY[io.dtype(role)].itemsize


@meaning("ppl.tiu.shift")
def _shift(op: Operation, io: LaneIO) -> None:
    values = shifted(_whole(io, "src"), _whole(io, "shift"), _mode(io, "r_mode"))
    _wrap(io, "dst", values, saturate=True)


@meaning("ppl.tiu.logical_shift")
def _logical_shift(op: Operation, io: LaneIO) -> None:
    """Zeros come in; what is shifted out on the right is rounded (TPU-B11)."""
    values = _whole(io, "src") & ((1 << _bits_of(io, "src")) - 1)
    _wrap(io, "dst", shifted(values, _whole(io, "shift"), _mode(io, "r_mode")), saturate=False)


@meaning("ppl.tiu.circular_shift")
def _circular_shift(op: Operation, io: LaneIO) -> None:
    bits = _bits_of(io, "src")
    values = (_whole(io, "src") & ((1 << bits) - 1)).astype(np.uint64)
    by = (_whole(io, "shift") % bits).astype(np.uint64)
    turned = (values << by) | (values >> ((np.uint64(bits) - by) % np.uint64(bits)))
    mask = np.uint64((1 << bits) - 1)
    _wrap(io, "dst", (turned & mask).astype(np.int64), saturate=False)


@meaning("ppl.tiu.clz", "ppl.tiu.clo")
def _leading(op: Operation, io: LaneIO) -> None:
    """Leading zeros, or ones, of each integer."""
    bits = _bits_of(io, "src")
    values = _whole(io, "src") & ((1 << bits) - 1)
    if op.name.endswith("clo"):
        values = ~values & ((1 << bits) - 1)
    length = np.zeros_like(values)
    for k in range(bits):
        length = np.where(values >> k & 1 == 1, k + 1, length)
    _put(io, "dst", bits - length)


@meaning("ppl.tiu.vc_min", "ppl.tiu.vc_max")
def _correlate(op: Operation, io: LaneIO) -> None:
    """Each element of one vector with each of another (TPU-B24)."""
    a, b = _pair(io, "src0", "src1")
    function = np.minimum if op.name.endswith("min") else np.maximum
    found = function(a.reshape(-1, 1), b.reshape(1, -1))
    _put(io, "dst", found.reshape(io.shape("dst")))


# ------------------------------------------------------------------------ moves


def _copy(op: Operation, io: LaneIO) -> None:
    """Elements in their order; the shapes may differ, their counts do not (TPU-F01)."""
    array = io.read("src")
    shape = io.shape("dst")
    if array.shape != shape:
        if array.size == math.prod(shape):
            array = array.reshape(shape)
        else:
            array = np.broadcast_to(array, shape)
    _same_type(io, array)


def _same_type(io: LaneIO, array: Array) -> None:
    """Store elements of a tensor: bit for bit if the types have one size, else as numbers."""
    kind = casts.NUMPY[io.dtype("dst")]
    same = array.dtype.itemsize == kind.itemsize
    io.write("dst", array if same else converted(array, io.dtype("dst")))


for _name in (
    "tiu.move", "tiu.move_cross_lane", "tiu.broadcast", "dma.load", "dma.store", "dma.move",
    "dma.load_compact", "dma.load_broadcast", "dma.broadcast", "sdma.move",
):  # fmt: skip
    means(f"ppl.{_name}", _copy)


def _transpose(axes: tuple[int, int, int, int], op: Operation, io: LaneIO) -> None:
    _same_type(io, io.read("src").transpose(axes).reshape(io.shape("dst")))


_NC: Final = (1, 0, 2, 3)
_CW: Final = (0, 3, 2, 1)
for _name in ("tiu.transpose_wc", "tiu.transpose_cw", "dma.transpose_cw"):
    means(f"ppl.{_name}", partial(_transpose, _CW))
for _name in ("dma.load_transpose_cw", "dma.store_transpose_cw"):
    means(f"ppl.{_name}", partial(_transpose, _CW))
for _name in ("load_transpose_nc", "store_transpose_nc", "transpose_nc"):
    means(f"ppl.dma.{_name}", partial(_transpose, _NC))
means("ppl.sdma.transpose_nc", partial(_transpose, _NC))


@meaning(
    "ppl.dma.load_transpose", "ppl.dma.store_transpose", "ppl.dma.transpose", "ppl.sdma.transpose"
)
def _transpose_by_mode(op: Operation, io: LaneIO) -> None:
    _transpose(_NC if _mode(io, "trans_mode") == "NC_TRANS" else _CW, op, io)


@meaning("ppl.tiu.zero", "ppl.dma.zero")
def _zero(op: Operation, io: LaneIO) -> None:
    _put(io, "dst", np.asarray(0))


@meaning("ppl.tiu.fill", "ppl.dma.fill")
def _fill(op: Operation, io: LaneIO) -> None:
    """The constant goes through float32 (PPL-C12)."""
    _put(io, "dst", _float(io, "value"))


@meaning("ppl.dma.reverse")
def _reverse(op: Operation, io: LaneIO) -> None:
    _same_type(io, np.flip(io.read("src"), int(io.value("dim"))))


@meaning("ppl.tiu.arange_broadcast")
def _arange(op: Operation, io: LaneIO) -> None:
    count = int(io.value("num"))
    _put(io, "dst", int(io.value("start")) + int(io.value("step")) * np.arange(count))


@meaning("ppl.dma.reduce")
def _reduce(op: Operation, io: LaneIO) -> None:
    """Into what is there, or over it (``ALL_REDUCE_PSUM_WO``)."""
    code = _mode(io, "opcode").removeprefix("ALL_REDUCE_")
    array = io.read("src")
    array = array.reshape(io.shape("dst")) if array.size == math.prod(io.shape("dst")) else array
    if code == "NOP" or _mode(io, "psum").endswith("WO"):
        _same_type(io, array)
        return
    function = {"MUL": np.multiply, "MAX": np.maximum, "MIN": np.minimum, "ADD": np.add}[code]
    if _is_integer(io.dtype("dst")):
        _wrap(io, "dst", function(_whole(io, "dst"), array.astype(np.int64)), saturate=False)
    else:
        _put(io, "dst", function(_float(io, "dst"), array.astype(_F32)))


# ------------------------------------------------------------------------ gather and scatter


def _inside(index: Array, size: int) -> Array:
    """Indices outside of the source stop at its ends (TPU-E09)."""
    return np.clip(index.astype(np.int64), 0, size - 1)


def _filled(io: LaneIO, found: Array, outside: Array) -> Array:
    if io.has("fill_const") and io.value("fill_const"):
        constant = converted(np.asarray(io.value("const_val")), io.dtype("dst"))
        return np.where(outside, constant, found)
    return found


@meaning("ppl.tiu.gather_w")
def _gather_w(op: Operation, io: LaneIO) -> None:
    param, index = io.read("param"), io.read("index")
    n, c, _, wide = param.shape
    if index.shape[1] != c or index.shape[3] == 1:  # one list for all, along the lanes
        index = index.reshape(1, 1, 1, -1)
    at = np.broadcast_to(_inside(index, wide), (n, c, 1, index.shape[3]))
    found = np.take_along_axis(param, at, 3)
    io.write("dst", _filled(io, found, np.broadcast_to(index, at.shape) >= wide))


@meaning("ppl.tiu.gather_h")
def _gather_h(op: Operation, io: LaneIO) -> None:
    param, index = io.read("param"), io.read("index")
    n, c, rows, _ = io.shape("dst")
    param = np.broadcast_to(param, (n, c, *param.shape[2:]))
    at = np.broadcast_to(_inside(index, param.shape[2]), (n, c, rows, 1))
    found = np.take_along_axis(param, np.broadcast_to(at, (n, c, rows, param.shape[3])), 2)
    io.write("dst", _filled(io, found, np.broadcast_to(index, at.shape) >= param.shape[2]))


@meaning("ppl.tiu.gather_hw")
def _gather_hw(op: Operation, io: LaneIO) -> None:
    param, index = io.read("param"), io.read("index")
    height, width = param.shape[2:]
    pairs = index.reshape(-1, 2)
    rows, columns = _inside(pairs[:, 0], height), _inside(pairs[:, 1], width)
    found = param[:, :, rows, columns].reshape(io.shape("dst"))
    outside = (pairs[:, 0] >= height) | (pairs[:, 1] >= width)
    io.write("dst", _filled(io, found, outside.reshape(io.shape("dst")[2:])))


@meaning("ppl.tiu.scatter_w")
def _scatter_w(op: Operation, io: LaneIO) -> None:
    param, index, found = io.read("param"), io.read("index"), io.read("dst")
    n, c, _, wide = found.shape
    if index.shape[1] != c or index.shape[3] == 1:
        index = index.reshape(1, 1, 1, -1)
    at = np.broadcast_to(_inside(index, wide), (n, c, 1, index.shape[3]))
    np.put_along_axis(found, at, np.broadcast_to(param, at.shape), 3)
    io.write("dst", found)


@meaning("ppl.tiu.scatter_h")
def _scatter_h(op: Operation, io: LaneIO) -> None:
    param, index, found = io.read("param"), io.read("index"), io.read("dst")
    n, c, height, width = found.shape
    rows = index.shape[2]
    at = np.broadcast_to(_inside(index, height), (n, c, rows, 1))
    at = np.broadcast_to(at, (n, c, rows, width))
    np.put_along_axis(found, at, np.broadcast_to(param, at.shape), 2)
    io.write("dst", found)


@meaning("ppl.tiu.scatter_hw")
def _scatter_hw(op: Operation, io: LaneIO) -> None:
    param, index, found = io.read("param"), io.read("index"), io.read("dst")
    n, c, height, width = found.shape
    pairs = index.reshape(-1, 2)
    rows, columns = _inside(pairs[:, 0], height), _inside(pairs[:, 1], width)
    found[:, :, rows, columns] = param.reshape(n, c, -1)
    io.write("dst", found)


@meaning("ppl.dma.gather_h")
def _dma_gather(op: Operation, io: LaneIO) -> None:
    """Rows by index; a constant for rows that are not there (TPU-F09)."""
    param, index = io.read("param"), io.read("index").astype(np.int64)
    n, c, rows, wide = io.shape("dst")
    index = index - int(io.value("index_start_pos"))
    param = np.broadcast_to(param, (n, c, *param.shape[2:]))
    index = np.broadcast_to(index.reshape(index.shape[0], index.shape[1], -1, 1), (n, c, rows, 1))
    at = np.broadcast_to(_inside(index, param.shape[2]), (n, c, rows, wide))
    found = np.take_along_axis(param, at, 2)
    outside = (index < 0) | (index >= param.shape[2])
    constant = converted(np.asarray(io.value("const_val")), io.dtype("dst"))
    io.write("dst", np.where(outside, constant, found))


@meaning("ppl.dma.scatter_h")
def _dma_scatter(op: Operation, io: LaneIO) -> None:
    param, found = io.read("param"), io.read("dst")
    n, c, height, wide = found.shape
    index = io.read("index").astype(np.int64) - int(io.value("index_start_pos"))
    rows = param.shape[2]
    index = np.broadcast_to(index.reshape(index.shape[0], index.shape[1], -1, 1), (n, c, rows, 1))
    spots = np.broadcast_to(index, (n, c, rows, wide))
    values = np.broadcast_to(param, spots.shape)
    if io.value("inplace_add"):
        where: list[Array] = list(np.indices(spots.shape, sparse=True))
        where[2] = _inside(spots, height)
        total = found.astype(_F32 if not _is_integer(io.dtype("dst")) else np.int64)
        np.add.at(total, tuple(where), values.astype(total.dtype))
        found = converted(total, io.dtype("dst"))
    else:
        np.put_along_axis(found, _inside(spots, height), values, 2)
    io.write("dst", found)


@meaning("ppl.tiu.mask_select", "ppl.tiu.nonzero")
def _chosen(op: Operation, io: LaneIO) -> None:
    """Along w: the chosen elements, or the places of those that are not zero, first."""
    source = io.read("src")
    mask = io.read("mask") != 0 if io.is_tensor("mask") else source != 0
    shape = io.shape("dst")
    mask = np.broadcast_to(mask, shape)
    order = np.argsort(~mask, axis=3, kind="stable")
    values = np.broadcast_to(source, shape)
    if op.name.endswith("nonzero"):
        values = np.broadcast_to(np.arange(shape[3]), shape)
    picked = np.take_along_axis(values, order, 3)
    kept = np.take_along_axis(mask, order, 3)
    kind = casts.NUMPY[io.dtype("dst")]
    io.write("dst", np.where(kept, picked, 0).astype(kind))
    _put(io, "dst_cnt", mask.sum(axis=3, keepdims=True))


# ------------------------------------------------------------------------ windows and products


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
    integer = _is_integer(io.dtype("src"))
    x = _spread(io, _whole(io, "src") if integer else _float(io, "src"))
    kernel, steps, dilation = (_two(io, role) for role in ("kernel", "stride", "dilation"))
    total = floats.pool2d(x, kernel, _border(io), steps, np.add, 0, dilation)
    scaled = total * _vec(io, "scale").astype(np.int64 if integer else _F32)
    if integer:
        _wrap(io, "dst", shifted(scaled, -_whole(io, "rshift"), "RM_HALF_UP"), saturate=True)
    else:
        _put(io, "dst", scaled)


@meaning("ppl.tiu.pool_max", "ppl.tiu.pool_min")
def _pool_extreme(op: Operation, io: LaneIO) -> None:
    greatest = op.name.endswith("max")
    dtype = casts.NUMPY[io.dtype("src")]
    x: Array
    if dtype.kind in "iu":
        x = _whole(io, "src")
        info = np.iinfo(dtype)
        worst = float(info.min if greatest else info.max)
    else:
        x = _float(io, "src")
        worst = -float(np.finfo(_F32).max) if greatest else float(np.finfo(_F32).max)
    kernel, steps, dilation = (_two(io, role) for role in ("kernel", "stride", "dilation"))
    fold = np.maximum if greatest else np.minimum
    _put(io, "dst", floats.pool2d(x, kernel, _border(io), steps, fold, worst, dilation))


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
        found = found + (_whole(io, "bias") if integer else _float(io, "bias"))
    if io.has("result_add") and io.value("result_add"):
        found = found + (_whole(io, "dst") if integer else _float(io, "dst"))
    relu = "result_relu" if io.has("result_relu") else "do_relu"
    if io.has(relu) and io.value(relu):
        found = np.maximum(found, 0)
    if integer:
        _wrap(io, "dst", found, saturate=True)
    else:
        _put(io, "dst", found)


@meaning("ppl.tiu.fconv", "ppl.tiu.conv")
def _conv(op: Operation, io: LaneIO) -> None:
    integer = op.name.endswith(".conv")
    if integer and (io.value("rq") or not io.value("sym")):
        raise SemanticsMissing(op.name, "requantised or asymmetric")
    x = _whole(io, "src") if integer else _float(io, "src")
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
    x = _whole(io, "src") if integer else _float(io, "src")
    weight = _vec(io, "weight").astype(x.dtype)
    if weight.ndim != 4:
        weight = np.full((1, x.shape[1], *_two(io, "kernel")), weight)
    weight = weight.reshape(1, x.shape[1], *_two(io, "kernel"))
    found = floats.depthwise2d(x, weight, _border(io), _two(io, "stride"), _two(io, "dilation"))
    if integer and io.has("rshift"):
        found = shifted(found, -_whole(io, "rshift"), _mode(io, "round_mode"))
    _finish(io, found, integer)


def _sides(io: LaneIO, role: str, *, transposed: bool, integer: bool) -> Array:
    """A side of a product as a matrix, from ``(1, rows, 1, columns)`` (TPU-D10)."""
    array = _whole(io, role) if integer else _float(io, role)
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
        point = _whole(io, "r_zp")
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
        array = _whole(io, role) if integer else _float(io, role)
        return array.reshape(array.shape[0], -1)

    left, right = matrix("left"), matrix("right")
    left = left.T if io.value("ltrans") else left
    right = right.T if io.has("rtrans") and io.value("rtrans") else right
    inner = min(left.shape[1], right.shape[0])
    found = np.matmul(left[:, :inner], right[:inner])
    shape = io.shape("dst")
    if integer:
        before = _whole(io, "dst").reshape(found.shape) if io.value("result_add") else 0
        found = found + (before << int(io.value("lshift")) if io.value("result_add") else 0)
        if io.is_tensor("bias"):
            found = found + _whole(io, "bias").reshape(1, -1)
        found = shifted(found, -_whole(io, "rshift"), _mode(io, "round_mode"))
        found = np.maximum(found, 0) if io.value("do_relu") else found
        _wrap(io, "dst", found.reshape(shape), saturate=True)
        return
    if io.is_tensor("bias"):
        found = found + _float(io, "bias").reshape(1, -1)
    if io.value("result_add"):
        found = found + _float(io, "dst").reshape(found.shape)
    _put(io, "dst", found.reshape(shape))


# ------------------------------------------------------------------------ quantisation


def _parameters(io: LaneIO, *names: str) -> list[Array]:
    """Scale and offset, or multiplier, shift and offset: numbers, or per channel (TPU-E14)."""
    if io.is_tensor("quant"):
        quant = io.read("quant")
        return [quant[..., k : k + 1] for k in range(len(names))]
    return [np.asarray(io.value(name)) for name in names]


@meaning("ppl.tiu.rq0")
def _rq0(op: Operation, io: LaneIO) -> None:
    scale, offset = _parameters(io, "scale", "offset")
    found = _float(io, "src") * scale.astype(_F32) + offset.astype(_F32)
    _put(io, "dst", found, _mode(io, "dst_round_mode"))


@meaning("ppl.tiu.rq1")
def _rq1(op: Operation, io: LaneIO) -> None:
    factor, shift, offset = (p.astype(np.int64) for p in _parameters(io, *_FACTORS))
    found = shifted(_whole(io, "src") * factor, shift, _mode(io, "round_mode")) + offset
    _wrap(io, "dst", found, saturate=True)


_FACTORS: Final = ("multiplier", "shift", "offset")


@meaning("ppl.tiu.dq0")
def _dq0(op: Operation, io: LaneIO) -> None:
    scale, offset = _parameters(io, "scale", "offset")
    _put(io, "dst", (_float(io, "src") - offset.astype(_F32)) * scale.astype(_F32))


@meaning("ppl.tiu.dq1")
def _dq1(op: Operation, io: LaneIO) -> None:
    factor, shift, offset = (p.astype(np.int64) for p in _parameters(io, *_FACTORS))
    found = shifted((_whole(io, "src") - offset) * factor, shift, _mode(io, "round_mode"))
    _wrap(io, "dst", found, saturate=True)


# ------------------------------------------------------------------------ sorting


@meaning("ppl.hau.topk")
def _topk(op: Operation, io: LaneIO) -> None:
    """The first K in order along the last dimension; equal ones keep theirs."""
    values = io.read("src")
    flat = values.reshape(-1, values.shape[3])
    k = int(io.value("K"))
    keys = flat.astype(np.float64)
    order = np.argsort(-keys if io.value("descended") else keys, axis=1, kind="stable")[:, :k]
    shape = io.shape("dst")
    io.write("dst", np.take_along_axis(flat, order, 1).reshape(shape))
    if io.is_tensor("dst_idx"):
        index: Any = order
        if io.is_tensor("src_idx"):
            index = np.take_along_axis(io.read("src_idx").reshape(flat.shape), order, 1)
        _put(io, "dst_idx", index.reshape(io.shape("dst_idx")))


# ------------------------------------------------------------------------ helpers written in PPL

#: how ``quick_pooling`` and ``pooling2`` combine elements: the greatest, or the sum
_MAX_POOLING: Final = 0


def _folded(io: LaneIO, x: Array) -> Array:
    fold = np.max if int(io.value("mode") or 0) == _MAX_POOLING else np.sum
    return np.asarray(fold(x, axis=3, keepdims=True))


@meaning("ppl.quick_pooling.rows")
def _pooling_rows(op: Operation, io: LaneIO) -> None:
    """Each element of an EU's unit of a row with those in the same place of the other units."""
    x = _float(io, "in_tensor")
    n, c, h, w = x.shape
    unit = io.shape("partial")[3]
    rows = x.reshape(n, c, 1, h * w)
    rest = -(h * w) % unit
    fill = float(io.value("fill")) if io.has("fill") else 0.0
    rows = np.pad(rows, ((0, 0), (0, 0), (0, 0), (0, rest)), constant_values=fill)
    parts = rows.reshape(n, c, 1, -1, unit)
    fold = np.max if int(io.value("mode") or 0) == _MAX_POOLING else np.sum
    _put(io, "partial", fold(parts, axis=3))


@meaning("ppl.quick_pooling")
def _pooling(op: Operation, io: LaneIO) -> None:
    found = _folded(io, _float(io, "partial"))
    if io.has("scale") and int(io.value("mode") or 0) != _MAX_POOLING:
        found = found * _F32(io.value("scale"))
    _put(io, "out_tensor", found)


@meaning("ppl.pooling2")
def _pooling2(op: Operation, io: LaneIO) -> None:
    _put(io, "dst", _folded(io, _float(io, "qk_sub_tensor")))


def _helper(role: str, function: Callable[[Any], Any], op: Operation, io: LaneIO) -> None:
    _put(io, "dst", function(_float(io, role)))


_HELPERS: Final[dict[str, Callable[[Any], Any]]] = {
    "sigmoid_fp32": lambda x: _F32(1) / (_F32(1) + np.exp(-x)),
    "relu": lambda x: np.maximum(x, _F32(0)),
    "flog": np.log,
    "mish_f32": lambda x: x * np.tanh(np.logaddexp(_F32(0), x)),
    "softsign_fp32": lambda x: x / (_F32(1) + np.abs(x)),
    "sqrt_fp32": np.sqrt,
    "fsin": np.sin,
    "fcos": np.cos,
    "farcsin": np.arcsin,
    "farccos": np.arccos,
    "ftan": np.tan,
    "fcot": lambda x: _F32(1) / np.tan(x),
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
    _put(io, "dst", alu.prelu(_float(io, "local_input"), _float(io, "alpha")))


@meaning("ppl.softplus_f32")
def _softplus(op: Operation, io: LaneIO) -> None:
    beta = _float(io, "beta")
    _put(io, "dst", np.logaddexp(_F32(0), beta * _float(io, "local_input")) / beta)


@meaning("ppl.pow_f32")
def _power(op: Operation, io: LaneIO) -> None:
    _put(io, "dst", np.power(_float(io, "base"), _float(io, "exponent")))
