"""Copies, transpositions, constants."""

from __future__ import annotations

import math
from functools import partial
from typing import Final

import numpy as np

from verifier.executor.semantics import casts
from verifier.executor.semantics.tpu.base import (
    Array,
    LaneIO,
    meaning,
    means,
)
from verifier.executor.semantics.tpu.ppl.numbers import (
    F32,
    as_float,
    as_whole,
    converted,
    is_integer,
    put,
    rounding,
    wrap,
)
from verifier.symbolic.trace import Operation


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
    _transpose(_NC if rounding(io, "trans_mode") == "NC_TRANS" else _CW, op, io)


@meaning("ppl.tiu.zero", "ppl.dma.zero")
def _zero(op: Operation, io: LaneIO) -> None:
    put(io, "dst", np.asarray(0))


@meaning("ppl.tiu.fill", "ppl.dma.fill")
def _fill(op: Operation, io: LaneIO) -> None:
    """The constant goes through float32 (PPL-C12)."""
    put(io, "dst", as_float(io, "value"))


@meaning("ppl.dma.reverse")
def _reverse(op: Operation, io: LaneIO) -> None:
    _same_type(io, np.flip(io.read("src"), int(io.value("dim"))))


@meaning("ppl.tiu.arange_broadcast")
def _arange(op: Operation, io: LaneIO) -> None:
    count = int(io.value("num"))
    put(io, "dst", int(io.value("start")) + int(io.value("step")) * np.arange(count))


@meaning("ppl.dma.reduce")
def _reduce(op: Operation, io: LaneIO) -> None:
    """Into what is there, or over it (``ALL_REDUCE_PSUM_WO``)."""
    code = rounding(io, "opcode").removeprefix("ALL_REDUCE_")
    array = io.read("src")
    array = array.reshape(io.shape("dst")) if array.size == math.prod(io.shape("dst")) else array
    if code == "NOP" or rounding(io, "psum").endswith("WO"):
        _same_type(io, array)
        return
    function = {"MUL": np.multiply, "MAX": np.maximum, "MIN": np.minimum, "ADD": np.add}[code]
    if is_integer(io.dtype("dst")):
        wrap(io, "dst", function(as_whole(io, "dst"), array.astype(np.int64)), saturate=False)
    else:
        put(io, "dst", function(as_float(io, "dst"), array.astype(F32)))
