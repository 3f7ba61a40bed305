"""Tiles of two dimensions in one loop, where tiles of a row are counted as those of a column."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from tests.told import told
from verifier.executor import simulate
from verifier.executor.machine import Options
from verifier.executor.running import Shaped

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def tiled(x):
    R, C = x.shape
    y = nl.ndarray((R, C), dtype=x.dtype, buffer=nl.shared_hbm)
    rows, columns = (R + 95) // 96, (C + 319) // 320
    for t in range(rows * columns):
        r0, c0 = (t // {0}) * 96, (t % {0}) * 320
        r1, c1 = min(r0 + 96, R), min(c0 + 320, C)
        tile = nl.ndarray((r1 - r0, c1 - c0), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r0:r1, c0:c1])
        nisa.dma_copy(dst=y[r0:r1, c0:c1], src=tile)
    return y
"""
SIZES = [*product((1, 96, 97, 193), (1, 320, 321, 641))]


@pytest.mark.parametrize("counted", ["columns", "rows"])
def test_what_suffices_for_one_tile_is_not_left_out_for_another(
    tmp_path: Path, counted: str
) -> None:
    found = told(tmp_path, KERNEL.format(counted))
    if counted == "columns":
        assert found.status == "verified"
        return
    precondition = found.kernel.precondition
    assert precondition is not None and precondition.sufficient
    made = simulate(f"{tmp_path / 'kernel.py'}::tiled", "trn2", None)
    admitted = 0
    for rows, columns in SIZES:
        names = {"R": rows, "C": columns}
        if not all(eval(each.text, dict(names)) for each in precondition.conjuncts):
            continue
        admitted += 1
        run = type(made)(made.kernel, made.target, made.api_version, Options(shapes_only=True))
        outcome = run.outcome(x=Shaped("float32", (rows, columns)))
        assert not outcome.diagnostics, names
    assert admitted
