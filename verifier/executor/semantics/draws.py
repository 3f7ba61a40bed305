"""Random numbers. The bits are NumPy's, not the hardware's: only their distribution is modelled."""

from __future__ import annotations

import numpy as np

from verifier.executor.semantics import casts
from verifier.executor.semantics.base import IO, semantics
from verifier.executor.semantics.operands import lanes, option, put
from verifier.hardware.engines import Engine
from verifier.symbolic.trace import Operation


def _generator(op: Operation, io: IO) -> np.random.Generator:
    """The engine's own generator once it has been seeded, else the run's."""
    found = io.state.get(("random", op.engine))
    return found if isinstance(found, np.random.Generator) else io.rng


@semantics("isa.rng")
def rng(op: Operation, io: IO) -> None:
    """32 random bits per element, the low ones for narrow types (NKI-RNG03)."""
    shape = io.shape("dst")
    bits = _generator(op, io).integers(0, 1 << 32, shape, np.uint32, endpoint=False)
    put(io, "dst", casts.bits(bits, io.dtype("dst")))


@semantics("isa.rand2")
def rand2(op: Operation, io: IO) -> None:
    shape = io.shape("dst")
    low, high = lanes(io, op, "min", len(shape)), lanes(io, op, "max", len(shape))
    drawn = _generator(op, io).random(shape, np.float32)
    put(io, "dst", low + (high - low) * drawn)


@semantics("language.rand")
def rand(op: Operation, io: IO) -> None:
    put(io, "dst", _generator(op, io).random(io.shape("dst"), np.float32))


def _seed(op: Operation, io: IO, role: str, engine: Engine) -> None:
    words = np.ascontiguousarray(io.read_raw(role)).reshape(-1).view(np.uint8)
    io.state[("random", engine)] = np.random.default_rng(words.astype(np.uint32))


def _asked(io: IO) -> Engine:
    return Engine(option(io, "engine", Engine.GPSIMD.value))


@semantics("isa.set_rng_seed")
def set_rng_seed(op: Operation, io: IO) -> None:
    _seed(op, io, "src_seeds", Engine.VECTOR)


@semantics("isa.rand_set_state")
def rand_set_state(op: Operation, io: IO) -> None:
    engine = _asked(io)
    _seed(op, io, "src_seeds", engine)
    io.state[("random state", engine)] = io.read_raw("src_seeds").copy()


@semantics("isa.rand_get_state")
def rand_get_state(op: Operation, io: IO) -> None:
    """What was set last; some words when nothing was."""
    shape = io.shape("dst")
    held = io.state.get(("random state", _asked(io)))
    if isinstance(held, np.ndarray) and held.shape == shape:
        put(io, "dst", held)
        return
    put(io, "dst", io.rng.integers(0, 1 << 32, shape, np.uint32))


@semantics("language.random_seed")
def random_seed(op: Operation, io: IO) -> None:
    if io.has("seed"):
        _seed(op, io, "seed", Engine.VECTOR)
