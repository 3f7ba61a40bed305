from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from tests.sweeps import examples
from verifier.report.baseline import (
    SOURCE,
    Baseline,
    BaselineError,
    Weight,
    applied,
    of,
    read,
    text,
    without_known,
)
from verifier.report.fingerprints import fingerprinted, of_report
from verifier.report.model import Known, RunReport

from .samples import REPORT, SOURCES
from .strategies import reports

REPORT_ = replace(fingerprinted(REPORT, SOURCES.get), errors=())


def test_a_baseline_makes_all_findings_known(tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    file.write_text(text(of(REPORT_)), encoding="utf-8")
    report = applied(REPORT_, read(str(file)))
    assert report.diagnostics == ()
    assert report.undecided == ()
    assert report.gone == ()
    (known,) = report.known
    assert known == Known(SOURCE, tuple(sorted(of_report(REPORT_))))
    healthy = tuple(kernel for kernel in report.kernels if kernel.status != "error")
    assert replace(report, kernels=healthy).exit_status(strict=True) == 0


@settings(max_examples=examples(90), deadline=None)
@given(reports())
def test_any_baseline_comes_back_and_knows_everything(report: RunReport) -> None:
    baseline = of(report)
    document = json.loads(text(baseline))
    assert document["findings"] == sorted(document["findings"], key=lambda f: tuple(f.values()))
    after = applied(report, baseline)
    assert not after.shown and not after.undecided and not after.gone
    # parts come and go with what stands for them
    kept = [d for d in after.diagnostics if not d.part]
    assert len(kept) + sum(len(known.fingerprints) for known in after.known) == len(
        [d for d in report.diagnostics if not d.part]
    ) + len(report.undecided)


def test_a_baseline_is_readable_and_stable() -> None:
    baseline = of(REPORT_)
    printed = text(baseline)
    assert printed == text(Baseline(tuple(reversed(baseline.entries))))
    first = json.loads(printed)["findings"][0]
    keys = ["path", "rule", "kernel", "message", "fingerprint", "severity", "verdict"]
    assert list(first) == keys
    assert "größe.py" in printed
    assert "counterexample" not in printed


def test_new_findings_are_reported_and_gone_ones_said() -> None:
    first, *others = REPORT_.diagnostics
    before = of(replace(REPORT_, diagnostics=tuple(others)))
    assert applied(REPORT_, before).diagnostics == (first,)
    fixed = applied(replace(REPORT_, diagnostics=(first,)), before)
    assert {entry.rule for entry in fixed.gone} == {diagnostic.rule for diagnostic in others}
    some = applied(RunReport(), before, expected=lambda entry: entry.rule == "undecided")
    assert [entry.rule for entry in some.gone] == ["undecided"]


@pytest.mark.parametrize(
    ("before", "after", "known"),
    [
        (("note", "unknown"), ("note", "unknown"), True),
        (("note", "unknown"), ("error", "always"), False),
        (("note", "unknown"), ("note", "sometimes"), False),
        (("warning", "unknown"), ("warning", "sometimes"), False),
        (("note", "sometimes"), ("error", "sometimes"), False),
        (("warning", "sometimes"), ("error", "always"), False),
        (("warning", "sometimes"), ("note", "unknown"), True),
        (("error", "always"), ("warning", "sometimes"), True),
        (("error", "sometimes"), ("error", "always"), True),
        (("", ""), ("error", "always"), True),
    ],
)
def test_what_has_become_graver_is_not_known(
    before: tuple[Any, Any], after: tuple[Any, Any], known: bool, tmp_path: Path
) -> None:
    finding = REPORT_.diagnostics[0]
    (entry,) = of(RunReport(diagnostics=(finding,))).entries
    entry = replace(entry, severity=before[0], verdict=before[1])
    file = tmp_path / "baseline.json"
    file.write_text(text(Baseline((entry,))), encoding="utf-8")
    now = replace(finding, severity=after[0], verdict=after[1])
    report = applied(RunReport(diagnostics=(now,)), read(str(file)))
    assert report.diagnostics == (() if known else (now,))
    assert report.gone == ()


def test_suppressed_findings_are_neither_written_nor_dropped() -> None:
    first, *others = REPORT_.diagnostics
    report = replace(REPORT_, diagnostics=(replace(first, suppressed="why"), *others))
    assert first.fingerprint not in {entry.fingerprint for entry in of(report).entries}
    after = without_known(report, dict.fromkeys(of_report(REPORT_), Weight()), "main")
    assert [diagnostic.suppressed for diagnostic in after.diagnostics] == ["why"]


ENTRY = {"path": "a", "rule": "r", "kernel": "k", "message": "m", "fingerprint": "f:1"}


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], 'no object with "findings"'),
        ({}, 'no object with "findings"'),
        ({"findings": []}, "schema_version None is not 1"),
        ({"schema_version": 2, "findings": []}, "schema_version 2 is not 1"),
        ({"schema_version": 1, "findings": {}}, '"findings" is not a list'),
        ({"schema_version": 1, "findings": [ENTRY, 3]}, "finding 2 is not an object"),
        (
            {"schema_version": 1, "findings": [{**ENTRY, "rule": 3}]},
            'finding 1 has no text for "rule"',
        ),
        (
            {"schema_version": 1, "findings": [{**ENTRY, "severity": ["error"]}]},
            'finding 1: "severity" is none of error, warning, note',
        ),
        (
            {"schema_version": 1, "findings": [{**ENTRY, "verdict": "perhaps"}]},
            'finding 1: "verdict" is none of always, sometimes, unknown',
        ),
    ],
)
def test_what_is_no_baseline(tmp_path: Path, document: Any, said: str) -> None:
    file = tmp_path / "baseline.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(BaselineError) as error:
        read(str(file))
    assert str(error.value).startswith(f"{file}: ")
    assert said in str(error.value)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe\xff", b"[" * 100_000])
def test_what_is_not_even_json(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "baseline.json"
    file.write_bytes(data)
    with pytest.raises(BaselineError, match="not a baseline"):
        read(str(file))
    with pytest.raises(BaselineError, match="No such file"):
        read(str(tmp_path / "absent.json"))
