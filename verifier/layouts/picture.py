"""The picture of a tensor in memory: a block per 4 bytes, labelled, for every way of drawing it.

Each lane is a column of lines, each line some blocks wide. What is too long is elided: of each
axis the first and the last places stay.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd, prod
from typing import Final, Literal, TypeAlias

from verifier.layouts.address import steps
from verifier.layouts.arrangement import Arrangement, Index

#: bytes of a block, as in the manuals' figures
BLOCK: Final = 4

#: ``dummy``: completes a word, pair or group; ``padding``: beside elements; ``unused``: in a slot
#: without a channel, or in front of the tensor
Kind: TypeAlias = Literal["data", "dummy", "padding", "unused"]


@dataclass(frozen=True, slots=True)
class Block:
    """Four bytes of one lane. ``parts`` are its elements from low to high bytes, None where there
    is none, as for ``dummies`` of them; ``shared``: other elements lie here, too."""

    kind: Kind
    parts: tuple[Index | None, ...] = ()
    dummies: int = 0
    shared: bool = False

    @property
    def label(self) -> str:
        """``n,c,h,w``; several elements as ranges: ``0,0,0,4-7``; a ``~`` for each dummy."""
        return " ".join((*self.labels, "~" * self.dummies)).strip()

    @property
    def labels(self) -> tuple[str, ...]:
        """A label for each run of neighbours."""
        if self.kind != "data":
            return ()
        runs: list[list[Index]] = []
        for part in self.parts:
            if part is None:
                continue
            if not (runs and _follows(runs[-1], part)):
                runs.append([])
            runs[-1].append(part)
        found = [_range(run) for run in runs]
        if self.shared:
            found[-1] += "+"
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Row:
    """A line of every lane that is shown; ``byte`` is the first of its blocks'."""

    byte: int
    blocks: tuple[tuple[Block, ...], ...]


@dataclass(frozen=True, slots=True)
class Gap:
    """Lines that are not drawn: only padding or unused blocks, or elided elements. ``kinds`` says
    for each lane what the first of its blocks is."""

    byte: int
    size: int
    kind: Literal["padding", "elided"]
    kinds: tuple[Kind, ...]

    @property
    def text(self) -> str:
        number = self.size // BLOCK
        plural = "" if number == 1 else "s"
        return f"{number} {'more ' if self.kind == 'elided' else ''}block{plural}" + (
            "" if self.kind == "elided" else " without an element"
        )


@dataclass(frozen=True, slots=True)
class Picture:
    """``lanes`` are in ascending order, not always all of them; ``across`` blocks make a line."""

    lanes: tuple[int, ...]
    across: int
    lines: tuple[Row | Gap, ...]

    def rows(self) -> Iterator[Row]:
        for line in self.lines:
            if isinstance(line, Row):
                yield line

    def kinds(self) -> set[str]:
        """Kinds of blocks and gaps, and ``shared`` if elements share a block's place."""
        gaps = [line for line in self.lines if isinstance(line, Gap)]
        found: set[str] = {kind for gap in gaps if gap.kind == "padding" for kind in gap.kinds}
        for row in self.rows():
            for block in itertools.chain.from_iterable(row.blocks):
                found.add(block.kind)
                if block.dummies:
                    found.add("dummy")
                if block.shared:
                    found.add("shared")
        return found


def _follows(run: Sequence[Index], part: Index) -> bool:
    """Whether ``part`` is the next element along the run's one axis."""
    last = run[-1]
    moved = [axis for axis in range(4) if part[axis] != last[axis]]
    if len(moved) != 1 or part[moved[0]] != last[moved[0]] + 1:
        return False
    return len(run) == 1 or run[-2][moved[0]] != last[moved[0]]


def _range(run: Sequence[Index]) -> str:
    first, last = run[0], run[-1]
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in zip(first, last, strict=True))


class Places:
    """From bytes to elements: the inverse of placing, for any strides."""

    def __init__(self, arrangement: Arrangement) -> None:
        self.of = arrangement
        self._strides = arrangement.pitch

    def axes(self, lane: int) -> list[tuple[int, int, range]]:
        """``(axis, stride, places)`` of the units in a lane, from the longest stride down."""
        n, _, h, w = self.of.cells
        places = (range(n), self.of.slots(lane), range(h), range(w))
        found = [(axis, self._strides[axis], places[axis]) for axis in range(4)]
        return sorted(found, key=lambda item: (-item[1], item[0]))

    def units(self, lane: int, offset: int) -> Iterator[Index]:
        """The units at that many units behind the tensor's byte."""
        axes = self.axes(lane)
        if all(places for _, _, places in axes):
            for found in _solutions(axes, offset):
                n, slot, h, w = (found[axis] for axis in range(4))
                cell = (n, self.of.channel(lane, slot), h, w)
                if self.of.exists(cell):
                    yield cell

    def next(self, lane: int, offset: int) -> int | None:
        """The least offset of a unit that is not below ``offset``."""
        axes = self.axes(lane)
        return _next(axes, offset) if all(places for _, _, places in axes) else None

    def block(self, lane: int, byte: int) -> Block:
        """The four bytes from ``byte`` on."""
        of = self.of
        parts: list[Index | None] = []
        dummies, shared = 0, False
        for at in range(byte, byte + BLOCK, of.itemsize):
            offset, rest = divmod(at - of.offset, of.unit)
            held = []
            if offset >= 0:
                for unit in itertools.islice(self.units(lane, offset), 2):
                    held.append(of.held(unit)[rest // of.itemsize])
            parts.append(held[0] if held else None)
            dummies += held[:1] == [None]
            shared = shared or len(held) > 1
        if any(part is not None for part in parts):
            return Block("data", tuple(parts), dummies, shared)
        if dummies:
            return Block("dummy", dummies=dummies)
        return Block("unused" if self._unused(lane, byte) else "padding")

    def _unused(self, lane: int, byte: int) -> bool:
        """Whether the block's slot has no channel in the lane, as far as strides tell slots."""
        of = self.of
        slots = of.slots(lane)
        offset = (byte - of.offset) // of.unit
        if not slots or offset < 0:
            return True
        count = steps(of.chip.lanes, of.start_lane, of.cells)
        slot = 0
        for axis in sorted((0, 1), key=lambda axis: (-self._strides[axis], axis)):
            stride = self._strides[axis]
            if stride and count[axis] > 1:
                place = min(offset // stride, count[axis] - 1)
                offset -= place * stride
                slot = place if axis == 1 else slot
        return slot not in slots


def _solutions(axes: list[tuple[int, int, range]], offset: int) -> Iterator[dict[int, int]]:
    """Places on every axis that add up to the offset."""
    if not axes:
        if offset == 0:
            yield {}
        return
    (axis, stride, places), rest = axes[0], axes[1:]
    if stride == 0:
        for found in _solutions(rest, offset):
            for place in places:
                yield {axis: place, **found}
        return
    low = -(-(offset - _furthest(rest)) // stride)
    high = (offset - _nearest(rest)) // stride
    for place in range(max(low, places[0]), min(high, places[-1]) + 1):
        for found in _solutions(rest, offset - place * stride):
            yield {axis: place, **found}


def _next(axes: list[tuple[int, int, range]], offset: int) -> int | None:
    """The least sum of places that is not below the offset."""
    if not axes:
        return 0 if offset <= 0 else None
    (_, stride, places), rest = axes[0], axes[1:]
    best: int | None = None
    first = places[0]
    if stride:
        first = max(first, -(-(offset - _furthest(rest)) // stride))
    for place in range(first, places[-1] + 1):
        if best is not None and max(offset, place * stride + _nearest(rest)) >= best:
            break
        found = _next(rest, offset - place * stride)
        if found is not None and (best is None or place * stride + found < best):
            best = place * stride + found
        if not stride:
            break
    return best


def _furthest(axes: list[tuple[int, int, range]]) -> int:
    return sum(stride * places[-1] for _, stride, places in axes)


def _nearest(axes: list[tuple[int, int, range]]) -> int:
    return sum(stride * places[0] for _, stride, places in axes)


def draw(arrangement: Arrangement, *, across: int, lanes: int, lines: int, fold: int) -> Picture:
    """The picture, ``across`` blocks to a line.

    At most ``lanes`` lanes are shown, and about ``lines`` lines, or two thirds of that where all of
    them are too many; ``fold`` or more lines without an element become a gap.
    """
    shown = _lanes(arrangement, lanes)
    sheet = _Sheet(arrangement, shown, across)
    budget = lines
    while True:
        plan, whole = sheet.plan(budget, fold)
        if whole and len(plan) > lines:
            plan, _ = sheet.plan(budget, 2)
        if whole or len(plan) <= lines * 2 // 3 or budget <= 4:
            break
        budget = budget * 3 // 4
    found = tuple(line if isinstance(line, Gap) else sheet.row(line) for line in plan)
    return Picture(shown, across, found)


def natural_widths(arrangement: Arrangement, most: int) -> list[int]:
    """Blocks to a line, best first, so that features begin a line; up to ``most``."""
    places = steps(arrangement.chip.lanes, arrangement.start_lane, arrangement.cells)
    blocks = [
        stride * arrangement.unit // BLOCK if count > 1 else 0
        for stride, count in zip(arrangement.pitch, places, strict=True)
    ]
    period = gcd(blocks[0], blocks[1]) or blocks[2]
    across = max(1, blocks[3])
    widths = [width for width in range(most, 1, -1) if period % width == 0]
    return sorted(widths, key=lambda width: width % across != 0)


def _lanes(arrangement: Arrangement, most: int) -> tuple[int, ...]:
    """All lanes if they are few; otherwise those of the first and the last channels, and the ends
    of the row of lanes."""
    total = arrangement.chip.lanes
    if total <= most:
        return tuple(range(total))
    channels = arrangement.cells[1]
    wanted: dict[int, None] = {}
    for step in range(min(channels, total)):
        for channel in (step, channels - 1 - step):
            wanted[(arrangement.start_lane + channel) % total] = None
        if step == 0:
            wanted.update({0: None, total - 1: None})
        if len(wanted) >= most:
            break
    return tuple(sorted(list(wanted)[:most]))


class _Sheet:
    """The lines of a picture: numbered from the one with the tensor's first byte."""

    def __init__(self, arrangement: Arrangement, lanes: tuple[int, ...], across: int) -> None:
        self.of = arrangement
        self.places = Places(arrangement)
        self.lanes = lanes
        self.across = across
        self.size = across * BLOCK
        self.first = arrangement.offset // BLOCK * BLOCK
        end = arrangement.offset + max(arrangement.bytes_per_lane, arrangement.extent)
        self.count = -(-(end - self.first) // self.size)

    def row(self, line: int) -> Row:
        byte = self.first + line * self.size
        return Row(
            byte,
            tuple(
                tuple(self.places.block(lane, byte + i * BLOCK) for i in range(self.across))
                for lane in self.lanes
            ),
        )

    def plan(self, budget: int, fold: int) -> tuple[list[int | Gap], bool]:
        """The lines to show, by number, and the gaps between them; and whether nothing is
        elided."""
        chosen, whole = self._chosen(budget)
        found: list[int | Gap] = []
        at = 0
        for line in [*chosen, self.count]:
            found += self._between(at, line, whole, fold if whole else 2)
            if line < self.count:
                found.append(line)
            at = line + 1
        return found, whole

    def _between(self, start: int, stop: int, whole: bool, fold: int) -> list[int | Gap]:
        """The lines from ``start`` to before ``stop``, which are not among the chosen ones."""
        elided = not whole and start < stop and self._holds(start, stop)
        if stop - start < (2 if elided else fold):
            return list(range(start, stop))
        byte, size = self.first + start * self.size, (stop - start) * self.size
        kinds = tuple(self.places.block(lane, byte).kind for lane in self.lanes)
        return [Gap(byte, size, "elided" if elided else "padding", kinds)]

    def _holds(self, start: int, stop: int) -> bool:
        """Whether an element of a shown lane lies in the lines."""
        low = -(-(self.first + start * self.size - self.of.offset) // self.of.unit)
        high = self.first + stop * self.size - self.of.offset
        found = (self.places.next(lane, low) for lane in self.lanes)
        return any(units is not None and units * self.of.unit < high for units in found)

    def _chosen(self, most: int) -> tuple[list[int], bool]:
        """At most about ``most`` lines, those of the first and last places of each axis; and
        whether they hold all elements."""
        axes = self._axes()
        kept = [count for _, count, _ in axes]
        budget = most * max(1, BLOCK // self.of.unit) * self.across
        while True:
            while prod(kept) > budget and max(kept) > 2:
                axis = kept.index(max(kept))
                kept[axis] = max(2, min(kept[axis] * 7 // 8, kept[axis] - 1))
            found = self._lines(axes, kept)
            if len(found) <= most or max(kept) <= 2:
                whole = all(count == k for (_, count, _), k in zip(axes, kept, strict=True))
                return found, whole
            budget = prod(kept) * 7 // 8

    def _axes(self) -> list[tuple[int, int, bool]]:
        """``(stride, places, is it of slots)``; axes that continue each other are one."""
        count = steps(self.of.chip.lanes, self.of.start_lane, self.of.cells)
        found: list[tuple[int, int, bool]] = []
        for stride, axis in sorted(zip(self.of.pitch, range(4), strict=True), reverse=True):
            if found:
                outer, places, slots = found[-1]
                mixed = (slots or axis == 1) and not self.of.system
                inner = axis == 3 and self.of.group > 0  # groups are to be seen
                if outer == stride * count[axis] and not mixed and not inner:
                    found[-1] = (stride, places * count[axis], False)
                    continue
            found.append((stride, count[axis], axis == 1))
        return found

    def _lines(self, axes: list[tuple[int, int, bool]], kept: list[int]) -> list[int]:
        """The lines of these many places of each axis, in any of the shown lanes."""
        slots = {slot for lane in self.lanes for slot in self.of.slots(lane)}
        offsets = [0]
        for (stride, count, is_slots), k in zip(axes, kept, strict=True):
            places = [p for p in _ends(count, k) if not is_slots or p in slots]
            offsets = [offset + p * stride for offset in offsets for p in places]
        found: set[int] = set()
        for units in offsets:
            byte = self.of.offset + units * self.of.unit - self.first
            found.update((byte // self.size, (byte + self.of.unit - 1) // self.size))
        return sorted(found)


def _ends(count: int, kept: int) -> list[int]:
    """``kept`` of the places, from both ends."""
    if kept >= count:
        return list(range(count))
    back = kept // 2
    return [*range(kept - back), *range(count - back, count)]
