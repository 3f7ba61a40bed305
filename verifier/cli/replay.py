"""``check --replay``: every counterexample is run, and its finding says what came of it."""

from __future__ import annotations

from collections.abc import Sequence

from verifier.report.model import FileResult
from verifier.service.replays import answered, asked


def mark(results: Sequence[FileResult], jobs: int) -> list[FileResult]:
    """The results with what came of each counterexample; see :func:`answered`."""
    questions = asked(results)
    if not questions:
        return list(results)
    from verifier.executor.replay import Item, replay

    items = [Item.of(question.diagnostic, question.kernel) for question in questions]
    return answered(results, zip(questions, replay(items, jobs), strict=True))
