"""What the cores of a TPU store to the memory that they share, between two barriers.

Two cores may store to one place what both have made in the same way, out of the same inputs: what
tensors hold is numbered by how it was made. All else has to lie apart (PPL-B13), even if it comes
to the same numbers for the inputs at hand. Where it is not known how something was made, the bytes
are compared, if the run computes any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from verifier.executor.instances import settled
from verifier.executor.lanes import Array, Block, ByteMemory, Place, cleared
from verifier.executor.programs import Program
from verifier.executor.races import FOLLOWED
from verifier.source.ir import Span
from verifier.symbolic.memory.content import constant, determined, moved
from verifier.symbolic.memory.events import Deed, Met, Visit
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation

#: what notes of writers are kept in
_STAMP: Final = np.dtype(np.int32)


class Part(Struct, frozen=True):
    """An operand of an operation: a part of a memory. ``shared``: the cores have it in common."""

    role: str
    name: str
    memory: ByteMemory
    place: Place
    span: Span
    reads: bool
    writes: bool
    shared: bool


class Stores(Struct):
    """Notes of one launch; ``meet`` is told of two cores whose stores nothing orders.

    ``numbers``: the run computes them.
    """

    meet: Callable[[object], bool]
    numbers: bool
    #: whether something was too far from the beginning of a memory to follow
    lost: bool = False
    #: by number; the first stands for none
    _known: list[Visit | None] = field(default_factory=lambda: [None])
    #: per byte of a memory, the number of its last store
    _last: WeakKeyDictionary[ByteMemory, NDArray[np.int32]] = field(
        default_factory=WeakKeyDictionary
    )
    #: how the contents of memories that a core has for itself were made
    _contents: WeakKeyDictionary[ByteMemory, int | None] = field(default_factory=WeakKeyDictionary)
    #: those numbers that stand for one number everywhere
    _constants: set[int] = field(default_factory=set)
    _ways: dict[tuple[object, ...], int] = field(default_factory=dict)

    def before(self, parts: Sequence[Part]) -> list[tuple[Part, Array]]:
        """What is in shared memory where an operation will write, for :meth:`after`."""
        return [
            (part, part.memory.read(part.place, _bits(part.place)) if self.numbers else _NOTHING)
            for part in parts
            if part.writes and part.shared and part.memory.inside(part.place)
        ]

    def after(
        self,
        program: Program,
        operation: Operation,
        parts: Sequence[Part],
        before: Sequence[tuple[Part, Array]],
    ) -> None:
        """An operation was done: told of if another core has stored something else there."""
        made = self._made(operation, parts)
        for part in parts:
            if part.writes and not part.shared:
                self._contents[part.memory] = self._next(made, self._contents.get(part.memory, 0))
        if operation.adds:
            return  # what comes to where others add is told of reads
        deed = Deed(True, made=made)
        for part, old in before:
            self._stored(Visit(part.span, program.index, program.waited, deed), part, old)

    def _stored(self, own: Visit, part: Part, held: Array) -> None:
        memory, place = part.memory, part.place
        size = min(memory.size, FOLLOWED)
        if place.bounds()[1] > size:
            self.lost = True
            return
        number = len(self._known)
        self._known.append(own)
        changed = held != memory.read(place, _bits(place)) if self.numbers else None
        stamps = self._last.get(memory)
        if stamps is None:
            stamps = self._last[memory] = cleared(size, _STAMP)
        others: set[int] = set()
        for block, window in _stamps(stamps, place):
            first, last = block.channels
            if changed is not None:
                there = window[changed[:, first:last].reshape(block.shape)]
                others.update(int(stamp) for stamp in np.unique(there))
            others.update(
                stamp
                for stamp in map(int, np.unique(window))
                if changed is None or self._told_apart(own, self._known[stamp])
            )
            window[...] = number
        for other in sorted(others):
            known = self._known[other]
            if known is not None and self.meet(Met(part.name, known, own)):
                return

    def _told_apart(self, own: Visit, other: Visit | None) -> bool:
        """Whether it is known how both have made what they store."""
        return other is not None and None not in (own.deed.made, other.deed.made)

    def _next(self, made: int | None, before: int | None) -> int | None:
        """As what is written, of a memory that held something."""
        if made is None or before is None:
            return None
        if made in self._constants and before in (0, made):
            return made  # of what was not written nothing can be read
        return self._way((before, made))

    def _made(self, operation: Operation, parts: Sequence[Part]) -> int | None:
        """The number of how an operation makes what it writes, and where; None: not known.

        Of one number that is written everywhere it does not matter where.
        """
        value = constant(operation)
        if value is not None:
            number = self._way(("constant", value))
            self._constants.add(number)
            return number
        if not determined(operation):
            return None
        way: list[object] = [operation.name, str(operation.effect)]
        passed = moved(operation)
        for part in parts:
            if part.role == passed and (held := self._held(part)) in self._constants:
                return held
        for role, operand in operation.operands.items():
            if not isinstance(operand.value, View):
                known = settled(operand.value)
                if known is None:
                    return None
                way += (role, *known)
        for part in parts:
            way += (part.role, part.place)
            if part.reads:
                held = self._held(part)
                if held is None:
                    return None
                way.append(held)
        return self._way(tuple(way))

    def _held(self, part: Part) -> int | None:
        """The number of how what a memory holds was made: 0 if nothing was put there."""
        if not part.shared:
            return self._contents.get(part.memory, 0)
        # who writes to a buffer may do so before another core reads it
        given = part.memory.full and not part.memory.touched
        return self._way(("given", id(part.memory))) if given else None

    def _way(self, parts: tuple[object, ...]) -> int:
        return self._ways.setdefault(parts, len(self._ways) + 1)


_NOTHING: Final = np.zeros(0, np.uint8)


def several(program: Program) -> bool:
    """Whether a launch has other cores than this one."""
    return prod(program.grid) > 1


def _bits(place: Place) -> np.dtype[Any]:
    return np.dtype(f"u{place.itemsize}")


def _stamps(stamps: NDArray[np.int32], place: Place) -> Iterator[tuple[Block, NDArray[np.int32]]]:
    """Of each block of a place the notes of its bytes: those of an element along the last axis."""
    size = _STAMP.itemsize
    for block in place.blocks:
        shape = (*block.shape, place.itemsize)
        steps = (*(step * size for step in block.steps), size)
        yield block, np.ndarray(shape, _STAMP, stamps, block.offset * size, steps)
