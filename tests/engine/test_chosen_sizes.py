"""Tiles whose size is chosen by the size that they divide: a contract hides no tail of theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine.analysis import analyze_file
from verifier.report.model import FileRequest

KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl

SIZES = {{440: 88, 444: 128, 448: 64}}


def chosen(size):
    if size >= 512:
        return 256
    return 128 if size >= 256 else 32


# tilelint: contract (x: fp32[{rows}, 24])
@nki.jit
def k(x):
    n, columns = x.shape
{choice}
    out = nl.ndarray((t, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.ndarray((t, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=total, value=0.0)
    for i in range(n // t):
        part = nl.ndarray((t, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=part, src=x[i * t : i * t + t, :])
        nisa.tensor_tensor(dst=total, data1=total, data2=part, op=nl.add)
    nisa.dma_copy(dst=out, src=total)
    return out
"""
CHOICES = {
    "by a condition": "t = 128 if n > 256 else 64",
    "by a bound": "t = min(128, n)",
    "by a truth value": "t = 64 + 64 * (n > 256)",
    "by a helper": "t = chosen(n)",
    "by a table": "t = SIZES.get(n, 128)",
    "by halving": "t = 128\nwhile t > n:\n    t //= 2",
    "by doubling": "t = 32\nwhile t * 2 <= min(n, 128):\n    t *= 2",
    "by the first that fits": "for t in (128, 64, 32):\n    if n >= t:\n        break",
}


def _kernel(folder: Path, choice: str, rows: int) -> tuple[str, set[str]]:
    path = folder / "k.py"
    body = "\n".join(f"    {line}" for line in CHOICES[choice].splitlines())
    path.write_text(KERNEL.format(rows=rows, choice=body), encoding="utf-8")
    result = analyze_file(FileRequest(path=str(path), roots=(str(folder),)))
    (kernel,) = result.kernels
    return kernel.status, {each.rule for each in result.diagnostics if each.severity == "error"}


@pytest.mark.parametrize("choice", CHOICES)
def test_a_tail_that_a_chosen_tile_leaves_is_told(choice: str, tmp_path: Path) -> None:
    status, errors = _kernel(tmp_path, choice, 444)
    assert status == "violated"
    assert "input-tail-dropped" in errors


@pytest.mark.parametrize("choice", CHOICES)
def test_a_tile_that_divides_its_size_leaves_none(choice: str, tmp_path: Path) -> None:
    assert _kernel(tmp_path, choice, 384) == ("verified", set())
