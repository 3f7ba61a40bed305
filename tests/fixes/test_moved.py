"""Fixes and verdicts of kernels that were not analysed again are where the text is now."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.fixes.test_command import ALL, KERNEL
from verifier.cli.main import main
from verifier.engine.suppressions import apply
from verifier.engine.workspace import Workspace
from verifier.report.model import FileRequest


def test_lines_that_move(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    workspace = Workspace()
    below = KERNEL.replace("import nki\n", "import nki\n\n# one\n# two\n", 1)
    found = []
    for text in (KERNEL, below):
        workspace.open(str(path), text)
        result = workspace.check(FileRequest(path=str(path)))
        (marked,) = apply([result], {str(path): text}.get)
        found.append([edit.span for d in marked.diagnostics if d.fix for edit in d.fix.edits])
    first, second = found
    assert len(first) == 2
    assert second == [replace(s, line=s.line + 3, end_line=s.end_line + 3) for s in first]


@pytest.mark.parametrize("targets", ["trn2", "trn1,trn2,trn3"])
@pytest.mark.parametrize("runs", [1, 2])
def test_fixes_with_several_targets_and_the_cache(
    targets: str, runs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "k.py"
    options = ["--cache-dir", str(tmp_path / "kept"), "--target", targets]
    for _ in range(runs):
        path.write_text(KERNEL)
        assert main(["check", "k.py", "--fix", "--unsafe-fixes", "--strict", *options]) == 0
    assert path.read_text() == ALL
