"""Several returns: each is judged by what was stored on its own path."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.test_nested import check

KERNEL = """
@nki.jit
def kernel(x, factor):
    P, N = x.shape
    assert P <= 128 and N <= 1000
    y = nl.ndarray((P, N), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((P, N), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    {before}if factor == 1:
        {early}return y
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=3.0)
    nisa.dma_copy(dst=y, src=t)
    return y
"""
STORE = "nisa.dma_copy(dst=y, src=t)"


def test_an_early_return_without_a_store_is_found(tmp_path: Path) -> None:
    result = check(tmp_path, KERNEL.format(before="", early=""))
    (finding,) = result.diagnostics
    assert finding.rule == "output-not-written"
    assert dict(finding.counterexample or {})["factor"] == 1


@pytest.mark.parametrize(("before", "early"), [(STORE + "\n    ", ""), ("", STORE + "\n        ")])
def test_an_early_return_after_a_store_is_fine(tmp_path: Path, before: str, early: str) -> None:
    (kernel,) = check(tmp_path, KERNEL.format(before=before, early=early)).kernels
    assert kernel.status == "verified"
