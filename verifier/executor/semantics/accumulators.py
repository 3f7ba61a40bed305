"""The numbers in the accumulators of the Scalar and the Vector Engine: 128 float32 lanes each
(NKI-AC01 to NKI-AC09).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from verifier.executor.semantics import alu
from verifier.executor.semantics.base import IO, Array
from verifier.executor.semantics.operands import fold, lanes, put
from verifier.symbolic.effects import AccumulatorFile
from verifier.symbolic.trace import Operation


def _described(op: Operation) -> AccumulatorFile:
    assert op.instruction is not None and op.instruction.footprint.accumulators is not None
    return op.instruction.footprint.accumulators


def _registers(io: IO, name: str) -> NDArray[np.float32]:
    found = io.state.get(name)
    if not isinstance(found, np.ndarray):
        # a register that was never reset holds nothing of meaning
        found = np.full(io.target.partitions, np.nan, np.float32)
        io.state[name] = found
    return found


def _window(io: IO, role: str, count: int) -> slice:
    view = io.view(role)
    start = view.start_partition
    first = start.const if start is not None and start.is_const else 0
    first = first if 0 <= first <= io.target.partitions - count else 0
    return slice(first, first + count)


def load(
    io: IO, op: Operation, count: int, name: str, command: str, initial: str
) -> NDArray[np.float32]:
    """The registers of the lanes of a call after the command, before folding; ``(P, 1)``."""
    used = _described(op)
    registers = _registers(io, used.name)[_window(io, used.lanes, count)]
    if command in ("reset", "reset_reduce"):
        registers[:] = alu.IDENTITY.get(name, 0.0)
    elif command == "load_reduce":
        registers[:] = np.broadcast_to(lanes(io, op, initial, 2), (count, 1))[:, 0]
    return registers[:, None]


def accumulate(
    io: IO,
    op: Operation,
    result: Array,
    name: str,
    command: str,
    *,
    initial: str = "reduce_init",
    negate: bool = False,
) -> None:
    """Store ``result``, fold it into the registers as ``command`` says, and read them out.

    The read-out is an instruction of its own, after the one that stores.
    """
    asked = io.has("reduce_res")
    if command == "idle" and not asked:
        put(io, "dst", result)
        return
    rows = fold(result)
    held = load(io, op, rows.shape[0], name, command, initial)
    if command in ("reduce", "reset_reduce", "load_reduce"):
        mask = io.mask(_described(op).lanes)
        if mask is not None:
            rows = np.where(fold(mask), rows, np.float32(alu.IDENTITY.get(name, 0.0)))
        if name == "subtract":
            held[:] = held - alu.reduce("add", rows, (1,), op.name)
        else:
            folded = alu.reduce(name, rows, (1,), op.name)
            held[:] = alu.binary(name, op.name)(held, folded)
    put(io, "dst", result)
    if asked:
        put(io, "reduce_res", -held if negate else held.copy())
