"""What an analysis reads is what ``--affected`` takes a kernel to depend on.

Over clones of other repositories with ``TILELINT_CORPUS=<directory of clones>``.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.benchmarks.repository import make
from verifier.engine.analysis import analyze_file
from verifier.report.model import FileRequest
from verifier.source.files import collect
from verifier.source.footprint import recording
from verifier.source.imports import Changes, dependents
from verifier.source.project import Project
from verifier.source.text import may_hold_kernels, read_bytes

CORPUS = os.environ.get("TILELINT_CORPUS", "")
CLONES = sorted(path for path in Path(CORPUS).iterdir() if path.is_dir()) if CORPUS else []


def missed(root: Path) -> tuple[int, list[tuple[str, str]]]:
    """How many pairs of a kernel file and a file that it reads were tried, and those missed."""
    project = Project([root])
    number = 0
    wrong = []
    for found in collect([root]):
        kernel = str(found.absolute())
        if not may_hold_kernels(read_bytes(found)):
            continue
        with recording() as footprint:
            analyze_file(FileRequest(kernel, (str(root),), timeout=1.0))
        for file in filter(os.path.isfile, footprint.files):
            number += 1
            if kernel not in dependents(project, [kernel], Changes({file})):
                wrong.append((kernel, file))
    return number, wrong


def test_no_dependence_is_missed(tmp_path: Path) -> None:
    make(tmp_path / "repository", 40)
    number, wrong = missed(tmp_path / "repository")
    assert number >= 16 and wrong == []


@pytest.mark.skipif(not CLONES, reason="needs clones: TILELINT_CORPUS=<directory of clones>")
@pytest.mark.parametrize("clone", CLONES, ids=lambda clone: clone.name)
def test_no_dependence_is_missed_in_real_repositories(clone: Path) -> None:
    _, wrong = missed(clone)
    assert wrong == []
