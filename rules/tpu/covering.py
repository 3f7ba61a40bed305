"""Which bytes of local memory were written, where all places are plain numbers.

Whole tensors are compared by the bytes from their first to their last one; with plain numbers it is
told byte by byte what strides leave out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rules.tpu import kit
from rules.tpu.flow import Use
from verifier.hardware.chips import Chip
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.memory.lives import exclusive

#: runs of bytes that are gone through for one tensor, for each line of a lane
_RUNS: Final = 4


@dataclass(frozen=True, slots=True)
class _Run:
    """The bytes from ``start`` to ``end`` of each lane from ``first`` up to ``last``."""

    first: int
    last: int
    start: int
    end: int


def leaves_out(chip: Chip, read: Use, writes: Sequence[Use]) -> bool | None:
    """Whether something of a read was not written before; None: it cannot be told by numbers."""
    wanted = _runs(chip, read)
    if wanted is None or read.loops:
        return None
    there: list[_Run] = []
    place = kit.block(chip, read.tensor)
    held = {id(fact) for fact in read.path}
    for write in writes:
        if write.order >= read.order or exclusive(write.path, read.path):
            continue
        if kit.places_apart(chip, kit.block(chip, write.tensor), place) is E.TRUE:
            continue
        found = _runs(chip, write)
        if found is None or write.loops or any(id(fact) not in held for fact in write.path):
            return None
        there += found
    edges = sorted({edge for run in (*wanted, *there) for edge in (run.first, run.last)})
    return any(_gap(lane, wanted, there) for lane in edges[:-1])


def _gap(lane: int, wanted: Sequence[_Run], there: Sequence[_Run]) -> bool:
    """Whether some bytes of a lane are wanted and not there."""
    needed = sorted((run.start, run.end) for run in wanted if run.first <= lane < run.last)
    given = iter(_joined(sorted((r.start, r.end) for r in there if r.first <= lane < r.last)))
    begin = end = -1
    for first, last in needed:
        while end < last:
            found = next(given, None)
            if found is None:
                return True
            begin, end = found
        if first < begin:
            return True
    return False


def _joined(runs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Runs in order, those that touch as one."""
    begin = end = -1
    for first, last in runs:
        if first > end:
            if begin >= 0:
                yield begin, end
            begin = first
        end = max(end, last)
    if begin >= 0:
        yield begin, end


def _runs(chip: Chip, use: Use) -> list[_Run] | None:
    """The bytes of a tensor; None where it has symbols, or is in too many pieces."""
    tensor = use.tensor
    start = kit.block(chip, tensor)
    numbers = _plain(
        (start.lane, start.start, tensor.dtype.itemsize, *tensor.shape, *tensor.strides)
    )
    role = kit.described(use.operation).role(use.touch.role)
    placed = role.placed if role is not None else None
    if numbers is None or (placed is not None and placed.layout == "2ic"):
        return None
    lane, byte, size, n, c, h, w, *strides = numbers
    last = w
    if placed is not None and placed.columns:
        columns = use.operation.value(placed.columns)
        if not isinstance(columns, Expr) or not columns.is_const:
            return None
        rest = columns.const - (c - 1) * w
        last = rest if 1 <= rest < w else w
    pieces = [(0, c, w)] if last == w else [(0, c - 1, w), (c - 1, c, last)]
    in_line = strides[3] == 1
    rows = 1 if in_line and last == w == strides[2] else h
    most = _RUNS * (chip.local_bytes // chip.eu_bytes)
    if n * (c // chip.lanes + 3) * rows * (1 if in_line else w) > most:
        return None
    out: list[_Run] = []
    for begin, end, width in pieces:
        for first, behind, slot in _slots(chip.lanes, lane + begin, lane + end):
            for at, length in _in_lane((n, h, width), (strides[0], strides[2], strides[3])):
                offset = byte + (at + slot * strides[1]) * size
                if offset < 0 or offset + length * size > chip.local_bytes:
                    return None
                out.append(_Run(first, behind, offset, offset + length * size))
    return out


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
    shape: tuple[int, int, int], strides: tuple[int, int, int]
) -> Iterator[tuple[int, int]]:
    """First element and length of each run of elements of one channel."""
    n, h, w = shape
    if strides[1] == w and strides[2] == 1:
        h, w = 1, h * w
    if not w:
        return
    for batch in range(n):
        for row in range(h):
            at = batch * strides[0] + row * strides[1]
            if strides[2] == 1:
                yield at, w
            else:
                for column in range(w):
                    yield at + column * strides[2], 1
