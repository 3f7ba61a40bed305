"""Ranks that nothing states: one with which the kernel cannot run is never taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine import analyze_file
from verifier.report.model import FileRequest, FileResult

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
"""

UNPACKED_LATER = """\
def kernel(field):
    tile = nl.load(field)
    rows, planes, columns = tile.shape
    assert rows <= 96 and planes * columns <= 300
    out = nl.ndarray((rows, planes, columns), dtype=field.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=tile)
    return out
"""

INDEXED_LATER = """\
def kernel(field):
    assert field.shape[1] == 72
    out = nl.ndarray(field.shape, dtype=field.dtype, buffer=nl.shared_hbm)
    for plane in range(field.shape[0]):
        whole = field[plane]
        nl.store(out[plane, 0:72, 0:1], value=nl.load(whole[0:72, 0:1]))
    return out
"""

BROADCAST = """\
def kernel(field):
    assert field.shape[0] == 1 and field.shape[1] == 40
    out = nl.ndarray((104, 40), dtype=field.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.broadcast_to(nl.load(field), shape=(104, 40)))
    return out
"""


def check(tmp_path: Path, text: str) -> FileResult:
    path = tmp_path / "kernel.py"
    path.write_text(HEAD + text, encoding="utf-8")
    result = analyze_file(FileRequest(path=str(path), roots=(str(tmp_path),)))
    assert not result.errors
    return result


@pytest.mark.parametrize(
    ("text", "fitting"), [(UNPACKED_LATER, 3), (INDEXED_LATER, 3), (BROADCAST, 2)]
)
def test_the_rank_that_fits_is_taken_and_said(tmp_path: Path, text: str, fitting: int) -> None:
    result = check(tmp_path, text)
    rules = {d.rule for d in result.diagnostics}
    assert not rules & {"unpack-mismatch", "slice-bounds", "view-precondition"}
    (kernel,) = result.kernels
    ranks = [a for a in kernel.assumptions if a.startswith("field has rank")]
    assert ranks == [f"field has rank {fitting}"]


def test_what_fails_whatever_the_rank_is_reported(tmp_path: Path) -> None:
    text = UNPACKED_LATER.replace(
        "    return out", "    low, high = rows, planes, columns\n    return out"
    )
    found = [d for d in check(tmp_path, text).diagnostics if d.rule == "unpack-mismatch"]
    assert [d.verdict for d in found] == ["always"]


def test_a_kernel_that_looks_at_the_rank_is_checked_with_it(tmp_path: Path) -> None:
    text = """\
def kernel(field):
    tile = nl.load(field)
    out = nl.ndarray(field.shape, dtype=field.dtype, buffer=nl.shared_hbm)
    if len(tile.shape) == 2:
        corner = tile[0, 0, 0]
    nl.store(out, value=tile)
    return out
"""
    assert "slice-bounds" in {d.rule for d in check(tmp_path, text).diagnostics}


def test_a_literal_index_counts_for_the_rank(tmp_path: Path) -> None:
    text = """\
def kernel(field):
    out = nl.ndarray(field.shape, dtype=field.dtype, buffer=nl.shared_hbm)
    assert field.shape[0] == 1 and field.shape[1] == 64 and field.shape[2] == 24
    nl.store(out[0], value=nl.load(field[0, 0:64, 0:24]))
    return out
"""
    (kernel,) = check(tmp_path, text).kernels
    assert kernel.status == "verified"


def test_a_parameter_that_is_only_handed_back_is_an_output(tmp_path: Path) -> None:
    result = check(tmp_path, "def kernel(field, other):\n    return field\n")
    assert "no-output" not in {d.rule for d in result.diagnostics}
