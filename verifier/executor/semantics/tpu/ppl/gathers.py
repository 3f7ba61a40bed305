"""Gathering, scattering, selecting and sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

from verifier.executor.semantics import casts
from verifier.executor.semantics.tpu.base import (
    Array,
    LaneIO,
    meaning,
)
from verifier.executor.semantics.tpu.ppl.numbers import (
    F32,
    converted,
    is_integer,
    put,
)
from verifier.symbolic.trace import Operation


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
        total = found.astype(F32 if not is_integer(io.dtype("dst")) else np.int64)
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
    put(io, "dst_cnt", mask.sum(axis=3, keepdims=True))


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
        put(io, "dst_idx", index.reshape(io.shape("dst_idx")))
