"""Between numbers and quantised ones."""

from __future__ import annotations

from typing import Final

import numpy as np

from verifier.executor.semantics.tpu.base import (
    Array,
    LaneIO,
    meaning,
)
from verifier.executor.semantics.tpu.ppl.numbers import (
    F32,
    as_float,
    as_whole,
    put,
    rounding,
    shifted,
    wrap,
)
from verifier.symbolic.trace import Operation


def _parameters(io: LaneIO, *names: str) -> list[Array]:
    """Scale and offset, or multiplier, shift and offset: numbers, or per channel (TPU-E14)."""
    if io.is_tensor("quant"):
        quant = io.read("quant")
        return [quant[..., k : k + 1] for k in range(len(names))]
    return [np.asarray(io.value(name)) for name in names]


@meaning("ppl.tiu.rq0")
def _rq0(op: Operation, io: LaneIO) -> None:
    scale, offset = _parameters(io, "scale", "offset")
    found = as_float(io, "src") * scale.astype(F32) + offset.astype(F32)
    put(io, "dst", found, rounding(io, "dst_round_mode"))


@meaning("ppl.tiu.rq1")
def _rq1(op: Operation, io: LaneIO) -> None:
    factor, shift, offset = (p.astype(np.int64) for p in _parameters(io, *_FACTORS))
    found = shifted(as_whole(io, "src") * factor, shift, rounding(io, "round_mode")) + offset
    wrap(io, "dst", found, saturate=True)


_FACTORS: Final = ("multiplier", "shift", "offset")


@meaning("ppl.tiu.dq0")
def _dq0(op: Operation, io: LaneIO) -> None:
    scale, offset = _parameters(io, "scale", "offset")
    put(io, "dst", (as_float(io, "src") - offset.astype(F32)) * scale.astype(F32))


@meaning("ppl.tiu.dq1")
def _dq1(op: Operation, io: LaneIO) -> None:
    factor, shift, offset = (p.astype(np.int64) for p in _parameters(io, *_FACTORS))
    found = shifted((as_whole(io, "src") - offset) * factor, shift, rounding(io, "round_mode"))
    wrap(io, "dst", found, saturate=True)
