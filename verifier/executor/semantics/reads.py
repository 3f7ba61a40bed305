"""Operands of which an instruction reads only some partitions.

Everything else of such an operand may be uninitialised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from verifier.executor.semantics.base import IO
from verifier.executor.semantics.operands import option

Lanes = NDArray[np.bool_]


def _every_core(io: IO, role: str) -> Lanes:
    """The first partition of each GpSimd core (NKI-NZC04)."""
    return np.asarray(np.arange(io.shape(role)[0]) % 16 == 0)


def _scales(io: IO, role: str) -> Lanes:
    """Four partitions of each quadrant, unless the tile holds nothing but scales (NKI-MMX10)."""
    count = io.shape(role)[0]
    groups = max(io.shape(role.removesuffix("_scale"))[0] // 8, 1)
    place = np.arange(count)
    if count <= groups:
        return np.ones(count, np.bool_)
    return (place % 32 < 4) & (place // 32 * 4 + place % 32 < groups)


def _shuffled(io: IO, role: str) -> Lanes:
    """The partitions that the mask names, in each quadrant (NKI-SHF02)."""
    named = np.zeros(256, np.bool_)
    named[np.asarray(option(io, "shuffle_mask"), np.int64)] = True
    return named[np.arange(io.shape(role)[0]) % 32]


_PARTIAL: Final[dict[tuple[str, str], Callable[[IO, str], Lanes]]] = {
    ("isa.nonzero_with_count", "src"): _every_core,
    ("isa.nc_matmul_mx", "stationary_scale"): _scales,
    ("isa.nc_matmul_mx", "moving_scale"): _scales,
    ("isa.nc_stream_shuffle", "src"): _shuffled,
}


def reads_partly(name: str, role: str) -> bool:
    """Whether :func:`lanes_read` has an answer for the operand."""
    return (name, role) in _PARTIAL


def lanes_read(name: str, io: IO, role: str) -> Lanes | None:
    """The partitions of an operand's view that the instruction reads; None: all of them."""
    found = _PARTIAL.get((name, role))
    return None if found is None else found(io, role)
