"""What compilers of kernels demand of Python, which tests of CPython's meaning leave out."""

from __future__ import annotations

#: rules of what a compiler reads: they say nothing of what CPython does
CPYTHON = ("python-subset",)
