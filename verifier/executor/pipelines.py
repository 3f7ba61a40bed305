"""The pipelined loops of a kernel of PPL while it runs."""

from __future__ import annotations

from msgspec import Struct, field

from verifier.executor import places
from verifier.hardware.engines import Engine
from verifier.source.ir import Span
from verifier.symbolic.memory.stages import Stage, crosses, stage_of


class Handed(Struct):
    """What a run of a pipelined loop does to a tensor made before it; ``span``: the first use."""

    span: Span
    stages: set[Stage | None] = field(default_factory=set)
    written: bool = False
    #: the iterations
    rounds: set[int] = field(default_factory=set)

    @property
    def shared(self) -> bool:
        """Whether the stages of several iterations have it in common."""
        return self.written and crosses(self.stages) and len(self.rounds) > 1


class Pipelines:
    """The pipelined loops of a kernel, and which run of each is going on.

    A loop is known by the lines of its statement; it has ended when something outside of them
    happens.
    """

    def __init__(self) -> None:
        self._runs: dict[tuple[str, int, int], int] = {}
        self._open: set[tuple[str, int, int]] = set()
        #: calls of ``enable_pipeline()``
        self._marks = 0
        self._handed: dict[tuple[object, ...], Handed] = {}

    def mark(self, span: Span) -> None:
        """``enable_pipeline()`` is called there."""
        self._marks += 1
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

    def used(
        self, number: int, made: Span, engine: Engine | None, span: Span, *, writes: bool
    ) -> Handed | None:
        """A tensor, by its number and where it was made, is used at ``span``.

        What is known of that; None outside of pipelined loops, and of what is made in one.
        """
        around = self.around(span)
        if around is None or self.around(made) is not None:
            return None
        found = self._handed.setdefault((*around, number), Handed(span))
        found.stages.add(stage_of(engine, writes=writes))
        found.written |= writes
        found.rounds.add(self._marks)
        return found
