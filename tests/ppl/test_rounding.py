"""Ways to round that a function does not have (TPU-E14)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ppl.support import check

_KERNEL = """\
# tilelint: contract (out_ptr: int8[60, 96])
@ppl.jit
def kernel(out_ptr, mode: pl.constexpr):
    x = pl.make_tensor([1, 60, 1, 96], pl.int32)
    y = pl.make_tensor([1, 60, 1, 96], pl.int8)
    pl.tiu.zero(x)
    pl.tiu.{call}
    pl.dma.store(pl.gtensor([1, 60, 1, 96], pl.GLOBAL, out_ptr).view(), y)
"""
_RQ0 = "rq0(y, x, pl.{}, pl.{}, scale=0.5, offset=0.0)"


@pytest.mark.parametrize(
    ("call", "status"),
    [
        (_RQ0.format("RM_HALF_TO_EVEN", "RM_TOWARDS_ZERO"), "verified"),
        (_RQ0.format("RM_HALF_UP", "RM_HALF_TO_EVEN"), "violated"),
        (_RQ0.format("RM_UP", "RM_HALF_DOWN"), "violated"),
        ("rq0(y, x, mode, pl.RM_UP, scale=0.5, offset=0.0)", "unknown"),
        ("rq1(y, x, pl.RM_HALF_UP, multiplier=3, shift=-4)", "verified"),
    ],
)
def test_requantisation(tmp_path: Path, call: str, status: str) -> None:
    result = check(tmp_path, _KERNEL.format(call=call), "bm1684x")
    assert not result.errors
    assert [k.status for k in result.kernels] == [status]
    told = {d.rule for d in result.diagnostics if d.verdict == "always"}
    assert told == ({"ppl-quantisation"} if status == "violated" else set())
