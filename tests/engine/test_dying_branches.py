"""An error that some inputs come to hides nothing of what goes wrong silently for the others."""

from __future__ import annotations

import pytest

from verifier.engine import analyze_source

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    P, W = x.shape
    assert P == 8 and x.dtype == nl.float32 and W <= 40
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(W // 12):
        {inside}
        nisa.dma_copy(dst=out[:, 12 * i : 12 * i + 12], src=x[:, 12 * i : 12 * i + 12])
    if {test}:
        {branch}
    return out
"""

TAIL = "nisa.dma_copy(dst=out[:, W // 12 * 12 : W], src=x[:, W // 12 * 12 : W])"


@pytest.mark.parametrize(
    ("test", "branch", "inside", "silent"),
    [
        ("W % 12 > 1", "n = [None][0] + 1", "pass", True),  # W == 13: column 12
        ("W % 12 > 1", "n = (5)(W)", "pass", True),
        ("W < 12", "n = None + 1", "pass", True),  # W == 13 again
        ("W % 12 > 0", "n = [None][0] + 1", "pass", False),
        ("W % 12 > 0", "n = (5)(W)", "pass", False),
        ("W > 0", "n = None + 1", "pass", False),  # no input comes to the return
        ("W % 12 > 0", f"n = (5)(W) if W < 20 else {TAIL}", "pass", False),
        ("W % 12 > 0", TAIL, "n = 1 + (None if i == 2 else i)", False),
    ],
)
def test_what_is_not_written_is_told_beside_an_error_in_a_branch(
    test: str, branch: str, inside: str, silent: bool
) -> None:
    text = KERNEL.format(test=test, branch=branch, inside=inside)
    result = analyze_source(text)
    assert result.kernels[0].status in ("conditional", "violated")
    told = {found.rule: found.severity for found in result.diagnostics}
    assert ("output-not-written" in told) == silent
    assert "wrong-type" in told
