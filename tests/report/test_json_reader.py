from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sweeps import examples
from verifier.report import json_format
from verifier.report.fingerprints import fingerprinted
from verifier.report.json_reader import ReportError, read
from verifier.report.merging import MergeError, merged
from verifier.report.model import (
    Entry,
    FileResult,
    Known,
    RunReport,
    Shard,
    Unmatched,
)
from verifier.report.text import Options

from .samples import REPORT, SOURCES
from .strategies import reports, results

OPTIONS = Options(version="1.2.3", statistics=True, verbose=True)
ENTRY = Entry("a.py", "slice-bounds", "f", "a message", "0123456789abcdef:1")
PARTS: dict[str, Any] = {
    "known": (Known("the baseline", ("a:1", "b:2")), Known("main", ())),
    "gone": (ENTRY,),
    "shard": Shard(2, 8, (Unmatched("", 0, "gemn", "no such kernel", ("gemm", "pool")),)),
}


def text(report: RunReport, options: Options = OPTIONS) -> str:
    stream = io.StringIO()
    json_format.render(report, stream, options)
    return stream.getvalue()


def test_a_report_comes_back() -> None:
    report = replace(fingerprinted(REPORT, SOURCES.get), **PARTS)
    reading = read(text(report).encode())
    assert reading.report == replace(
        report, statistics={**report.statistics, "query_ms": [1.5, 4.0, 20.25]}
    )
    assert (reading.version, reading.statistics) == ("1.2.3", True)
    assert text(reading.report) == text(report)


@settings(max_examples=examples(40), deadline=None)
@given(reports())
def test_any_report_comes_back(report: RunReport) -> None:
    printed = text(report)
    found = read(printed.encode()).report
    assert text(found) == printed
    assert replace(found, statistics={}) == replace(report, statistics={})


def test_keys_that_are_not_known_are_ignored() -> None:
    document = json.loads(text(REPORT))
    document["later"] = 1
    document["kernels"][0]["later"] = {}
    assert text(read(json.dumps(document).encode()).report) == text(REPORT)


def _set(document: dict[str, Any], place: str, value: Any) -> None:
    *path, last = place.split(".")
    at: Any = document
    for key in path:
        at = at[int(key) if key.isdecimal() else key]
    if value is ...:
        del at[last]
    else:
        at[last] = value


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("schema_version", 1, "schema_version is 1, not 2"),
        ("schema_version", ..., "not a JSON report of tilelint: object missing required field"),
        ("tool.name", "ruff", "a report of ruff"),
        ("kernels", ..., "missing required field 'kernels'"),
        ("kernels.0.line", "4", "expected 'int', got 'str' - at '$.kernels[0].line'"),
        ("kernels.1.status", "fine", "$.kernels[1].status"),
        ("diagnostics.0.fingerprint", ..., "missing required field 'fingerprint'"),
        ("diagnostics.1.severity", "fatal", "$.diagnostics[1].severity"),
        ("diagnostics.0.counterexample", {"x": {}}, "$.diagnostics[0].counterexample['x']"),
        ("errors.0.kind", None, "$.errors[0].kind"),
        ("statistics.query_ms", 3, "$.statistics.query_ms.all"),
    ],
)
def test_what_is_wrong_is_said(place: str, value: Any, said: str) -> None:
    document = json.loads(text(REPORT))
    _set(document, place, value)
    with pytest.raises(ReportError) as error:
        read(json.dumps(document).encode())
    assert said in str(error.value)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"3", b"\xff", b'"text"', b"[" * 100_000])
def test_no_report_at_all(data: bytes) -> None:
    with pytest.raises(ReportError, match="not a JSON report"):
        read(data)


@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_broken_reports_are_refused_or_read(data: st.DataObject) -> None:
    printed = text(replace(REPORT, **PARTS)).encode()
    at = data.draw(st.integers(0, len(printed) - 1))
    rest = data.draw(st.integers(0, 30))
    broken = printed[:at] + data.draw(st.binary(max_size=4)) + printed[at + rest :]
    try:
        found = read(broken).report
    except ReportError as error:
        assert "\n" not in str(error)
    else:
        text(found)


def hint(name: str, known: object) -> str:
    return f"; {name} of {known}"


@settings(max_examples=examples(40), deadline=None)
@given(st.data(), st.integers(1, 4))
def test_shards_make_the_whole_run(data: st.DataObject, count: int) -> None:
    """Byte for byte, whatever was found where, and in whatever order the shards are given."""
    found = [data.draw(results(number)) for number in range(data.draw(st.integers(1, 5)))]
    whole = text(fingerprinted(RunReport.merge(found), lambda _: None))
    nothing = FileResult("", statistics={"files": 0, "kernel_files": 0})
    shards = [[nothing] for _ in range(count)]
    for result in found:
        shards[data.draw(st.integers(0, count - 1))].append(result)
    named = []
    for number, results_ in enumerate(shards, 1):
        report = fingerprinted(RunReport.merge(results_), lambda _: None)
        shard = replace(report, shard=Shard(number, count))
        named.append((f"{number}.json", read(text(shard).encode()).report))
    order = data.draw(st.permutations(named))
    assert text(merged(order, hint)) == whole


def shard(index: int, count: int, *contracts: Unmatched) -> RunReport:
    return RunReport(shard=Shard(index, count, contracts))


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ([shard(1, 3), shard(3, 3)], "shard 2 of 3 missing"),
        ([shard(2, 4)], "shards 1, 3, 4 of 4 missing"),
        ([shard(1, 2), shard(1, 2)], "shard 1/2 is given twice: r0, r1"),
        ([shard(1, 2), shard(2, 3)], "r1 is one of 3 shards, r0 of 2"),
        ([shard(1, 1), RunReport()], "r1 is a whole run, r0 a shard of one"),
    ],
)
def test_reports_that_do_not_belong_together(given_: list[RunReport], said: str) -> None:
    with pytest.raises(MergeError) as error:
        merged([(f"r{number}", report) for number, report in enumerate(given_)], hint)
    assert str(error.value) == said


def test_a_contract_is_wrong_if_no_shard_has_its_kernel() -> None:
    nowhere = Unmatched("", 0, "gemn", "no such kernel", ("pool",))
    once = Unmatched("", 0, "pool", "no such kernel", ("gemm",))
    whole = merged(
        [("a", shard(1, 2, nowhere)), ("b", shard(2, 2, once, replace(nowhere, known=("gemm",))))],
        hint,
    )
    assert [error.message for error in whole.errors] == ["no such kernel; gemn of ('gemm', 'pool')"]
    assert whole.exit_status() == 2


def test_what_is_known_adds_up_and_what_is_gone_is_gone_everywhere() -> None:
    other = replace(ENTRY, fingerprint="fedcba9876543210:1")
    first = RunReport(known=(Known("b", ("a:1",)),), gone=(ENTRY, other))
    second = RunReport(known=(Known("b", ("a:1", "c:1")),), gone=(ENTRY,))
    whole = merged([("x", first), ("y", second)], hint)
    assert whole.known == (Known("b", ("a:1", "c:1")),)
    assert whole.gone == (ENTRY,)
