from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sweeps import examples
from verifier.report import github
from verifier.report.model import Diagnostic, RunReport, Span
from verifier.report.text import Options

from .samples import DIAGNOSTICS, REPORT
from .strategies import reports

Snapshot = Callable[[str, str], None]
_COMMAND = re.compile(r"::(\w+) ([^:]*)::(.*)")


def render(report: RunReport, options: Options | None = None) -> str:
    stream = io.StringIO()
    github.render(report, stream, options or Options())
    return stream.getvalue()


def unescape(text: str) -> str:
    """As the runner does it: the percent sign last."""
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ",")):
        text = text.replace(code, character)
    return text.replace("%25", "%")


def parse(line: str) -> tuple[str, dict[str, str], str]:
    match = _COMMAND.fullmatch(line)
    assert match, line
    pairs = [pair.partition("=") for pair in match[2].split(",")]
    return match[1], {key: unescape(value) for key, _, value in pairs}, unescape(match[3])


def test_snapshot(snapshot: Snapshot) -> None:
    suppressed = (replace(DIAGNOSTICS[0], suppressed="why"), *DIAGNOSTICS[1:])
    snapshot("github.txt", render(replace(REPORT, diagnostics=suppressed)))


@given(st.text(alphabet="a%:,=\r\n0A3D25C幅", max_size=20))
def test_what_is_escaped_comes_back(text: str) -> None:
    escaped = github.escape_property(text)
    assert not set("\r\n:,") & set(escaped)
    assert unescape(escaped) == text
    assert not set("\r\n") & set(github.escape(text))
    assert unescape(github.escape(text)) == text


@settings(max_examples=examples(90), deadline=None)
@given(reports())
def test_any_report_is_one_command_for_each_finding(report: RunReport) -> None:
    lines = render(report).split("\n")
    commands = [line for line in lines if line.startswith("::")]
    assert len(commands) == len(report.shown) + len(report.errors) + len(report.undecided)
    for line, diagnostic in zip(commands, report.shown, strict=False):
        name, properties, text = parse(line)
        assert name == {"note": "notice"}.get(diagnostic.severity, diagnostic.severity)
        assert properties["file"] == diagnostic.span.path
        assert properties["line"] == str(diagnostic.span.line)
        assert ("col" in properties) == (diagnostic.span.line == diagnostic.span.end_line)
        assert text.startswith(diagnostic.message)


def test_paths_count_from_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    span = Span("k.py", 3, 4, 3, 9)
    found = Diagnostic(
        "slice-bounds", "", "error", "sometimes", "too far", span, "f",
        counterexample={"x.shape": [1, 513]},
    )  # fmt: skip
    text = render(RunReport(diagnostics=(found,)), Options(root=str(tmp_path)))
    assert text.split("\n")[0] == (
        "::error file=sub/k.py,line=3,endLine=3,col=5,endColumn=9,"
        "title=tilelint%3A slice-bounds in f::too far%0Acounterexample: x.shape = [1, 513]"
    )
