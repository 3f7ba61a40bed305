"""Replay judges outputs by where they are made, not by what the text calls them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.apart import mark
from verifier.engine import analyze_file
from verifier.report.model import FileRequest

HEAD = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    P, F = x.shape
    assert 2 <= P <= 96 and F <= 200
"""
BODIES = {
    "a list of two calls": """\
    outs = [
        nl.ndarray((P, F), dtype=x.dtype, buffer=nl.shared_hbm),
        nl.ndarray((P, F), dtype=x.dtype, buffer=nl.shared_hbm),
    ]
    nisa.dma_copy(dst=outs[0], src=x)
    return outs[0], outs[1]
""",
    "one call for both": """\
    outs = [nl.ndarray((P, F), dtype=x.dtype, buffer=nl.shared_hbm) for _ in range(2)]
    nisa.dma_copy(dst=outs[1], src=x)
    return tuple(outs)
""",
    "a dictionary": """\
    outs = {}
    for name in ("k", "v"):
        outs[name] = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=outs["k"], src=x)
    return outs["k"], outs["v"]
""",
    "rows of one element that move within a tensor": """\
    out = nl.ndarray((P, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x[:, 0:1])
    nisa.dma_copy(dst=out[1:P, :], src=out[0:P - 1, :])
    return out
""",
    "columns of one element that move within a tensor": """\
    out = nl.ndarray((1, P), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x[0:1, 0:P])
    nisa.dma_copy(dst=out[:, 1:P], src=out[:, 0:P - 1])
    return out
""",
}


@pytest.mark.parametrize("name", BODIES)
def test_what_goes_wrong_silently_is_shown(tmp_path: Path, name: str) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(HEAD + BODIES[name], encoding="utf-8")
    result = analyze_file(FileRequest(path=str(path), roots=(str(tmp_path),)))
    silent = {"output-not-written", "transfer-overlap", "precondition"}
    assert {d.rule for d in result.diagnostics if d.severity == "error"} & silent
    (marked,) = mark([result], jobs=1)
    errors = [d for d in marked.diagnostics if d.severity == "error" and d.rule in silent]
    assert errors and all(d.replay == "confirmed" for d in errors if d.rule != "precondition")
