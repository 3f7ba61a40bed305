"""What each location of a tile in PSUM holds, as a number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from verifier.executor.regions import Gather, Geometry
from verifier.executor.semantics.casts import NUMPY
from verifier.symbolic.memory.content import Content

#: what locations of PSUM hold, as numbers
CONTENTS: Final = tuple(Content)
NOTHING: Final = CONTENTS.index(Content.NOTHING)
SUM: Final = CONTENTS.index(Content.SUM)
USED: Final = CONTENTS.index(Content.USED)
PART: Final = CONTENTS.index(Content.PART)


class Contents:
    """What each location of a tensor holds, as a number; cheap while it is the same for all."""

    __slots__ = ("every", "memory", "numbers", "type")

    def __init__(self, memory: Any, type: type[np.integer[Any]] = np.int8) -> None:
        self.memory = memory
        self.every: int | None = NOTHING
        self.numbers: NDArray[Any] | None = None
        self.type = type

    def at(self, place: Geometry | Gather) -> int | NDArray[Any]:
        """What the elements of a view hold; one number where it is the same for all."""
        if self.numbers is None:
            assert self.every is not None
            return self.every
        numbers = self._parts(place)
        first = int(numbers.flat[0]) if numbers.size else NOTHING
        if bool((numbers == first).all()):
            return first
        return numbers if numbers.ndim == len(place.shape) else numbers.max(-1)

    def counted(self, place: Geometry | Gather) -> dict[int, int]:
        """What the elements of a view hold, each with the number of bytes that do."""
        mask = place.mask if isinstance(place, Gather) else None
        if self.numbers is None:
            assert self.every is not None
            count = prod(place.shape) if mask is None else int(mask.sum())
            return {self.every: count * NUMPY[place.dtype].itemsize}
        parts = self._parts(place)
        held, counts = np.unique(parts if mask is None else parts[mask], return_counts=True)
        size: int = self.memory.unit
        return {int(each): int(count) * size for each, count in zip(held, counts, strict=True)}

    def _parts(self, place: Geometry | Gather) -> NDArray[Any]:
        assert self.numbers is not None
        self.memory.divide(place.dtype)
        if isinstance(place, Geometry):
            found: NDArray[Any] = self.memory.part(self.numbers, place)
            return found
        return np.stack([self.numbers[e] for e in self._entries(place)], -1)

    def divide(self, parts: int) -> None:
        """Elements have so many entries from now on."""
        if self.numbers is not None:
            self.numbers = np.repeat(self.numbers, parts)

    def put(self, place: Geometry | Gather, number: int) -> None:
        """Set what the elements of a view hold."""
        if self.every == number:
            return
        whole = self.memory.template.whole
        if place is whole or place == whole:
            self.every, self.numbers = number, None
        else:
            self.change(place, lambda numbers: number)

    def use(self, place: Geometry | Gather) -> None:
        """The sums there are read."""
        if self.every == SUM:
            self.put(place, USED)
        elif self.every is None:
            self.change(place, lambda numbers: np.where(numbers == SUM, USED, numbers))

    def add(self, place: Geometry | Gather) -> None:
        """A multiplication goes on with the sums there, or begins them."""
        if self.every is None:
            self.change(place, lambda numbers: np.maximum(numbers, SUM))
        elif self.every < SUM:
            self.put(place, SUM)

    def change(self, place: Geometry | Gather, change: Callable[[Any], Any]) -> None:
        """What the elements of a view hold becomes something else."""
        self.memory.divide(place.dtype)
        if self.numbers is None:
            self.numbers = np.full(self.memory.entries, self.every, self.type)
            self.every = None
        if isinstance(place, Geometry):
            part = self.memory.part(self.numbers, place)
            part[...] = change(part)
            return
        for entries in self._entries(place):
            chosen = (entries if place.mask is None else entries[place.mask]).reshape(-1)
            self.numbers[chosen] = change(self.numbers[chosen])

    def _entries(self, place: Gather) -> Iterator[NDArray[np.int64]]:
        assert self.numbers is not None
        for entries in self.memory.own_positions(place.positions, place.dtype):
            yield entries % self.numbers.size
