"""Lists that a loop fills, a computed key says which: a short loop is exactly its trips."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine import analyze_file
from verifier.report.model import FileRequest

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def halves(x):
    assert x.shape == (96, 320)
    out = nl.ndarray((96, 320), dtype=x.dtype, buffer=nl.shared_hbm)
    groups = {"even": [], "odd": []}
    for i in range(4):
        t = nl.ndarray((96, 80), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x[:, i * 80:(i + 1) * 80])
        groups[WHICH].append(t)
    for k, t in enumerate(groups["even"]):
        nisa.dma_copy(dst=out[:, 2 * k * 80:(2 * k + 1) * 80], src=t)
    for k, t in enumerate(groups["odd"]):
        nisa.dma_copy(dst=out[:, (2 * k + 1) * 80:(2 * k + 2) * 80], src=t)
    return out
"""


@pytest.mark.parametrize(
    ("which", "status", "found"),
    [
        ("'odd' if i % 2 else 'even'", "verified", set()),
        ("('even', 'odd')[i % 2]", "verified", set()),
        # three are even: what the third of them misses, nobody comes to miss
        ("'even' if i != 1 else 'odd'", "violated", {"slice-bounds"}),
        ("'odd' if i % 2 else 'evn'", "violated", {"missing-key"}),
    ],
)
def test_a_list_of_a_dictionary(tmp_path: Path, which: str, status: str, found: set[str]) -> None:
    path = tmp_path / "halves.py"
    path.write_text(KERNEL.replace("WHICH", which), encoding="utf-8")
    result = analyze_file(FileRequest(path=str(path), roots=(str(tmp_path),)))
    assert [kernel.status for kernel in result.kernels] == [status]
    errors = {d.rule for d in result.diagnostics if d.severity == "error"}
    assert errors >= found and bool(errors) == bool(found)
