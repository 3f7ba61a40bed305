"""What one input cannot tell is told by a run where the check of all inputs has it, too."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from verifier.cli.run import command

_HEAD = """\
import okk


# tilelint: contract (count: N, x: fp32[N, 20, 90], y: fp32[{rows}20, 90]) where N >= 1, N <= 500
@okk.kernel
def made(count: int, x: okk.SystemAddr, y: okk.SystemAddr):
    okk.initialize()
    shape = okk.dim4(1, 20, 1, 90)
"""
#: an odd block is left out: of one block nothing is read, and zeros are stored
_PAIRS = """\
    okk.bdc_32bit_set_C(8192, okk.x32.fp32(0.0), shape, None)
    for k in range(count // 2):
        okk.gdma_32bit_cpy_S2L(4096, x + 14400 * k, shape, None, None)
        okk.bdc_add(8192, 8192, 4096, shape, None, None, None)
        okk.gdma_32bit_cpy_S2L(4096, x + 14400 * k + 7200, shape, None, None)
        okk.bdc_add(8192, 8192, 4096, shape, None, None, None)
    okk.gdma_32bit_cpy_L2S(y, 8192, shape, None, None)
    okk.poll()
"""
#: the sum of three rows lies on the last of the places that rows are loaded to
_SUM_ON_ROW = """\
    okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
    for k in range(count):
        if k + 1 < count:
            okk.gdma_32bit_cpy_S2L((k + 1) % 3 * 512, x + (k + 1) * 7200, shape, None, None)
        before, behind = max(k - 1, 0), min(k + 1, count - 1)
        okk.bdc_add({sum}, before % 3 * 512, behind % 3 * 512, shape, None, None, None)
        okk.bdc_mac_C({sum}, k % 3 * 512, 2.0, shape, None, None)
        okk.gdma_32bit_cpy_L2S(y + k * 7200, {sum}, shape, None, None)
    okk.poll()
"""
#: what is added in place was cleared before the loop, for nothing
_CLEARED = """\
    okk.bdc_32bit_set_C(4096, okk.x32.fp32(0.0), shape, None)
    for k in range(count):
        okk.gdma_32bit_cpy_S2L(0, x + k * 7200, shape, None, None)
        okk.bdc_mul_C(4096, 0, 0.5, shape, None, None)
        okk.bdc_mac_C(4096, 4096, 2.0, shape, None, None)
        okk.gdma_32bit_cpy_L2S(y + k * 7200, 4096, shape, None, None)
    okk.poll()
"""


@pytest.mark.parametrize(
    ("body", "rows", "count", "rule"),
    [
        (_PAIRS, "", 1, "okk-input-tail"),
        (_PAIRS, "", 2, ""),
        (_PAIRS, "", 3, "okk-input-tail"),
        (_SUM_ON_ROW.replace("{sum}", "1024"), "N, ", 3, "okk-live-overlap"),
        (_SUM_ON_ROW.replace("{sum}", "1024"), "N, ", 2, ""),
        (_SUM_ON_ROW.replace("{sum}", "1536"), "N, ", 3, ""),
        (_CLEARED, "N, ", 3, ""),
    ],
)
def test_told(tmp_path: Path, body: str, rows: str, count: int, rule: str) -> None:
    path = tmp_path / "made.py"
    path.write_text(_HEAD.replace("{rows}", rows) + body, encoding="utf-8")
    out = f"y=fp32[{count}, 20, 90]" if rows else "y=fp32[20, 90]"
    given = [f"count={count}", f"x=fp32[{count}, 20, 90]", out]
    arguments = [part for each in given for part in ("--arg", each)]
    found = CliRunner().invoke(command, [f"{path}::made", "--shapes-only", *arguments])
    assert found.exit_code == (1 if rule else 0), found.output
    assert rule in found.output
