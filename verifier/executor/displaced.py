"""Which tile was written last to each place that several tiles of a tensor share."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from verifier.executor.cells import Box, elements
from verifier.executor.memory import Bound, Template
from verifier.source.ir import Span
from verifier.symbolic.memory.physical import is_counted, places

#: a place, and some of its elements
_Part: TypeAlias = "tuple[int | slice | NDArray[np.intp], ...]"


class Places:
    """Per element of each place the tile that it is of, and where it was written."""

    __slots__ = ("_blocks", "_owner", "_place", "_rest", "_template", "_writers")

    def __init__(self, template: Template, counts: tuple[tuple[int, ...], ...]) -> None:
        self._template = template
        self._blocks = template.shape[: len(counts)]
        self._rest = template.shape[len(counts) :]
        found: dict[tuple[int, ...], int] = {}
        #: by tile: its place
        self._place = np.array(
            [
                found.setdefault(_place(at, counts), len(found))
                for at in product(*map(range, self._blocks))
            ],
            np.int64,
        )
        #: 1 + the number of the write and the tile, by place and element
        self._owner: NDArray[np.int64] = np.zeros((len(found), *self._rest), np.int64)
        self._writers: list[Span] = []

    @staticmethod
    def of(template: Template) -> Places | None:
        """None if each tile has a place of its own, or it is not known."""
        storage = template.prototype
        found = places(storage) if is_counted(storage) else None
        if found is None or found.enough(storage):
            return None
        return Places(template, tuple(tuple(n.const for n in counts) for counts in found.counts))

    def write(self, box: Box, found: Bound, span: Span) -> None:
        """Elements are written."""
        self._writers.append(span)
        moment = (len(self._writers) - 1) * len(self._place)
        for tile, part in self._parts(box, found):
            self._owner[part] = moment + tile + 1

    def read(self, box: Box, found: Bound) -> Span | None:
        """Where another tile was written to the place of what is read, if one was."""
        for tile, part in self._parts(box, found):
            last = self._owner[part] - 1
            other = last[(last >= 0) & (last % len(self._place) != tile)]
            if other.size:
                return self._writers[int(other.max()) // len(self._place)]
        return None

    def _parts(self, box: Box, found: Bound) -> Iterator[tuple[int, _Part]]:
        """Each tile that a view touches, and the elements of its place."""
        if box is not None:
            blocks = len(self._blocks)
            inner = tuple(slice(low, high) for low, high in box[blocks:])
            for at in product(*(range(low, high) for low, high in box[:blocks])):
                tile = int(np.ravel_multi_index(at, self._blocks))
                yield tile, (int(self._place[tile]), *inner)
            return
        tiles, rest = np.divmod(elements(self._template, found.place).reshape(-1), prod(self._rest))
        for tile in map(int, np.unique(tiles)):
            chosen = np.unravel_index(rest[tiles == tile], self._rest)
            yield tile, (int(self._place[tile]), *chosen)


def _place(at: tuple[int, ...], counts: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    return tuple(index % n for index, each in zip(at, counts, strict=True) for n in each)


__all__ = ["Places"]
