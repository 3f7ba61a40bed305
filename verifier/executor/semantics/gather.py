"""Searches, gathers and index generation of the Vector and GpSimd Engines."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from verifier.executor.semantics import alu, casts
from verifier.executor.semantics.base import IO, Array, SemanticsMissing, semantics
from verifier.executor.semantics.operands import (
    fold,
    needed,
    option,
    plain,
    put,
    reading,
)
from verifier.hardware.targets import CORE_PARTITIONS, QUADRANT
from verifier.symbolic.expr import Bool
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import IndexMask, IndexTensor

#: how many values a search instruction handles at once
_EIGHT = 8


def _ordered(values: Array) -> NDArray[np.float64]:
    """Values as keys for sorting: NaN below everything."""
    wide = casts.up(values).astype(np.float64)
    return np.where(np.isnan(wide), -np.inf, wide)


@semantics("isa.max8")
def max8(op: Operation, io: IO) -> None:
    """The eight largest elements of each lane, largest first."""
    rows = fold(reading(io, "src"))
    top = np.partition(rows, rows.shape[1] - _EIGHT, axis=1)[:, -_EIGHT:]
    put(io, "dst", np.ascontiguousarray(np.sort(top, axis=1)[:, ::-1]))


def _repeats_before(values: Array) -> NDArray[np.int64]:
    """How often each of eight values has come before in its row."""
    same = values[:, :, None] == values[:, None, :]
    earlier = np.tril(np.ones((_EIGHT, _EIGHT), np.bool_), -1)
    return np.asarray((same & earlier).sum(axis=2), np.int64)


def _positions(
    data: Array, values: Array, occurrence: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where in each lane the ``occurrence``-th equal of each value lies, and whether at all."""
    where = np.zeros(values.shape, np.int64)
    found = np.zeros(values.shape, np.bool_)
    for slot in range(_EIGHT):
        equal = data == values[:, slot : slot + 1]
        ranked = equal & (np.cumsum(equal, axis=1) == occurrence[:, slot : slot + 1] + 1)
        where[:, slot] = ranked.argmax(axis=1)
        found[:, slot] = ranked.any(axis=1)
    return where, found


@semantics("isa.nc_find_index8")
def nc_find_index8(op: Operation, io: IO) -> None:
    """Positions of eight values; of equal ones, of successive occurrences; all ones if missing
    (NKI-TOP05)."""
    data, values = fold(reading(io, "data")), fold(reading(io, "vals"))
    where, found = _positions(data, values, _repeats_before(values))
    kind = casts.NUMPY[io.dtype("dst")]
    missing = np.iinfo(kind).max if kind.kind == "u" else -1
    put(io, "dst", np.where(found, where, missing).astype(kind))


@semantics("isa.nc_match_replace8")
def nc_match_replace8(op: Operation, io: IO) -> None:
    """The first occurrence of each of eight values replaced.

    Values are taken from the last to the first (NKI-TOP08).
    """
    raw = fold(io.read_raw("data"))
    data, values = casts.up(raw), fold(reading(io, "vals"))
    later = np.ascontiguousarray(values[:, ::-1])
    occurrence = np.ascontiguousarray(_repeats_before(later)[:, ::-1])
    where, found = _positions(data, values, occurrence)
    replaced = raw.copy()
    lane, slot = np.nonzero(found)
    number = np.asarray(option(io, "imm", 0.0), np.float32)
    replaced[lane, where[lane, slot]] = number.astype(raw.dtype)
    put(io, "dst", replaced)
    if io.has("dst_idx"):
        kind = casts.NUMPY[io.dtype("dst_idx")]
        missing = np.iinfo(kind).max if kind.kind == "u" else -1
        put(io, "dst_idx", np.where(found, where, missing).astype(kind))


@semantics("isa.nc_stream_shuffle")
def nc_stream_shuffle(op: Operation, io: IO) -> None:
    """Partitions exchanged within each quadrant; 255 leaves a partition as it is (NKI-SHF02)."""
    source = fold(io.read_raw("src"))
    shape = io.shape("dst")
    sources = np.asarray(option(io, "shuffle_mask"), np.int64)
    place = np.arange(shape[0])
    chosen = sources[place % QUADRANT]
    taken = chosen != 255
    rows = np.where(taken, place // QUADRANT * QUADRANT + chosen, 0)
    inside = rows < source.shape[0]
    result = source[np.where(inside, rows, 0)].reshape(shape)
    where = np.broadcast_to((taken & inside).reshape(-1, *[1] * (len(shape) - 1)), shape)
    io.write("dst", result, where=None if bool(where.all()) else where)


# --------------------------------------------------------------------------- index patterns


def _affine(io: IO, role: str) -> NDArray[np.int64]:
    """``offset + p * channel_multiplier + sum(i_k * step_k)``, one row per partition."""
    total = np.zeros(1, np.int64)
    for step, count in option(io, "pattern", ()):
        total = (total[:, None] + np.arange(count, dtype=np.int64) * step).reshape(-1)
    lanes = np.arange(io.shape(role)[0], dtype=np.int64) * option(io, "channel_multiplier", 0)
    return np.asarray(lanes[:, None] + total[None, :] + option(io, "offset", 0), np.int64)


@semantics("isa.iota")
def iota(op: Operation, io: IO) -> None:
    """Computed in 32-bit integers, then cast (NKI-IOT05)."""
    if io.has("pattern"):
        values = _affine(io, "dst")
    else:
        expression = op.value("expr")
        if not isinstance(expression, IndexTensor):
            raise SemanticsMissing(op.name, "of something that is not an index")
        values = index_values(expression, io.shape("dst"))
    put(io, "dst", casts.exact(values.astype(np.int32), io.dtype("dst")))


def index_values(index: IndexTensor, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """The numbers of an index array of Beta 1."""
    from verifier.executor.access import value

    symbols: dict[str, NDArray[np.int64]] = {}
    rank = len(shape)
    for position, axis in index.axes:
        extent = [1] * rank
        extent[position + rank - index.ndim] = -1
        count = int(plain(axis.size))
        symbols[axis.symbol.name] = np.arange(count, dtype=np.int64).reshape(extent)
    return np.broadcast_to(np.asarray(value(index.expr, symbols), np.int64), shape)


def _condition(mask: IndexMask, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    from verifier.executor.access import truth

    symbols: dict[str, NDArray[np.int64]] = {}
    rank = len(shape)
    for position, axis in mask.axes:
        extent = [1] * rank
        extent[position + rank - mask.ndim] = -1
        count = int(plain(axis.size))
        symbols[axis.symbol.name] = np.arange(count, dtype=np.int64).reshape(extent)
    return np.broadcast_to(np.asarray(truth(mask.condition, symbols), np.bool_), shape)


@semantics("isa.affine_select")
def affine_select(op: Operation, io: IO) -> None:
    """The tile where an affine function of the position compares with 0, a number elsewhere."""
    data = io.read_raw("on_true_tile")
    shape = data.shape
    if io.has("pattern"):
        compare = alu.COMPARISONS[needed(io, "cmp_op", op)]
        chosen = np.asarray(compare(_affine(io, "dst"), 0)).reshape(shape)
    else:
        predicate = op.value("pred")
        if isinstance(predicate, IndexMask):
            chosen = _condition(predicate, shape)
        elif isinstance(predicate, (Bool, bool)):
            chosen = np.broadcast_to(np.asarray(plain(predicate), np.bool_), shape)
        else:
            raise SemanticsMissing(op.name, "a predicate that is not an index comparison")
    otherwise = np.asarray(option(io, "on_false_value", 0.0), np.float32)
    put(io, "dst", np.where(chosen, casts.up(data), otherwise))


# --------------------------------------------------------------------------- gathers


@semantics("isa.nc_n_gather")
def nc_n_gather(op: Operation, io: IO) -> None:
    _gather(op, io)


@semantics("language.gather_flattened")
def gather_flattened(op: Operation, io: IO) -> None:
    _gather(op, io)


def _gather(op: Operation, io: IO) -> None:
    """``dst[p, i] = data[p, indices[p, i]]`` over the flattened free elements."""
    rows, indices = fold(io.read_raw("data")), fold(io.read_raw("indices")).astype(np.int64)
    indices = _inside(op, io, "indices", indices, rows.shape[1])
    put(io, "dst", np.take_along_axis(rows, indices, axis=1))


def _inside(
    op: Operation, io: IO, role: str, indices: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """The indices; what they name outside of a row of ``count`` elements is told, and its end."""
    bad = indices[(indices < 0) | (indices >= count)]
    if not bad.size:
        return indices
    worst = int(bad.reshape(-1)[0])
    io.astray(role, f"index {worst} of `{op.call_text or op.name}` in a row of {count} elements")
    return np.clip(indices, 0, count - 1)


@semantics("isa.local_gather")
def local_gather(op: Operation, io: IO) -> None:
    """Each core of 16 partitions gathers its columns by the indices of its own partitions, read
    partition first (NKI-LGA08)."""
    source, index = fold(io.read_raw("src_buffer")), fold(io.read_raw("index"))
    cores = source.shape[0] // CORE_PARTITIONS
    width = int(option(io, "num_elem_per_idx", 1))
    count = int(option(io, "num_valid_indices") or index.shape[1] * CORE_PARTITIONS)
    lists = (
        index.reshape(cores, CORE_PARTITIONS, -1).transpose(0, 2, 1).reshape(cores, -1)[:, :count]
    )
    columns = lists.astype(np.int64)[:, :, None] + np.arange(width)
    columns = columns.reshape(cores, -1)
    columns = _inside(op, io, "index", columns, source.shape[1])
    per_lane = np.repeat(columns, CORE_PARTITIONS, axis=0)
    put(io, "dst", np.take_along_axis(source, per_lane, axis=1))


@semantics("isa.sequence_bounds")
def sequence_bounds(op: Operation, io: IO) -> None:
    """Where each element's segment starts, and where it has ended; n and -1 for padding."""
    raw = io.read_raw("segment_ids")
    ids = raw.reshape(-1).astype(np.int64)
    count = ids.size
    change = np.flatnonzero(np.diff(ids)) + 1
    starts = np.concatenate([[0], change])
    ends = np.concatenate([change, [count]])
    run = np.repeat(np.arange(starts.size), ends - starts)
    padding = ids == 0
    bounds = np.stack([np.where(padding, count, starts[run]), np.where(padding, -1, ends[run])])
    put(io, "dst", bounds.astype(np.int32).reshape(1, 2, count))


@semantics("isa.nonzero_with_count")
def nonzero_with_count(op: Operation, io: IO) -> None:
    """Positions of nonzero elements, padding, their count; every 16th partition (NKI-NZC04)."""
    rows = fold(io.read_raw("src"))
    shape = io.shape("dst")
    lanes = rows[::CORE_PARTITIONS]
    count, width = lanes.shape
    result = np.full((count, width + 1), int(option(io, "padding_val", -1)), np.int32)
    lane, column = np.nonzero(lanes)
    before = np.cumsum(lanes != 0, axis=1) - 1
    result[lane, before[lane, column]] = column + int(option(io, "index_offset", 0))
    result[:, -1] = (lanes != 0).sum(axis=1)
    spread = np.zeros((shape[0], width + 1), np.int32)
    spread[::CORE_PARTITIONS] = result
    written = np.zeros(spread.shape, np.bool_)
    written[::CORE_PARTITIONS] = True
    io.write("dst", spread.reshape(shape), where=written.reshape(shape))


@semantics("isa.topk")
def topk(op: Operation, io: IO) -> None:
    """The largest elements of each core's snake of 16 partitions, ascending (NKI-TPK04, NKI-TPK05).

    All partitions of a core read the same snake and so hold the same answer.
    """
    raw = fold(io.read_raw("src"))
    total = int(option(io, "n"))
    keep = math.prod(io.shape("val_dst")[1:])
    cores = raw.shape[0] // CORE_PARTITIONS
    snakes = (
        raw.reshape(cores, CORE_PARTITIONS, -1).transpose(0, 2, 1).reshape(cores, -1)[:, :total]
    )
    # of equal values the one at the lower position counts as the larger
    order = np.argsort(-_ordered(snakes), axis=1, kind="stable")[:, :keep][:, ::-1]
    values = np.take_along_axis(snakes, order, axis=1)
    put(io, "val_dst", np.repeat(values, CORE_PARTITIONS, axis=0))
    put(io, "idx_dst", np.repeat(order, CORE_PARTITIONS, axis=0).astype(np.uint32))
