"""The functions of OKKernel (BM1684): transfers and compute, with the names of its C header."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from verifier.executor.semantics.tpu import floats, integers
from verifier.executor.semantics.tpu.base import (
    Array,
    LaneIO,
    Quad,
    SemanticsMissing,
    meaning,
    means,
)
from verifier.layouts import strides as layouts
from verifier.layouts.address import ceildiv, lane_of
from verifier.symbolic.trace import Operation

_F32: Final = np.float32
#: bytes of fp32
_WORD: Final = 4


# ------------------------------------------------------------------------ transfers


def _copy(op: Operation, io: LaneIO) -> None:
    io.write("dst", io.read("src"))


def _fill(op: Operation, io: LaneIO) -> None:
    io.write("dst", np.broadcast_to(_bits(io, "C", io.dtype("dst")), io.shape("dst")))


for _size in (32, 16, 8):
    for _way in ("S2L", "L2S", "L2L", "S2S"):
        means(f"okk.gdma_{_size}bit_cpy_{_way}", _copy)
    for _where in ("system", "local"):
        means(f"okk.gdma_{_size}bit_set_C_{_where}", _fill)
means("okk.bdc_32bit_cpy", _copy)
means("okk.bdc_32bit_set_C", _fill)


def _bits(io: LaneIO, role: str, dtype: str) -> Array:
    """A constant as one element of that type: its bits if it says which type it has."""
    value = io.value(role)
    kind = np.dtype(dtype)
    if isinstance(value, np.ndarray):
        return value.view(kind)
    if isinstance(value, float):
        return np.asarray(value, _F32).view(f"u{kind.itemsize}").view(kind)
    wrapped = int(value) & ((1 << (8 * kind.itemsize)) - 1)
    return np.asarray(wrapped, f"u{kind.itemsize}").view(kind)


def _matrix_strides(io: LaneIO, role: str, columns: int, width: int, *, start: bool) -> Quad:
    """Strides of a matrix in local memory (LAY-M). Without ``start`` the lane of the address does
    not count, as transfers have it (INC-25)."""
    chip = io.chip
    lane = lane_of(chip, io.address(role)) if start else 0
    shape = layouts.matrix_shape(1, columns, width)
    return layouts.aligned(chip.lanes, chip.eu_bytes, lane, shape, _WORD)


def _matrix_parts(
    io: LaneIO, role: str, columns: int, width: int
) -> list[tuple[int, int, int, int]]:
    """The channels of a matrix as ``(first column, channels, columns of each, slots on)``: the last
    one may have fewer columns."""
    channels = ceildiv(columns, width)
    last = layouts.last_channel_columns(columns, width)
    if last == width:
        return [(0, channels, width, 0)]
    parts = [(0, channels - 1, width, 0)] if channels > 1 else []
    start = lane_of(io.chip, io.address(role)) % io.chip.lanes
    slot = (start + channels - 1) // io.chip.lanes
    return [*parts, ((channels - 1) * width, 1, last, slot)]


def _read_matrix(io: LaneIO, role: str, rows: int, columns: int, width: int, **how: Any) -> Array:
    strides = _matrix_strides(io, role, columns, width, **how)
    found = []
    for first, channels, each, slot in _matrix_parts(io, role, columns, width):
        lane, offset = _jump(io, role, first // width, slot, strides)
        part = io.read_as(
            role, (rows, channels, 1, each), strides, "float32", offset=offset, lane=lane
        )
        found.append(part.reshape(rows, channels * each))
    return np.concatenate(found, axis=1)


def _write_matrix(io: LaneIO, role: str, array: Array, width: int, **how: Any) -> None:
    rows, columns = array.shape
    strides = _matrix_strides(io, role, columns, width, **how)
    for first, channels, each, slot in _matrix_parts(io, role, columns, width):
        lane, offset = _jump(io, role, first // width, slot, strides)
        part = array[:, first : first + channels * each].reshape(rows, channels, 1, each)
        io.write_as(role, part, strides, "float32", offset=offset, lane=lane)


def _jump(io: LaneIO, role: str, channel: int, slot: int, strides: Quad) -> tuple[int, int]:
    """Lanes and bytes from a tensor's address to one of its channels."""
    start = lane_of(io.chip, io.address(role)) % io.chip.lanes
    return (start + channel) % io.chip.lanes - start, slot * strides[1] * _WORD


@meaning("okk.gdma_32bit_matrix_S2L")
def _matrix_in(op: Operation, io: LaneIO) -> None:
    rows, columns = io.value("rows"), io.value("cols")
    shape = (1, 1, rows, columns)
    strides = (0, 0, io.value("row_stride"), 1)
    array = io.read_as("src_addr", shape, strides, "float32").reshape(rows, columns)
    _write_matrix(io, "dst_addr", array, io.value("cols_per_channel"), start=False)


@meaning("okk.gdma_32bit_matrix_L2S")
def _matrix_out(op: Operation, io: LaneIO) -> None:
    rows, columns = io.value("rows"), io.value("cols")
    width = io.value("cols_per_channel")
    array = _read_matrix(io, "src_addr", rows, columns, width, start=False)
    strides = (0, 0, io.value("row_stride"), 1)
    io.write_as("dst_addr", array.reshape(1, 1, rows, columns), strides, "float32")


# ------------------------------------------------------------------------ elementwise, fp32


def _pair(function: Callable[[Array, Array], Array]) -> Callable[[Operation, LaneIO], None]:
    def run(op: Operation, io: LaneIO) -> None:
        io.write("dst", function(io.read("src0"), io.read("src1")))

    return run


def _constant(
    function: Callable[[Array, Array], Array], *, first: bool = False
) -> Callable[[Operation, LaneIO], None]:
    def run(op: Operation, io: LaneIO) -> None:
        c, x = floats.flush(np.asarray(io.value("C"))), io.read("src")
        io.write("dst", function(c, x) if first else function(x, c))

    return run


def _single(function: Callable[[Array], Array]) -> Callable[[Operation, LaneIO], None]:
    def run(op: Operation, io: LaneIO) -> None:
        io.write("dst", function(io.read("src")))

    return run


for _name, _function in {
    "add": floats.add,
    "sub": floats.sub,
    "mul": floats.mul,
    "div": floats.div,
    "max": floats.maximum,
    "min": floats.minimum,
}.items():
    means(f"okk.bdc_{_name}", _pair(_function))
    means(f"okk.bdc_{_name}_C", _constant(_function))
means("okk.bdc_C_sub", _constant(floats.sub, first=True))
means("okk.bdc_C_div", _constant(floats.div, first=True))

for _name, _unary in {
    "rsqrt": floats.rsqrt,
    "sqrt": floats.sqrt,
    "neg": floats.neg,
    "relu": floats.relu,
    "exp": floats.exp,
    "sigmoid": floats.sigmoid,
    "tanh": floats.tanh,
    "lookup_exp": floats.lookup_exp,
    "fp32_to_int32": floats.to_int32,
    "lookup_int32_to_fp32": floats.lookup_float,
    "reciprocal": lambda x: floats.div(np.ones_like(x), x),
}.items():
    means(f"okk.bdc_{_name}", _single(_unary))


@meaning("okk.bdc_taylor_exp", "okk.bdc_exp_tunable", "okk.bdc_sigmoid_tunable")
def _series(op: Operation, io: LaneIO) -> None:
    name = op.name.removeprefix("okk.bdc_").removesuffix("_tunable")
    io.write("dst", getattr(floats, name)(io.read("src"), io.value("num_series")))


means("okk.bdc_tanh_tunable", _series)


@meaning("okk.bdc_mac")
def _mac(op: Operation, io: LaneIO) -> None:
    io.write("dst", floats.mac(io.read("dst"), io.read("src0"), io.read("src1")))


@meaning("okk.bdc_mac_C")
def _mac_constant(op: Operation, io: LaneIO) -> None:
    io.write("dst", floats.mac(io.read("dst"), io.read("src"), _F32(io.value("C"))))


_COMPARE: Final[dict[str, Callable[[Any, Any], Array]]] = {
    "greater": floats.greater,
    "equal": floats.neither_greater,
}


def _select_value(
    compare: Callable[[Any, Any], Array], left: str, right: str, op: Operation, io: LaneIO
) -> None:
    """``val`` where the comparison holds, else 0."""

    def side(role: str) -> Array:
        return floats.flush(np.asarray(io.value("C"))) if role == "C" else io.read(role)

    value = _bits(io, "select_val", "uint32")
    io.write("dst", np.where(compare(side(left), side(right)), value, np.uint32(0)))


means("okk.bdc_greater_select_value", partial(_select_value, floats.greater, "src0", "src1"))
means("okk.bdc_greater_C_select_value", partial(_select_value, floats.greater, "src", "C"))
means("okk.bdc_C_greater_select_value", partial(_select_value, floats.greater, "C", "src"))
means("okk.bdc_equal_select_value", partial(_select_value, floats.equal, "src0", "src1"))
means("okk.bdc_equal_C_select_value", partial(_select_value, floats.equal, "src", "C"))


@meaning("okk.bdc_greater_select", "okk.bdc_equal_select")
def _select(op: Operation, io: LaneIO) -> None:
    """One of two operands, element by element; each operand is a tensor or a constant."""

    def operand(role: str, dtype: str) -> Array:
        if io.is_tensor(role):
            return io.read(role).view(dtype)
        return _bits(io, role, dtype)

    compare = _COMPARE[op.name.removeprefix("okk.bdc_").partition("_")[0]]
    test = compare(operand("src0", "float32"), operand("src1", "float32"))
    chosen = np.where(test, operand("select0", "uint32"), operand("select1", "uint32"))
    io.write("dst", np.broadcast_to(chosen, io.shape("dst")))


# ------------------------------------------------------------------------ 32-bit words

for _name, _bitwise in {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}.items():

    def _bit_pair(op: Operation, io: LaneIO, function: Any = _bitwise) -> None:
        a, b = io.read("src0").view(np.uint32), io.read("src1").view(np.uint32)
        io.write("dst", function(a, b))

    def _bit_constant(op: Operation, io: LaneIO, function: Any = _bitwise) -> None:
        io.write("dst", function(io.read("src").view(np.uint32), _bits(io, "C", "uint32")))

    means(f"okk.bdc_32bit_{_name}", _bit_pair)
    means(f"okk.bdc_32bit_{_name}_C", _bit_constant)


def _shift(op: Operation, io: LaneIO, *, bits: int, form: str) -> None:
    arithmetic = "arithmetic" in op.name
    kind, amounts = integers.TYPES[bits, arithmetic], integers.TYPES[bits, True]
    if bits == 32:
        read: Callable[[str, bool], Array] = lambda role, signed: io.read(role).view(  # noqa: E731
            integers.TYPES[32, signed]
        )
    else:
        read = lambda role, signed: integers.unpack(_words(io, role), bits, signed)  # noqa: E731
    if form == "tensors":
        found = integers.shift(
            read("src0", arithmetic), read("src1", True), arithmetic=arithmetic, bits=bits
        )
    elif form == "by":
        found = integers.shift(
            read("src", arithmetic), int(io.value("C")), arithmetic=arithmetic, bits=bits
        )
    else:
        by = read("src", True).astype(amounts)
        number = np.asarray(int(io.value("C"))).astype(kind)
        found = integers.shift(
            np.broadcast_to(number, by.shape), by, arithmetic=arithmetic, bits=bits
        )
    if bits == 32:
        io.write("dst", found)
    else:
        _put_packed(io, found)


for _kind in ("arithmetic", "logical"):
    for _bits_, _prefix in ((32, "okk.bdc_32bit"), (16, "okk.bdc_fixed_point_packed_16bit")):
        means(f"{_prefix}_{_kind}_shift", partial(_shift, bits=_bits_, form="tensors"))
        means(f"{_prefix}_{_kind}_shift_C", partial(_shift, bits=_bits_, form="by"))
        means(f"{_prefix}_C_{_kind}_shift", partial(_shift, bits=_bits_, form="of"))


# ------------------------------------------------------------------------ casts


@meaning("okk.bdc_int8_to_fp32")
def _from_int8(op: Operation, io: LaneIO) -> None:
    kind = np.int8 if io.value("is_signed") else np.uint8
    io.write("dst", io.read("src").view(kind).astype(_F32))


@meaning("okk.bdc_4N_int8_to_fp32")
def _from_4n(op: Operation, io: LaneIO) -> None:
    values = integers.unpack(_words(io, "src"), 8, bool(io.value("is_signed")))
    io.write("dst", values[: io.shape("dst")[0]].astype(_F32))


# ------------------------------------------------------------------------ neural network


@meaning("okk.bdc_bias")
def _bias(op: Operation, io: LaneIO) -> None:
    io.write("dst", floats.add(io.read("src"), io.read("bias")))


@meaning("okk.bdc_scale")
def _scale(op: Operation, io: LaneIO) -> None:
    io.write("dst", floats.mul(io.read("src"), io.read("scale")))


@meaning("okk.bdc_scale_bias")
def _scale_bias(op: Operation, io: LaneIO) -> None:
    io.write("dst", floats.mac(io.read("bias"), io.read("src"), io.read("scale")))


def _padding(io: LaneIO) -> tuple[int, int, int, int]:
    value = io.value("padding")
    return (0, 0, 0, 0) if value is None else tuple(int(x) for x in value)  # type: ignore[return-value]


def _steps(io: LaneIO, role: str) -> tuple[int, int]:
    value = io.value(role) if io.has(role) else None
    return (1, 1) if value is None else (int(value[0]), int(value[1]))


@meaning("okk.bdc_conv2d")
def _conv2d(op: Operation, io: LaneIO) -> None:
    """Weights in 2IC: the half of a pair that no channel fills is not read."""
    channels, out = io.shape("input")[1], int(io.value("output_c"))
    kernel = (int(io.value("kernel_h")), int(io.value("kernel_w")))
    strides: Quad = tuple(2 * int(x) for x in io.value("kernel_stride"))  # type: ignore[assignment]
    weight = np.empty((channels, out, *kernel), _F32)
    for half in (0, 1):
        pairs = (channels - half + 1) // 2
        if pairs:
            weight[half::2] = io.read_as(
                "weight_addr", (pairs, out, *kernel), strides, "float32", offset=half * _WORD
            )
    found = floats.conv2d(
        floats.flush(io.read("input")),
        floats.flush(weight.transpose(1, 0, 2, 3)),
        _padding(io),
        _steps(io, "stride"),
        _steps(io, "dilation"),
    )
    if io.value("using_bias"):
        found = found + io.read("bias")
    if io.value("result_add"):
        found = found + io.read("output")
    io.write("output", floats.flush(found))


@meaning("okk.bdc_depthwise2d")
def _depthwise2d(op: Operation, io: LaneIO) -> None:
    found = _F32(0) + floats.depthwise2d(
        floats.flush(io.read("input")),
        floats.flush(io.read("weight")),
        _padding(io),
        _steps(io, "stride"),
        _steps(io, "dilation"),
    )
    if io.value("using_bias"):
        found = found + io.read("bias")
    io.write("output", floats.flush(found))


@meaning("okk.bdc_avg_pool2d", "okk.bdc_max_pool2d")
def _pool2d(op: Operation, io: LaneIO) -> None:
    kernel = (int(io.value("kernel_h")), int(io.value("kernel_w")))
    function = floats.avg_pool2d if "avg" in op.name else floats.max_pool2d
    io.write("output", function(io.read("input"), kernel, _padding(io), _steps(io, "stride")))


@meaning("okk.bdc_matmul")
def _matmul(op: Operation, io: LaneIO) -> None:
    rows, inner, columns = (
        int(io.value(role)) for role in ("left_rows", "left_cols", "right_cols")
    )
    left_width, width = (int(io.value(f"{side}_cols_per_channel")) for side in ("left", "right"))
    left = _read_matrix(io, "left_addr", rows, inner, left_width, start=True)
    right = _read_matrix(io, "right_addr", inner, columns, width, start=True)
    found = np.matmul(floats.flush(left), floats.flush(right))
    if io.value("using_bias"):
        found = found + _read_matrix(io, "bias_addr", 1, columns, width, start=True)
    if io.value("result_add"):
        found = found + _read_matrix(io, "output_addr", rows, columns, width, start=True)
    _write_matrix(io, "output_addr", floats.flush(found), width, start=True)


# ------------------------------------------------------------------------ packed fixed point


def _words(io: LaneIO, role: str) -> Array:
    return io.read(role).view(np.uint32)


def _op_type(value: int) -> tuple[int, bool, bool, int, bool]:
    """Bits of the sources, their signs, bits of the result, its sign (OKK-T6)."""
    return (
        8 if value & 1 else 16,
        bool(value & 2),
        bool(value & 4),
        8 if value & 8 else 16,
        bool(value & 16),
    )


def _numbers(io: LaneIO, role: str, bits: int, signed: bool) -> Array:
    return integers.unpack(_words(io, role), bits, signed).astype(np.int64)


def _same(a: Array, b: Array) -> tuple[Array, Array]:
    """Packed operands of different widths have different numbers of dummies."""
    n = min(len(a), len(b))
    return a[:n], b[:n]


def _put_packed(io: LaneIO, values: Array) -> None:
    """Store numbers of 8 or 16 bits in words; the dummies of the last words stay as they are."""
    n = int(io.value("shape")[0])
    bits = 8 * values.dtype.itemsize
    kept = integers.unpack(_words(io, "dst"), bits, False).view(values.dtype)
    kept[:n] = values[:n]
    io.write("dst", integers.pack(kept))


def _store(io: LaneIO, values: Array, bits: int, signed: bool) -> None:
    """Saturate, pack and store."""
    _put_packed(io, integers.saturate(values, bits, signed))


def _packed(op: Operation, io: LaneIO, *, function: Callable[[Any, Any], Any], form: str) -> None:
    bits, signed0, signed1, dst_bits, dst_signed = _op_type(int(io.value("op_type")))
    if form == "tensors":
        a, b = _same(_numbers(io, "src0", bits, signed0), _numbers(io, "src1", bits, signed1))
    else:
        first = form == "first"
        a = _numbers(io, "src", bits, signed1 if first else signed0)
        b = np.asarray(int(io.value("C")), np.int64)
        if first:
            a, b = b, a
    rshift = int(io.value("rshift") or 0) if io.has("rshift") else 0
    _store(io, integers.rounded_shift(function(a, b), rshift), dst_bits, dst_signed)


for _name, _operation in {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}.items():
    means(
        f"okk.bdc_fixed_point_packed_{_name}",
        partial(_packed, function=_operation, form="tensors"),
    )
    means(
        f"okk.bdc_fixed_point_packed_{_name}_C",
        partial(_packed, function=_operation, form="last"),
    )
means("okk.bdc_fixed_point_packed_C_sub", partial(_packed, function=np.subtract, form="first"))


@meaning("okk.bdc_fixed_point_packed_mac", "okk.bdc_fixed_point_packed_mac_C")
def _packed_mac(op: Operation, io: LaneIO) -> None:
    bits, signed0, signed1, dst_bits, dst_signed = _op_type(int(io.value("op_type")))
    before = _numbers(io, "dst", dst_bits, bool(io.value("is_origin_dst_signed")))
    if op.name.endswith("_C"):
        product = _numbers(io, "src", bits, signed0) * int(io.value("C"))
    else:
        a, b = _same(_numbers(io, "src0", bits, signed0), _numbers(io, "src1", bits, signed1))
        product = a * b
    before, product = _same(before, product)
    total = (before << int(io.value("lshift"))) + product
    _store(io, integers.rounded_shift(total, int(io.value("rshift"))), dst_bits, dst_signed)


@meaning("okk.bdc_fixed_point_packed_16bit_split_high_8bit")
def _split_high(op: Operation, io: LaneIO) -> None:
    halves = integers.unpack(_words(io, "src"), 16, False)
    _put_packed(io, (halves >> 8).astype(np.uint8))


@meaning("okk.bdc_fixed_point_packed_16bit_split_low_8bit")
def _split_low(op: Operation, io: LaneIO) -> None:
    halves = integers.unpack(_words(io, "src"), 16, False)
    _put_packed(io, (halves & 0xFF).astype(np.uint8))


@meaning("okk.bdc_fixed_point_packed_16bit_mul_8bit")
def _mul_16_8(op: Operation, io: LaneIO) -> None:
    """A number of 16 bits, given as its high and its low bytes, times one of 8 bits."""
    kind = int(io.value("mul_type"))
    signed0, signed1, signed = bool(kind & 1), bool(kind & 2), bool(kind & 4)
    if signed0 and not signed1:
        raise SemanticsMissing(op.name, "S16 x U8 is not available on BM1684")
    high = _numbers(io, "src0_high", 8, signed0)
    low = _numbers(io, "src0_low", 8, False)
    product = ((high << 8) + low) * _numbers(io, "src1", 8, signed1)
    _store(io, integers.rounded_shift(product, int(io.value("rshift"))), 16, signed)


@meaning("okk.bdc_fixed_point_packed_s16_mul_u8_to_s16")
def _mul_s16_u8(op: Operation, io: LaneIO) -> None:
    a, b = _same(_numbers(io, "src0", 16, True), _numbers(io, "src1", 8, False))
    _store(io, integers.rounded_shift(a * b, int(io.value("rshift"))), 16, True)
