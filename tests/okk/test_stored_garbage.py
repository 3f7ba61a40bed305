"""What is stored and was never written is an error: nobody else will tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.apart import mark
from tests.fixtures.support import check

_KERNEL = """import okk


# tilelint: contract (x: fp32[1, 40, 6, 8], y: fp32[1, 40, 6, 8])
@okk.kernel
def moved(x: okk.SystemAddr, y: okk.SystemAddr):
    okk.initialize()
    part = okk.dim4({part})
    shape = okk.dim4(1, 40, 6, 8)
    okk.gdma_32bit_cpy_S2L(0, x, part, None, None)
    {between}
    okk.gdma_32bit_cpy_L2S(y, {address}, shape, None, None)
    okk.poll()
"""
_COMPUTED = "okk.bdc_mul_C(4096, 0, 0.25, shape, None, None)"


@pytest.mark.parametrize(
    ("part", "between", "address", "severities"),
    [
        ("1, 30, 6, 8", "", 0, {"error"}),
        ("1, 40, 5, 8", "", 0, {"error"}),
        ("1, 40, 6, 8", "", 0, set()),
        # what a function makes of a part is stored whole
        ("1, 30, 6, 8", _COMPUTED, 4096, {"error"}),
    ],
)
def test_severity(
    part: str, between: str, address: int, severities: set[str], tmp_path: Path
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(_KERNEL.format(part=part, between=between, address=address), encoding="utf-8")
    found = [d for d in check(path).diagnostics if d.rule == "okk-uninitialised-read"]
    assert {d.severity for d in found} == severities
    replayed = [d for d in mark([check(path)], jobs=1)[0].diagnostics if d in found or d.replay]
    assert "diverged" not in {d.replay for d in replayed}


_SUM = """import okk


# tilelint: contract (x: fp32[5, 37, 33], y: fp32[{stored}, 33])
@okk.kernel
def summed(x: okk.SystemAddr, y: okk.SystemAddr):
    okk.initialize()
    shape = okk.dim4(1, 37, 1, 33)
    okk.bdc_32bit_set_C(4096, okk.x32.fp32(0.0), okk.dim4(1, {cleared}, 1, 33), None)
    for i in range(5):
        okk.gdma_32bit_cpy_S2L(0, x + i * 37 * 33 * 4, shape, None, None)
        okk.bdc_add(4096, 4096, 0, shape, None, None, None)
    okk.gdma_32bit_cpy_L2S(y, 4096, okk.dim4(1, {stored}, 1, 33), None, None)
    okk.poll()
"""


@pytest.mark.parametrize(
    ("cleared", "stored", "status"),
    [(37, 37, "verified"), (36, 36, "verified"), (36, 37, "violated"), (35, 36, "violated")],
)
def test_sums_of_a_loop_that_begin_with_what_was_cleared(
    cleared: int, stored: int, status: str, tmp_path: Path
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(_SUM.format(cleared=cleared, stored=stored), encoding="utf-8")
    result = check(path)
    assert [kernel.status for kernel in result.kernels] == [status]
    (marked,) = mark([result], jobs=1)
    assert [d.replay for d in marked.diagnostics] == ["confirmed"] * (status == "violated")
