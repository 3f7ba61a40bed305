"""Loops of plain numbers of rounds, few and many: what is lost in a short one is in a long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.okk.support import status_of
from verifier.cli.main import main

HEAD = """
import okk


# tilelint: contract (x: fp32[{rounds}, 12, 4, 8], y: fp32[{made}, 12, 4, 8])
@okk.kernel
def k(x: okk.SystemAddr, y: okk.SystemAddr):
    okk.initialize()
    shape, step = okk.dim4(1, 12, 4, 8), 12 * 32 * 4
"""
RING = """
    for t in range({rounds} + 3):
        if t < {rounds}:
            okk.gdma_32bit_cpy_S2L(t % 4 * 256, x + t * step, shape, None, None)
            okk.bdc_neg(t % 4 * 256, t % 4 * 256, shape, None, None)
        if t >= 3:
            okk.gdma_32bit_cpy_L2S(y + (t - 3) * step, ({slot}) % 4 * 256, shape, None, None)
    okk.poll()
"""
LATER = """
    okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
    okk.bdc_relu(512, 0, shape, None, None)
    for i in range(1, {rounds}):
        okk.gdma_32bit_cpy_S2L(i % 2 * 256, x + i * step, shape, None, None)
        {made_first}
        okk.gdma_32bit_cpy_L2S(y + (i - 1) * step, 512, shape, None, None)
        {made_then}
    okk.gdma_32bit_cpy_L2S(y + ({rounds} - 1) * step, 512, shape, None, None)
    okk.poll()
"""
MADE = "okk.bdc_relu(512, i % 2 * 256, shape, None, None)"
SUM = """
    for i in range({rounds}):
        okk.gdma_32bit_cpy_S2L(0, x + i * step, shape, None, None)
        if {anew}:
            okk.bdc_32bit_cpy(1024, 0, shape, None, None)
        else:
            okk.bdc_add(1024, 1024, 0, shape, None, None, None)
    okk.gdma_32bit_cpy_L2S(y, 1024, shape, None, None)
    okk.poll()
"""


@pytest.mark.parametrize("rounds", [12, 49, 57, 130, 700])
@pytest.mark.parametrize(("slot", "status"), [("t - 3", "verified"), ("t", "violated")])
def test_places_in_turn(tmp_path: Path, rounds: int, slot: str, status: str) -> None:
    text = (HEAD + RING).format(rounds=rounds, made=rounds, slot=slot)
    assert status_of(tmp_path, text) == status


@pytest.mark.parametrize("rounds", [12, 57, 130, 700])
@pytest.mark.parametrize(("first", "status"), [(False, "verified"), (True, "violated")])
def test_results_of_the_round_before(tmp_path: Path, rounds: int, first: bool, status: str) -> None:
    made = (MADE, "") if first else ("", MADE)
    text = (HEAD + LATER).format(rounds=rounds, made=rounds, made_first=made[0], made_then=made[1])
    assert status_of(tmp_path, text) == status


@pytest.mark.parametrize("rounds", [12, 57, 130, 700])
@pytest.mark.parametrize(("anew", "status"), [("i == 0", "verified"), ("i % 4 == 0", "violated")])
def test_sums(tmp_path: Path, rounds: int, anew: str, status: str) -> None:
    text = (HEAD + SUM).format(rounds=rounds, made=1, anew=anew)
    assert status_of(tmp_path, text) == status


@pytest.mark.parametrize("rounds", [57, 130])
@pytest.mark.parametrize(("slot", "ended"), [("t - 3", 0), ("t", 1)])
def test_runs_of_them(tmp_path: Path, rounds: int, slot: str, ended: int) -> None:
    path = tmp_path / "k.py"
    path.write_text((HEAD + RING).format(rounds=rounds, made=rounds, slot=slot))
    given = [f"--arg={name}=fp32[{rounds},12,4,8]" for name in ("x", "y")]
    assert main(["run", f"{path}::k", *given]) == ended
