"""Elementwise instructions of the Vector, Scalar and GpSimd Engines."""

from __future__ import annotations

import numpy as np

from verifier.dialects.nki.isa import INSTRUCTIONS
from verifier.dialects.nki.results import Like
from verifier.executor.semantics import alu, casts
from verifier.executor.semantics.accumulators import accumulate
from verifier.executor.semantics.base import IO, Array, SemanticsMissing, semantics
from verifier.executor.semantics.operands import (
    flag,
    is_tile,
    lanes,
    matched,
    needed,
    operator,
    option,
    per_lane,
    plain,
    put,
    reading,
)
from verifier.hardware.engines import Engine
from verifier.symbolic.trace import Operation

_WORDS = ("int32", "uint32")


def _integers(io: IO, op: Operation, role: str, like: Array | None) -> Array:
    """An operand of a bit operation: its bits, a number in the type of the other operand."""
    if is_tile(op, role):
        array = io.read_raw(role)
        return array.view(np.uint8) if array.dtype.kind == "b" else array
    number = int(plain(io.scalar(role)) or 0)
    kind = like.dtype if like is not None else np.dtype(np.int32)
    return np.asarray(number & ((1 << (kind.itemsize * 8)) - 1), np.uint64).astype(kind)


def _bit_operation(name: str, left: Array, right: Array) -> Array:
    kind = left.dtype
    if name not in ("left_shift", "right_shift") and right.dtype != kind:
        kind = np.promote_types(kind, right.dtype)
        left, right = left.astype(kind), right.astype(kind)
    return np.asarray(alu.BITWISE[name](left, right))


def _put_bits(io: IO, role: str, array: Array) -> None:
    put(io, role, casts.bits(array, io.dtype(role)))


def two_tiles(io: IO, op: Operation, name: str, left: str, right: str) -> None:
    """``dst = left op right``; each operand a tile or a number."""
    if name in alu.BITWISE:
        a = _integers(io, op, left, None)
        b = _integers(io, op, right, a)
        a = _integers(io, op, left, b) if not is_tile(op, left) else a
        _put_bits(io, "dst", _bit_operation(name, *matched(a, b)))
        return
    if op.engine is Engine.GPSIMD and _all_words(io, op, left, right) and name in alu.INTEGER:
        a, b = matched(_wide(io, op, left), _wide(io, op, right))
        result = np.asarray(alu.INTEGER[name](a, b))
        put(io, "dst", casts.bits(result, io.dtype("dst")))
        return
    function = alu.binary(name, op.name)
    if is_tile(op, left) and is_tile(op, right):
        put(io, "dst", function(*matched(reading(io, left), reading(io, right))))
    else:
        put(io, "dst", function(_number(io, op, left), _number(io, op, right)))


def _number(io: IO, op: Operation, role: str) -> Array:
    if is_tile(op, role):
        return reading(io, role)
    return np.asarray(plain(io.scalar(role)), np.float32)


def _all_words(io: IO, op: Operation, *roles: str) -> bool:
    """Whether exact integer arithmetic applies: all tiles of 32-bit integers (NKI-TTN06)."""
    return all(
        io.dtype(role) in _WORDS if is_tile(op, role) else isinstance(plain(op.value(role)), int)
        for role in ("dst", *roles)
    )


def _wide(io: IO, op: Operation, role: str) -> Array:
    if is_tile(op, role):
        return io.read_raw(role).astype(np.int64)
    return np.asarray(plain(io.scalar(role)), np.int64)


@semantics("isa.tensor_tensor")
def tensor_tensor(op: Operation, io: IO) -> None:
    two_tiles(io, op, needed(io, "op", op), "data1", "data2")


@semantics("isa.tensor_scalar")
def tensor_scalar(op: Operation, io: IO) -> None:
    """``(data op0 operand0) op1 operand1``, operands per partition."""
    first, second = needed(io, "op0", op), operator(io, "op1")
    if first in alu.BITWISE:
        _bit_scalar(io, op, first, second)
        return
    data = reading(io, "data")
    result = step(io, op, first, data, "operand0", flag(io, "reverse0"))
    if second is not None:
        result = step(io, op, second, result, "operand1", flag(io, "reverse1"))
    put(io, "dst", result)


def step(io: IO, op: Operation, name: str, data: Array, role: str, reverse: bool) -> Array:
    """One operator of a pipeline between a tile and a number or one value per partition."""
    operand = lanes(io, op, role, data.ndim)
    function = alu.binary(name, op.name)
    if name in alu.ONE_OPERAND:
        reverse = False
    return np.asarray(function(operand, data) if reverse else function(data, operand), np.float32)


def _bit_scalar(io: IO, op: Operation, first: str, second: str | None) -> None:
    value = _integers(io, op, "data", None)
    for name, role, back in (
        (first, "operand0", flag(io, "reverse0")),
        (second, "operand1", flag(io, "reverse1")),
    ):
        if name is None:
            continue
        if name not in alu.BITWISE:
            raise SemanticsMissing(op.name, f"{first} followed by {name}")
        other = value
        if name != "invert":
            other = _integers(io, op, role, value)
            other = per_lane(other, value.ndim) if other.ndim else other
        if back and name != "invert":
            left = np.broadcast_to(other, value.shape).astype(value.dtype)
            value = _bit_operation(name, left, value)
        else:
            value = _bit_operation(name, value, other)
    _put_bits(io, "dst", value)


@semantics("isa.scalar_tensor_tensor")
def scalar_tensor_tensor(op: Operation, io: IO) -> None:
    """``(data op0 operand0) op1 operand1``, ``operand1`` a tile."""
    data = reading(io, "data")
    result = step(io, op, needed(io, "op0", op), data, "operand0", flag(io, "reverse0"))
    left, right = matched(result, reading(io, "operand1"))
    function = alu.binary(needed(io, "op1", op), op.name)
    put(io, "dst", function(right, left) if flag(io, "reverse1") else function(left, right))


@semantics("isa.reciprocal")
def reciprocal(op: Operation, io: IO) -> None:
    put(io, "dst", np.float32(1) / reading(io, "data"))


# --------------------------------------------------------------------------- nki.language


def _binary(op: Operation, io: IO) -> None:
    two_tiles(io, op, op.name.rpartition(".")[2], "x", "y")


def _unary(op: Operation, io: IO) -> None:
    name = op.name.rpartition(".")[2]
    if name == "invert":
        _put_bits(io, "dst", np.invert(_integers(io, op, "x", None)))
        return
    put(io, "dst", np.asarray(alu.unary(name, op.name)(reading(io, "x"))))


for _described in INSTRUCTIONS.values():
    _roles = _described.result.roles if isinstance(_described.result, Like) else ()
    if _roles == ("x", "y"):
        semantics(_described.name)(_binary)
    elif _roles == ("x",) and (_described.short in alu.UNARY or _described.short == "invert"):
        semantics(_described.name)(_unary)


@semantics("language.where")
def where(op: Operation, io: IO) -> None:
    condition = reading(io, "condition")
    chosen = [
        reading(io, role) if is_tile(op, role) else np.float32(plain(io.scalar(role)))
        for role in ("x", "y")
    ]
    put(io, "dst", np.where(condition != 0, chosen[0], chosen[1]))


@semantics("isa.dropout")
def dropout(op: Operation, io: IO) -> None:
    _drop(op, io, "data", "prob")


@semantics("language.dropout")
def language_dropout(op: Operation, io: IO) -> None:
    _drop(op, io, "x", "rate")


def _drop(op: Operation, io: IO, data: str, probability: str) -> None:
    """Zeros with the given probability; what stays is not rescaled."""
    values = io.read_raw(data)
    rate = lanes(io, op, probability, values.ndim)
    keep = io.rng.random(values.shape, np.float32) >= rate
    put(io, "dst", np.where(keep, values, np.zeros((), values.dtype)))


@semantics("isa.activation", "isa.activation_reduce")
def activation(op: Operation, io: IO) -> None:
    """``op(data * scale + bias)`` with a running sum over the free axes on the side."""
    data = reading(io, "data")
    if io.has("scale"):
        scale = lanes(io, op, "scale", data.ndim, 1.0)
        if is_tile(op, "scale") or scale != 1:
            data = data * scale
    if io.has("bias"):
        data = data + lanes(io, op, "bias", data.ndim)
    result = np.asarray(alu.unary(needed(io, "op", op), op.name)(data), np.float32)
    if op.name == "isa.activation_reduce":
        accumulate(io, op, result, "add", "reset_reduce")
    else:
        name = operator(io, "reduce_op") or "add"
        command = option(io, "reduce_cmd", "idle")
        accumulate(io, op, result, name, command)


@semantics("isa.activate2")
def activate2(op: Operation, io: IO) -> None:
    """``op((data op0 imm0) op1 imm1)`` with a running reduction on the side."""
    value = reading(io, "data")
    for field, role, back in (("op0", "imm0", "reverse0"), ("op1", "imm1", "reverse1")):
        name = operator(io, field)
        if name is not None and name != "bypass":
            value = step(io, op, name, value, role, flag(io, back))
    name = needed(io, "op", op)
    if name == "prelu":
        result = alu.prelu(value, lanes(io, op, "relu_param", value.ndim))
    else:
        result = np.asarray(alu.unary(name, op.name)(value), np.float32)
    reduction = operator(io, "reduce_op") or "add"
    accumulate(io, op, result, reduction, option(io, "reduce_cmd", "idle"))


@semantics("isa.exponential")
def exponential(op: Operation, io: IO) -> None:
    data = reading(io, "src")
    result = np.exp(data - lanes(io, op, "max_value", data.ndim))
    command = option(io, "reduce_cmd", "idle")
    accumulate(io, op, result, "add", command)
