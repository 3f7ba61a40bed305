"""An end of a slice or an index that may fall below 0 counts from the end where it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine.analysis import analyze_file
from verifier.report.model import FileRequest

HEAD = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def k(x, k: int{default}):
    n, C = x.shape
    assert C == 40 and 5 <= n <= 90 and x.dtype == nl.float32
    r = n % 4
    out = nl.ndarray({shape}, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((n, C), dtype=x.dtype, buffer=nl.sbuf)
"""
PUT = "    nisa.dma_copy(dst=out, src=x[{index}])\n"
ROWS = """
    for i in range({trips}):
        nisa.dma_copy(dst=out[i], src=x[{index}])
"""
INSIDE = """
    wide = nl.ndarray((n, C + 2 * k), dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(wide, 0.0)
    nisa.dma_copy(dst=wide[:, k:-k], src=x)
    nisa.dma_copy(dst=out, src=wide[:, k : k + C])
"""


@pytest.mark.parametrize(
    ("shape", "body", "default", "status", "text"),
    [
        ("(k, C)", PUT.format(index="-k:"), "", "conditional", "k >= 1 and k <= n"),
        ("(n - k, C)", PUT.format(index=":-k"), "", "conditional", "k >= 1 and k < n"),
        ("(n - k, C)", PUT.format(index="k - n:"), "", "conditional", "k < n"),
        ("(n - r, C)", PUT.format(index=":-r"), "", "conditional", "n % 4 != 0"),
        ("(n - r, C)", PUT.format(index=": -r or None"), "", "verified", "True"),
        ("(n, C)", INSIDE, "", "conditional", "k <= 26604 and k >= 1"),
        ("(C,)", PUT.format(index="k"), " = -1", "conditional", "k + n >= 0 and k < n"),
        ("(n, C)", ROWS.format(trips="n", index="i - 1"), "", "verified", "True"),
        ("(n, C)", ROWS.format(trips="n", index="i if i < 2 else i - n"), "", "verified", "True"),
        ("(4, C)", ROWS.format(trips="4", index="i - 5"), "", "verified", "True"),
        ("(4, C)", ROWS.format(trips="4", index="i - 6"), "", "violated", "n >= 6"),
    ],
)
def test_it_counts_from_the_end(
    tmp_path: Path, shape: str, body: str, default: str, status: str, text: str
) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(HEAD.format(shape=shape, default=default) + body + "    return out\n")
    result = analyze_file(FileRequest(str(path), ("kernels.py",)))
    assert [kernel.status for kernel in result.kernels] == [status]
    (said,) = (kernel.precondition for kernel in result.kernels)
    assert said is not None and said.text == text
