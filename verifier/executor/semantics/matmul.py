"""The Tensor Engine: products accumulated in PSUM, transposes, microscaled products."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from verifier.dialects.nki.versions import newer
from verifier.executor.semantics import casts
from verifier.executor.semantics.base import IO, Array, semantics
from verifier.executor.semantics.operands import flag, fold, masked, option, put, reading
from verifier.hardware.capabilities import Capability
from verifier.hardware.engines import Engine
from verifier.hardware.targets import QUADRANT, SCALE_ROWS
from verifier.symbolic.trace import Operation

F = NDArray[np.float32]

#: values that share one scale: 8 partitions of 4 packed elements (NKI-MMX12)
_GROUP = QUADRANT // SCALE_ROWS


def _operand(io: IO, role: str) -> F:
    """A factor, with nothing where it is masked out."""
    array = masked(io, role, io.read(role), 0.0)
    return casts.up(array)


def _accumulated(io: IO, result: Array) -> None:
    """Into PSUM: over what is there, or onto it, by element where that differs."""
    shape = io.shape("dst")
    if result.shape != shape:
        result = result.reshape(shape)
    adds = io.accumulates("dst")
    if isinstance(adds, np.ndarray):
        if adds.any():
            result = np.where(adds, reading(io, "dst") + result, result)
    elif adds:
        io.add("dst", result)
        return
    io.write("dst", result)


def _product(io: IO, stationary: F, moving: F) -> F:
    """``stationary.T @ moving``, in an array that is used again for products of that shape."""
    key = ("product", stationary.shape[1], moving.shape[1])
    space = io.state.get(key)
    if not isinstance(space, np.ndarray):
        space = np.empty(key[1:], np.float32)
        io.state[key] = space
    return np.matmul(stationary.T, moving, out=space)


def _permuted(stationary: F, moving: F) -> F | None:
    """The product when each column of ``moving`` selects one row; infinities pass unharmed."""
    ones = moving == 1
    if not (ones.sum(axis=0) == 1).all() or not ((moving == 0) | ones).all():
        return None
    return np.ascontiguousarray(stationary.T[:, ones.argmax(axis=0)])


@semantics("isa.nc_matmul")
def nc_matmul(op: Operation, io: IO) -> None:
    """``dst (+)= stationary.T @ moving``, contracted over the partitions, in float32."""
    stationary, moving = _operand(io, "stationary"), _operand(io, "moving")
    mode = option(io, "perf_mode", "none")
    if mode.startswith("double_row") and stationary.ndim > 2 and stationary.shape[1] == 2:
        # the contraction runs over the partitions and the two rows that each holds (NKI-MMU20)
        rows = stationary.shape[0] * 2
        stationary, moving = stationary.reshape(rows, -1), moving.reshape(rows, -1)
    else:
        stationary, moving = fold(stationary), fold(moving)
    result: Array | None = None
    if flag(io, "is_transpose") and io.target.has(Capability.EXACT_TRANSPOSE):
        result = _permuted(stationary, moving)
    _accumulated(io, _product(io, stationary, moving) if result is None else result)


def _scales(io: IO, role: str, partitions: int) -> F:
    """One factor per partition and packed element, from scales of groups of eight partitions.

    A tile of ``partitions / 8`` rows holds them one below the other. In a tile of as many rows as
    the data, each quadrant of 32 rows holds its own four, at the view's first rows (NKI-MMX10).
    """
    raw = fold(io.read_raw(role))
    codes = raw.view(np.uint8).astype(np.int32)
    groups = max(partitions // _GROUP, 1)
    if codes.shape[0] > groups:
        rows = _rows_of_scales(groups)
        codes = codes[rows]
    factors = np.where(codes == 255, np.nan, np.ldexp(1.0, codes - 127)).astype(np.float32)
    return np.repeat(factors, _GROUP, axis=0)[:partitions]


def _unpacked(io: IO, role: str) -> F:
    """A microscaled factor as float32: ``(partitions, 4, elements)``, scaled."""
    data = fold(io.read_raw(role))
    values = casts.split(data, io.dtype(role))
    # a tile that several scale tensors share may be wider than the data
    scales = _scales(io, f"{role}_scale", data.shape[0])[:, : data.shape[1]]
    return np.ascontiguousarray((values * scales[:, :, None]).transpose(0, 2, 1))


@semantics("isa.nc_matmul_mx")
def nc_matmul_mx(op: Operation, io: IO) -> None:
    """``dst (+)= stationary.T @ moving``, contracted over partitions and packed values."""
    stationary, moving = _unpacked(io, "stationary"), _unpacked(io, "moving")
    rows = stationary.shape[0] * 4
    _accumulated(io, stationary.reshape(rows, -1).T @ moving.reshape(rows, -1))


@semantics("isa.quantize_mx")
def quantize_mx(op: Operation, io: IO) -> None:
    """Groups of 8 partitions by 4 elements share a power of two (NKI-QMX08).

    Since 0.5 it is twice what the range of the elements asks for, so that none saturates.
    """
    source = fold(reading(io, "src"))
    kind = io.dtype("dst")
    partitions, columns = source.shape[0], source.shape[1] // 4
    values = source.reshape(partitions, columns, 4)
    groups = np.abs(values).reshape(-1, _GROUP, columns, 4)
    largest = groups.max(axis=(1, 3))
    top = 15 if kind == "float8_e5m2_x4" else 8
    _, exponents = np.frexp(largest)
    spare = 1 if newer(io.api, "0.5") else 0
    scale = np.clip(exponents - 1 - (top - spare), -127, 127)
    scale = np.where(largest == 0, -127, scale)
    factors = np.repeat(np.ldexp(1.0, -scale), _GROUP, axis=0)
    packed = casts.join((values * factors[:, :, None]).astype(np.float32), kind)
    put(io, "dst", packed)
    codes = (scale + 127).astype(np.uint8)
    _write_scales(io, codes, partitions)


def _rows_of_scales(groups: int) -> NDArray[np.intp]:
    """The rows that scales of so many groups are in, where each quadrant holds its own."""
    each = np.arange(groups)
    return each // SCALE_ROWS * QUADRANT + each % SCALE_ROWS


def _write_scales(io: IO, codes: NDArray[np.uint8], partitions: int) -> None:
    kind = casts.NUMPY[io.dtype("dst_scale")]
    shape = io.shape("dst_scale")
    if shape[0] == codes.shape[0]:
        put(io, "dst_scale", codes.view(kind) if kind.itemsize == 1 else codes.astype(kind))
        return
    # four rows per quadrant are written, the others keep what they hold
    rows = _rows_of_scales(codes.shape[0])
    spread = np.zeros((shape[0], codes.shape[1]), np.uint8)
    spread[rows] = codes
    written = np.zeros(spread.shape, np.bool_)
    written[rows] = True
    io.write("dst_scale", spread.view(kind).reshape(shape), where=written.reshape(shape))


@semantics("isa.nc_transpose")
def nc_transpose(op: Operation, io: IO) -> None:
    _transpose(op, io, "data")


@semantics("language.transpose")
def transpose(op: Operation, io: IO) -> None:
    _transpose(op, io, "x")


def _transpose(op: Operation, io: IO, role: str) -> None:
    """Rows for columns, bit for bit or by a product with an identity; integers have bits only."""
    data = fold(io.read_raw(role))
    moves = op.engine is not Engine.TENSOR or io.target.has(Capability.EXACT_TRANSPOSE)
    if not moves and not casts.is_integer(data):
        data = _by_identity(fold(_operand(io, role)))
    put(io, "dst", np.ascontiguousarray(data.T))


def _by_identity(data: F) -> F:
    """What a product with an identity leaves: an infinity or a NaN spoils all of its column.

    (NKI-TRN08, NKI-TRN10.)
    """
    spoilt = ~np.isfinite(data).all(axis=0)
    return np.where(spoilt, np.float32(np.nan), data) if spoilt.any() else data


@semantics("language.load_transpose2d")
def load_transpose2d(op: Operation, io: IO) -> None:
    put(io, "dst", np.ascontiguousarray(fold(io.read_raw("src")).T))


@semantics("language.matmul")
def matmul(op: Operation, io: IO) -> None:
    """``x @ y``; with ``transpose_x`` the first factor comes transposed, partitions first."""
    left, right = fold(_operand(io, "x")), fold(_operand(io, "y"))
    if flag(io, "transpose_x"):
        left = left.T
    elif not io.target.has(Capability.EXACT_TRANSPOSE):
        left = _by_identity(left)
    put(io, "dst", left @ right)
