"""What an analysis reads is what ``--affected`` takes a kernel to depend on.

Over clones of other repositories with ``TILELINT_CORPUS=<directory of clones>``.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.repository import Repository, kernel
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


IMPORTS = (
    ("from pkg import limit", "limit()"),
    ("import pkg", "pkg.limit()"),
    ("import pkg.sizes", "pkg.sizes.ROWS"),
    ("import pkg.deep.sizes as sizes", "sizes.ROWS"),
    ("from pkg.deep import sizes", "sizes.ROWS"),
    ("from pkg.deep import *", "HALF + HALF"),
    ("from pkg import other", "other(48)"),
    ("try:\n    from pkg.missing import ROWS\nexcept ImportError:\n    from pkg.sizes import ROWS",
     "ROWS"),
    ("from pkg import deep", "deep.sizes.ROWS"),
    ("from pkg.deep.again import limit as most", "most()"),
)  # fmt: skip


def test_no_dependence_is_missed(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.write(
        "pkg/__init__.py", "from .limits import limit\nfrom .deep import double as other"
    )
    repository.write("pkg/limits.py", "from . import sizes\ndef limit():\n    return sizes.ROWS\n")
    repository.write("pkg/sizes.py", "from .deep.sizes import ROWS\n")
    repository.write("pkg/deep/__init__.py", "from . import sizes\nfrom .sizes import *\n")
    repository.write(
        "pkg/deep/sizes.py", "ROWS = 96\nHALF = 48\ndef double(n):\n    return 2 * n\n"
    )
    repository.write("pkg/deep/again.py", "from .. import limit\n")
    for index, (extra, rows) in enumerate(IMPORTS):
        repository.write(f"kernel{index}.py", kernel(f"kernel{index}", rows, extra))
    number, wrong = missed(tmp_path)
    assert number >= 3 * len(IMPORTS) and wrong == []


@pytest.mark.skipif(not CLONES, reason="needs clones: TILELINT_CORPUS=<directory of clones>")
@pytest.mark.parametrize("clone", CLONES, ids=lambda clone: clone.name)
def test_no_dependence_is_missed_in_real_repositories(clone: Path) -> None:
    _, wrong = missed(clone)
    assert wrong == []
