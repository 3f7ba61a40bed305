"""Severities that the configuration sets: only the weight of a finding changes, no verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from verifier.report.model import SEVERITIES, Diagnostic, Severity


def overridden(
    diagnostics: Iterable[Diagnostic], severity: Mapping[str, Severity]
) -> tuple[Diagnostic, ...]:
    """The findings with the severities of ``severity`` (rule id -> severity).

    A violation gets the severity that is set for its rule. What is undecided (also what a replay
    did not bear out) never gets a higher one than it has: nobody knows that anything is wrong.
    """
    return tuple(_one(d, severity.get(d.rule)) for d in diagnostics)


def _one(diagnostic: Diagnostic, wanted: Severity | None) -> Diagnostic:
    before = diagnostic.severity
    if wanted is None or wanted == before:
        return diagnostic
    raised = SEVERITIES.index(wanted) < SEVERITIES.index(before)
    if diagnostic.verdict == "unknown" and raised:
        return diagnostic
    return replace(diagnostic, severity=wanted)
