"""What the check says of the one kernel of a text."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from verifier.engine import analyze_file
from verifier.report.model import FileRequest, FileResult, KernelReport


class Told(NamedTuple):
    """``errors``: the rules that it breaks, as an error."""

    status: str
    errors: list[str]
    kernel: KernelReport
    result: FileResult

    @property
    def precondition(self) -> str:
        assert self.kernel.precondition is not None
        return self.kernel.precondition.text


def told(folder: Path, text: str, target: str | None = None, api: str | None = None) -> Told:
    """``target``, ``api``: None: as the text has it, or the default."""
    path = folder / "kernel.py"
    path.write_text(text, encoding="utf-8")
    targets = () if target is None else (target,)
    request = FileRequest(str(path), (str(folder),), targets, api)
    result = analyze_file(request)
    assert not result.errors
    (kernel,) = result.kernels
    errors = [each.rule for each in result.diagnostics if each.severity == "error"]
    return Told(kernel.status, errors, kernel, result)
