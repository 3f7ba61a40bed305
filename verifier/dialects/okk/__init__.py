"""OKK (Sophgo BM1684): kernels in the manner of OKKernel's C API, written in Python."""

from __future__ import annotations

from verifier.dialects.okk.dialect import OkkDialect

__all__ = ["OkkDialect"]
