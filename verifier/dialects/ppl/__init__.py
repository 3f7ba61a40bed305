"""PPL (Sophgo BM1684X and later): ``ppl.language`` kernels."""

from __future__ import annotations

from verifier.dialects.ppl.dialect import PplDialect

__all__ = ["PplDialect"]
