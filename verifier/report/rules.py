"""What reports say about the rules themselves; whoever prints a report hands it in."""

from __future__ import annotations

from verifier.records import dataclass
from verifier.report.model import Severity


@dataclass(frozen=True, slots=True)
class RuleText:
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
