"""What the cores of a TPU do to the memory that they share, since they last waited for each other.

A core that reads what another one writes finds it as it was or as it is: which of the two comes
first nothing says, unless both go through a barrier in between. Cores of a run take turns up to
their barriers, so all that is noted is of one stretch between two of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from verifier.executor.lanes import ByteMemory, Place
from verifier.source.ir import Span
from verifier.symbolic.memory.events import CoreRead

#: bytes of a memory of which it is noted who uses each of them
FOLLOWED: Final = 1 << 24
_STAMP: Final = np.dtype(np.int32)

_Stamps = NDArray[np.int32]


def _none(size: int) -> _Stamps:
    return np.zeros(max(1, size), _STAMP)


@dataclass(slots=True)
class _Uses:
    """Per byte of a memory, which access wrote it last, and which two of different cores read it.

    The first read, and the first one by another core than that; 0: there is none. The same of those
    that read it to write it again.
    """

    written: _Stamps
    read: tuple[_Stamps, _Stamps]
    added: tuple[_Stamps, _Stamps]


@dataclass(slots=True)
class Races:
    """Notes on the accesses of ``cores`` cores; ``meet`` is told of those that nothing orders."""

    meet: Callable[[object], bool]
    cores: int
    #: whether a memory was too large to follow
    lost: bool = False
    #: where each access is: its number times the cores, plus its core, is the stamp of it
    _spans: list[Span | None] = field(default_factory=lambda: [None])
    _uses: dict[ByteMemory, _Uses] = field(default_factory=dict)

    def wait(self) -> None:
        """All cores have waited for each other: what comes is behind all that was."""
        self._spans = [None]
        self._uses = {}

    def read(
        self, access: tuple[int, str, Span], memory: ByteMemory, place: Place, *, adds: bool
    ) -> None:
        """A core reads a place: its number, what the tensor is called there, and where that is.

        ``adds``: to write it again, at the same place of the text. Sums that several cores have the
        memory make there come in any order.
        """
        core, name, span = access
        uses = self._followed(memory, place)
        if uses is None:
            return
        for written in _elements(uses.written, place):
            for other in self._of_others(written, core):
                if other != span:
                    self.meet(CoreRead(name, span, other))
        stamp = self._stamp(core, span)
        one, another = uses.added if adds else uses.read
        for first, second in zip(_elements(one, place), _elements(another, place), strict=True):
            second[(first > 0) & (first % self.cores != core) & (second == 0)] = stamp
            first[first == 0] = stamp

    def write(self, access: tuple[int, str, Span], memory: ByteMemory, place: Place) -> None:
        """A core writes a place, given as in :meth:`read`."""
        core, name, span = access
        uses = self._followed(memory, place)
        if uses is None:
            return
        for stamps in (*uses.read, *uses.added):
            for read in _elements(stamps, place):
                for other in self._of_others(read, core):
                    if other != span:
                        self.meet(CoreRead(name, other, span))
        stamp = self._stamp(core, span)
        for written in _elements(uses.written, place):
            written[...] = stamp

    def _followed(self, memory: ByteMemory, place: Place) -> _Uses | None:
        if not memory.inside(place) or not place.elements:
            return None
        if memory not in self._uses:
            if memory.size > FOLLOWED:
                self.lost = True
                return None
            written, *others = (_none(memory.size) for _ in range(5))
            self._uses[memory] = _Uses(written, (others[0], others[1]), (others[2], others[3]))
        return self._uses[memory]

    def _stamp(self, core: int, span: Span) -> int:
        self._spans.append(span)
        return (len(self._spans) - 1) * self.cores + core

    def _of_others(self, stamps: NDArray[Any], core: int) -> Iterator[Span]:
        """Where the accesses of other cores among these are, each place once."""
        found: dict[Span, None] = {}
        for stamp in np.unique(stamps).tolist():
            span = self._spans[stamp // self.cores]
            if span is not None and stamp % self.cores != core:
                found[span] = None
        yield from found


def _elements(stamps: _Stamps, place: Place) -> Iterator[NDArray[Any]]:
    """Windows on the stamps of the bytes of a place, block by block."""
    size = _STAMP.itemsize
    for block in place.blocks:
        shape = (*block.shape, place.itemsize)
        steps = (*(step * size for step in block.steps), size)
        yield np.ndarray(shape, _STAMP, stamps, block.offset * size, steps)


__all__ = ["FOLLOWED", "Races"]
