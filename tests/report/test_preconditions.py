"""A kernel's precondition in every format: one finding, with its parts only where they are asked
for."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from verifier.report import concise, full, github, json_format, junit, sarif
from verifier.report.baseline import applied, of, text
from verifier.report.fingerprints import fingerprinted
from verifier.report.json_reader import read
from verifier.report.merging import merged
from verifier.report.model import (
    Conjunct,
    Diagnostic,
    Fix,
    KernelReport,
    Label,
    Need,
    ObligationCounts,
    Precondition,
    RunReport,
    Severity,
    Span,
    deduplicate,
)
from verifier.report.sources import Sources
from verifier.report.text import Options, cells

from .samples import GEMM, SOURCES, span

Snapshot = Callable[[str, str], None]

NAME = span(GEMM, 4, "gemm")
COLUMNS = Conjunct(
    "cols <= 512",
    "moving free size <= 512",
    "matmul-moving-free",
    ("MMU04",),
    span(GEMM, 11, "moving[step * 96 : step * 96 + 96, 0:cols]"),
    (Need("psum-bank-size", span(GEMM, 7, "acc")),),
    witness={"rhs.shape": [96, 513]},
    breach="cols = 513",
)
ROWS = Conjunct(
    "rows % 96 == 0",
    "the tail of `rhs` along dimension 0 is never read",
    "input-tail-dropped",
    ("B19",),
    span(GEMM, 10, "nl.affine_range(rows // 96)"),
    silent=True,
    breach="rows = 97",
)
GRID = Conjunct("num_programs(0) == 1", "out is written once", "race", (), NAME, grid=True)
HUGE = Conjunct(
    "cols*rhs.dtype.itemsize <= 1099511627776",
    "elements <= 2**40",
    "access-size",
    (),
    span(GEMM, 9, "nl.load(rhs)"),
    minor=True,
    breach="cols = 549755813889",
)
DTYPE = Conjunct(
    "lhsT.dtype in (float32, bfloat16)",
    "dtype of stationary is one the array multiplies",
    "matmul-dtypes",
    (),
    NAME,
    dtype=True,
)
ALL = Precondition(
    (DTYPE, COLUMNS, ROWS, GRID, HUGE),
    asserted=("rhs.shape[0] >= 96",),
)
KERNEL = KernelReport(
    GEMM,
    "gemm",
    4,
    "nki",
    "0.6",
    "trn2",
    "conditional",
    ObligationCounts(31, 28, 3),
    assumptions=("rows >= 96",),
    precondition=ALL,
)


def block(condition: Precondition = ALL, severity: Severity = "error") -> Diagnostic:
    return Diagnostic(
        "precondition",
        "precondition",
        severity,
        "sometimes",
        condition.headline("gemm", ("trn2",)),
        NAME,
        "gemm",
        predicate=condition.brief,
        labels=tuple(Label(c.span, f"needs {c.text}") for c in condition.main),
        fix=Fix("assert what it needs", False, ()),
        targets=("trn2",),
        precondition=condition,
    )


def part(conjunct: Conjunct, severity: Severity = "warning") -> Diagnostic:
    return Diagnostic(
        conjunct.rule,
        "",
        severity,
        "sometimes",
        f"{conjunct.text} does not hold",
        conjunct.span,
        "gemm",
        predicate=conjunct.text,
        counterexample=conjunct.witness,
        targets=("trn2",),
        part=True,
    )


REPORT = fingerprinted(
    RunReport(
        (KERNEL,),
        tuple(deduplicate((block(), part(COLUMNS), part(ROWS, "error"), part(HUGE)))),
        statistics={"files": 1},
    ),
    SOURCES.get,
)


def shown(render: Callable[..., None], options: Options, report: RunReport = REPORT) -> str:
    stream = io.StringIO()
    render(report, stream, options, *([Sources(SOURCES)] if render is full.render else []))
    return stream.getvalue()


@pytest.mark.parametrize("width", [60, 100])
def test_the_block(snapshot: Snapshot, width: int) -> None:
    printed = shown(full.render, Options(width=width))
    snapshot(f"precondition-{width}.txt", printed)
    assert all(cells(line) <= width for line in printed.splitlines())
    assert HUGE.text not in printed


def test_the_parts_have_frames_where_they_are_asked_for(snapshot: Snapshot) -> None:
    printed = shown(full.render, Options(width=100, verbose=True))
    snapshot("precondition-verbose.txt", printed)
    assert HUGE.text in printed
    for rule in ("matmul-moving-free", "input-tail-dropped", "access-size"):
        assert f"[{rule}]" in printed


def test_a_long_condition_is_told_part_by_part() -> None:
    names = [f"a_rather_long_name_of_a_size_{n}" for n in range(20)]
    found = [replace(COLUMNS, text=f"{name} <= 512") for name in names]
    found[-1] = replace(found[-1], silent=True)
    condition = replace(ALL, conjuncts=tuple(found))
    report = replace(REPORT, diagnostics=(block(condition),))
    printed = shown(full.render, Options(width=100), report)
    assert [name for name in names if name in printed] == [*names[:8], names[-1]]
    assert "and 11 more conditions" in printed
    whole = shown(full.render, Options(width=100, verbose=True), report)
    assert all(name in whole for name in names)


def test_what_the_headline_says() -> None:
    assert ALL.headline("gemm", ("trn2",)).startswith("`gemm` is right on trn2 exactly when cols")
    least = replace(ALL, exact=False)
    assert "is right on trn1 and trn2 at least when" in least.headline("gemm", ("trn1", "trn2"))
    unsure = replace(least, sufficient=False, undecided=("`f` is not modelled",))
    assert "is right, as far as decided, when" in unsure.headline("gemm")
    both = replace(unsure, faulty=True)
    assert "is right, but for its faults and as far as decided, when" in both.headline("gemm")
    faulty = replace(unsure, undecided=())
    assert "is right, but for its faults, when" in faulty.headline("gemm")
    for condition, left in ((ALL, ""), (unsure, "what is not decided"), (faulty, "its faults")):
        report = replace(REPORT, diagnostics=(block(condition),))
        printed = shown(full.render, Options(width=100), report)
        comment = f" # leaves {left}" if left else ""
        assert f"--unsafe-fixes kernels/gemm.py{comment}\n" in printed


def test_concise_has_one_line() -> None:
    [line] = shown(concise.render, Options()).splitlines()
    assert line == (
        f"{GEMM}:4:5: error[precondition] `gemm` is right on trn2 exactly when cols <= 512 and "
        "rows % 96 == 0 and num_programs(0) == 1 [gemm]"
    )
    assert len(shown(concise.render, Options(verbose=True)).splitlines()) == 4


def test_sarif_has_the_places_of_the_parts() -> None:
    [result] = sarif.document(REPORT, Options())["runs"][0]["results"]
    assert result["ruleId"] == "precondition"
    lines = [
        place["physicalLocation"]["region"]["startLine"] for place in result["relatedLocations"]
    ]
    assert lines == [11, 10, 4]
    assert "rows % 96 == 0: else the tail of `rhs`" in result["message"]["text"]


def test_github_and_junit_have_one_finding() -> None:
    annotations = [li for li in shown(github.render, Options()).splitlines() if li[:2] == "::"]
    assert len(annotations) == 1 and annotations[0].startswith("::error ")
    assert "cols <= 512: moving free size <= 512 (line 11; cols = 513 breaks it)" in annotations[0]
    printed = shown(junit.render, Options())
    assert printed.count("<failure ") == 1 and 'failures="1"' in printed


def test_json_leaves_the_parts_out_and_keeps_the_condition() -> None:
    document = json_format.document(REPORT, Options())
    assert [found["rule"] for found in document["diagnostics"]] == ["precondition"]
    condition = document["kernels"][0]["precondition"]
    assert [c["text"] for c in condition["conjuncts"]] == [
        DTYPE.text,
        COLUMNS.text,
        ROWS.text,
        GRID.text,
        HUGE.text,
    ]
    assert condition["conjuncts"][1]["witness"] == {"rhs.shape": [96, 513]}
    assert len(json_format.document(REPORT, Options(verbose=True))["diagnostics"]) == 4


@pytest.mark.parametrize("verbose", [False, True])
def test_what_is_read_back_is_shown_alike(verbose: bool) -> None:
    printed = json.dumps(json_format.document(REPORT, Options(verbose=verbose)))
    found = merged([("one", read(printed.encode()).report)], lambda *_: "")
    options = Options(verbose=verbose)
    assert shown(full.render, options, found) == shown(full.render, options)
    kept = {d.rule: d.fingerprint for d in found.diagnostics}
    before = {d.rule: d.fingerprint for d in REPORT.diagnostics}
    assert kept == {rule: before[rule] for rule in kept}


def test_a_finding_that_is_no_part_keeps_its_fingerprint_beside_parts() -> None:
    bug = replace(part(COLUMNS), part=False, span=replace(COLUMNS.span, line=12, end_line=12))
    sources = {GEMM: SOURCES[GEMM].replace("    nl.store(out, acc)", SOURCES[GEMM].split("\n")[10])}
    for found in ((bug,), (part(COLUMNS), bug)):
        marked = fingerprinted(RunReport(diagnostics=found), sources.get)
        assert marked.diagnostics[-1].fingerprint.endswith(":1")


@pytest.mark.parametrize(
    ("severity", "strict", "status"),
    [("warning", False, 0), ("warning", True, 1), ("error", False, 1), ("note", True, 0)],
)
def test_only_the_block_counts(severity: Severity, strict: bool, status: int) -> None:
    report = replace(REPORT, diagnostics=(block(severity=severity), part(ROWS, "error")))
    assert report.exit_status(strict=strict) == status


def test_one_block_for_targets_that_agree() -> None:
    there = replace(block(), targets=("trn1",), message=ALL.headline("gemm", ("trn1",)))
    [found] = deduplicate((block(), there))
    assert found.targets == ("trn1", "trn2")
    assert found.message.startswith("`gemm` is right on trn1 and trn2 exactly when")
    fewer = replace(ALL, conjuncts=(COLUMNS,))
    other = replace(block(fewer), targets=("trn1",), message=fewer.headline("gemm", ("trn1",)))
    assert len(deduplicate((block(), other))) == 2


def test_what_no_precondition_excludes_hides_behind_no_part() -> None:
    bug = replace(part(COLUMNS), part=False, targets=("trn1",))
    found, other = deduplicate((replace(part(COLUMNS), severity="error"), bug))
    assert not found.part and found.targets == ("trn1",)
    assert other.part and other.targets == ("trn2",)


def _marked(*found: Diagnostic) -> RunReport:
    return fingerprinted(replace(REPORT, diagnostics=found), SOURCES.get)


def test_a_baseline_knows_a_block_by_its_conjuncts() -> None:
    known = of(REPORT)
    assert [entry.rule for entry in known.entries] == ["precondition"]
    assert known.entries[0].conjuncts == tuple(sorted(c.text for c in ALL.main))
    assert '"conjuncts"' in text(known)
    same = applied(REPORT, known)
    assert not same.diagnostics and "gemm" not in shown(full.render, Options(), same)
    fewer = applied(_marked(block(replace(ALL, conjuncts=(ROWS,)))), known)
    assert not fewer.diagnostics
    more = replace(ALL, conjuncts=(COLUMNS, ROWS, replace(GRID, text="rows <= 960")))
    assert applied(_marked(block(more), part(COLUMNS)), known).diagnostics


def test_a_block_that_became_an_error_is_new() -> None:
    known = of(_marked(block(severity="warning")))
    assert applied(_marked(block(severity="error")), known).diagnostics
    assert not applied(_marked(block(severity="warning")), known).diagnostics


def test_kernels_of_which_the_same_is_to_be_said_are_one_block() -> None:
    other = replace(block(), kernel="other", span=span(GEMM, 7, "acc"))
    shifted = replace(COLUMNS, span=span(GEMM, 9, "nl.load(rhs)"))
    other = replace(other, precondition=replace(ALL, conjuncts=(DTYPE, shifted, ROWS, GRID)))
    report = replace(REPORT, diagnostics=(block(), other))
    printed = shown(full.render, Options(width=100), report)
    assert "`gemm` and `other` are right on trn2 exactly when" in printed
    assert f"--> {GEMM}:4:5, 7:5" in printed
    assert "moving free size <= 512 · lines 11, 9 (and 1 more) · cols = 513 breaks it" in printed
    verbose = shown(full.render, Options(width=100, verbose=True), report)
    assert "`gemm` is right" in verbose and "`other` is right" in verbose
    for changed in (
        replace(COLUMNS, text="cols <= 511"),
        replace(COLUMNS, breach="cols = 514"),
        replace(COLUMNS, what="free size of moving <= 512"),
        replace(COLUMNS, silent=True),
    ):
        apart = replace(other, precondition=replace(ALL, conjuncts=(DTYPE, changed, ROWS, GRID)))
        printed = shown(full.render, Options(), replace(REPORT, diagnostics=(block(), apart)))
        assert "`gemm` is right" in printed and "`other` is right" in printed


def test_equal_blocks_of_other_files_are_one_where_the_lines_are_the_same() -> None:
    copied = "copies/gemm.py"
    moved = [replace(c, span=replace(c.span, path=copied)) for c in ALL.conjuncts]
    there = replace(NAME, path=copied)
    condition = replace(ALL, conjuncts=tuple(moved))
    copy = replace(block(), span=there, precondition=condition)
    report = replace(REPORT, diagnostics=(block(), copy))
    printed = shown(full.render, Options(width=100), report)
    assert printed.count("`gemm` is right on trn2 exactly when") == 1
    assert f"--> {GEMM}:4:5\n" in printed and f"also in {copied}:4:5\n" in printed
    assert "moving free size <= 512 · line 11 (and 1 more) · cols = 513 breaks it" in printed
    verbose = shown(full.render, Options(width=100, verbose=True), report)
    assert verbose.count("`gemm` is right on trn2 exactly when") == 2
    lower = [replace(c, span=replace(c.span, line=c.span.line + 1)) for c in moved]
    apart = replace(copy, precondition=replace(condition, conjuncts=tuple(lower)))
    printed = shown(full.render, Options(), replace(REPORT, diagnostics=(block(), apart)))
    assert printed.count("`gemm` is right on trn2") == 2 and "also in" not in printed


def test_what_goes_wrong_silently_is_told_alike() -> None:
    lost = replace(ROWS, silent=True, what="not all of it is written: only rows 0 to 95")
    condition = replace(ALL, conjuncts=(DTYPE, lost))
    assert lost.told == "else not all of it is written, silently: only rows 0 to 95"
    report = replace(REPORT, diagnostics=(block(condition),))
    for render in (full.render, github.render, junit.render, sarif.render):
        printed = " ".join(shown(render, Options(width=200), report).split())
        assert lost.told in printed
        assert "it takes lhsT.dtype in (float32, bfloat16)" in printed


def test_what_is_asserted_assumed_and_taken_stands_beside_the_condition() -> None:
    condition = replace(ALL, conjuncts=(DTYPE, COLUMNS), assumed=("n >= 0", "k >= 0"))
    report = replace(REPORT, diagnostics=(block(condition),))
    printed = " ".join(shown(full.render, Options(width=200), report).split())
    assert (
        "(it asserts rhs.shape[0] >= 96; it assumes n >= 0 and k >= 0; "
        "it takes lhsT.dtype in (float32, bfloat16))"
    ) in printed
    only = replace(condition, asserted=(), conjuncts=(COLUMNS,))
    printed = shown(full.render, Options(), replace(REPORT, diagnostics=(block(only),)))
    assert "(it assumes n >= 0 and k >= 0)" in printed
    # what there is no room for is left out whole, but for the fact that not all dtypes are taken
    for width, said in (
        (120, "(it asserts rhs.shape[0] >= 96; it assumes n >= 0 and k >= 0; it takes some dtypes"),
        (110, "(it asserts rhs.shape[0] >= 96; it assumes n >= 0 … it takes some dtypes only)"),
        (60, "(… it takes some dtypes only)"),
        (40, "`gemm` is right on trn2 for some dtypes exactly when"),
    ):
        printed = " ".join(shown(full.render, Options(width=width), report).split())
        assert said in printed, printed


def test_what_is_said_once_more_is_not_repeated() -> None:
    again = replace(ROWS, text="cols % 96 == 0", breach="cols = 97, cols2 = 97, s.shape = [1, 2]")
    condition = replace(ALL, conjuncts=(ROWS, again))
    printed = shown(full.render, Options(), replace(REPORT, diagnostics=(block(condition),)))
    assert "cols % 96 == 0  likewise · cols = cols2 = 97, s.shape = [1, 2]" in printed
    between = replace(ALL, conjuncts=(ROWS, COLUMNS, again))
    printed = shown(full.render, Options(), replace(REPORT, diagnostics=(block(between),)))
    rows = [line[2:16].strip() for line in printed.splitlines() if "·" in line]
    assert rows == ["rows % 96 == 0", "cols % 96 == 0", "cols <= 512"]
    assert "cols % 96 == 0  likewise · cols = cols2 = 97, s.shape = [1, 2]" in printed


def test_a_formula_that_says_the_same_gives_way_to_what_breaks_it() -> None:
    formula = "128*step + 127 < size"
    wide = replace(COLUMNS, what=formula, breach="cols = 513, the_size_of_the_other = 1")
    for conjunct, told in ((wide, False), (replace(wide, breach="cols = 513"), True)):
        condition = replace(ALL, conjuncts=(conjunct,))
        printed = shown(full.render, Options(), replace(REPORT, diagnostics=(block(condition),)))
        assert f"{conjunct.breach} breaks it" in printed
        assert (formula in printed) is told


def test_what_is_needed_is_not_said_twice_in_the_same_words() -> None:
    for what, shown_of_it in (("cols <= 512", False), ("cols < 513", True)):
        conjunct = replace(COLUMNS, what=what)
        condition = replace(ALL, conjuncts=(conjunct,))
        printed = shown(full.render, Options(), replace(REPORT, diagnostics=(block(condition),)))
        (row,) = (line for line in printed.splitlines() if "breaks it" in line)
        assert row.startswith(f"  cols <= 512  {'cols < 513 · ' * shown_of_it}line 11"), row


def test_a_very_long_condition_leaves_out_what_stands_in_parentheses() -> None:
    inner = " or ".join(f"x.dtype == y{n} and (x.dtype == z{n} or n > {n})" for n in range(20))
    long = replace(COLUMNS, text=f"n*(x.dtype if {inner} else y.dtype).itemsize <= (n + m)")
    report = replace(REPORT, diagnostics=(block(replace(ALL, conjuncts=(long,))),))
    assert "  n*(…).itemsize <= (n + m)\n" in shown(full.render, Options(), report)
    assert "x.dtype == y19" in shown(full.render, Options(verbose=True), report)


def test_what_a_condition_is_needed_for_leaves_out_what_a_condition_does() -> None:
    inner = " or ".join(f"x.dtype == y{n} and (x.dtype == z{n} or n > {n})" for n in range(20))
    long = replace(COLUMNS, what=f"size of n*(x.dtype if {inner} else y.dtype) is even")
    report = replace(REPORT, diagnostics=(block(replace(ALL, conjuncts=(long,))),))
    assert "size of n*(…) is even" in shown(full.render, Options(), report)
    assert "x.dtype == y19" in shown(full.render, Options(verbose=True), report)


def test_notes_that_say_the_same_of_other_names_are_one() -> None:
    first = replace(part(COLUMNS), severity="note", message="`a` is old", part=False)
    notes = (
        first,
        replace(first, message="`b` is old", span=span(GEMM, 9, "nl.load(rhs)")),
        replace(first, message="`b` is old", span=span(GEMM, 10, "nl.affine_range(rows // 96)")),
        replace(first, message="`c` is old", span=replace(NAME, path="other.py")),
        replace(first, message="`a` is new", span=span(GEMM, 7, "acc")),
    )
    printed = shown(full.render, Options(), replace(REPORT, diagnostics=notes))
    assert "also: `b` (lines 9, 10), other.py: `c` (line 4)\n" in printed
    assert printed.count("note[matmul-moving-free]") == 2
    verbose = shown(full.render, Options(verbose=True), replace(REPORT, diagnostics=notes))
    assert verbose.count("note[matmul-moving-free]") == 5


def test_causes_that_repeat_are_one_finding() -> None:
    bug = replace(part(COLUMNS), part=False)
    again = replace(bug, span=span(GEMM, 9, "nl.load(rhs)"), kernel="other")
    report = replace(REPORT, diagnostics=(again, bug))
    printed = shown(full.render, Options(), report)
    assert printed.count("warning[matmul-moving-free]") == 1
    assert "also: line 11" in printed
    assert shown(full.render, Options(verbose=True), report).count("[matmul-moving-free]") == 2


def test_places_in_other_files_are_named() -> None:
    elsewhere = replace(COLUMNS, span=Span("kernels/helpers.py", 2, 4, 2, 9))
    report = replace(REPORT, diagnostics=(block(replace(ALL, conjuncts=(elsewhere,))),))
    assert "kernels/helpers.py:2 (and 1 more)" in shown(full.render, Options(), report)
