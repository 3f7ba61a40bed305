"""Offsets that only the device knows, into a whole tensor in another shape: blocks, not rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from verifier.engine import analyze_file
from verifier.executor import simulate
from verifier.report.model import FileRequest

_COPIED = """\
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def kernel(x):
    assert x.shape == (480, 40) and x.dtype == nl.float32
    out = nl.ndarray((480, 40), dtype=nl.float32, buffer=nl.shared_hbm)
    source, target = {source}, {target}
    def body(i):
        t = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=source.ap([[40, 96], [1, 40]], 0, scalar_offset=i))
        nisa.dma_copy(dst=target.ap([[40, 96], [1, 40]], 0, scalar_offset=i), src=t)
    nl.fori_loop(0, {blocks}, body)
    return out
"""
_BLOCKS = ".reshape((5, 96, 40))"


@pytest.mark.parametrize(
    ("source", "target", "blocks", "status"),
    [
        (f"x{_BLOCKS}", f"out{_BLOCKS}", 5, "verified"),
        (f"x{_BLOCKS}", f"out{_BLOCKS}", 4, "violated"),
        (f"x{_BLOCKS}", "out", 5, "violated"),
    ],
)
def test_an_offset_counts_by_the_shape_that_the_tensor_has(
    tmp_path: Path, source: str, target: str, blocks: int, status: str
) -> None:
    file = tmp_path / "file.py"
    file.write_text(_COPIED.format(source=source, target=target, blocks=blocks), encoding="utf-8")
    request = FileRequest(path=str(file), roots=(str(tmp_path),), api_version="0.6")
    (kernel,) = analyze_file(request).kernels
    assert kernel.status == status, kernel.reasons
    x = np.random.default_rng(3).standard_normal((480, 40), np.float32)
    outcome = simulate(f"{file}::kernel", "trn2", "0.6").outcome(x=x)
    if status == "verified":
        np.testing.assert_array_equal(outcome.outputs[0], x)
    else:
        assert outcome.ended is not None and outcome.ended[0] == "violation"
