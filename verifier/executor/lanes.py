"""A TPU's memory as bytes: local memory as lanes x bytes, buffers in system memory.

A tensor is ``(address, shape, strides, dtype)`` with four extents. In local memory channel ``c`` of
a tensor that starts in lane ``Q`` lies in lane ``(Q + c) mod lanes``, ``(Q + c) div lanes`` slots
further (ADR-02 to ADR-04). All lanes lie in one array, one behind the other: what is written past
the end of a lane lands in the next one, as on the device (ADR-10).
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import suppress
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Bytes: TypeAlias = NDArray[np.uint8]
#: ``(n, c, h, w)``
Quad: TypeAlias = tuple[int, int, int, int]

#: integers as wide as an element, and one of them with every byte 1
_WORDS: Final = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
_ONES: Final = {size: int.from_bytes(b"\1" * size, "little") for size in _WORDS}


#: bytes from which on only the pages of an array that are touched take memory
_SPARSE: Final = 1 << 20


class OutsideError(Exception):
    """An access to bytes that are not there."""


def cleared(size: int, dtype: Any = np.uint8) -> Array:
    """Zeros, at least one: what nothing touches of many takes no memory.

    NumPy asks for huge pages where they may be had: a few bytes in every lane would take all of a
    chip's local memory, in each record of it.
    """
    kind = np.dtype(dtype)
    size = max(1, size)
    if size * kind.itemsize < _SPARSE:
        return np.zeros(size, kind)
    try:
        pages = mmap.mmap(-1, size * kind.itemsize)
    except OSError as error:
        raise MemoryError(f"{size * kind.itemsize} bytes") from error
    plain = getattr(mmap, "MADV_NOHUGEPAGE", None)  # Linux
    if plain is not None:
        with suppress(OSError):  # a kernel that knows no huge pages
            pages.madvise(plain)
    return np.frombuffer(pages, kind)


class Block(Struct, frozen=True):
    """Elements at ``offset + sum(index * step)`` bytes; ``channels``: those of the tensor."""

    offset: int
    shape: tuple[int, ...]
    steps: tuple[int, ...]
    channels: tuple[int, int]


class Place(Struct, frozen=True):
    """Where the elements of a tensor lie in the bytes of a memory, block by block.

    ``apart``: no two elements share bytes (False: they may).
    """

    shape: Quad
    itemsize: int
    blocks: tuple[Block, ...]
    apart: bool

    @property
    def elements(self) -> int:
        return prod(self.shape)

    def bounds(self) -> tuple[int, int]:
        """The first byte, and the one behind the last; ``(0, 0)`` if there are no elements."""
        low: int | None = None
        high = 0
        for block in self.blocks:
            spans = [(size - 1) * step for size, step in zip(block.shape, block.steps, strict=True)]
            first = block.offset + sum(span for span in spans if span < 0)
            last = block.offset + sum(span for span in spans if span > 0) + self.itemsize
            low = first if low is None else min(low, first)
            high = max(high, last)
        return (0, 0) if low is None else (low, high)


def inside(place: Place, size: int) -> Place:
    """The elements of a place that lie in a memory of ``size`` bytes; the shape is as it was."""
    blocks = tuple(part for block in place.blocks for part in _parts(block, place.itemsize, size))
    return Place(place.shape, place.itemsize, blocks, place.apart)


def _parts(block: Block, itemsize: int, size: int) -> Iterator[Block]:
    low, high = Place((0, 0, 0, 0), itemsize, (block,), True).bounds()
    if high <= 0 or low >= size:
        return
    if low >= 0 and high <= size:
        yield block
        return
    axis = next((k for k, extent in enumerate(block.shape) if extent > 1), None)
    if axis is None:
        return
    half = block.shape[axis] // 2
    for first, count in ((0, half), (half, block.shape[axis] - half)):
        shape = (*block.shape[:axis], count, *block.shape[axis + 1 :])
        offset = block.offset + first * block.steps[axis]
        yield from _parts(Block(offset, shape, block.steps, block.channels), itemsize, size)


def local_place(
    lanes: int, local_bytes: int, address: int, shape: Quad, strides: Quad, itemsize: int
) -> Place:
    """The place of a tensor in local memory; ``strides`` in elements, the second from slot to slot.

    At most three blocks: the channels in the lanes from the first on, whole rounds of all lanes,
    and what is left.
    """
    start, byte = divmod(address, local_bytes)
    n, c, h, w = shape
    ns, cs, hs, ws = (stride * itemsize for stride in strides)
    blocks: list[Block] = []
    if prod(shape) > 0:
        row, lane = divmod(start, lanes)
        byte += row * lanes * local_bytes
        done = 0
        slot = 0
        if lane:
            head = min(c, lanes - lane)
            blocks.append(
                Block(
                    lane * local_bytes + byte,
                    (n, head, h, w),
                    (ns, local_bytes, hs, ws),
                    (0, head),
                )
            )
            done, slot = head, 1
        rounds = (c - done) // lanes
        if rounds:
            blocks.append(
                Block(
                    byte + slot * cs,
                    (n, rounds, lanes, h, w),
                    (ns, cs, local_bytes, hs, ws),
                    (done, done + rounds * lanes),
                )
            )
            done += rounds * lanes
            slot += rounds
        if done < c:
            blocks.append(
                Block(byte + slot * cs, (n, c - done, h, w), (ns, local_bytes, hs, ws), (done, c))
            )
    slots = -(-(start % lanes + c) // lanes)
    extent = _extent((n, slots, h, w), (ns, cs, hs, ws), itemsize)
    apart = extent is not None and extent <= local_bytes
    return Place(shape, itemsize, tuple(blocks), apart)


def _extent(shape: Quad, steps: tuple[int, ...], itemsize: int) -> int | None:
    """Bytes from the first to the last element, if each dimension steps over the inner ones
    (ADR-24); else None."""
    extent = itemsize
    spans = sorted((abs(t), size) for size, t in zip(shape, steps, strict=True) if size > 1)
    for step, size in spans:
        if step < extent:
            return None
        extent += step * (size - 1)
    return extent


def system_place(offset: int, shape: Quad, strides: Quad, itemsize: int) -> Place:
    """The place of a tensor in a buffer; ``offset`` in bytes, ``strides`` in elements (ADR-20)."""
    steps = tuple(stride * itemsize for stride in strides)
    blocks = (Block(offset, shape, steps, (0, shape[1])),) if prod(shape) > 0 else ()
    return Place(shape, itemsize, blocks, _extent(shape, steps, itemsize) is not None)


def _positions(block: Block) -> NDArray[np.int64]:
    """The first byte of every element of a block."""
    total = np.full(block.shape, block.offset, np.int64)
    for k, (size, step) in enumerate(zip(block.shape, block.steps, strict=True)):
        along = [1] * len(block.shape)
        along[k] = size
        total += (np.arange(size, dtype=np.int64) * step).reshape(along)
    return total


class ByteMemory:
    """Bytes, and which of them were written.

    ``full``: all were. Without ``data`` only the record is kept (``shapes_only``); without
    ``tracked`` not even that. ``watched``: a second record says what was written since it was made,
    and a third one what was read.
    """

    __slots__ = (
        "__weakref__",
        "consumed",
        "data",
        "flags",
        "full",
        "origins",
        "size",
        "spoiled",
        "stored",
        "taken",
        "touched",
        "tracked",
        "watched",
        "writer",
    )

    def __init__(
        self,
        size: int,
        data: Bytes | None = None,
        *,
        full: bool = False,
        tracked: bool = True,
        watched: bool = False,
    ) -> None:
        self.size = size
        self.data = data
        self.full = full
        self.tracked = tracked
        self.watched = watched
        self.stored: Bytes | None = None
        #: what was read, if that is watched
        self.taken: Bytes | None = None
        #: whether anything was read, and where it was written last
        self.consumed = False
        self.writer: object = None
        self.flags: Bytes | None = None
        #: of bytes that were made of undefined ones the number of a read of these, else 0
        self.origins: Bytes | None = None
        #: whether anything was written to it
        self.touched = False
        #: whether some function left intermediate results in it
        self.spoiled = False

    def materialise(self) -> Bytes:
        if self.data is None:
            self.data = cleared(self.size)
        return self.data

    def _record(self) -> Bytes:
        if self.flags is None:
            self.flags = cleared(self.size)
        return self.flags

    def _windows(self, buffer: Bytes, place: Place, dtype: np.dtype[Any]) -> Iterator[Any]:
        """The elements of every block: windows on ``buffer``.

        Raises:
            OutsideError: bytes before the first or behind the last one are meant.
        """
        low, high = place.bounds()
        if low < 0 or high > self.size:
            raise OutsideError(f"bytes {low} to {high} of {self.size}")
        for block in place.blocks:
            yield block, np.ndarray(block.shape, dtype, buffer, block.offset, block.steps)

    def _gather(self, buffer: Bytes, place: Place, dtype: np.dtype[Any]) -> Array:
        out = np.empty(place.shape, dtype)
        n, _, h, w = place.shape
        for block, window in self._windows(buffer, place, dtype):
            first, last = block.channels
            out[:, first:last] = window.reshape(n, last - first, h, w)
        return out

    def read(self, place: Place, dtype: np.dtype[Any]) -> Array:
        """A copy of the elements; every byte that nothing wrote is 0xFF."""
        out = self._gather(self.materialise(), place, dtype)
        if not (self.full or not self.tracked) and not self.written(place):
            word = _WORDS[place.itemsize]
            seen = self._gather(self._record(), place, word)
            bits = out.view(word)
            np.bitwise_or(bits, ~(seen * word.type(0xFF)), out=bits)
        return out

    def write(self, place: Place, array: Array) -> None:
        """Store an array of the tensor's shape and element size; of several elements in one place
        the last one stays (ADR-23)."""
        data = self.materialise()
        self._put(data, place, array)
        self.mark(place)

    def _put(self, data: Bytes, place: Place, array: Array) -> None:
        array = np.broadcast_to(array, place.shape)
        if not place.apart:
            self._put_in_order(data, place, np.ascontiguousarray(array))
            return
        for block, window in self._windows(data, place, array.dtype):
            first, last = block.channels
            part = array[:, first:last]
            window[...] = part if window.ndim == 4 else part.reshape(window.shape)

    def _put_in_order(self, data: Bytes, place: Place, array: Array) -> None:
        for _ in self._windows(data, place, array.dtype):  # are they all there?
            pass
        self._put_inside(data, place, array)

    def _put_inside(self, data: Bytes, place: Place, array: Array) -> None:
        """As :meth:`_put_in_order`, of the elements that are there."""
        n, _, h, w = place.shape
        at = np.empty(place.shape, np.int64)
        for block in place.blocks:
            first, last = block.channels
            at[:, first:last] = _positions(block).reshape(n, last - first, h, w)
        each = array.view(np.uint8).reshape(-1, place.itemsize)
        bytes_ = at.reshape(-1, 1) + np.arange(place.itemsize)
        if not self.inside(place):
            there = (bytes_[:, 0] >= 0) & (bytes_[:, -1] < self.size)
            bytes_, each = bytes_[there], each[there]
        data[bytes_] = each

    def take(self, place: Place) -> None:
        """The bytes of a tensor are read."""
        self.consumed = True
        if not self.watched:
            return
        if self.taken is None:
            self.taken = cleared(self.size)
        word = _WORDS[place.itemsize]
        for _, window in self._windows(self.taken, place, word):
            window[...] = word.type(_ONES[place.itemsize])

    def mark(self, place: Place) -> None:
        """The bytes of a tensor are written."""
        self.touched = True
        word = _WORDS[place.itemsize]
        one = word.type(_ONES[place.itemsize])
        if self.watched:
            if self.stored is None:
                self.stored = cleared(self.size)
            for _, window in self._windows(self.stored, place, word):
                window[...] = one
        if self.full or not self.tracked:
            return
        for _, window in self._windows(self._record(), place, word):
            window[...] = one
        self._forget(place)

    def _forget(self, place: Place) -> None:
        if self.origins is not None:
            for _, window in self._windows(self.origins, place, _WORDS[place.itemsize]):
                window[...] = 0

    def spoil(self, place: Place, origins: Bytes) -> None:
        """Elements of a tensor were made of what is undefined: by which read, or 0.

        That some are not there is a fault of its own.
        """
        if self.full or not self.tracked:
            return
        if self.origins is None:
            self.origins = cleared(self.size)
        word = _WORDS[place.itemsize]
        ones = word.type(_ONES[place.itemsize])
        put = self._put if self.inside(place) else self._put_inside
        put(self.origins, place, origins.astype(word) * ones)
        put(self._record(), place, np.where(origins > 0, 0, ones).astype(word))

    def undefined(self, place: Place, new: int) -> Bytes:
        """By which read each element of a tensor is undefined, 0 where it is defined; ``new``: what
        nothing has written or made of anything."""
        word = _WORDS[place.itemsize]
        ones = word.type(_ONES[place.itemsize])
        lost = self._gather(self._record(), place, word) != ones
        if self.origins is None:
            return np.where(lost, new, 0).astype(np.uint8)
        known = np.ascontiguousarray(self._gather(self.origins, place, word))
        origins = known.view(np.uint8).reshape(*place.shape, place.itemsize).max(axis=-1)
        return np.where(lost, np.where(origins > 0, origins, new), 0).astype(np.uint8)

    def unmark(self, place: Place) -> None:
        """What is in the bytes of a tensor means nothing any more."""
        if self.full or not self.tracked:
            return
        self.spoiled = True
        for _, window in self._windows(self._record(), place, _WORDS[place.itemsize]):
            window[...] = 0
        self._forget(place)

    def written(self, place: Place) -> bool:
        """Whether every byte of a tensor was written (or cannot be told)."""
        if self.full or not self.tracked:
            return True
        word = _WORDS[place.itemsize]
        one = word.type(_ONES[place.itemsize])
        return all(
            bool((window == one).all()) for _, window in self._windows(self._record(), place, word)
        )

    def any_written(self, place: Place) -> bool:
        """Whether some byte of a tensor was written."""
        if self.full or not self.tracked:
            return True
        word = _WORDS[place.itemsize]
        return any(bool(window.any()) for _, window in self._windows(self._record(), place, word))

    def inside(self, place: Place) -> bool:
        low, high = place.bounds()
        return low >= 0 and high <= self.size
