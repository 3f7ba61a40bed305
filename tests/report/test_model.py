from __future__ import annotations

import itertools
import pickle
import random

import pytest
from msgspec.structs import replace

from verifier.report.model import (
    Diagnostic,
    FileError,
    FileResult,
    KernelReport,
    RunReport,
    Span,
    deduplicate,
    merge_statistics,
)

SITE = Diagnostic("psum-bank", "", "error", "sometimes", "too big", Span("k.py", 7, 4, 7, 9), "f")


def kernel(status: str) -> KernelReport:
    return KernelReport("k.py", "f", 3, "nki", "0.6", "trn2", status)  # type: ignore[arg-type]


def test_one_site_keeps_its_worst_verdict_and_smallest_counterexample() -> None:
    found = [
        replace(SITE, counterexample={"x.shape": [300, 7]}, targets=("trn2",)),
        replace(SITE, counterexample={"x.shape": [129, 7]}, targets=("trn1",)),
        replace(SITE, severity="warning", counterexample={"x.shape": [1, 1]}),
        replace(SITE, severity="note", verdict="unknown"),
        replace(SITE, kernel="g"),
        replace(SITE, rule="other"),
    ]
    for order in itertools.islice(itertools.permutations(found), 0, None, 37):
        merged = deduplicate(order)
        assert [(d.rule, d.kernel) for d in merged] == [
            ("other", "f"),
            ("psum-bank", "f"),
            ("psum-bank", "g"),
        ]
        assert merged[1].counterexample == {"x.shape": [129, 7]}
        assert merged[1].targets == ("trn1", "trn2")


def test_merge_does_not_depend_on_the_order_of_results() -> None:
    results = [
        FileResult(
            f"{name}.py",
            (replace(kernel("verified"), path=f"{name}.py"),),
            (SITE, replace(SITE, span=replace(SITE.span, path=f"{name}.py"))),
            (FileError(f"{name}.py", 2, "bad"), FileError("shared.py", 1, "bad")),
            {"queries": 1, "query_ms": [float(ord(name))], "tiers": {"ranges": 2}},
        )
        for name in "dbca"
    ]
    expected = RunReport.merge(results)
    assert [d.span.path for d in expected.diagnostics] == ["a.py", "b.py", "c.py", "d.py", "k.py"]
    assert len(expected.errors) == 5
    assert expected.statistics == {
        "queries": 4,
        "query_ms": [97.0, 98.0, 99.0, 100.0],
        "tiers": {"ranges": 8},
    }
    generator = random.Random(7)
    for _ in range(10):
        generator.shuffle(results)
        assert RunReport.merge(results) == expected
    assert pickle.loads(pickle.dumps(expected)) == expected


def test_merging_leaves_the_inputs_alone() -> None:
    first = {"query_ms": [1.0], "tiers": {"a": 1}}
    total: dict[str, object] = {}
    merge_statistics(total, first)
    merge_statistics(total, first)
    assert first == {"query_ms": [1.0], "tiers": {"a": 1}}
    assert total == {"query_ms": [1.0, 1.0], "tiers": {"a": 2}}


@pytest.mark.parametrize(
    ("report", "status", "strict"),
    [
        (RunReport(), 0, 0),
        (RunReport(kernels=(kernel("verified"),)), 0, 0),
        (RunReport(kernels=(kernel("unknown"),)), 0, 1),
        (RunReport(kernels=(kernel("error"),)), 2, 2),
        (RunReport(diagnostics=(SITE,)), 1, 1),
        (RunReport(diagnostics=(replace(SITE, severity="warning"),)), 0, 1),
        (RunReport(diagnostics=(replace(SITE, severity="note"),)), 0, 0),
        (RunReport(diagnostics=(replace(SITE, severity="note", verdict="unknown"),)), 0, 1),
        (RunReport(errors=(FileError("a", 1, "x", "syntax"),)), 1, 1),
        (RunReport(errors=(FileError("a", 1, "x", "unreadable"),)), 2, 2),
        (RunReport(diagnostics=(SITE,), errors=(FileError("a", 1, "x"),)), 2, 2),
    ],
)
def test_exit_status(report: RunReport, status: int, strict: int) -> None:
    assert report.exit_status() == status
    assert report.exit_status(strict=True) == strict
