"""Bounds that no tensor on the device reaches are left out of the headline."""

from __future__ import annotations

import pytest

from verifier.engine import analyze_source

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def rows(x):
    R, C = x.shape
    assert R >= 128 and C <= 96
    out = nl.ndarray((128, C), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128 if R < LIMIT else 129, C), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile[0:128, :], src=x[0:128, :])
    nisa.dma_copy(dst=out, src=tile[0:128, :])
    return out
"""


@pytest.mark.parametrize(
    ("target", "limit", "minor"),
    [
        ("trn1", 32 * 2**30 + 1, True),
        ("trn1", 32 * 2**30, False),
        ("trn2", 32 * 2**30 + 1, False),
        ("trn2", 96 * 2**30 + 1, True),
        ("trn3", 144 * 2**30 + 1, True),
    ],
)
def test_what_does_not_fit_into_the_memory_of_a_device(
    target: str, limit: int, minor: bool
) -> None:
    (kernel,) = analyze_source(KERNEL.replace("LIMIT", str(limit)), target=target).kernels
    condition = kernel.precondition
    assert condition is not None and condition.exact
    (conjunct,) = condition.sizes
    assert (conjunct.text, conjunct.minor) == (f"R <= {limit - 1}", minor)
    assert condition.brief == ("True" if minor else conjunct.text)
