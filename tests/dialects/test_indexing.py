"""Things between the brackets of a tensor that are no plain integers and slices."""

from __future__ import annotations

from pathlib import Path

from verifier.engine import analyze_file
from verifier.report.model import FileRequest, FileResult

WHOLE_GRID = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def kernel(image):
    assert image.shape[0] == {rows} and image.shape[1] == 200
    out = nl.ndarray((72, 200), dtype=image.dtype, buffer=nl.shared_hbm)
    tile = nl.load(image[nl.mgrid[0:72, 0:200]])
    nl.store(out[nl.mgrid[0:72, 0:200]], value=tile)
    return out
"""

RANGES = """\
import nki
import nki.language as nl


@nki.jit
def kernel(image):
    assert image.shape == (72, 200)
    rows, columns = nl.affine_range(72), nl.affine_range(200)
    out = nl.ndarray((72, 200), dtype=image.dtype, buffer=nl.shared_hbm)
    nl.store(out[rows, columns], value=nl.load(image[rows, columns]))
    return out
"""


def check(tmp_path: Path, text: str, api: str | None = None) -> FileResult:
    path = tmp_path / "kernel.py"
    path.write_text(text, encoding="utf-8")
    result = analyze_file(FileRequest(path=str(path), roots=(str(tmp_path),), api_version=api))
    assert not result.errors
    return result


def test_a_whole_grid_indexes_each_dimension_with_its_part(tmp_path: Path) -> None:
    (kernel,) = check(tmp_path, WHOLE_GRID.format(rows=72)).kernels
    assert kernel.status == "verified", kernel.reasons
    found = check(tmp_path, WHOLE_GRID.format(rows=71)).diagnostics
    assert {d.rule for d in found} == {"slice-bounds"}


def test_a_range_is_the_slice_that_it_goes_along_from_0_4_on(tmp_path: Path) -> None:
    found = check(tmp_path, RANGES).diagnostics  # nothing says that it is of 0.4
    assert {(d.rule, d.severity) for d in found} == {("subscript-key", "warning")}
    (kernel,) = check(tmp_path, RANGES, "0.4").kernels
    assert kernel.status == "verified", kernel.reasons
    longer = RANGES.replace("nl.affine_range(200)", "nl.affine_range(201)")
    assert {d.rule for d in check(tmp_path, longer, "0.4").diagnostics} == {"slice-bounds"}
    assert {d.severity for d in check(tmp_path, RANGES, "0.2").diagnostics} >= {"error"}
