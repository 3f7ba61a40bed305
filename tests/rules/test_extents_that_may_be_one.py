"""Shapes that go together where an extent is 1, which the text does not say it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine.analysis import analyze_file
from verifier.report.model import FileRequest, FileResult

BETA1 = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
"""
ASSIGNED = (
    BETA1
    + """\
def kernel(x):
    rows, columns = x.shape
    assert rows <= 128 and columns <= 512
    tile = nl.ndarray((nl.par_dim(2), 1), dtype=x.dtype, buffer=nl.sbuf)
    tile[...] = nl.load(x)
    out = nl.ndarray((2, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, tile)
    return out
"""
)
STRETCHED = (
    BETA1
    + """\
def kernel(x, y):
    rows, columns = x.shape
    assert rows <= 128 and columns <= 96 and y.shape == (rows, 96)
    assert columns == 1 or columns == 96
    out = nl.ndarray((rows, 96), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.add(nl.load(x), nl.load(y)))
    return out
"""
)
GATHERED = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, places):
    assert x.shape == (32, 70) and places.shape == (32, 3)
    data = nl.ndarray((32, 70), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=data, src=x)
    index = nl.ndarray((32, 3), dtype=nl.uint16, buffer=nl.sbuf)
    nisa.dma_copy(dst=index, src=places)
    found = nl.ndarray((32, COLUMNS), dtype=nl.float32, buffer=nl.sbuf)
    nisa.local_gather(dst=found, src_buffer=data, index=index, num_elem_per_idx=2)
    out = nl.ndarray((32, COLUMNS), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=found)
    return out
"""


def checked(folder: Path, text: str, contract: str = "") -> FileResult:
    path = folder / "kernel.py"
    path.write_text(text, encoding="utf-8")
    contracts = (contract,) if contract else ()
    return analyze_file(FileRequest(str(path), targets=("trn2",), contracts=contracts))


@pytest.mark.parametrize("shape, fits", [("2, 1", True), ("1, 2", True), ("1, 3", False)])
def test_an_assignment_is_judged_alike_for_any_sizes_and_for_some(
    tmp_path: Path, shape: str, fits: bool
) -> None:
    (found,) = checked(tmp_path, ASSIGNED).diagnostics
    assert found.rule == "assignment-shape" and found.counterexample is not None
    assert dict(found.counterexample)["x.shape"] not in ((1, 2), [1, 2])
    exact = checked(tmp_path, ASSIGNED, f"kernel(x: float32[{shape}])")
    assert [d.rule for d in exact.diagnostics] == ([] if fits else ["assignment-shape"])


def test_an_extent_that_may_be_one_stretches(tmp_path: Path) -> None:
    assert "dma-size" not in {d.rule for d in checked(tmp_path, STRETCHED).diagnostics}


@pytest.mark.parametrize("columns, rules", [(96, []), (90, ["gather-shape"])])
def test_all_indices_are_used_where_no_number_of_them_is_given(
    tmp_path: Path, columns: int, rules: list[str]
) -> None:
    found = checked(tmp_path, GATHERED.replace("COLUMNS", str(columns))).diagnostics
    assert [d.rule for d in found] == rules


def test_a_tile_without_dimensions_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    text = BETA1 + (
        "def kernel(x, *counts):\n    assert x.shape == (4, 32, 6, 7)\n"
        "    out = nl.ndarray((32, 7), dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    nl.store(out, nl.multiply(nl.load(x[0, :, 0, :]), nl.load(x[1, 2, 3, counts[0]])))\n"
        "    return out\n"
    )
    path.write_text(text, encoding="utf-8")
    result = analyze_file(FileRequest(str(path)))
    assert not result.errors
    assert {kernel.status for kernel in result.kernels} <= {"unknown", "violated"}
