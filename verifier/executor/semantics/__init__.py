"""NumPy semantics of device instructions, one function per canonical operation name."""

from __future__ import annotations

from verifier.executor.semantics import (
    collectives,
    copies,
    draws,
    elementwise,
    gather,
    matmul,
    reductions,
)
from verifier.executor.semantics.base import IO, SEMANTICS, Array, SemanticsMissing
from verifier.executor.semantics.reads import lanes_read, reads_partly

__all__ = [
    "IO",
    "SEMANTICS",
    "Array",
    "SemanticsMissing",
    "collectives",
    "copies",
    "draws",
    "elementwise",
    "gather",
    "lanes_read",
    "matmul",
    "reads_partly",
    "reductions",
]
