"""Copies, fills and DMA."""

from __future__ import annotations

import math

import numpy as np

from verifier.executor.semantics import alu, casts
from verifier.executor.semantics.base import IO, Array, SemanticsMissing, semantics
from verifier.executor.semantics.operands import (
    flag,
    fold,
    is_tile,
    needed,
    operator,
    option,
    per_lane,
    plain,
    put,
    reading,
)
from verifier.hardware.capabilities import Capability
from verifier.hardware.engines import Engine
from verifier.symbolic.trace import Operation


def copied(io: IO, src: str, dst: str = "dst") -> None:
    """Equal types bit for bit, others through float32."""
    put(io, dst, io.read_raw(src))


@semantics(
    "isa.tensor_copy",
    "isa.tensor_copy_dynamic_src",
    "isa.tensor_copy_dynamic_dst",
    "language.load",
)
def from_source(op: Operation, io: IO) -> None:
    if (
        op.name == "isa.tensor_copy"
        and op.engine is Engine.SCALAR
        and not io.target.has(Capability.COPY_ON_SCALAR)
    ):
        put(io, "dst", reading(io, "src"))
        return
    copied(io, "src")


@semantics("language.store")
def store(op: Operation, io: IO) -> None:
    if is_tile(op, "value"):
        copied(io, "value")
    else:
        number = np.asarray(plain(io.scalar("value")))
        io.write("dst", np.broadcast_to(number, io.shape("dst")))


@semantics("language.copy", "language.static_cast")
def copy(op: Operation, io: IO) -> None:
    role = next(name for name in ("src", "x", "input_data") if io.has(name))
    if op.name == "language.copy" and io.api in ("0.3", "0.4", "0.5"):
        put(io, "dst", reading(io, role))  # on the Scalar Engine then (NKI-L25)
        return
    copied(io, role)


@semantics("language.broadcast_to")
def broadcast_to(op: Operation, io: IO) -> None:
    role = "src" if io.has("src") else "x"
    array = io.read_raw(role)
    io.write("dst", np.broadcast_to(array, io.shape("dst")))


@semantics("language.assign", "language.fill")
def assign(op: Operation, io: IO) -> None:
    """``target[...] = value`` and ``target[...] op= value``."""
    name = operator(io, "op")
    tile = is_tile(op, "value")
    if name is None:
        if tile:
            value = io.read_raw("value")
        else:
            value = np.asarray(plain(io.scalar("value")))
        _spread(io, value)
        return
    if name in alu.BITWISE:
        left = io.read_raw("dst")
        right = io.read_raw("value") if tile else np.asarray(plain(io.scalar("value")))
        io.write("dst", alu.BITWISE[name](left, right.astype(left.dtype)))
        return
    left = reading(io, "dst")
    if tile:
        right = reading(io, "value")
        if right.size == left.size:
            right = right.reshape(left.shape)
        elif right.ndim != left.ndim:
            right = per_lane(right, left.ndim)
    else:
        right = np.asarray(plain(io.scalar("value")), np.float32)
    io.write("dst", np.asarray(alu.binary(name, op.name)(left, right)))


def _spread(io: IO, value: Array) -> None:
    shape = io.shape("dst")
    if value.size == math.prod(shape):
        put(io, "dst", value)
        return
    if value.ndim > 1 and value.ndim != len(shape):
        value = per_lane(value, len(shape))
    io.write("dst", np.broadcast_to(value, shape))


def _fill(io: IO, number: object) -> None:
    kind = io.dtype("dst")
    if isinstance(number, float):
        value = np.asarray(number, np.float32)
    else:
        value = casts.exact(np.asarray(number), kind)
    io.write("dst", np.broadcast_to(casts.cast(value, kind), io.shape("dst")))


@semantics("isa.memset")
def memset(op: Operation, io: IO) -> None:
    _fill(io, option(io, "value", 0))


@semantics("language.zeros", "language.zeros_like", "missing")
def zeros(op: Operation, io: IO) -> None:
    _fill(io, 0)


@semantics("language.ones")
def ones(op: Operation, io: IO) -> None:
    _fill(io, 1)


@semantics("language.full")
def full(op: Operation, io: IO) -> None:
    _fill(io, option(io, "fill_value", 0))


@semantics("language.shared_identity_matrix")
def identity(op: Operation, io: IO) -> None:
    rows, columns = io.shape("dst")
    io.write("dst", casts.cast(np.eye(rows, columns, dtype=np.float32), io.dtype("dst")))


@semantics("language.shared_constant")
def shared_constant(op: Operation, io: IO) -> None:
    if not is_tile(op, "constant"):
        raise SemanticsMissing(op.name, "a constant that is not an array")
    copied(io, "constant")


@semantics("isa.tensor_copy_predicated")
def tensor_copy_predicated(op: Operation, io: IO) -> None:
    """Elements with a predicate (or, reversed, without) are copied, the others keep their value."""
    shape = io.shape("dst")
    chosen = io.read_raw("predicate").reshape(shape) != 0
    if flag(io, "reverse_pred"):
        chosen = ~chosen
    if is_tile(op, "src"):
        value = io.read_raw("src")
        if value.size == math.prod(shape):
            value = value.reshape(shape)
        elif value.ndim != len(shape):
            value = per_lane(value, len(shape))
    else:
        value = np.asarray(plain(io.scalar("src")), np.float32)
    io.write("dst", np.broadcast_to(value, shape), where=chosen)


# --------------------------------------------------------------------------- DMA


@semantics("isa.dma_copy")
def dma_copy(op: Operation, io: IO) -> None:
    """Equal types bit for bit, others through float32; ``dst_rmw_op`` folds into what is there.

    Rows by index are the views' business: elements whose index is out of bounds (allowed by
    ``oob_mode.skip``) are masked out on both sides.
    """
    name = operator(io, "dst_rmw_op")
    source = io.read_raw("src")
    mask = io.mask("src")
    if name is not None:
        value = casts.up(source).reshape(io.shape("dst"))
        if mask is not None:
            value = np.where(mask.reshape(value.shape), value, np.float32(0))
        put(io, "dst", np.asarray(alu.binary(name, op.name)(reading(io, "dst"), value)))
        return
    if mask is not None:
        shape = io.shape("dst")
        io.write("dst", source.reshape(shape), where=mask.reshape(shape))
        return
    put(io, "dst", source)


@semantics("isa.dma_transpose")
def dma_transpose(op: Operation, io: IO) -> None:
    source = io.read_raw("src")
    turns = op.instruction.turns if op.instruction is not None else {}
    axes = option(io, "axes") or turns.get(source.ndim)
    if axes is None or len(axes) != source.ndim:
        raise SemanticsMissing(op.name, f"of rank {source.ndim}")
    put(io, "dst", np.ascontiguousarray(source.transpose(axes)))


@semantics("isa.dma_compute")
def dma_compute(op: Operation, io: IO) -> None:
    """The scaled sum (or other fold) of the sources, in float32."""
    name = needed(io, "reduce_op", op)
    function = alu.binary(name, op.name)
    sources = op.value("srcs")
    count = len(sources) if isinstance(sources, tuple) else 0
    scales = option(io, "scales") or (1.0,) * count
    shape = io.shape("dst")
    total: Array | None = None
    for position in range(count):
        term = reading(io, f"srcs[{position}]").reshape(shape)
        if scales[position] != 1:
            term = term * np.float32(scales[position])
        total = term if total is None else np.asarray(function(total, term))
    if total is not None:
        io.write("dst", total)


@semantics("language.atomic_rmw")
def atomic_rmw(op: Operation, io: IO) -> None:
    """``dst = op(dst, value)``. Rows that an index names twice get each value in turn."""
    name = needed(io, "op", op)
    value = reading(io, "value").reshape(io.shape("dst"))
    put(io, "dst", np.asarray(alu.binary(name, op.name)(reading(io, "dst"), value)))


@semantics("isa.sendrecv")
def sendrecv(op: Operation, io: IO) -> None:
    """Between the cores of a logical core; what a core sends to itself arrives at once."""
    to, source = option(io, "send_to_rank", 0), option(io, "recv_from_rank", 0)
    if to == source == io.state.get("rank", 0):
        copied(io, "src")
        return
    exchange = io.state.get("exchange")
    if not callable(exchange):
        raise SemanticsMissing(op.name, "between cores of which only one runs")
    array = io.read_raw("src").copy()
    put(io, "dst", exchange(to, source, option(io, "pipe_id"), array, op.span))


@semantics("isa.core_barrier")
def core_barrier(op: Operation, io: IO) -> None:
    """Programs of a grid run one after the other: there is nothing to wait for."""


@semantics("isa.register_load")
def register_load(op: Operation, io: IO) -> None:
    """The value of a one-element tensor into a register."""
    io.state[("register", op.value("dst"))] = fold(io.read_raw("src")).reshape(-1)[0].item()


@semantics("isa.register_store")
def register_store(op: Operation, io: IO) -> None:
    value = op.value("src")
    number = io.state.get(("register", value), plain(value))
    if not isinstance(number, (int, float)):
        raise SemanticsMissing(op.name, "a register that holds nothing")
    io.write("dst", np.broadcast_to(np.asarray(number), io.shape("dst")))
