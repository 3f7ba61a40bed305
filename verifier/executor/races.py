"""What the cores of a TPU do to the memory that they share, since they last waited for each other.

A core that reads what another one writes finds it as it was or as it is: which of the two comes
first nothing says, unless both go through a barrier in between. Cores of a run take turns up to
their barriers, so all that is noted is of one stretch between two of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from verifier.executor.lanes import ByteMemory, Place, cleared
from verifier.source.ir import Span
from verifier.symbolic.memory.events import CoresMet, Deed, UndefinedLanes, Visit

#: bytes of a memory of which it is noted who uses each of them
FOLLOWED: Final = 1 << 24
_STAMP: Final = np.dtype(np.int32)

_Stamps = NDArray[np.int32]


def _none(size: int) -> _Stamps:
    return cleared(size, _STAMP)


class Access(Struct, frozen=True):
    """Which core comes to a tensor, what that is called there, and where in the text that is.

    ``combines``: as of :class:`Deed`.
    """

    core: int
    name: str
    span: Span
    combines: str

    def visit(self, deed: Deed) -> Visit:
        return Visit(self.span, (self.core,), 0, deed)


class _Uses(Struct):
    """Per byte of a memory, which access set it last, and which two of different cores read it.

    The first read, and the first one by another core than that; 0: there is none. ``added``,
    ``summed``: the same of sums that the memory makes there, which read and write.
    """

    written: _Stamps
    summed: _Stamps
    read: tuple[_Stamps, _Stamps]
    added: tuple[_Stamps, _Stamps]


class Races(Struct):
    """Notes on the accesses of ``cores`` cores; ``meet`` is told of those of one byte."""

    meet: Callable[[object], bool]
    cores: int
    #: whether something was too far from the beginning of a memory to follow
    lost: bool = False
    #: by number, which times the cores, plus its core, is the stamp of it
    _visits: list[Visit | None] = field(default_factory=lambda: [None])
    _uses: dict[ByteMemory, _Uses] = field(default_factory=dict)
    #: where what others write is read
    _met: set[Span] = field(default_factory=set)
    _early: list[tuple[Span, UndefinedLanes]] = field(default_factory=list)

    def early(self, span: Span, found: UndefinedLanes) -> None:
        """What was not written yet was read there: it is told of, unless another core writes it
        before all wait for each other."""
        self._early.append((span, found))

    def wait(self) -> None:
        """All cores have waited for each other: what comes is behind all that was."""
        for span, found in self._early:
            if span not in self._met and not self.lost:
                self.meet(found)
        self._early = []
        self._visits = [None]
        self._uses = {}

    def read(self, access: Access, memory: ByteMemory, place: Place) -> None:
        """A core reads a place; of what it adds to, that is a part of the sum."""
        uses = self._followed(memory, place)
        if uses is None:
            return
        visit = access.visit(Deed(bool(access.combines), access.combines))
        self._meet(access.name, visit, (uses.written, uses.summed), place)
        one, another = uses.added if access.combines else uses.read
        stamp = self._stamp(visit)
        for first, second in zip(_elements(one, place), _elements(another, place), strict=True):
            second[(first > 0) & (first % self.cores != access.core) & (second == 0)] = stamp
            first[first == 0] = stamp

    def write(self, access: Access, memory: ByteMemory, place: Place) -> None:
        """A core writes a place."""
        uses = self._followed(memory, place)
        if uses is None:
            return
        visit = access.visit(Deed(True, access.combines))
        self._meet(access.name, visit, (*uses.read, *uses.added), place)
        stamp = self._stamp(visit)
        for written in _elements(uses.summed if access.combines else uses.written, place):
            written[...] = stamp

    def _meet(self, name: str, visit: Visit, kinds: Sequence[_Stamps], place: Place) -> None:
        """Tell of the visits of other cores among these, each once."""
        found: dict[Visit, None] = {}
        for stamps in kinds:
            for window in _elements(stamps, place):
                for stamp in np.unique(window).tolist():
                    other = self._visits[stamp // self.cores]
                    if other is not None and other.instance != visit.instance:
                        found[other] = None
        for other in found:
            self._met.update({other.span, visit.span})
            self.meet(CoresMet(name, other, visit))

    def _followed(self, memory: ByteMemory, place: Place) -> _Uses | None:
        if not memory.inside(place) or not place.elements:
            return None
        size = min(memory.size, FOLLOWED)
        if place.bounds()[1] > size:
            self.lost = True
            return None
        if memory not in self._uses:
            written, summed, *others = (_none(size) for _ in range(6))
            one, another = (others[0], others[1]), (others[2], others[3])
            self._uses[memory] = _Uses(written, summed, one, another)
        return self._uses[memory]

    def _stamp(self, visit: Visit) -> int:
        self._visits.append(visit)
        return (len(self._visits) - 1) * self.cores + visit.instance[0]


def _elements(stamps: _Stamps, place: Place) -> Iterator[NDArray[Any]]:
    """Windows on the stamps of the bytes of a place, block by block."""
    size = _STAMP.itemsize
    for block in place.blocks:
        shape = (*block.shape, place.itemsize)
        steps = (*(step * size for step in block.steps), size)
        yield np.ndarray(shape, _STAMP, stamps, block.offset * size, steps)


__all__ = ["FOLLOWED", "Access", "Races"]
