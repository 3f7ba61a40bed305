"""Which indices along each dimension of a tensor a run touches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final, TypeAlias

import numpy as np

from verifier.executor.cells import along
from verifier.executor.memory import Memory, Template
from verifier.executor.regions import Gather, Geometry
from verifier.executor.semantics.casts import NUMPY

#: indices along a dimension: stretches without a gap, each from its first index up to its end
Stretches: TypeAlias = tuple[tuple[int, int], ...]

#: how many stretches of one view are told apart; of more, it is taken to leave no gap
_MOST: Final = 1 << 12


class Use:
    """What is used of a tensor, or of all tiles of one allocation, along each dimension."""

    __slots__ = ("memory", "read", "reads", "writes", "written")

    def __init__(self, memory: Memory) -> None:
        rank = len(memory.template.shape)
        self.memory = memory
        self.reads: list[set[Stretches]] = [set() for _ in range(rank)]
        self.writes: list[set[Stretches]] = [set() for _ in range(rank)]
        self.read = False
        self.written = False

    def add(self, touched: Sequence[Stretches], read: bool) -> None:
        self.read |= read
        self.written |= not read
        for known, found in zip(self.reads if read else self.writes, touched, strict=True):
            known.add(found)

    @property
    def ends(self) -> tuple[int, ...]:
        """How far reads and writes come along each dimension."""
        return self._ends(0)

    @property
    def stepped_ends(self) -> tuple[int, ...]:
        """The same, with what the last step of a view that goes in steps leaves out."""
        return self._ends(1)

    def _ends(self, steps: int) -> tuple[int, ...]:
        found = (
            (found[-1][1] + steps * _left_out(found) for found in (*reads, *writes) if found)
            for reads, writes in zip(self.reads, self.writes, strict=True)
        )
        return tuple(max(ends, default=0) for ends in found)

    @property
    def read_ends(self) -> tuple[int, ...]:
        """How far reads come along each dimension, up to the first gap that they leave."""
        return tuple(_unbroken(chain.from_iterable(reads)) for reads in self.reads)

    @property
    def unread(self) -> tuple[int, ...]:
        """The first index along each dimension that no read has."""
        return tuple(_unbroken([(0, 0), *chain.from_iterable(reads)]) for reads in self.reads)


def _left_out(stretches: Stretches) -> int:
    return stretches[1][0] - stretches[0][1] if len(stretches) > 1 else 0


def _unbroken(stretches: Iterable[tuple[int, int]]) -> int:
    reached = 0
    for place, (start, end) in enumerate(sorted(stretches)):
        if place and start > reached:
            break
        reached = max(reached, end)
    return reached


def touched(template: Template, place: Geometry | Gather) -> tuple[Stretches, ...]:
    """The indices along each dimension that a view touches."""
    everything = tuple(((0, size),) for size in template.shape)
    if isinstance(place, Gather):
        return _picked(template, place, everything)
    if 0 in place.shape:
        return ((),) * len(everything)
    if NUMPY[place.dtype].itemsize != template.itemsize or any(s < 0 for s in place.strides):
        return everything
    steps = [along(template, stride) for stride in place.strides]
    found = tuple(
        _stepped(start, [(step[k], size) for step, size in zip(steps, place.shape, strict=True)])
        for k, start in enumerate(along(template, place.offset))
    )
    # a view that runs over the end of a dimension touches all of it
    over = any(
        stretches[-1][1] > size for stretches, size in zip(found, template.shape, strict=True)
    )
    return everything if over else found


def _stepped(start: int, steps: Iterable[tuple[int, int]]) -> Stretches:
    """The places that are steps of each kind away from ``start``: (step, how many places)."""
    found: Stretches = ((start, start + 1),)
    for step, count in sorted(steps):
        if not step or count == 1:
            continue
        low, high = found[0][0], found[-1][1] + step * (count - 1)
        apart = len(found) > 1 or step > found[0][1] - found[0][0]
        if not apart or len(found) * count > _MOST:
            found = ((low, high),)
        else:
            found = tuple((a + step * k, b + step * k) for k in range(count) for a, b in found)
    return found


def _picked(
    template: Template, place: Gather, everything: tuple[Stretches, ...]
) -> tuple[Stretches, ...]:
    positions = place.positions if place.mask is None else place.positions[place.mask]
    if not positions.size:
        return ((),) * len(everything)
    if NUMPY[place.dtype].itemsize != template.itemsize:
        return everything
    inside = np.clip(positions.reshape(-1), 0, max(template.elements - 1, 0))
    found = []
    for index in np.unravel_index(inside, template.shape):
        there = np.unique(index)
        breaks = np.flatnonzero(np.diff(there) > 1) + 1
        parts = np.split(there, breaks) if breaks.size < _MOST else [there]
        found.append(tuple((int(part[0]), int(part[-1]) + 1) for part in parts))
    return tuple(found)


__all__ = ["Stretches", "Use", "touched"]
