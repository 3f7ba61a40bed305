"""NKI (AWS Trainium and Inferentia): generations Beta 1 and 0.2 to 0.6."""

from __future__ import annotations

from verifier.dialects.nki.dialect import NkiDialect
from verifier.dialects.nki.generation import (
    Features,
    generations_of,
    import_problem,
    infer_generation,
    jit_problem,
    scan_features,
)

__all__ = [
    "Features",
    "NkiDialect",
    "generations_of",
    "import_problem",
    "infer_generation",
    "jit_problem",
    "scan_features",
]
