"""NumPy semantics of what TPUs do, one function per canonical operation name."""

from __future__ import annotations

from verifier.executor.semantics.tpu import okk, ppl
from verifier.executor.semantics.tpu.base import MEANINGS, SemanticsMissing

__all__ = ["MEANINGS", "SemanticsMissing", "okk", "ppl"]
