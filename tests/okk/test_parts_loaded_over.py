"""A load over a part of what another one of the same tensor has brought, and that is used by
itself: whether it is meant as a part of the other one is not known (OKK301)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures.support import check

_RULE = "okk-live-overlap"

#: two parts of an input, the second of which begins in lane 32
_KERNEL = """import okk


# tilelint: contract (y: fp32[{rows}, 20], x: fp32[{rows}, 20])
@okk.kernel
def two_parts(y: okk.SystemAddr, x: okk.SystemAddr):
    okk.initialize()
    second = 32 * okk.local_mem_size_per_npu()
    a, b = okk.dim4(1, {first}, 1, 20), okk.dim4(1, {rows} - {first}, 1, 20)
    okk.gdma_32bit_cpy_S2L(0, x, a, None, None)
    okk.gdma_32bit_cpy_S2L(second, x + {begin}, b, None, None)
    okk.bdc_relu(second, second, b, None, None)
    okk.gdma_32bit_cpy_L2S(y + {begin}, second, b, None, None)
    okk.bdc_relu(0, 0, a, None, None)
    okk.gdma_32bit_cpy_L2S(y, 0, a, None, None)
    okk.poll()
"""


def _found(tmp_path: Path, **words: int) -> tuple[str, set[tuple[str, ...]]]:
    path = tmp_path / "kernel.py"
    path.write_text(_KERNEL.format(**words), encoding="utf-8")
    result = check(path)
    told: set[tuple[str, ...]] = {
        (d.rule, d.verdict) for d in result.diagnostics if d.rule == _RULE
    }
    return str(result.kernels[0].status), told


@pytest.mark.parametrize("rows", [41, 48, 64])
def test_parts_of_one_tensor_that_lie_over_each_other(rows: int, tmp_path: Path) -> None:
    status, told = _found(tmp_path, rows=rows, first=40, begin=3200)
    assert status != "verified"
    assert told


def test_parts_that_lie_side_by_side(tmp_path: Path) -> None:
    found = _found(tmp_path, rows=56, first=32, begin=2560)
    assert found == ("verified", set())
