"""A call with a description whose operand is not followed is not said to have no model."""

from __future__ import annotations

from pathlib import Path

from verifier.engine import analyze_file
from verifier.report.model import FileRequest

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def summed(x, n):
    assert x.shape == (9, 96, 320) and n <= 9
    out = nl.ndarray((96, 320), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_compute(out, [x[e] for e in range(n)], nl.add)
    return out
"""


def test_an_operand_that_is_not_followed_is_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "summed.py"
    path.write_text(KERNEL, encoding="utf-8")
    result = analyze_file(FileRequest(path=str(path), roots=(str(tmp_path),)))
    (kernel,) = result.kernels
    assert kernel.status == "unknown"
    assert kernel.calls.unmodelled == () and kernel.calls.modelled < kernel.calls.total
    said = [reason.message for reason in kernel.reasons]
    assert any("an operand of `nisa.dma_compute` is not followed" in text for text in said)
    assert not any("model" in text for text in said)
    assert not [d for d in result.diagnostics if d.severity == "error"]
