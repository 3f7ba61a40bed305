"""Several operands are written in part: the finding names the one that makes a difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine import analyze_file
from verifier.executor import simulate
from verifier.executor.machine import Options
from verifier.executor.running import Shaped
from verifier.report.model import FileRequest

_KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def product(w, x):
    assert w.shape == (96, 70) and w.dtype == nl.bfloat16
    assert x.shape == (96, 300) and x.dtype == nl.bfloat16
    a = nl.ndarray((96, 80), dtype=nl.bfloat16, buffer=nl.sbuf)
    b = nl.ndarray((96, 400), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a[:, 0:70], src=w)
    nisa.dma_copy(dst=b[:, 0:300], src=x)
    acc = nl.ndarray((80, 400), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=acc, stationary=a, moving=b)
    t = nl.ndarray((80, 400), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=t, src=acc)
    out = nl.ndarray((ROWS, COLUMNS), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t[0:ROWS, 0:COLUMNS])
    return out
"""

#: rows and columns of the product that are used, and which operand is short of one
CASES = ((70, 300, ""), (71, 300, "a"), (70, 301, "b"))


@pytest.mark.parametrize(("rows", "columns", "short"), CASES)
def test_the_operand_that_is_short_is_named(
    tmp_path: Path, rows: int, columns: int, short: str
) -> None:
    path = tmp_path / "product.py"
    text = _KERNEL.replace("ROWS", str(rows)).replace("COLUMNS", str(columns))
    path.write_text(text, encoding="utf-8")
    said = [f"`{short}` is read before all of it was written"] if short else []

    checked = analyze_file(FileRequest(path=str(path), targets=("trn2",), api_version="0.6"))
    assert [found.message for found in checked.diagnostics] == said

    made = simulate(f"{path}::product")
    options = Options(shapes_only=True, keep_going=True)
    run = type(made)(made.kernel, made.target, made.api_version, options)
    ran = run.outcome(Shaped("bfloat16", (96, 70)), Shaped("bfloat16", (96, 300)))
    assert [found.message for found in ran.violations] == said
