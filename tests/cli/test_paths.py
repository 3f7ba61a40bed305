from __future__ import annotations

from pathlib import Path

from verifier.cli.paths import Display
from verifier.report.model import (
    Diagnostic,
    FileError,
    FileResult,
    KernelReport,
    Label,
    Reason,
    Span,
)


def test_one_name_for_one_file(project: Path) -> None:
    display = Display(["./src/gemm.py", "../other.py"])
    assert display.name(str(project / "src" / "gemm.py")) == "./src/gemm.py"
    assert display.name("src/gemm.py") == "./src/gemm.py"
    assert display.name(str(project.parent / "other.py")) == "../other.py"
    assert display.name(str(project / "lib" / "util.py")) == str(Path("lib", "util.py"))
    assert display.name("/elsewhere/x.py") == "/elsewhere/x.py"
    assert display.name("") == ""


def test_absolute_names_that_were_given_stay(project: Path) -> None:
    given = str(project / "gemm.py")
    assert Display([given]).name(given) == given


def test_every_path_of_a_result_is_renamed(project: Path) -> None:
    path = str(project / "a.py")
    span = Span(path, 1, 0, 1, 1)
    diagnostic = Diagnostic("r", "", "error", "always", "m", span, labels=(Label(span, "t"),))
    kernel = KernelReport(
        path, "f", 1, "nki", "0.6", "trn2", "unknown", reasons=(Reason(path, 1, "m"),)
    )
    result = FileResult(path, (kernel,), (diagnostic,), (FileError(path, 1, "m"),), {"n": 1})
    renamed = Display([]).result(result)
    assert str(project) not in repr(renamed)
    assert renamed.statistics == {"n": 1}
