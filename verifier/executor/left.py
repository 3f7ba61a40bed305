"""What a loop without order leaves in a tile where several of its iterations wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np

from verifier.executor.cells import Box, Cells, Values
from verifier.executor.memory import Template
from verifier.executor.regions import Gather, Geometry
from verifier.source.ir import Span


class Round(Protocol):
    """A loop that is gone through: when it began."""

    start: int


R = TypeVar("R", bound=Round)


class Left(Generic[R]):
    """Per element and depth of loops, when an iteration wrote what a later one wrote over."""

    __slots__ = ("_depths", "_over", "_template")

    def __init__(self, template: Template) -> None:
        self._template = template
        self._depths: list[Cells] = []
        #: by depth and moment: the loop, and where it was written over
        self._over: dict[tuple[int, int], tuple[R, Span]] = {}

    def write(
        self,
        place: tuple[Box, Geometry | Gather],
        late: Sequence[tuple[R, Values]],
        span: Span,
        adds: bool,
        differ: Callable[[Values], Values],
    ) -> None:
        """Elements are written, or added to (``adds``).

        ``late``: per loop around, when an earlier iteration of it wrote them, or 0. ``differ``
        gives those of some moments at which something else was written than now.

        Raises:
            TooFineError: too many parts are told apart.
        """
        for depth, (turn, moments) in enumerate(late):
            cells = self._depths[depth]
            held = cells.get(*place)
            kept = held if adds else differ(np.where(held > turn.start, held, 0))
            cells.put(*place, np.where(moments > 0, moments, kept))
            for moment in np.unique(moments[moments > 0]):
                self._over[depth, int(moment)] = (turn, span)
        for cells in self._depths[len(late) :] if not adds else ():
            cells.put(*place, 0)

    def depths(self, count: int) -> Sequence[Cells]:
        """What is kept of the loops around, ``count`` of them."""
        while len(self._depths) < count:
            self._depths.append(Cells(self._template))
        return self._depths[:count]

    def read(self, place: tuple[Box, Geometry | Gather]) -> Iterator[tuple[R, int, Span]]:
        """The loops that have left what is read, when one iteration wrote it, where another did.

        Raises:
            TooFineError: as in ``write``.
        """
        for depth, cells in enumerate(self._depths):
            moment = int(cells.get(*place).max(initial=0))
            if moment:
                turn, span = self._over[depth, moment]
                yield turn, moment, span


__all__ = ["Left"]
