"""Whether a kernel admits any input is known, or nothing is proved of it."""

from __future__ import annotations

import pytest

from verifier.engine import analyze_source

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, n: int):
    assert x.shape == (96, 24) and x.dtype == nl.float32
    assert 0 <= n <= 1
    if {condition}:
        assert n >= 4
    tile = nl.ndarray((96, 24), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    out = nl.ndarray((96, 24), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        ("n < 2", "violated"),
        ("n < 1", "verified"),
        # true for both, and not followed
        ("round(n / 4 + 0.1) in (0, 5)", "unknown"),
    ],
)
def test_a_kernel_that_may_admit_nothing_is_not_verified(condition: str, status: str) -> None:
    result = analyze_source(KERNEL.format(condition=condition))
    assert [k.status for k in result.kernels] == [status]
    if status == "unknown":
        (reason,) = result.kernels[0].reasons
        assert reason.message.startswith("whether any input is admitted depends on")


SEQUENCE = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, extents: tuple):
    assert x.shape == (96, 24) and x.dtype == nl.float32
    assert len(extents) == 2
    {demand}
    tile = nl.ndarray((extents[0], 24), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=0.0)
    out = nl.ndarray((extents[0], 24), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


@pytest.mark.parametrize(
    ("demand", "status"),
    [
        ("for i in range(2): assert 0 < extents[i] <= 128", "verified"),
        ("for i in range(2): assert 0 < extents[i] <= 129", "violated"),
        # neither is followed, and both exclude what a counterexample would be
        ("for extent in extents: assert 0 < extent <= 128", "unknown"),
        ("assert all(0 < extent <= 128 for extent in extents)", "unknown"),
    ],
)
def test_a_demand_that_is_not_followed_may_exclude_a_counterexample(
    demand: str, status: str
) -> None:
    result = analyze_source(SEQUENCE.format(demand=demand))
    assert [k.status for k in result.kernels] == [status]


@pytest.mark.parametrize(
    ("demand", "status"),
    [
        ("assert round((3 if n > 1 else 30) / 4 + 0.1) in (0, 2)", "unknown"),
        ("assert 1 << n == x.shape[1]", "verified"),
    ],
)
def test_a_number_that_is_not_known_is_to_meet_what_is_demanded(demand: str, status: str) -> None:
    text = f"""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, n: int):
    assert x.shape[0] == 96 and x.shape[1] <= 24
    {demand}
    tile = nl.ndarray((96, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    out = nl.ndarray((96, x.shape[1]), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
    (kernel,) = analyze_source(text).kernels
    assert kernel.status == status, kernel.reasons
