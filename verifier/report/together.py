"""Which fixes are applied at once: one answer for the command line and the editor."""

from __future__ import annotations

from msgspec import Struct, field

from verifier.report.model import Edit, Fix, Span


class Together(Struct):
    """Fixes that do not touch each other, or are the same one; those that come first are taken."""

    _taken: list[Span] = field(default_factory=list)
    _known: set[tuple[Edit, ...]] = field(default_factory=set)

    def takes(self, fix: Fix) -> bool:
        """Whether a fix goes with those that were taken before; it is taken then."""
        regions = [edit.span for edit in fix.edits]
        if fix.edits not in self._known and any(a.touches(b) for a in regions for b in self._taken):
            return False
        self._taken += regions
        self._known.add(fix.edits)
        return True
