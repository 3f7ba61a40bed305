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
    "matmul",
    "reductions",
]
