"""Values inside expressions take no memory of their own; named ones do."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine import analyze_file
from verifier.report.model import FileRequest

_KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def blend(x):
    assert x.shape == (96, 24000)
    assert x.dtype == nl.float32
    out = nl.ndarray((96, 24000), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
{body}
    return out
"""


@pytest.mark.parametrize(
    ("body", "fits"),
    [
        ("    nl.store(out, value=-tile * 2.0 + nl.exp(tile))", True),
        ("    tile[...] = tile * 3.0\n    nl.store(out, value=tile)", True),
        ("    double = tile * 2.0\n    nl.store(out, value=double + tile)", True),
        (
            "    double = tile * 2.0\n    third = double + tile\n"
            "    nl.store(out, value=third + double)\n    nl.store(out, value=tile)",
            False,
        ),
    ],
)
def test_what_takes_memory(body: str, fits: bool, tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(_KERNEL.format(body=body))
    request = FileRequest(path=str(path), select=("sbuf-capacity", "sbuf-tile-size"))
    result = analyze_file(request)
    assert not result.errors
    assert [d.rule for d in result.diagnostics] == ([] if fits else ["sbuf-capacity"])
