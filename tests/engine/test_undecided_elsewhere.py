"""What goes wrong silently for some inputs, and is undecided for the others: nothing to assert."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine import analyze_file
from verifier.report.model import FileRequest, FileResult

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def added(x):
    rows, columns = x.shape
    assert rows == 96 and columns % 80 == 0 and x.dtype == nl.float32
    acc = nl.ndarray((96, 80), dtype=nl.float32, buffer=nl.sbuf)
    for i in range(columns // 80):
        t = nl.ndarray((96, 80), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x[:, i * 80:(i + 1) * 80])
        if i == 0:
            nisa.tensor_copy(dst=acc[:, 0:KEPT], src=t[:, 0:KEPT])
        else:
            nisa.tensor_tensor(dst=acc, data1=acc, data2=t, op=nl.add)
    out = nl.ndarray((96, 80), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=acc)
    return out
"""


def checked(folder: Path, kept: int) -> FileResult:
    path = folder / "added.py"
    path.write_text(KERNEL.replace("KEPT", str(kept)), encoding="utf-8")
    result = analyze_file(FileRequest(path=str(path), roots=(str(folder),)))
    assert not result.errors
    return result


@pytest.mark.parametrize("kept", [79, 40])
def test_no_condition_leaves_what_is_undecided(tmp_path: Path, kept: int) -> None:
    """Columns that the first iteration leaves out are never set, however many come after it."""
    result = checked(tmp_path, kept)
    (kernel,) = result.kernels
    assert kernel.status == "violated"
    errors = [d for d in result.diagnostics if d.severity == "error"]
    assert {d.rule for d in errors} == {"uninitialised-read"}
    assert not any(d.assertion or d.fix for d in errors)
    assert not any(d.rule == "precondition" for d in result.diagnostics)


def test_an_accumulator_that_is_set_whole(tmp_path: Path) -> None:
    assert checked(tmp_path, 80).kernels[0].status == "verified"
