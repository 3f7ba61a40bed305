"""Which findings a suppression takes back, and when it is called unused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from verifier.cli.main import main
from verifier.engine import analyze_file, suppressions
from verifier.report.model import Diagnostic, FileRequest, FileResult, RunReport
from verifier.rulebase import Rule, all_rules

HEAD = """\
import nki
import nki.isa as nisa
import nki.language as nl


"""

ROWS = """\
@nki.jit
def copy_rows(src):
    p, f = src.shape{1}
    assert p <= {0} and f <= 2000
    dst = nl.ndarray((p, f), dtype=src.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((p, f), dtype=src.dtype, buffer=nl.sbuf){2}
    nisa.dma_copy(dst=tile, src=src){3}
    nisa.dma_copy(dst=dst, src=tile)
    return dst{4}
"""


def rows(limit: int, *comments: str) -> str:
    """A kernel whose tile has up to ``limit`` rows: 128 is right, 256 is a finding."""
    padded = [f"  # {comment}" if comment else "" for comment in comments]
    return HEAD + ROWS.format(limit, *padded, *[""] * (4 - len(padded)))


def said(text: str, path: Path, **options: Any) -> FileResult:
    """The finished result of a text."""
    path.write_text(text, encoding="utf-8", newline="")
    request = FileRequest(path=str(path), **options)
    results = [analyze_file(request)]
    (result,) = suppressions.apply(results, lambda name: Path(name).read_text("utf-8"))
    return result


def rules(result: FileResult) -> list[tuple[str, int]]:
    """Rules and lines of what is not suppressed."""
    return [(d.rule, d.span.line) for d in result.diagnostics if d.suppressed is None]


def hidden(result: FileResult) -> list[Diagnostic]:
    return [d for d in result.diagnostics if d.suppressed is not None]


IGNORE = "tilelint: ignore[partition-extent] -- callers pass 96 rows"


@pytest.mark.parametrize(
    "rule", [r for r in all_rules() if r.family == "suppression"], ids=lambda rule: rule.id
)
def test_examples(rule: Rule, tmp_path: Path) -> None:
    assert rule.id in dict(rules(said(rule.failing, tmp_path / "failing.py")))
    assert rules(said(rule.passing, tmp_path / "passing.py")) == []


def test_a_finding_is_suppressed_with_its_reason(tmp_path: Path) -> None:
    result = said(rows(256, "", IGNORE), tmp_path / "k.py")
    assert rules(result) == []
    (found,) = hidden(result)
    assert (found.rule, found.suppressed) == ("partition-extent", "callers pass 96 rows")
    assert result.kernels[0].status == "violated"  # nothing was proved
    assert RunReport.merge([result]).exit_status(strict=True) == 0


@pytest.mark.parametrize("name", ["partition-extent", "MEM_CODE", "mem_code"])
def test_by_id_and_by_code(name: str, tmp_path: Path) -> None:
    code = next(rule.code for rule in all_rules() if rule.id == "partition-extent")
    name = name.replace("MEM_CODE", code).replace("mem_code", code.lower())
    result = said(rows(256, "", f"tilelint: ignore[dma-size, {name}] -- why"), tmp_path / "k.py")
    assert len(hidden(result)) == 1
    assert rules(result) == [("unused-suppression", 11)]


def test_other_rules_and_other_lines_are_not(tmp_path: Path) -> None:
    elsewhere = said(rows(256, "", "", IGNORE), tmp_path / "a.py")
    assert rules(elsewhere) == [("partition-extent", 11), ("unused-suppression", 12)]
    other = said(rows(256, "", "tilelint: ignore[dma-size] -- why"), tmp_path / "b.py")
    assert rules(other) == [("partition-extent", 11), ("unused-suppression", 11)]


def test_the_header_of_a_kernel_is_not_its_body(tmp_path: Path) -> None:
    text = rows(256).replace("@nki.jit", f"# {IGNORE}\n@nki.jit")
    assert rules(said(text, tmp_path / "k.py")) == [
        ("partition-extent", 12),
        ("unused-suppression", 6),
    ]


def test_a_whole_file(tmp_path: Path) -> None:
    comment = "# tilelint: ignore-file[partition-extent] -- callers pass 96 rows\n"
    assert rules(said(comment + rows(256), tmp_path / "a.py")) == []
    assert rules(said(comment + rows(128), tmp_path / "b.py")) == [("unused-suppression", 1)]


@pytest.mark.parametrize("end", ["\r\n", "\n"])
@pytest.mark.parametrize("broken", ["", "def oops(:\n    pass\n"])
def test_files_with_other_line_ends_or_errors(end: str, broken: str, tmp_path: Path) -> None:
    text = (rows(256, "", IGNORE) + broken).replace("\n", end)
    result = said(text, tmp_path / "k.py")
    assert rules(result) == [] and len(hidden(result)) == 1


def test_what_does_not_work_suppresses_nothing(tmp_path: Path) -> None:
    for comment in ("tilelint: ignore", "tilelint: ignore[partition-extent]"):
        result = said(rows(256, "", comment), tmp_path / "k.py")
        assert not hidden(result) and len(rules(result)) == 2


# ------------------------------------------------------------------------------- unused


@pytest.mark.parametrize("at", range(4))
def test_a_suppression_without_a_finding_is_unused_wherever_it_is(at: int, tmp_path: Path) -> None:
    comments = ["", "", "", ""]
    comments[at] = IGNORE
    result = said(rows(128, *comments), tmp_path / "k.py")
    assert [rule for rule, _ in rules(result)] == ["unused-suppression"]
    (found,) = result.diagnostics
    assert found.fix is not None and found.fix.safe and found.severity == "warning"


def test_not_where_the_rule_was_not_selected(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(rows(128, "", IGNORE))
    ignored: tuple[str, ...]
    for ignored, told in ((("partition-extent",), 0), ((), 1)):
        results = [analyze_file(FileRequest(path=str(path), ignore=ignored))]
        every = {rule.id for rule in all_rules()} - set(ignored)
        (result,) = suppressions.apply(
            results, lambda _: path.read_text(), selected={str(path): every}.__getitem__
        )
        assert len(result.diagnostics) == told


def test_not_where_the_kernel_was_not_decided(tmp_path: Path) -> None:
    unclear = rows(128, "", IGNORE).replace("    return", "    elsewhere.changes(dst)\n    return")
    result = said(f"import elsewhere\n{unclear}", tmp_path / "k.py")
    assert result.kernels[0].status == "unknown"
    assert "unused-suppression" not in dict(rules(result))


def test_not_in_a_branch_that_is_not_reached(tmp_path: Path) -> None:
    guarded = rows(128).replace(
        "    return",
        "    if nisa.get_nc_version() >= nisa.nc_version.gen4:\n"
        f"        nisa.dma_copy(dst=dst, src=tile)  # {IGNORE}\n    return",
    )
    assert rules(said(guarded, tmp_path / "a.py")) == []
    assert rules(said(guarded, tmp_path / "b.py", targets=("trn3",)))


def test_not_in_a_file_that_does_not_parse(tmp_path: Path) -> None:
    assert rules(said(rows(128, "", IGNORE) + "x = = 1\n", tmp_path / "k.py")) == []


def test_not_in_a_file_without_kernels(tmp_path: Path) -> None:
    text = rows(128, "", IGNORE).replace("@nki.jit\n", "")
    assert rules(said(text, tmp_path / "k.py")) == []


def test_an_undecided_finding_is_hidden_and_uses_nothing() -> None:
    from verifier.report.model import KernelReport, Span

    text = f"x = f()  # {IGNORE}\n"
    place = Span("k.py", 1, 0, 1, 7)
    finding = Diagnostic("partition-extent", "n", "note", "unknown", "possible", place, "k")
    kernel = KernelReport("k.py", "k", 1, "nki", "0.3", "trn2", "unknown")
    (result,) = suppressions.apply([FileResult("k.py", (kernel,), (finding,))], lambda _: text)
    assert [d.suppressed for d in result.diagnostics] == ["callers pass 96 rows"]
    assert result.kernels[0].status == "unknown"


def test_findings_about_suppressions_can_be_suppressed(tmp_path: Path) -> None:
    comment = "# tilelint: ignore-file[unused-suppression] -- other targets need them\n"
    result = said(comment + rows(128, "", IGNORE), tmp_path / "k.py")
    assert rules(result) == [] and len(hidden(result)) == 1


# ------------------------------------------------------------------------- several files


HELPER = f"""\
import nki.isa as nisa
import nki.language as nl


def loaded(src, p, f):
    tile = nl.ndarray((p, f), dtype=src.dtype, buffer=nl.sbuf)  # {IGNORE}
    nisa.dma_copy(dst=tile, src=src)
    return tile
"""


def caller(limit: int) -> str:
    return (
        (HEAD + ROWS.format(limit, "", "", "", ""))
        .replace("import nki\n", "import nki\nfrom helper import loaded\n")
        .replace(
            "    tile = nl.ndarray((p, f), dtype=src.dtype, buffer=nl.sbuf)\n"
            "    nisa.dma_copy(dst=tile, src=src)\n",
            "    tile = loaded(src, p, f)\n",
        )
    )


def test_helpers_in_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "right.py").write_text(caller(128))

    def check(*paths: str) -> list[str]:
        main(["check", "--format", "json", "--no-cache", *paths])
        found = json.loads(capsys.readouterr().out)["diagnostics"]
        return [d["rule"] for d in found if not d.get("suppressed")]

    assert check(".") == ["unused-suppression"]
    assert check("right.py") == []  # who knows what other kernels need
    (tmp_path / "wrong.py").write_text(caller(256))
    assert check(".") == []
    assert main(["check", "--strict", "--no-cache", "."]) == 0


# ------------------------------------------------------------------------- a new comment


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_edit_that_suppresses(end: str, tmp_path: Path) -> None:
    from verifier.source.edits import Replacement, replaced

    text = (
        rows(256)
        .replace(
            "ndarray((p, f), dtype=src.dtype, buffer=nl.sbuf)",
            "ndarray(\n        (p, f),\n        dtype=src.dtype, buffer=nl.sbuf)",
        )
        .replace("\n", end)
    )
    before = said(text, tmp_path / "a.py")
    (found,) = before.diagnostics
    edit = suppressions.suppression_edit(text, found.span, found.rule, "callers\npass 96")
    place = edit.span
    new = replaced(
        text,
        [Replacement(place.line, place.column, place.end_line, place.end_column, edit.text)],
    )
    assert new.count(end) == text.count(end) + 1 == new.count("\n")
    after = said(new, tmp_path / "b.py")
    assert [d.suppressed for d in after.diagnostics] == ["callers pass 96"]
