"""Arrays that the host makes before the kernel runs, as constants of the kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine import analyze_file
from verifier.report.model import FileRequest, FileResult

TEXT = """\
import numpy as np
from elsewhere import somewhere
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

base = np.ones((56, 104), dtype=np.float32)


@nki.jit
def kernel(scores):
    assert scores.shape == (56, 104)
    mask = nl.shared_constant({array}, dtype=nl.float32)
    out = nl.ndarray((56, {columns}), dtype=nl.float32, buffer=nl.shared_hbm)
    kept = nl.multiply(nl.load(scores), nl.load(mask))
    nl.store(out, value=kept)
    return out
"""


def check(tmp_path: Path, array: str, columns: int = 104) -> FileResult:
    path = tmp_path / "kernel.py"
    path.write_text(TEXT.format(array=array, columns=columns), encoding="utf-8")
    result = analyze_file(FileRequest(path=str(path), roots=(str(tmp_path),)))
    assert not result.errors
    return result


@pytest.mark.parametrize(
    "array",
    [
        "np.tril(base)",
        "np.triu(np.ones((56, 104)))",
        "np.full_like(np.tril(base), 0.5, np.float16)",
        "np.zeros_like(base)",
    ],
)
def test_the_shape_of_the_first_argument_is_kept(tmp_path: Path, array: str) -> None:
    (kernel,) = check(tmp_path, array).kernels
    assert kernel.status == "verified", kernel.reasons
    assert "dma-size" in {d.rule for d in check(tmp_path, array, 103).diagnostics}


def test_an_array_of_another_library_is_not_followed(tmp_path: Path) -> None:
    (kernel,) = check(tmp_path, "np.tril(somewhere())").kernels
    assert kernel.status == "unknown"


UNIT = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(image):
    assert image.shape == (72, 56)
    unit = nl.load(nl.shared_identity_matrix(n=72, dtype=nl.bfloat16), dtype=image.dtype)
    out = nl.ndarray((56, 72), dtype=nl.float32, buffer=nl.shared_hbm)
    nl.store(out, value=nisa.nc_matmul(nl.load(image), unit))
    return out
"""


def test_the_identity_of_beta1_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(UNIT, encoding="utf-8")
    result = analyze_file(FileRequest(path=str(path), roots=(str(tmp_path),)))
    assert "load-store-operands" not in {d.rule for d in result.diagnostics}
    assert not [d for d in result.diagnostics if d.verdict == "unknown"]
