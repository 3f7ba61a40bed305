"""What reports say about the rules themselves; whoever prints a report hands it in."""

from __future__ import annotations

from msgspec import Struct

from verifier.report.model import Severity


class RuleText(Struct, frozen=True):
    """A rule in words. ``markdown`` is everything that there is to say about it, with examples."""

    id: str
    code: str
    family: str
    summary: str
    reason: str
    markdown: str
    severity: Severity
    facts: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
