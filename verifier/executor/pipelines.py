"""The pipelined loops of a kernel of PPL while it runs."""

from __future__ import annotations

from verifier.executor import places
from verifier.source.ir import Span


class Pipelines:
    """The pipelined loops of a kernel, and which run of each is going on.

    A loop is known by the lines of its statement; it has ended when something outside of them
    happens.
    """

    def __init__(self) -> None:
        self._runs: dict[tuple[str, int, int], int] = {}
        self._open: set[tuple[str, int, int]] = set()

    def mark(self, span: Span) -> None:
        """``enable_pipeline()`` is called there."""
        lines = places.loop_around(span)
        if lines is not None and lines not in self._open:
            self._open.add(lines)
            self._runs[lines] = self._runs.get(lines, 0) + 1

    def passed(self, span: Span) -> None:
        """Something happens there."""
        for lines in list(self._open):
            if span.path == lines[0] and not lines[1] <= span.line <= lines[2]:
                self._open.discard(lines)

    def around(self, span: Span) -> tuple[object, ...] | None:
        """The innermost pipelined loop around a place, and which run of it."""
        inside = [x for x in self._open if x[0] == span.path and x[1] <= span.line <= x[2]]
        best = max(inside, key=lambda x: x[1], default=None)
        return None if best is None else (*best, self._runs[best])
