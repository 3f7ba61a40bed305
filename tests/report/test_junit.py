from __future__ import annotations

import io
import os
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from tests.sweeps import examples
from verifier.report.model import RunReport
from verifier.report.text import Options

from .samples import DIAGNOSTICS, EMPTY, GEMM, KERNELS, REPORT
from .strategies import reports

Snapshot = Callable[[str, str], None]

junitparser = pytest.importorskip("junitparser")


def render(report: RunReport, *, strict: bool = False) -> str:
    from verifier.report import junit

    stream = io.StringIO()
    junit.render(report, stream, Options(strict=strict))
    return stream.getvalue()


def cases(text: str) -> dict[str, Any]:
    return {
        case.name: [type(result).__name__ for result in case.result]
        for suite in junitparser.JUnitXml.fromstring(text.encode())
        for case in suite
    }


def test_snapshot(snapshot: Snapshot) -> None:
    snapshot("junit.xml", render(REPORT))


def test_a_case_for_each_kernel() -> None:
    small = "gemm_small[trn2] gemm_small(lhsT: bfloat16[K, M]) where K % 96 == 0, M == 72"
    expected = {
        "gemm[trn2]": ["Failure", "Failure"],
        small: [],
        "pool[trn2]": ["Failure"],
        "pool_crash[trn2]": ["Error"],
        "syntax error": ["Error"],
        "internal error": ["Error"],
    }
    assert cases(render(REPORT)) == expected
    strict = {"gemm[trn2]": ["Failure"] * 3, "pool[trn2]": ["Failure"] * 2}
    assert cases(render(REPORT, strict=True)) == expected | strict


def test_undecided_kernels_are_skipped_unless_they_count() -> None:
    report = RunReport(kernels=KERNELS[2:3])
    assert cases(render(report)) == {"pool[trn2]": ["Skipped"]}
    assert cases(render(report, strict=True)) == {"pool[trn2]": ["Failure"]}
    known = RunReport(kernels=(replace(KERNELS[2], known=True),))
    assert cases(render(known, strict=True)) == {"pool[trn2]": []}


def test_a_kernel_whose_findings_are_suppressed_passes() -> None:
    found = tuple(replace(diagnostic, suppressed="why") for diagnostic in DIAGNOSTICS[:2])
    assert cases(render(RunReport(KERNELS[:1], found))) == {"gemm[trn2]": []}


def test_kernels_of_one_name_are_told_apart_by_their_files() -> None:
    twin = replace(KERNELS[0], path="other/gemm.py")
    text = render(RunReport((KERNELS[0], twin), DIAGNOSTICS[:1]))
    suites = {suite.name: suite for suite in junitparser.JUnitXml.fromstring(text.encode())}
    assert (suites[GEMM].failures, suites["other/gemm.py"].failures) == (1, 0)


def test_no_kernels() -> None:
    assert cases(render(EMPTY)) == {}


@settings(max_examples=examples(90), deadline=None)
@given(reports())
def test_any_report_is_a_document_that_agrees_with_the_exit_status(report: RunReport) -> None:
    for strict in (False, True):
        text = render(report, strict=strict)
        assert re.search(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text) is None
        suites = list(junitparser.JUnitXml.fromstring(text.encode()))
        failed = any(suite.failures + suite.errors for suite in suites)
        assert failed == (report.exit_status(strict=strict) != 0)


@pytest.fixture(scope="session")
def faults() -> Callable[[str], list[str]]:
    """What a report breaks of the schema that build servers read such reports by."""
    place = os.environ.get("TILELINT_JUNIT_SCHEMA")
    if not place:
        pytest.skip("TILELINT_JUNIT_SCHEMA does not name a copy of junit-10.xsd")
    schema = pytest.importorskip("xmlschema").XMLSchema(place)
    return lambda text: [str(error.reason) for error in schema.iter_errors(text)]


def test_reports_keep_to_the_schema(faults: Callable[[str], list[str]]) -> None:
    for report in (REPORT, EMPTY):
        assert faults(render(report)) == []


@settings(max_examples=examples(40), deadline=None)
@given(report=reports())
def test_any_report_keeps_to_the_schema(
    faults: Callable[[str], list[str]], report: RunReport
) -> None:
    assert faults(render(report)) == []


@pytest.mark.parametrize("milliseconds", [0.0, 0.004, 0.4, 12.25, 1e-9, 123456.789])
def test_times_are_decimal_numbers(milliseconds: float) -> None:
    text = render(RunReport(kernels=(replace(KERNELS[0], time_ms=milliseconds),)))
    times = re.findall(r' time="([^"]*)"', text)
    assert len(times) == 3
    assert all(re.fullmatch(r"\d+(\.\d{1,3})?", time) for time in times), times
