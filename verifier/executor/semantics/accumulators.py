"""The accumulator registers of the Scalar and the Vector Engine: 128 float32 lanes each
(NKI-AC01 to NKI-AC09).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from verifier.executor.semantics import alu
from verifier.executor.semantics.base import IO, Array
from verifier.executor.semantics.operands import fold, lanes, put
from verifier.symbolic.trace import Operation

SCALAR: Final = "accumulators of the Scalar Engine"
VECTOR: Final = "accumulators of the Vector Engine"


def _registers(io: IO, engine: str) -> NDArray[np.float32]:
    found = io.state.get(engine)
    if not isinstance(found, np.ndarray):
        # a register that was never reset holds nothing of meaning
        found = np.full(io.target.partitions, np.nan, np.float32)
        io.state[engine] = found
    return found


def _window(io: IO, role: str, count: int) -> slice:
    view = io.view(role)
    start = view.start_partition
    first = start.const if start is not None and start.is_const else 0
    first = first if 0 <= first <= io.target.partitions - count else 0
    return slice(first, first + count)


def load(
    io: IO, op: Operation, engine: str, role: str, count: int, name: str, command: str, initial: str
) -> NDArray[np.float32]:
    """The registers of the lanes of ``role`` after the command, before folding; ``(P, 1)``."""
    registers = _registers(io, engine)[_window(io, role, count)]
    if command in ("reset", "reset_reduce"):
        registers[:] = alu.IDENTITY.get(name, 0.0)
    elif command == "load_reduce":
        registers[:] = np.broadcast_to(lanes(io, op, initial, 2), (count, 1))[:, 0]
    return registers[:, None]


def accumulate(
    io: IO,
    op: Operation,
    engine: str,
    role: str,
    result: Array,
    name: str,
    command: str,
    *,
    initial: str = "reduce_init",
    negate: bool = False,
) -> None:
    """Fold ``result`` into the registers as ``command`` says; read them out into ``reduce_res``."""
    asked = io.has("reduce_res")
    if command == "idle" and not asked:
        return
    rows = fold(result)
    held = load(io, op, engine, role, rows.shape[0], name, command, initial)
    if command in ("reduce", "reset_reduce", "load_reduce"):
        mask = io.mask(role)
        if mask is not None:
            rows = np.where(fold(mask), rows, np.float32(alu.IDENTITY.get(name, 0.0)))
        if name == "subtract":
            held[:] = held - alu.reduce("add", rows, (1,), op.name)
        else:
            folded = alu.reduce(name, rows, (1,), op.name)
            held[:] = alu.binary(name, op.name)(held, folded)
    if asked:
        put(io, "reduce_res", -held if negate else held.copy())
