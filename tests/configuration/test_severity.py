"""Severities of the configuration: the weight of a finding changes, nothing else."""

from __future__ import annotations

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from verifier.configuration.severity import overridden
from verifier.report.model import SEVERITIES, Diagnostic, Severity, Span, Verdict

RULES = ("views-range", "matmul-size", "host-python")
severities = st.sampled_from(SEVERITIES)


@st.composite
def findings(draw: st.DrawFn) -> Diagnostic:
    verdict: Verdict = draw(st.sampled_from(get_args(Verdict)))
    severity: Severity = draw(severities)
    if verdict == "unknown" and severity == "error":
        severity = "warning"
    rule = draw(st.sampled_from(RULES))
    return Diagnostic(rule, "", severity, verdict, "a message", Span("k.py", 3, 4, 3, 9))


@given(st.lists(findings()), st.dictionaries(st.sampled_from(RULES), severities))
def test_only_severities_change(before: list[Diagnostic], severity: dict[str, Severity]) -> None:
    after = overridden(before, severity)
    assert [replace(d, severity="note") for d in after] == [
        replace(d, severity="note") for d in before
    ]
    for old, new in zip(before, after, strict=True):
        wanted = severity.get(old.rule, old.severity)
        if old.verdict == "unknown":  # never raised
            assert new.severity == max(wanted, old.severity, key=SEVERITIES.index)
        else:
            assert new.severity == wanted
    assert overridden(after, severity) == after
