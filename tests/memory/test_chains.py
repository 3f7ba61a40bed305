"""Chains of calls that accumulate."""

from __future__ import annotations

import pytest

from verifier.engine import analyze_source

TEXT = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def running(x, command=nisa.reduce_cmd.reset_reduce):
    assert x.shape == (96, 40) and x.dtype == nl.float32
    out = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    sums = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)
    for step in ({first}, nisa.reduce_cmd.reduce):
        nisa.tensor_scalar_cumulative(
            dst=sums, src=tile, op0=nl.add, op1=nl.add, imm0=1.0, reduce_cmd=step
        )
    nisa.dma_copy(dst=out, src=sums)
    return out
"""


@pytest.mark.parametrize(
    ("first", "verdict", "status"),
    [
        ("nisa.reduce_cmd.reset_reduce", set(), "verified"),
        ("nisa.reduce_cmd.reduce", {"always"}, "violated"),
        ("command", {"unknown"}, "unknown"),
    ],
)
def test_a_command_that_is_not_known_may_have_set_accumulators(
    first: str, verdict: set[str], status: str
) -> None:
    result = analyze_source(TEXT.format(first=first), api_version="0.5")
    found = {d.verdict for d in result.diagnostics if d.rule == "accumulator-chain"}
    assert found == verdict
    assert [kernel.status for kernel in result.kernels] == [status]
