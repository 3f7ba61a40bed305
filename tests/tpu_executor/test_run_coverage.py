"""Outputs whose writes a check cannot add up: a run has counted them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from verifier.cli.run import command

#: blocks of 300 rows at the pitch of a block: further channels lie elsewhere
TEXT = """\
import okk


# tilelint: contract (R: r, x: fp32[1, 24, r, 5], y: fp32[1, 24, r, 5])
@okk.kernel
def gates(R: int, x: okk.SystemAddr, y: okk.SystemAddr):
    assert 1 <= R <= 1500
    okk.initialize()
    for r in range(0, R, 300):
        rows = min(300, R - r)
        shape = okk.dim4(1, 24, rows, 5)
        outer = okk.dim4(24 * R * 5, {rows} * 5, 5, 1)
        okk.gdma_32bit_cpy_S2L(0, x + r * 20, shape, None, outer)
        okk.gdma_32bit_cpy_L2S(y + r * 20, 0, shape, outer, None)
    okk.poll()
"""


@pytest.mark.parametrize(
    ("rows", "size", "status"), [("rows", 430, 1), ("rows", 290, 0), ("R", 430, 0)]
)
def test_run(rows: str, size: int, status: int, tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(TEXT.format(rows=rows), encoding="utf-8")
    given = [f"R={size}", f"x=fp32[1,24,{size},5]", f"y=fp32[1,24,{size},5]"]
    args = [part for one in given for part in ("--arg", one)]
    found = CliRunner().invoke(command, [f"{path}::gates", *args])
    assert found.exit_code == status, found.output
    assert ("not all of `y` is written" in found.output) == bool(status)
