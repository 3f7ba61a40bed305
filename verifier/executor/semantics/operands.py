"""Reading arguments and fitting shapes: what the semantics have in common."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verifier.executor.semantics.base import IO, Array, SemanticsMissing
from verifier.executor.semantics.casts import up
from verifier.symbolic.expr import FALSE, TRUE, Expr
from verifier.symbolic.tensors import DType, View
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import ApiRef, Enumerator

_PLAIN = frozenset({bool, int, float, str})


def plain(value: object) -> Any:
    """A bound constant as Python's: numbers, truth values, names, tuples of them."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Expr):
        return value.const if value.is_const else value
    if value is TRUE or value is FALSE:
        return value is TRUE
    if isinstance(value, Enumerator):
        return value.name
    if isinstance(value, ApiRef):
        return value.name.rpartition(".")[2]
    if isinstance(value, DType):
        return value.name
    if isinstance(value, (tuple, list)):
        return tuple(plain(item) for item in value)
    return value


def option(io: IO, role: str, default: Any = None) -> Any:
    """A constant argument in Python's terms; ``default`` when it is not there or None."""
    value = io.value(role)
    return default if value is None else plain(value)


def flag(io: IO, role: str) -> bool:
    return bool(option(io, role, False))


def operator(io: IO, role: str) -> str | None:
    """The name of an operator argument."""
    value = io.value(role)
    if value is None:
        return None
    name = plain(value)
    return name if isinstance(name, str) else str(name)


def needed(io: IO, role: str, op: Operation) -> str:
    """An operator that must be there.

    Raises:
        SemanticsMissing: it is not.
    """
    name = operator(io, role)
    if name is None:
        raise SemanticsMissing(op.name, f"without {role}")
    return name


def is_tile(op: Operation, role: str) -> bool:
    return isinstance(op.value(role), View)


def fold(array: Array) -> Array:
    """Partitions by free elements."""
    if array.ndim == 2:
        return array
    return array.reshape(array.shape[0], -1) if array.ndim else array.reshape(1, 1)


def lanes(io: IO, op: Operation, role: str, ndim: int, default: float = 0.0) -> Any:
    """A number, or one value per partition shaped to broadcast along free axes, as float32."""
    if not io.has(role):
        return np.float32(default)
    if is_tile(op, role):
        return per_lane(up(io.read(role)), ndim)
    return np.float32(plain(io.scalar(role)))


def per_lane(array: Array, ndim: int) -> Array:
    """``(P, 1, ...)`` with ``ndim`` axes; a tile of more elements comes back folded."""
    if array.ndim == ndim:
        return array
    folded = fold(array)
    if ndim < 2:
        return folded.reshape(-1) if ndim else folded.reshape(())
    return folded.reshape(folded.shape[0], *([1] * (ndim - 2)), folded.shape[1])


def matched(left: Array, right: Array) -> tuple[Array, Array]:
    """Two operands of as many elements in one shape, or as they broadcast."""
    if left.shape != right.shape and left.size == right.size and left.ndim and right.ndim:
        if left.shape[0] == right.shape[0]:
            right = right.reshape(left.shape)
    elif left.ndim != right.ndim and min(left.ndim, right.ndim) >= 2:
        if left.ndim < right.ndim:
            left = per_lane(left, right.ndim)
        else:
            right = per_lane(right, left.ndim)
    return left, right


def put(io: IO, role: str, array: Array) -> None:
    """Write an array with as many elements as the operand, whatever its shape."""
    shape = io.shape(role)
    if array.shape != shape and array.size == math.prod(shape):
        array = array.reshape(shape)
    io.write(role, array)


def masked(io: IO, role: str, array: Array, instead: float) -> Array:
    """The operand with ``instead`` for the elements that take no part."""
    mask = io.mask(role)
    return array if mask is None else np.where(mask, array, np.asarray(instead, array.dtype))


def reading(io: IO, role: str) -> NDArray[np.float32]:
    """An operand in float32."""
    return up(io.read(role))
