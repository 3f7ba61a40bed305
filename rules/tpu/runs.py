"""The bytes of tensors in local memory, where all places are plain numbers: run by run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from verifier.hardware.chips import Chip
from verifier.layouts import address as places
from verifier.symbolic.expr import Expr
from verifier.symbolic.lanes import LocalTensor

#: runs of bytes that are gone through for one tensor, for each line of a lane
_RUNS: Final = 4


#: a row, and the columns of it from one up to another
Line: TypeAlias = tuple[int, int, int]


class Run(Struct, frozen=True):
    """The bytes from ``start`` to ``end`` of each lane from ``first`` up to ``last``."""

    first: int
    last: int
    start: int
    end: int


def lane_of(chip: Chip, tensor: LocalTensor) -> Expr:
    """The lane in which the tensor starts (ADR-02)."""
    if tensor.lane is not None:
        return tensor.lane
    return places.lane_of(chip, tensor.address)


def runs(
    chip: Chip,
    tensor: LocalTensor,
    columns: int | None = None,
    lines: Sequence[Line] | None = None,
) -> list[Run] | None:
    """The bytes of a tensor; None where it has symbols, leaves its lanes, or is in too many pieces.

    ``columns``: of a matrix, whose last channel may have fewer than the others. ``lines``: what is
    meant of each channel; None: all of it.
    """
    first = lane_of(chip, tensor)
    within = tensor.address - first * chip.local_bytes
    numbers = _plain((first, within, tensor.dtype.itemsize, *tensor.shape, *tensor.strides))
    if numbers is None:
        return None
    lane, byte, size, n, c, h, w, *strides = numbers
    last = w
    if columns is not None:
        rest = columns - (c - 1) * w
        last = rest if 1 <= rest < w else w
    pieces = [(0, c, w)] if last == w else [(0, c - 1, w), (c - 1, c, last)]
    in_line = strides[3] == 1
    rows = 1 if in_line and last == w == strides[2] else h
    if lines is not None:
        rows = len(lines)
    most = _RUNS * (chip.local_bytes // chip.eu_bytes)
    if n * (c // chip.lanes + 3) * rows * (1 if in_line else w) > most:
        return None
    out: list[Run] = []
    for begin, end, width in pieces:
        for begins, behind, slot in _slots(chip.lanes, lane + begin, lane + end):
            steps = (strides[0], strides[2], strides[3])
            for at, length in _in_lane((n, h, width), steps, lines):
                offset = byte + (at + slot * strides[1]) * size
                if offset < 0 or offset + length * size > chip.local_bytes:
                    return None
                out.append(Run(begins, behind, offset, offset + length * size))
    return out


def meet(chip: Chip, one: LocalTensor, other: LocalTensor) -> bool | None:
    """Whether two tensors share a byte; None: it cannot be told by numbers."""
    first, second = runs(chip, one), runs(chip, other)
    if first is None or second is None:
        return None
    edges = sorted({edge for run in (*first, *second) for edge in (run.first, run.last)})
    for lane in edges[:-1]:
        marks = [(run.start, run.end, 0) for run in first if run.first <= lane < run.last]
        marks += [(run.start, run.end, 1) for run in second if run.first <= lane < run.last]
        ends = [-1, -1]
        for begin, end, whose in sorted(marks):
            if begin < ends[1 - whose]:
                return True
            ends[whose] = max(ends[whose], end)
    return False


def _plain(terms: Sequence[Expr]) -> list[int] | None:
    return [term.const for term in terms] if all(term.is_const for term in terms) else None


def _slots(lanes: int, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The lanes that channels take, slot by slot; channels are counted from lane 0 on."""
    while begin < end:
        slot, first = divmod(begin, lanes)
        behind = min(lanes, first + end - begin)
        yield first, behind, slot
        begin += behind - first


def _in_lane(
    shape: tuple[int, int, int], strides: tuple[int, int, int], lines: Sequence[Line] | None
) -> Iterator[tuple[int, int]]:
    """First element and length of each run of elements of one channel."""
    n, h, w = shape
    if lines is None and strides[1] == w and strides[2] == 1:
        h, w = 1, h * w
    if not w:
        return
    for batch in range(n):
        for row, first, last in [(row, 0, w) for row in range(h)] if lines is None else lines:
            at = batch * strides[0] + row * strides[1]
            if strides[2] == 1:
                yield at + first, last - first
            else:
                for column in range(first, last):
                    yield at + column * strides[2], 1


def is_block(chip: Chip, outer: LocalTensor, inner: LocalTensor) -> bool | None:
    """Whether what one tensor takes of a channel of another are some rows and columns of it; None
    where that is not known by numbers."""
    far = inner.address - outer.address
    terms = (outer.dtype.itemsize, inner.dtype.itemsize, *outer.strides, *inner.shape[2:])
    numbers = _plain((far, *terms, *inner.strides))
    if numbers is None:
        return None
    start, size, other, _, _, row, column, h, w, _, _, down, along = numbers
    start %= chip.local_bytes
    if size != other or column != 1 or row < 1 or start % size or h * w > chip.local_bytes:
        return None
    places = {start // size + i * down + j * along for i in range(h) for j in range(w)}
    rows, columns = {place // row for place in places}, {place % row for place in places}
    return len(rows) * len(columns) == len(places)
