"""Reductions, scans and statistics of the Vector Engine; reductions of ``nki.language``."""

from __future__ import annotations

import numpy as np

from verifier.executor.semantics import alu, casts
from verifier.executor.semantics.accumulators import accumulate, load
from verifier.executor.semantics.base import IO, Array, SemanticsMissing, semantics
from verifier.executor.semantics.elementwise import step
from verifier.executor.semantics.operands import (
    flag,
    fold,
    lanes,
    masked,
    needed,
    option,
    plain,
    put,
    reading,
)
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import Enumerator

ADD, MULTIPLY = Enumerator("op", "add"), Enumerator("op", "multiply")

_BITS = frozenset({"bitwise_and", "bitwise_or", "bitwise_xor"})


def axes_of(value: object, rank: int) -> tuple[int, ...]:
    """An ``axis`` argument as sorted positions."""
    found = plain(value)
    items = found if isinstance(found, tuple) else (found,)
    return tuple(sorted({int(axis) % rank for axis in items}))


def _axes(op: Operation, io: IO, role: str, rank: int) -> tuple[int, ...]:
    axes = axes_of(option(io, "axis", -1), rank)
    total = 1
    for size in io.shape("dst"):
        total *= size
    kept = 1
    for position, size in enumerate(io.shape(role)):
        kept *= 1 if position in axes else size
    if kept != total and axes == (1,) and rank > 2 and io.api in ("beta1", "0.2"):
        # up to 0.2 axis 1 could name the last of several free dimensions (NKI-RED02)
        return (rank - 1,)
    return axes


def _reduced(
    op: Operation, io: IO, role: str, name: str, raw: Array, axes: tuple[int, ...]
) -> Array:
    if name in _BITS:
        return alu.reduce(name, raw, axes, op.name)
    values = masked(io, role, casts.up(raw), alu.IDENTITY.get(name, 0.0))
    return alu.reduce(name, values, axes, op.name)


@semantics("isa.tensor_reduce")
def tensor_reduce(op: Operation, io: IO) -> None:
    raw = io.read_raw("data")
    name = needed(io, "op", op)
    result = _reduced(op, io, "data", name, raw, _axes(op, io, "data", raw.ndim))
    put(io, "dst", -result if flag(io, "negate") else result)


@semantics("isa.tensor_partition_reduce")
def tensor_partition_reduce(op: Operation, io: IO) -> None:
    raw = io.read_raw("data")
    name = needed(io, "op", op)
    put(io, "dst", _reduced(op, io, "data", name, raw, (0,)))


_LANGUAGE = {
    "language.sum": "add",
    "language.max": "maximum",
    "language.min": "minimum",
    "language.prod": "multiply",
    "language.mean": "average",
    "language.all": "logical_and",
}


@semantics(*_LANGUAGE)
def language_reduction(op: Operation, io: IO) -> None:
    raw = io.read_raw("x")
    axes = _axes(op, io, "x", raw.ndim)
    name = _LANGUAGE[op.name]
    mask = io.mask("x")
    result = _reduced(op, io, "x", name, raw, axes)
    if name == "average" and mask is not None:
        total = alu.reduce("add", masked(io, "x", casts.up(raw), 0.0), axes, op.name)
        result = total / np.sum(mask, axis=axes, keepdims=True).astype(np.float32)
    put(io, "dst", result)


def _moments(values: Array, mask: Array | None, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """Mean and population variance, in float32; of the elements that take part."""
    if mask is None:
        mean = np.mean(values, axis=axes, keepdims=True)
        return mean, np.mean(np.square(values - mean), axis=axes, keepdims=True)
    count = np.sum(mask, axis=axes, keepdims=True).astype(np.float32)
    mean = np.sum(np.where(mask, values, np.float32(0)), axis=axes, keepdims=True) / count
    off = np.where(mask, np.square(values - mean), np.float32(0))
    return mean, np.sum(off, axis=axes, keepdims=True) / count


@semantics("language.var")
def var(op: Operation, io: IO) -> None:
    values = reading(io, "x")
    put(io, "dst", _moments(values, io.mask("x"), _axes(op, io, "x", values.ndim))[1])


@semantics("language.softmax")
def softmax(op: Operation, io: IO) -> None:
    values = masked(io, "x", reading(io, "x"), -np.inf)
    axes = axes_of(option(io, "axis", -1), values.ndim)
    powers = np.exp(values - np.max(values, axis=axes, keepdims=True))
    put(io, "dst", powers / np.sum(powers, axis=axes, keepdims=True))


@semantics("language.rms_norm")
def rms_norm(op: Operation, io: IO) -> None:
    """``x * w / sqrt(sum(x * x) / n + epsilon)``."""
    values = reading(io, "x")
    axes = axes_of(option(io, "axis", -1), values.ndim)
    squares = masked(io, "x", np.square(values), 0.0)
    mean = np.sum(squares, axis=axes, keepdims=True) / np.float32(option(io, "n"))
    result = values / np.sqrt(mean + np.float32(option(io, "epsilon", 1e-6)))
    if io.has("w"):
        result = result * reading(io, "w")
    put(io, "dst", result)


class _Folds:
    """Sums that a ``loop_reduce`` has under way, one per call within an iteration."""

    def __init__(self, iteration: object) -> None:
        self.current = iteration
        self.seen: set[object] = {iteration}
        self.sums: list[Array] = []
        self.count = 0


@semantics("language.loop_reduce")
def loop_reduce(op: Operation, io: IO) -> None:
    """The fold over the iterations of the loops that ``loop_indices`` names.

    Loops inside of those may call it several times in one iteration: the n-th call of an
    iteration goes on with what the n-th call of the iteration before came to. An iteration that
    comes back after others starts a new fold: the loops around have moved on.
    """
    name = needed(io, "op", op)
    values = reading(io, "x").copy()
    iteration = option(io, "loop_indices", ())
    key = ("loop_reduce", op.span)
    held = io.state.get(key)
    folds = held if isinstance(held, _Folds) else _Folds(iteration)
    if folds.current != iteration:
        if iteration in folds.seen:
            folds = _Folds(iteration)
        folds.current, folds.count = iteration, 0
        folds.seen.add(iteration)
    elif len(folds.seen) > 1 and folds.count == len(folds.sums):
        folds = _Folds(iteration)
    if folds.count < len(folds.sums):
        before = folds.sums[folds.count]
        if before.shape == values.shape:
            values = np.asarray(alu.binary(name, op.name)(before, values), np.float32)
        folds.sums[folds.count] = values
    else:
        folds.sums.append(values)
    folds.count += 1
    io.state[key] = folds
    put(io, "dst", values)


@semantics("language.all_reduce")
def language_all_reduce(op: Operation, io: IO) -> None:
    """Over the programs of a grid; one program's value is the result."""
    grid = io.state.get("programs", 1)
    if grid != 1:
        raise SemanticsMissing(op.name, "over several programs")
    put(io, "dst", io.read_raw("x"))


# --------------------------------------------------------------------------- scans


@semantics("isa.tensor_tensor_scan")
def tensor_tensor_scan(op: Operation, io: IO) -> None:
    """``r[i] = op1(op0(data0[i], r[i - 1]), data1[i])`` along the free elements, on all lanes."""
    left, right = fold(reading(io, "data0")), fold(reading(io, "data1"))
    state = np.broadcast_to(lanes(io, op, "initial", 2), (left.shape[0], 1))[:, 0]
    first = alu.binary(needed(io, "op0", op), op.name)
    second = alu.binary(needed(io, "op1", op), op.name)
    back0, back1 = flag(io, "reverse0"), flag(io, "reverse1")
    if op.value("op0") == MULTIPLY and op.value("op1") == ADD and (left == 1).all():
        # a running sum: the same additions in the same order, in one call
        terms = np.concatenate([state[:, None], right], axis=1)
        put(io, "dst", np.add.accumulate(terms, axis=1)[:, 1:])
        return
    # column-major copies: one step of the recurrence reads contiguous memory
    columns0, columns1 = np.ascontiguousarray(left.T), np.ascontiguousarray(right.T)
    result = np.empty_like(columns0)
    for position in range(columns0.shape[0]):
        a, b = columns0[position], columns1[position]
        partial = first(state, a) if back0 else first(a, state)
        state = second(b, partial) if back1 else second(partial, b)
        result[position] = state
    put(io, "dst", np.ascontiguousarray(result.T))


_RUNNING = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


@semantics("isa.tensor_scalar_cumulative")
def tensor_scalar_cumulative(op: Operation, io: IO) -> None:
    """``reg = op1(op0(src[i], imm0), reg)``; ``dst`` holds each value of the register."""
    source = fold(reading(io, "src"))
    name = needed(io, "op1", op)
    terms = step(io, op, needed(io, "op0", op), source, "imm0", False)
    command = option(io, "reduce_cmd", "reset_reduce")
    held = load(io, op, terms.shape[0], name, command, "imm1")
    if name == "subtract":
        # reg = term - reg: signs alternate along the row
        signs = np.where(np.arange(terms.shape[1]) % 2 == 0, 1.0, -1.0).astype(np.float32)
        sums = np.add.accumulate(np.concatenate([-held, terms * signs], axis=1), axis=1)
        running = sums[:, 1:] * signs
    else:
        function = _RUNNING.get(name)
        if function is None:
            raise SemanticsMissing(op.name, f"op1 {name}")
        running = function.accumulate(np.concatenate([held, terms], axis=1), axis=1)[:, 1:]
    held[:] = running[:, -1:]
    put(io, "dst", running)


@semantics("isa.tensor_scalar_reduce")
def tensor_scalar_reduce(op: Operation, io: IO) -> None:
    data = reading(io, "data")
    result = step(io, op, needed(io, "op0", op), data, "operand0", flag(io, "reverse0"))
    accumulate(
        io,
        op,
        result,
        needed(io, "reduce_op", op),
        option(io, "reduce_cmd", "reset_reduce"),
        negate=flag(io, "reduce_res_negate"),
    )


# --------------------------------------------------------------------------- selections


@semantics("isa.range_select")
def range_select(op: Operation, io: IO) -> None:
    """Elements whose position is within their lane's bounds; the smallest float elsewhere."""
    data = reading(io, "on_true_tile")
    rows = fold(data)
    position = np.arange(rows.shape[1], dtype=np.float32) + np.float32(option(io, "range_start", 0))
    chosen = np.ones(rows.shape, np.bool_)
    for comparison, bound in (("comp_op0", "bound0"), ("comp_op1", "bound1")):
        compare = alu.COMPARISONS[needed(io, comparison, op)]
        chosen &= compare(position[None, :], lanes(io, op, bound, 2))
    otherwise = np.float32(option(io, "on_false_value", -3.4028235e38))
    result = np.where(chosen, rows, otherwise)
    command = option(io, "reduce_cmd", "reset_reduce")
    accumulate(io, op, result, "maximum", command)


@semantics("isa.select_reduce")
def select_reduce(op: Operation, io: IO) -> None:
    data = fold(reading(io, "on_true"))
    chosen = fold(io.read_raw("predicate")) != 0
    if flag(io, "reverse_pred"):
        chosen = ~chosen
    result = np.where(chosen, data, lanes(io, op, "on_false", 2)).astype(np.float32)
    name = option(io, "reduce_op", "maximum")
    accumulate(io, op, result, name, option(io, "reduce_cmd", "idle"))


# --------------------------------------------------------------------------- statistics


@semantics("isa.bn_stats")
def bn_stats(op: Operation, io: IO) -> None:
    """Count, mean and variance times count, of the even and of the odd elements."""
    rows = fold(reading(io, "data"))
    parts: list[Array] = []
    for half in (rows[:, 0::2], rows[:, 1::2]):
        count = half.shape[1]
        if count:
            mean, variance = _moments(half, None, (1,))
        else:
            mean = variance = np.zeros((rows.shape[0], 1), np.float32)
        parts += [np.full_like(mean, count), mean, variance * np.float32(count)]
    put(io, "dst", np.concatenate(parts, axis=1))


@semantics("isa.bn_aggr")
def bn_aggr(op: Operation, io: IO) -> None:
    """Mean and variance of everything that triples of :func:`bn_stats` describe."""
    rows = fold(reading(io, "data"))
    triples = rows.reshape(rows.shape[0], -1, 3)
    count, mean, spread = triples[:, :, 0], triples[:, :, 1], triples[:, :, 2]
    total = count.sum(axis=1, keepdims=True)
    overall = (count * mean).sum(axis=1, keepdims=True) / total
    between = (count * np.square(mean - overall)).sum(axis=1, keepdims=True)
    variance = (spread.sum(axis=1, keepdims=True) + between) / total
    put(io, "dst", np.concatenate([overall, variance], axis=1))
