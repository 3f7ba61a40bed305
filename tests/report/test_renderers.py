from __future__ import annotations

import io
import json
import re
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from verifier.report import concise, full, json_format
from verifier.report.formats import FORMATS, renderer
from verifier.report.model import (
    Diagnostic,
    Entry,
    FileError,
    KernelReport,
    Known,
    Label,
    Reason,
    RunReport,
    Shard,
    Span,
)
from verifier.report.sources import Sources
from verifier.report.text import ASCII, Options, cells

from .samples import CLEAN, EMPTY, REPORT, SOURCES

Snapshot = Callable[[str, str], None]


def show(report: RunReport, options: Options, sources: dict[str, str] | None = None) -> str:
    stream = io.StringIO()
    full.render(report, stream, options, Sources(SOURCES if sources is None else sources))
    return stream.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_full(snapshot: Snapshot, width: int) -> None:
    text = show(REPORT, Options(width=width, statistics=True))
    snapshot(f"full-{width}.txt", text)


def test_full_in_colour(snapshot: Snapshot) -> None:
    text = show(REPORT, Options(width=80, color=True))
    snapshot("full-colour.txt", text)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert plain == show(REPORT, Options(width=80))


def test_full_in_ascii() -> None:
    text = show(REPORT, Options(width=80, glyphs=ASCII))
    assert "  + gemm_small" in text
    assert not set("✓✗·…") & set(text)


def test_full_without_findings(snapshot: Snapshot) -> None:
    snapshot("full-clean.txt", show(CLEAN, Options(width=80)))
    snapshot("full-empty.txt", show(EMPTY, Options(width=80)))


@pytest.mark.parametrize("width", [60, 79, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    for line in show(REPORT, Options(width=width)).splitlines():
        unbreakable = max((cells(word) for word in line.split()), default=0)
        assert cells(line) <= width or unbreakable > width // 2, line


def test_concise(snapshot: Snapshot) -> None:
    stream = io.StringIO()
    concise.render(REPORT, stream, Options(width=60))
    snapshot("concise.txt", stream.getvalue())


def test_concise_tells_an_undecided_obligation_once() -> None:
    span = Span("kernels/pad.py", 7, 4, 7, 20)
    why = "it depends on `rows` of `helper`, which is not found (line 2)"
    finding = Diagnostic(
        "empty-shape", "", "note", "unknown", "possible: t is empty", span,
        kernel="pad", predicate="dimension 1 of t >= 1", undecided=why,
    )  # fmt: skip
    reasons = (
        Reason("kernels/pad.py", 7, f"dimension 1 of t >= 1: {why}"),
        Reason("kernels/pad.py", 7, "`pool` is not modelled"),
    )
    kernel = KernelReport("kernels/pad.py", "pad", 5, "nki", "nki", "trn2", "unknown")
    report = RunReport((replace(kernel, reasons=reasons),), (finding,))
    stream = io.StringIO()
    concise.render(report, stream, Options())
    assert stream.getvalue().splitlines() == [
        "kernels/pad.py:7:1: note[undecided] `pool` is not modelled [pad]",
        f"kernels/pad.py:7:5: note[empty-shape] possible: t is empty; not decided: {why} [pad]",
    ]


def test_json(snapshot: Snapshot) -> None:
    stream = io.StringIO()
    json_format.render(REPORT, stream, Options(version="1.2.3", statistics=True))
    snapshot("report.json", stream.getvalue())
    assert stream.getvalue().isascii()


def test_json_keeps_the_keys_of_version_1() -> None:
    document = json_format.document(REPORT, Options(version="1.2.3"))
    assert list(document)[:5] == ["schema_version", "tool", "kernels", "diagnostics", "errors"]
    assert document["tool"] == {"name": "tilelint", "version": "1.2.3"}
    assert list(document["kernels"][0])[:12] == [
        "path", "name", "line", "dialect", "api_version", "target", "status", "obligations",
        "calls", "assumptions", "reasons", "time_ms",
    ]  # fmt: skip
    assert list(document["diagnostics"][0])[:17] == [
        "rule", "name", "severity", "verdict", "message", "path", "line", "column", "end_line",
        "end_column", "kernel", "facts", "predicate", "counterexample", "replay", "notes", "fix",
    ]  # fmt: skip


def test_json_columns_are_one_based_and_floats_finite() -> None:
    diagnostic = Diagnostic(
        "r",
        "",
        "error",
        "always",
        "m",
        Span("a.py", 3, 0, 3, 4),
        counterexample={"x": float("inf")},
    )
    document = json_format.document(RunReport(diagnostics=(diagnostic,)), Options())
    found = document["diagnostics"][0]
    assert (found["column"], found["end_column"]) == (1, 5)
    assert json.loads(json.dumps(found, allow_nan=False))["counterexample"] == {"x": "inf"}


def test_every_format_has_a_renderer() -> None:
    for name in FORMATS:
        stream = io.StringIO()
        renderer(name)(RunReport(), stream, Options())
    with pytest.raises(KeyError):
        renderer("nonsense")


def frame_of(source: str, span: Span, *labels: Label, width: int = 80) -> list[str]:
    diagnostic = Diagnostic("r", "", "error", "always", "m", span, labels=labels)
    text = show(RunReport(diagnostics=(diagnostic,)), Options(width=width), {"a.py": source})
    return text.split("\n\n")[0].splitlines()[2:]


def test_marks_stay_under_tabs_and_wide_characters() -> None:
    source = "\tx\t= 幅('é', e\u0301, tile)\n"
    column = source.index("tile")
    code, marks = frame_of(source, Span("a.py", 1, column, 1, column + 4))[1:3]
    assert code == "1 |     x   = 幅('é', e\u0301, tile)"
    assert cells(marks[: marks.index("^")]) == cells(code[: code.index("tile")])
    assert marks.count("^") == 4


def test_characters_that_would_disturb_a_terminal_are_replaced() -> None:
    code = frame_of("a = '\x1b[31m\u202e'\n", Span("a.py", 1, 0, 1, 1))[1]
    assert code == "1 | a = '\ufffd[31m\ufffd'"


def test_a_long_line_is_scrolled_to_its_mark() -> None:
    source = f"{'x' * 300} + tile + {'y' * 300}"
    code, marks = frame_of(source, Span("a.py", 1, 303, 1, 307), width=60)[1:3]
    assert cells(code) <= 60
    assert code[marks.index("^") :].startswith("tile")
    assert code.count("…") == 2


def test_positions_outside_the_file_do_not_break_the_report() -> None:
    assert frame_of("x\n", Span("a.py", 99, 4, 99, 5)) == []
    assert frame_of("x\n", Span("missing.py", 1, 0, 1, 1)) == []
    assert frame_of("x\n", Span("a.py", 1, 50, 1, 60))[2] == "  |  ^"
    assert frame_of("x\ny", Span("a.py", 1, 0, 99, 1))[1] == " 1 | / x"
    assert frame_of("", Span("a.py", 1, 0, 1, 0))[2] == "  | ^"


def test_labels_of_one_line_hang_below_each_other() -> None:
    source = "copy(dst, src)\n"
    lines = frame_of(
        source,
        Span("a.py", 1, 0, 1, 4),
        Label(Span("a.py", 1, 0, 1, 4), "here"),
        Label(Span("a.py", 1, 5, 1, 8), "48 columns"),
        Label(Span("a.py", 1, 10, 1, 13), "64 columns"),
    )
    assert lines == [
        "  |",
        "1 | copy(dst, src)",
        "  | ^^^^ ---  --- 64 columns",
        "  | |    |",
        "  | |    48 columns",
        "  | here",
    ]


def test_a_label_inside_a_region_of_several_lines() -> None:
    source = "copy(\n    dst,\n    src,\n)\n"
    lines = frame_of(
        source,
        Span("a.py", 1, 0, 4, 1),
        Label(Span("a.py", 2, 4, 2, 7), "48 columns"),
        Label(Span("a.py", 1, 0, 4, 1), "must be equal"),
    )
    assert lines == [
        "  |",
        "1 | / copy(",
        "2 | |     dst,",
        "  | |     --- 48 columns",
        "3 | |     src,",
        "4 | | )",
        "  | |_^ must be equal",
    ]


def test_syntax_errors_are_shown_with_their_line() -> None:
    report = RunReport(errors=(FileError("a.py", 2, "expected ':'", "syntax"),))
    text = show(report, Options(), {"a.py": "x\n  def f()\n"})
    assert text.startswith("error[syntax-error]: expected ':'\n --> a.py:2:3\n")
    assert "2 |   def f()\n  |   ^^^^^^^" in text


def test_messages_stay_on_one_line() -> None:
    span = Span("a.py", 1, 0, 1, 1)
    report = RunReport(diagnostics=(Diagnostic("r", "", "error", "always", "a\n\x1b[0mb", span),))
    stream = io.StringIO()
    concise.render(report, stream, Options())
    assert stream.getvalue() == "a.py:1:1: error[r] a  [0mb\n"


def test_no_colour_outside_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "71")
    monkeypatch.setenv("TERM", "xterm")
    assert Options.for_stream(Terminal(), version="1").color
    assert Options.for_stream(Terminal(), version="1").width == 71
    assert not Options.for_stream(io.StringIO(), version="1").color
    monkeypatch.setenv("NO_COLOR", "1")
    assert not Options.for_stream(Terminal(), version="1").color


def test_kernels_of_several_targets_share_a_block() -> None:
    kernel = replace(CLEAN.kernels[0], target="trn1", contract="")
    text = show(replace(CLEAN, kernels=(kernel, replace(kernel, target="trn3"))), Options(width=90))
    assert text.count("kernels/gemm.py") == 1
    assert "trn1 0.6" in text and "trn3 0.6" in text


LEFT_OUT = replace(
    REPORT,
    diagnostics=(replace(REPORT.diagnostics[0], suppressed="why"), *REPORT.diagnostics[1:]),
    known=(Known("the baseline", ("a:1", "b:1")), Known("main", ("c:1",)), Known("v1", ())),
    gone=tuple(Entry("k.py", "slice-bounds", "f", f"message {n}", f"{n}:1") for n in range(12)),
)


def test_what_is_left_out_is_counted() -> None:
    text = show(LEFT_OUT, Options(width=100))
    assert "psum-bank-size" not in text
    assert (
        "4 errors, 1 note, 1 failure, 1 suppressed, 2 known from the baseline, 1 known from main\n"
        "12 findings of the baseline are no longer there:\n"
        "  k.py: slice-bounds: message 0 [f]\n"
    ) in text
    assert text.endswith("  k.py: slice-bounds: message 9 [f]\n  … and 2 more\n")
    assert "no longer there" not in show(replace(LEFT_OUT, shard=Shard(1, 2)), Options(width=100))


def test_concise_has_what_is_not_suppressed_or_known() -> None:
    def lines(report: RunReport) -> list[str]:
        stream = io.StringIO()
        concise.render(report, stream, Options(width=100))
        return stream.getvalue().splitlines()

    before, after = lines(REPORT), lines(LEFT_OUT)
    assert [line for line in before if line not in after] == [
        line for line in before if "psum-bank-size" in line
    ]
    known = tuple(replace(kernel, known=True) for kernel in REPORT.kernels)
    assert not any("undecided" in line for line in lines(replace(REPORT, kernels=known)))
