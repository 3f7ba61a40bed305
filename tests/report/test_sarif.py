from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from tests.sweeps import examples
from verifier.report import sarif
from verifier.report.fingerprints import fingerprinted
from verifier.report.model import Diagnostic, Edit, FileError, Fix, RunReport, Span
from verifier.report.places import uri
from verifier.report.rules import RuleText
from verifier.report.text import Options

from .samples import DIAGNOSTICS, EMPTY, ERRORS, REPORT, SOURCES
from .strategies import reports

Snapshot = Callable[[str, str], None]

RULES = {
    "matmul-moving-free": RuleText(
        "matmul-moving-free",
        "NKI301",
        "matmul",
        "the moving operand fits one instruction",
        "The Tensor Engine streams at most 512 columns at once.",
        "# matmul-moving-free\n\nThe moving operand fits one instruction.\n",
        "error",
        ("MMU04",),
        ("nki",),
    )
}
OPTIONS = Options(version="1.2.3", rules=RULES)
FIX = Fix(
    "insert the missing precondition",
    False,
    (Edit(Span("kernels/gemm.py", 5, 4, 5, 4), "assert rhs.shape[1] <= 512\n    "),),
)
SUPPRESSED = (
    replace(DIAGNOSTICS[0], fix=FIX),
    replace(DIAGNOSTICS[1], suppressed="the width is checked by the caller"),
    *DIAGNOSTICS[2:],
)
FULL = fingerprinted(replace(REPORT, diagnostics=SUPPRESSED), SOURCES.get)

#: The keys that our logs use, of the objects of the standard that they are in.
KEYS = {
    "log": {"$schema", "version", "runs"},
    "run": {"tool", "invocations", "originalUriBaseIds", "columnKind", "results"},
    "driver": {"name", "version", "rules"},
    "invocation": {"executionSuccessful", "toolExecutionNotifications"},
    "notification": {"level", "message", "locations", "properties"},
    "rule": {
        "id", "name", "shortDescription", "fullDescription", "help", "defaultConfiguration",
        "properties",
    },
    "result": {
        "ruleId", "ruleIndex", "kind", "level", "message", "locations", "relatedLocations",
        "partialFingerprints", "suppressions", "fixes", "properties",
    },
    "location": {"id", "physicalLocation", "logicalLocations", "message"},
    "suppression": {"kind", "status", "justification"},
    "fix": {"description", "artifactChanges", "properties"},
}  # fmt: skip
LEVELS = {"error", "warning", "note"}


def only(thing: dict[str, Any], name: str, *required: str) -> None:
    assert set(thing) <= KEYS[name], name
    assert set(required) <= set(thing), name


def check_message(message: dict[str, Any]) -> None:
    assert set(message) == {"text"}
    assert message["text"]
    assert "](" not in message["text"]


def check_region(region: dict[str, Any]) -> None:
    assert set(region) in ({"startLine"}, {"startLine", "startColumn", "endLine", "endColumn"})
    assert all(isinstance(value, int) and value >= 1 for value in region.values())
    start = (region["startLine"], region.get("startColumn", 1))
    assert start <= (region.get("endLine", start[0]), region.get("endColumn", start[1]))


def check_artifact(artifact: dict[str, Any]) -> None:
    parts = urlsplit(artifact["uri"])
    assert artifact["uri"].isascii()
    assert parts.query == parts.fragment == ""
    if "uriBaseId" in artifact:
        assert set(artifact) == {"uri", "uriBaseId"}
        assert artifact["uriBaseId"] == "%SRCROOT%"
        assert not parts.scheme
        assert not artifact["uri"].startswith(("/", ".."))
    else:
        assert parts.scheme == "file"


def check_location(location: dict[str, Any]) -> None:
    only(location, "location", "physicalLocation")
    physical = location["physicalLocation"]
    assert {"artifactLocation"} <= set(physical) <= {"artifactLocation", "region"}
    check_artifact(physical["artifactLocation"])
    if "region" in physical:
        check_region(physical["region"])


def check(log: dict[str, Any]) -> None:
    """What the standard and code scanning demand of logs like ours."""
    only(log, "log", *KEYS["log"])
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    only(run, "run", *KEYS["run"])
    driver = run["tool"]["driver"]
    only(driver, "driver", *KEYS["driver"])
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(ids) == len(set(ids))
    for rule in driver["rules"]:
        only(rule, "rule", "id", "name", "defaultConfiguration")
        assert rule["defaultConfiguration"]["level"] in LEVELS
        for key in ("shortDescription", "fullDescription"):
            assert 0 < len(rule.get(key, {"text": "x"})["text"]) <= 1024
        assert len(rule.get("properties", {}).get("tags", ())) <= 10
    (invocation,) = run["invocations"]
    only(invocation, "invocation", *KEYS["invocation"])
    for notification in invocation["toolExecutionNotifications"]:
        only(notification, "notification", "message")
        check_message(notification["message"])
    assert run["columnKind"] == "unicodeCodePoints"
    assert len(run["results"]) <= sarif.MOST_RESULTS
    assert len({"suppressions" in result for result in run["results"]}) <= 1
    for result in run["results"]:
        only(result, "result", "ruleId", "ruleIndex", "level", "message", "locations")
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["kind"] == "fail"
        assert result["level"] in LEVELS
        check_message(result["message"])
        for location in (*result["locations"], *result.get("relatedLocations", ())):
            check_location(location)
        numbers = [location["id"] for location in result.get("relatedLocations", ())]
        assert numbers == sorted(set(numbers))
        for suppression in result.get("suppressions", ()):
            only(suppression, "suppression", "kind")
            assert suppression["kind"] == "inSource"
        for fix in result.get("fixes", ()):
            only(fix, "fix", "artifactChanges")
            for change in fix["artifactChanges"]:
                check_artifact(change["artifactLocation"])
                for replacement in change["replacements"]:
                    assert set(replacement) == {"deletedRegion", "insertedContent"}
                    check_region(replacement["deletedRegion"])


@pytest.fixture(scope="session")
def faults() -> Callable[[str], list[str]]:
    """What a log breaks of the schema of the standard."""
    place = os.environ.get("TILELINT_SARIF_SCHEMA")
    if not place:
        pytest.skip("TILELINT_SARIF_SCHEMA does not name a copy of sarif-schema-2.1.0.json")
    validators = pytest.importorskip("jsonschema.validators")
    schema = json.loads(Path(place).read_text(encoding="utf-8"))
    kind = validators.validator_for(schema)
    kind.check_schema(schema)
    validator = kind(schema, format_checker=kind.FORMAT_CHECKER)

    def find(text: str) -> list[str]:
        return [
            f"{e.json_path}: {e.message[:200]}" for e in validator.iter_errors(json.loads(text))
        ]

    return find


def render(report: RunReport, options: Options = OPTIONS) -> str:
    stream = io.StringIO()
    sarif.render(report, stream, options)
    return stream.getvalue()


def test_snapshot(snapshot: Snapshot) -> None:
    text = render(FULL)
    assert text.isascii()
    check(json.loads(text))
    snapshot("report.sarif", text)


@settings(max_examples=examples(40), deadline=None)
@given(reports())
def test_any_report_is_a_log(report: RunReport) -> None:
    check(json.loads(render(report)))


@pytest.mark.parametrize("report", [FULL, REPORT, EMPTY, RunReport(errors=ERRORS)])
def test_the_official_schema(faults: Callable[[str], list[str]], report: RunReport) -> None:
    assert faults(render(report)) == []


@settings(max_examples=examples(60), deadline=None)
@given(report=reports())
def test_the_official_schema_on_any_report(
    faults: Callable[[str], list[str]], report: RunReport
) -> None:
    assert faults(render(report)) == []


def run_of(report: RunReport, options: Options = OPTIONS) -> dict[str, Any]:
    run: dict[str, Any] = sarif.document(report, options)["runs"][0]
    return run


def test_failures_are_notifications_and_bad_syntax_is_a_result() -> None:
    run = run_of(RunReport(errors=ERRORS))
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"]
    (notification,) = invocation["toolExecutionNotifications"]
    assert notification["message"]["text"].startswith("internal error")
    (result,) = run["results"]
    assert result["ruleId"] == "syntax-error"
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 3}
    only_syntax = run_of(RunReport(errors=ERRORS[:1]))
    assert only_syntax["invocations"][0]["executionSuccessful"]


def test_undecided_kernels_are_notes_unless_they_are_known() -> None:
    kernels = [k for k in REPORT.kernels if k.status == "unknown"]
    (result,) = run_of(RunReport(kernels=tuple(kernels)))["results"]
    assert (result["ruleId"], result["level"]) == ("undecided", "note")
    assert result["message"]["text"] == (
        "pool could not be decided for trn2: the shape of tile depends on a call that is not "
        "modelled (and 4 more)"
    )
    assert len(result["relatedLocations"]) == 5
    known = tuple(replace(kernel, known=True) for kernel in kernels)
    assert run_of(RunReport(kernels=known))["results"] == []


def test_the_least_severe_results_are_left_out() -> None:
    span = Span("a.py", 1, 0, 1, 1)
    notes = [Diagnostic("n", "", "note", "unknown", str(n), span) for n in range(25_010)]
    error = Diagnostic("e", "", "error", "always", "last", span)
    run = run_of(RunReport(diagnostics=(*notes, error)))
    assert len(run["results"]) == 25_000
    assert run["results"][0]["ruleId"] == "e"
    (notification,) = run["invocations"][0]["toolExecutionNotifications"]
    assert notification["message"]["text"] == "11 results are left out: a run can have 25000"
    assert run["invocations"][0]["executionSuccessful"]


def test_paths_count_from_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    options = replace(OPTIONS, root=str(tmp_path))
    errors = tuple(FileError(path, 1, "m", "syntax") for path in ("k ä#.py", "../b.py", "/x/c.py"))
    found = [
        result["locations"][0]["physicalLocation"]["artifactLocation"]
        for result in run_of(RunReport(errors=errors), options)["results"]
    ]
    assert found == [
        {"uri": "sub/k%20%C3%A4%23.py", "uriBaseId": "%SRCROOT%"},
        {"uri": "b.py", "uriBaseId": "%SRCROOT%"},
        {"uri": "file:///x/c.py"},
    ]


def test_names_that_are_no_text() -> None:
    assert uri("a\udce4.py") == "a%E4.py"
    assert unquote(uri("größe/100%.py")) == "größe/100%.py"
    check(sarif.document(RunReport(errors=(FileError("\ud800.py", 1, "m", "syntax"),)), OPTIONS))


def test_fixes_are_replacements() -> None:
    result = next(r for r in run_of(FULL)["results"] if "fixes" in r)
    (fix,) = result["fixes"]
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "kernels/gemm.py"
    assert change["replacements"][0]["deletedRegion"] == {
        "startLine": 5, "startColumn": 5, "endLine": 5, "endColumn": 5,
    }  # fmt: skip
    assert fix["properties"] == {"safe": False}
