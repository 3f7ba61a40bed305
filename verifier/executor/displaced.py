"""Which tile was written last to each byte on chip, of tiles that share places."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from verifier.executor.cells import Box, elements
from verifier.executor.memory import Bound, Memory, Template
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.memory.events import Displaced, Made
from verifier.symbolic.memory.physical import is_counted, is_told, spot, tile_by_tile
from verifier.symbolic.tensors import Storage

#: bytes of some partitions
_Part: TypeAlias = "tuple[slice | NDArray[np.int64], slice | NDArray[np.int64]]"


class _Write(Struct, frozen=True, eq=False):
    """A write to one tile of a tensor."""

    memory: Memory
    tile: int
    span: Span


class Ground:
    """The memories on chip of one program instance; ``bank``: bytes of a PSUM bank per partition.

    Only tensors whose places are known count (:mod:`verifier.symbolic.memory.physical`).
    """

    def __init__(self, bank: int) -> None:
        self._bank = bank
        #: 1 + the number of the write, by partition and byte
        self._owners: dict[Buffer, NDArray[np.int32]] = {}
        self._writes: list[_Write] = []
        self._numbers: dict[tuple[int, int, Span], int] = {}
        #: which bytes of a tile in PSUM something was written to, by its memory and its number
        self._begun: dict[tuple[int, int], NDArray[np.bool_]] = {}
        self._layouts: dict[Template, _Layout | None] = {}
        #: whether some tensor has tiles with places
        self._counted = False

    def write(self, box: Box, found: Bound, span: Span) -> None:
        """Elements are written."""
        memory, layout = found.memory, self._layout(found.memory.template)
        if layout is None:
            return
        for tile, part in layout.parts(box, found):
            key = id(memory), tile, span
            number = self._numbers.get(key)
            if number is None:
                self._writes.append(_Write(memory, tile, span))
                number = self._numbers[key] = len(self._writes)
            self._owner(layout)[part] = number
            if layout.buffer is Buffer.PSUM:
                self._begun_of(memory, layout, tile)[layout.within(tile, part)] = True

    def read(self, box: Box, found: Bound, span: Span, *, added: bool) -> Displaced | None:
        """The write of another tile to the place of what is read, if there was one.

        ``added``: a sum in PSUM is gone on with; where it begins, it reads nothing.
        """
        memory, layout = found.memory, self._layout(found.memory.template)
        if layout is None or not self._counted:
            return None
        for tile, part in layout.parts(box, found):
            owners = self._owner(layout)[part]
            if added and layout.buffer is Buffer.PSUM:
                owners = owners[self._begun_of(memory, layout, tile)[layout.within(tile, part)]]
            for number in reversed(np.unique(owners).tolist()):
                if number and self._takes(self._writes[number - 1], memory, tile):
                    last = self._writes[number - 1]
                    its = Made(last.memory.name, last.memory.span)
                    return Displaced(Made(memory.name, memory.span), its, span, last.span)
        return None

    def _takes(self, last: _Write, memory: Memory, tile: int) -> bool:
        """Whether another tile was written there than the one of ``memory``."""
        if last.memory is memory:
            return last.tile != tile
        return tile_by_tile(last.memory.template.prototype, memory.template.prototype)

    def _layout(self, template: Template) -> _Layout | None:
        if template not in self._layouts:
            storage = template.prototype
            known = storage.buffer.on_chip and is_told(storage)
            self._layouts[template] = _Layout(template, self._bank) if known else None
            self._counted |= known and is_counted(storage)
        return self._layouts[template]

    def _begun_of(self, memory: Memory, layout: _Layout, tile: int) -> NDArray[np.bool_]:
        found = self._begun.get((id(memory), tile))
        if found is None:
            found = self._begun[id(memory), tile] = np.zeros(layout.tile, np.bool_)
        return found

    def _owner(self, layout: _Layout) -> NDArray[np.int32]:
        owner = self._owners.get(layout.buffer)
        rows, end = (0, 0) if owner is None else owner.shape
        if owner is None or rows < layout.rows or end < layout.end:
            grown = np.zeros((max(rows, layout.rows), max(end, layout.end)), np.int32)
            if owner is not None:
                grown[:rows, :end] = owner
            owner = self._owners[layout.buffer] = grown
        return owner


class _Layout:
    """Where the tiles of a tensor lie."""

    def __init__(self, template: Template, bank: int) -> None:
        storage = template.prototype
        count = storage.partition_axis or 0
        self.buffer = storage.buffer
        self._template = template
        self._blocks = template.shape[:count]
        self._rest = template.shape[count:]
        self._size = template.itemsize
        #: by tile: its first partition and byte
        self._starts = [
            _start(storage, at, bank) for at in product(*(range(extent) for extent in self._blocks))
        ]
        self.rows = max((row for row, _ in self._starts), default=0) + self._rest[0]
        width = prod(self._rest[1:]) * self._size
        self.end = max((byte for _, byte in self._starts), default=0) + width
        #: partitions and bytes of a tile
        self.tile = self._rest[0], width

    def parts(self, box: Box, found: Bound) -> Iterator[tuple[int, _Part]]:
        """Each tile that a view touches, and the bytes of it."""
        if box is not None:
            blocks = len(self._blocks)
            for at in product(*(range(low, high) for low, high in box[:blocks])):
                tile = 0
                for index, extent in zip(at, self._blocks, strict=True):
                    tile = tile * extent + index
                yield tile, self._boxed(tile, box[blocks:])
            return
        tiles, rest = np.divmod(elements(self._template, found.place).reshape(-1), prod(self._rest))
        for tile in map(int, np.unique(tiles)):
            yield tile, self._scattered(tile, rest[tiles == tile])

    def within(self, tile: int, part: _Part) -> _Part:
        """The bytes, counted from where the tile begins."""
        (rows, inner), (row, byte) = part, self._starts[tile]
        return _moved(rows, row), _moved(inner, byte)

    def _boxed(self, tile: int, box: tuple[tuple[int, int], ...]) -> _Part:
        (low, high), inner = box[0], box[1:]
        row, byte = self._starts[tile]
        extents = self._rest[1:]
        full = all(part == (0, n) for part, n in zip(inner[1:], extents[1:], strict=False))
        if full:  # the bytes of each partition follow one another
            step = prod(extents[1:]) * self._size
            first, last = inner[0] if inner else (0, 1)
            return slice(row + low, row + high), slice(byte + first * step, byte + last * step)
        numbers = np.arange(prod(self._rest)).reshape(self._rest)
        chosen = numbers[tuple(slice(first, last) for first, last in box)]
        return self._scattered(tile, chosen.reshape(-1))

    def _scattered(self, tile: int, positions: NDArray[np.int64]) -> _Part:
        row, byte = self._starts[tile]
        rows, inner = np.divmod(positions, prod(self._rest[1:]))
        inner = byte + inner[:, None] * self._size + np.arange(self._size)
        return row + rows[:, None], inner


def _moved(places: slice | NDArray[np.int64], start: int) -> slice | NDArray[np.int64]:
    """Places, counted from a start."""
    if isinstance(places, slice):
        return slice(places.start - start, places.stop - start)
    return places - start


def _start(storage: Storage, at: tuple[int, ...], bank: int) -> tuple[int, int]:
    """The first partition and byte of a tile, of a tensor of which that is known."""
    inner = len(storage.shape) - len(at)
    coords = (*map(E.const, at), *(E.const(0) for _ in range(inner)))
    found = spot(storage, coords, bank)
    assert found is not None
    return found.row.const, found.byte.const


__all__ = ["Ground"]
