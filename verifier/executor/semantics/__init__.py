"""NumPy semantics of device instructions, one function per canonical operation name."""

from __future__ import annotations

from verifier.executor.semantics import copies, elementwise, matmul, reductions
from verifier.executor.semantics.base import IO, SEMANTICS, Array, SemanticsMissing

__all__ = [
    "IO",
    "SEMANTICS",
    "Array",
    "SemanticsMissing",
    "copies",
    "elementwise",
    "matmul",
    "reductions",
]
