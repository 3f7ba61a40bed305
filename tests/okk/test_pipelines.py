"""Pipelines of three stages: what is said of one that has a fault and something undecided."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.okk import support
from verifier.cli.main import main

PIPELINE = """\
import okk


# tilelint: contract (parts: p, x: fp32[p, 60, 8, 30], y: fp32[p, 60, 8, 30])
@okk.kernel
def raised(parts: int, x: okk.SystemAddr, y: okk.SystemAddr):
    assert 1 <= parts <= 40
    okk.initialize()
    shape, size = okk.dim4(1, 60, 8, 30), 60 * 240 * 4
    for i in range(parts + 2):
        okk.parallel_start()
        if i < parts:
            okk.gdma_32bit_cpy_S2L(i % 2 * 4096, x + i * size, shape, None, None)
        if 0 < i <= parts:
            before = (i - 1) % 2 * 4096
            okk.bdc_add_C(16384 + before, before, 1.0, shape, None, None)
        if i > 1:
            okk.gdma_32bit_cpy_L2S(y + (i - 2) * size, {STORED}, shape, None, None)
        okk.parallel_end()
    okk.poll()
"""


def said(path: Path, stored: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    path.write_text(PIPELINE.replace("{STORED}", stored), encoding="utf-8")
    main(["check", str(path), "--no-cache", "--isolated", "--format", "concise"])
    return [line for line in capsys.readouterr().out.splitlines() if ": error[" in line]


def test_a_fault_is_not_left_out_where_something_is_undecided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The place that is computed in the same step is stored: a race from two parts on."""
    found = said(tmp_path / "wrong.py", "16384 + (i - 1) % 2 * 4096", capsys)
    (condition,) = (line for line in found if "[precondition]" in line)
    assert "it is right, but for its faults" in condition
    assert any("[okk-parallel-race]" in line for line in found)
    assert said(tmp_path / "right.py", "16384 + i % 2 * 4096", capsys) == []


IN_TURN = """\
import okk


@okk.kernel
def halves(blocks: int, rows: int, y: okk.SystemAddr, x: okk.SystemAddr):
    assert 1 <= blocks <= 50
    assert 1 <= rows <= 2000
    okk.initialize()
    shape, size = okk.dim4(1, 48, rows, 32), 48 * rows * 128
    for i in range(blocks):
        first, second = i % 2 * rows * 128, (2 + i % 2) * rows * 128
        okk.gdma_32bit_cpy_S2L(first, x + i * size, shape, None, None)
        okk.bdc_relu(second, first, shape, None, None)
        okk.gdma_32bit_cpy_L2S(y + i * size, second, shape, None, None)
    okk.poll()
"""


def test_places_in_turn_demand_what_each_of_them_has_room_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four places of 524,288 bytes in a lane, of which one part needs three: not that two sizes
    that have nothing to do with each other are equal."""
    path = tmp_path / "halves.py"
    path.write_text(IN_TURN, encoding="utf-8")
    main(["check", str(path), "--no-cache", "--isolated", "--format", "concise"])
    said = capsys.readouterr().out
    assert "exactly when rows <= 1365 and (blocks == 1 or rows <= 1024)" in said


BORDERS = """\
# tilelint: contract (n: 3..40, x: fp32[n, 45, 50], y: fp32[n + 1, 45, 50])
@okk.kernel
def bordered(n: int, x: okk.SystemAddr, y: okk.SystemAddr):
    okk.initialize()
    s, step = okk.dim4(1, 45, 1, 50), 45 * 50 * 4
    okk.gdma_32bit_cpy_S2L(512, x, s, None, None)
    okk.gdma_32bit_cpy_L2S(y, 512, s, None, None)
    for i in range({rounds}):
        okk.gdma_32bit_cpy_S2L(i % 2 * 256, x + i * step, s, None, None)
        {call}
        okk.gdma_32bit_cpy_L2S(y + (i + 1) * step, {place}, s, None, None)
    {behind}
    okk.poll()
"""
RELU = "okk.bdc_relu(1024, i % 2 * 256, s, None, None)"
LESS = "okk.bdc_sub(1024, i % 2 * 256, 512, s, None, None, None)"
BEHIND = (
    "okk.gdma_32bit_cpy_S2L(512, x + {} * step, s, None, None)\n"
    "    okk.gdma_32bit_cpy_L2S(y + n * step, 512, s, None, None)"
)


@pytest.mark.parametrize(
    ("rounds", "call", "place", "behind", "right"),
    [
        ("n", "pass", "i % 2 * 256", "", True),
        ("n", RELU, "1024", "", True),
        ("n", LESS, "1024", "", True),
        ("n", RELU, "(i + 1) % 2 * 256", "", False),
        ("n - 1", "pass", "i % 2 * 256", BEHIND.format("(n - 1)"), True),
        ("n - 1", "pass", "i % 2 * 256", BEHIND.format("(n - 2)"), False),
    ],
)
def test_borders_are_repeated(
    rounds: str, call: str, place: str, behind: str, right: bool, tmp_path: Path
) -> None:
    text = BORDERS.format(rounds=rounds, call=call, place=place, behind=behind)
    (kernel,) = support.check(tmp_path, text).kernels
    assert (kernel.status == "verified") is right
