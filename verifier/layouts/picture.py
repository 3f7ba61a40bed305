"""The picture of a tensor in memory: a block per 4 bytes, labelled, for every way of drawing it.

Each lane is a column of lines, each line some blocks wide. What is too long is elided: of each
axis the first and the last places stay.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from math import gcd, prod
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from verifier.layouts.address import align, steps
from verifier.layouts.arrangement import Arrangement, Index

#: bytes of a block, as in the manuals' figures
BLOCK: Final = 4

#: ``dummy``: completes a word, pair or group; ``padding``: beside elements; ``unused``: in a slot
#: without a channel, or in front of the tensor
Kind: TypeAlias = Literal["data", "dummy", "padding", "unused"]


class Block(Struct, frozen=True):
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


class Row(Struct, frozen=True):
    """A line of every lane that is shown; ``byte`` is the first of its blocks'. The last line may
    be short."""

    byte: int
    blocks: tuple[tuple[Block, ...], ...]


class Gap(Struct, frozen=True):
    """Lines that are not drawn: only padding or unused blocks, or elided elements. ``kinds`` says
    for each lane what the first of its blocks is."""

    byte: int
    size: int
    kind: Literal["padding", "elided"]
    kinds: tuple[Kind, ...]

    @property
    def text(self) -> str:
        number = self.size // BLOCK
        what = "more" if self.kind == "elided" else "empty"
        return f"{number} {what} block{'' if number == 1 else 's'}"


class Picture(Struct, frozen=True):
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


class _Sums:
    """Which offsets are the sum of a place of each axis.

    Strides that continue each other are one run. A single run is a formula. Several are spelt out,
    a bit for each sum: they are of local memory, which is small.
    """

    def __init__(self, axes: Iterable[tuple[int, range]]) -> None:
        runs: list[tuple[int, int]] = []  # strides, and how often at most
        self.least = 0
        for stride, places in sorted(axes, key=lambda axis: axis[0]):
            self.least += stride * places[0]
            often = len(places) - 1 if stride else 0
            inner, most = runs[-1] if runs else (0, 0)
            if often and inner and stride % inner == 0 and stride <= inner * (most + 1):
                runs[-1] = (inner, most + stride // inner * often)
            elif often:
                runs.append((stride, often))
        self.greatest = self.least + sum(stride * often for stride, often in runs)
        self._step = runs[0][0] if runs else 1
        self._bits = 0
        if len(runs) > 1:
            self._bits = 1
            for stride, often in runs:
                self._bits = _repeated(self._bits, stride, often)
        self._bytes = self._bits.to_bytes(self._bits.bit_length() // 8 + 1, "little")

    def has(self, offset: int) -> bool:
        if not self.least <= offset <= self.greatest:
            return False
        at = offset - self.least
        return bool(self._bytes[at >> 3] >> (at & 7) & 1) if self._bits else at % self._step == 0

    def next(self, offset: int) -> int | None:
        """The least sum that is not below ``offset``."""
        if offset > self.greatest:
            return None
        at = max(offset - self.least, 0)
        if not self._bits:
            return self.least + align(at, self._step)
        rest = self._bits >> at
        return self.least + at + (rest & -rest).bit_length() - 1


def _repeated(bits: int, stride: int, often: int) -> int:
    """The bits, and the same moved by each multiple of the stride."""
    copies = 1
    while copies <= often:
        more = min(copies, often + 1 - copies)
        bits |= bits << stride * more
        copies += more
    return bits


class _Axis(Struct, frozen=True):
    """An axis of a lane's units; ``rest``: what the axes of shorter strides add up to."""

    axis: int
    stride: int
    places: range
    rest: _Sums


class Places:
    """From bytes to elements: the inverse of placing, for any strides."""

    def __init__(self, arrangement: Arrangement) -> None:
        self.of = arrangement
        self._strides = arrangement.pitch
        self._known: dict[range, tuple[tuple[_Axis, ...], _Sums]] = {}

    def _axes(self, lane: int) -> tuple[tuple[_Axis, ...], _Sums] | None:
        """The axes of the units in a lane, from the longest stride down, and all their sums; None
        if no channel lies in it."""
        slots = self.of.slots(lane)
        if not slots:
            return None
        if slots not in self._known:
            n, _, h, w = self.of.cells
            places = (range(n), slots, range(h), range(w))
            order = sorted(range(4), key=lambda axis: (-self._strides[axis], axis))
            items = [(self._strides[axis], places[axis]) for axis in order]
            sums = [_Sums(items[at:]) for at in range(5)]
            axes = (_Axis(axis, *items[at], sums[at + 1]) for at, axis in enumerate(order))
            self._known[slots] = tuple(axes), sums[0]
        return self._known[slots]

    def units(self, lane: int, offset: int) -> Iterator[Index]:
        """The units at that many units behind the tensor's byte."""
        found = self._axes(lane)
        for place in _solutions(found[0], offset) if found and found[1].has(offset) else ():
            n, slot, h, w = (place[axis] for axis in range(4))
            cell = (n, self.of.channel(lane, slot), h, w)
            if self.of.exists(cell):
                yield cell

    def next(self, lane: int, offset: int) -> int | None:
        """The least offset of a unit that is not below ``offset``."""
        found = self._axes(lane)
        return found[1].next(offset) if found else None

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


def _solutions(axes: tuple[_Axis, ...], offset: int) -> Iterator[dict[int, int]]:
    """Places on every axis that add up to the offset, of which it is known that it is a sum."""
    if not axes:
        yield {}
        return
    first, rest = axes[0], axes[1:]
    stride, places = first.stride, first.places
    if stride == 0:
        for found in _solutions(rest, offset):
            for place in places:
                yield {first.axis: place, **found}
        return
    low = -(-(offset - first.rest.greatest) // stride)
    high = (offset - first.rest.least) // stride
    for place in range(max(low, places[0]), min(high, places[-1]) + 1):
        if first.rest.has(offset - place * stride):
            for found in _solutions(rest, offset - place * stride):
                yield {first.axis: place, **found}


def draw(arrangement: Arrangement, *, across: int, lanes: int, lines: int, fold: int) -> Picture:
    """The picture, ``across`` blocks to a line.

    At most ``lanes`` lanes are shown, and about ``lines`` lines: a third more where that shows all
    of them, a third less where it does not. ``fold`` or more lines without an element become a gap.
    """
    shown = _lanes(arrangement, lanes)
    sheet = _Sheet(arrangement, shown, across)
    budget = lines
    while True:
        plan, whole = sheet.plan(budget, fold)
        if whole and len(plan) > lines:
            plan, _ = sheet.plan(budget, 2)
        if len(plan) <= lines * (4 if whole else 2) // 3 or budget <= 4:
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
    across = max(1, blocks[3])
    most = min(most, -(-arrangement.bytes_per_lane // BLOCK))
    for period in (gcd(blocks[0], blocks[1]), blocks[0], blocks[1], blocks[2]):
        widths = [width for width in range(most, 1, -1) if period % width == 0]
        if period and widths:
            return sorted(widths, key=lambda width: width % across != 0)
    return list(range(most, 1, -1))


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
        self.end = arrangement.offset + max(arrangement.bytes_per_lane, arrangement.extent)
        self.count = -(-(self.end - self.first) // self.size)

    def row(self, line: int) -> Row:
        start = self.first + line * self.size
        places = range(start, min(start + self.size, self.end), BLOCK)
        return Row(
            start,
            tuple(tuple(self.places.block(lane, byte) for byte in places) for lane in self.lanes),
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
        byte = self.first + start * self.size
        size = align(min((stop - start) * self.size, self.end - byte), BLOCK)
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
        slots = {self.of.slots(lane) for lane in self.lanes}
        offsets = [0]
        for (stride, count, is_slots), k in zip(axes, kept, strict=True):
            places = _ends(count, k)
            if is_slots:
                places = [p for p in places if any(p in some for some in slots)]
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
