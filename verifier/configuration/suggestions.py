"""Suggestions for a word that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: How alike two words have to be (difflib's ratio): a slip of the finger, not another word.
NEAR = 0.65


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """``; did you mean 'x'?``, or nothing when no candidate is near."""
    known = {candidate.lower(): candidate for candidate in candidates}
    close = difflib.get_close_matches(word.lower(), known, 1, NEAR)
    return f"; did you mean '{known[close[0]]}'?" if close else ""
