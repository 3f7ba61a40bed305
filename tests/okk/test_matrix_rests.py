"""The last channel of a matrix may have fewer columns than it has room for: the rest of it was
not written, however many rows there are (LAY-M)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures.support import check

_RULE = "okk-uninitialised-read"

_HEAD = """import okk


@okk.kernel
def rests(rows: int, y: okk.SystemAddr, x: okk.SystemAddr, w: okk.SystemAddr):
    assert 1 <= rows <= 7
    okk.initialize()
"""
#: 70 columns in channels of 20: the last one has 10
_LOADED = "    okk.gdma_32bit_matrix_S2L(0, x, rows, 70, 20, 70)\n"
_WHOLE = "okk.dim4(rows, 4, 1, 20), None, None)\n"
_WEIGHTS = "    okk.gdma_32bit_matrix_S2L(65536, w, 12, 70, 20, 70)\n"


def _told(body: str, tmp_path: Path) -> tuple[str, set[tuple[str, ...]]]:
    path = tmp_path / "kernel.py"
    path.write_text(f"{_HEAD}{body}    okk.poll()\n", encoding="utf-8")
    result = check(path)
    told: set[tuple[str, ...]] = {(d.rule, d.severity, d.verdict) for d in result.diagnostics}
    return result.kernels[0].status, told


@pytest.mark.parametrize(
    "body",
    [
        _LOADED + f"    okk.gdma_32bit_cpy_L2S(y, 0, {_WHOLE}",
        _LOADED + f"    okk.bdc_neg(8192, 0, {_WHOLE}    okk.gdma_32bit_cpy_L2S(y, 8192, {_WHOLE}",
        _LOADED + "    okk.gdma_32bit_matrix_L2S(y, 0, rows, 71, 20, 71)\n",
        # a product has the same layout for its result
        "    okk.gdma_32bit_matrix_S2L(0, x, rows, 12, 12, 12)\n"
        + _WEIGHTS
        + "    okk.bdc_matmul(131072, 0, 65536, 0, rows, 12, 70, 12, 20, False, False)\n"
        + f"    okk.gdma_32bit_cpy_L2S(y, 131072, {_WHOLE}",
    ],
)
def test_the_rest_of_the_last_channel_is_not_written(body: str, tmp_path: Path) -> None:
    assert _told(body, tmp_path) == ("violated", {(_RULE, "error", "always")})


@pytest.mark.parametrize(
    "body",
    [
        _LOADED + "    okk.gdma_32bit_matrix_L2S(y, 0, rows, 70, 20, 70)\n",
        _LOADED + "    okk.gdma_32bit_cpy_L2S(y, 0, okk.dim4(rows, 3, 1, 20), None, None)\n",
        _LOADED.replace("70", "80") + f"    okk.gdma_32bit_cpy_L2S(y, 0, {_WHOLE}",
    ],
)
def test_what_was_written_is_read(body: str, tmp_path: Path) -> None:
    status, told = _told(body, tmp_path)
    assert status == "verified", told
