"""Where which rules came to a verdict: what tells an unused suppression from one not reached."""

from __future__ import annotations

from collections.abc import Iterable

from verifier.engine.gathering import Verdict, VerdictKind
from verifier.report import model as report


def places(verdicts: Iterable[Verdict]) -> tuple[report.Judged, ...]:
    """The verdicts by the lines that they are about; what stayed undecided is left out."""
    found: dict[report.Span, dict[str, str]] = {}
    for verdict in verdicts:
        place = verdict.obligation.check.span
        lines = report.Span(place.path, place.line, 0, place.end_line, 0)
        rules = found.setdefault(lines, {})
        kind = verdict.kind.value if verdict.kind in _PLAIN else "violated"
        before = rules.get(verdict.obligation.rule.id, "proved")
        rules[verdict.obligation.rule.id] = max(before, kind, key=_WEIGHT.index)
    return tuple(
        report.Judged(
            lines,
            tuple(sorted(rule for rule, kind in rules.items() if kind == "proved")),
            tuple(sorted(rule for rule, kind in rules.items() if kind == "violated")),
        )
        for lines, rules in sorted(found.items())
    )


#: those that are neither violated nor gathered
_PLAIN = (VerdictKind.PROVED, VerdictKind.UNKNOWN)
#: what a rule came to at a place where it had several things to say
_WEIGHT = ("proved", "unknown", "violated")
