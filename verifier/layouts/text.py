"""The picture as lines of text: a column per NPU, some blocks wide where the terminal is."""

from __future__ import annotations

from itertools import pairwise
from textwrap import wrap
from typing import Final, TypeAlias

from verifier.layouts.arrangement import Arrangement
from verifier.layouts.facts import facts, notes, title
from verifier.layouts.picture import Block, Gap, Picture, draw, natural_widths

#: text and the name of its style
Line: TypeAlias = "list[tuple[str, str]]"

#: lines of a picture, about, lanes at most, and blocks of a lane in a line
_LINES: Final = 48
_LANES: Final = 8
_ACROSS: Final = 8
#: neighbouring lines without an element that are told in one
_FOLD: Final = 2
#: cells between blocks, and between lanes
_SPACE: Final = 2
_GUTTER: Final = 4


def render(
    arrangement: Arrangement,
    *,
    width: int,
    unicode: bool,
    extra: tuple[tuple[str, str], ...] = (),
) -> list[Line]:
    """Facts, picture, legend; ``width`` is the terminal's, ``extra`` are facts to add."""
    rows = [*facts(arrangement), *extra]
    widest = max(len(name) for name, _ in rows)
    lines: list[Line] = [[(part, "message")] for part in wrap(title(arrangement), width)]
    lines.append([])
    for name, value in rows:
        parts = wrap(value, max(20, width - widest - 4)) or [""]
        lines.append([(f"  {name:<{widest}}  ", "key"), (parts[0], "")])
        lines += [[(" " * (widest + 4), ""), (part, "")] for part in parts[1:]]
    lines.append([])
    marks = _Marks(unicode)
    sheet = _fitting(arrangement, width - 2, marks)
    lines += [[("  ", ""), *line] for line in sheet.lines()]
    lines.append([])
    lines += [[("  ", ""), *line] for line in marks.legend(sheet.picture, width - 2)]
    for note in notes(arrangement):
        lines += [[(f"  {part}", "dim")] for part in wrap(f"note: {note}", width - 2)]
    return lines


class _Marks:
    """What stands for blocks without elements."""

    def __init__(self, unicode: bool) -> None:
        self.padding = "·" if unicode else "."
        self.unused = "–" if unicode else "-"
        self.more = "…" if unicode else "..."
        self.bar = "│" if unicode else "|"

    def of(self, block: Block) -> tuple[str, str]:
        if block.kind in ("data", "dummy"):
            return block.label, "" if block.kind == "data" else "dim"
        return (self.padding, "dim") if block.kind == "padding" else (self.unused, "dim")

    def legend(self, picture: Picture, width: int) -> list[Line]:
        """What the marks mean, in as many lines as that takes."""
        told = {
            "": ("n,c,h,w", "of a block of 4 bytes"),
            "shared": ("+", "and others"),
            "padding": (self.padding, "padding"),
            "unused": (self.unused, "unused, no channel here"),
            "dummy": ("~", "dummy, completes a word or group"),
        }
        kinds = picture.kinds() | {""}
        lines: list[Line] = [[]]
        used = 0
        for kind, (mark, meaning) in told.items():
            if kind in kinds:
                wide = len(mark) + 1 + len(meaning)
                if used and used + 3 + wide > width:
                    lines.append([])
                    used = 0
                if used:
                    lines[-1].append(("   ", ""))
                lines[-1] += [(mark, "unsure" if kind else ""), (f" {meaning}", "dim")]
                used += wide + 3
        return lines


def _fitting(arrangement: Arrangement, width: int, marks: _Marks) -> _Sheet:
    """As many lanes as the width takes, then as many blocks of each in a line."""
    lanes = min(_LANES, arrangement.chip.lanes)
    while True:
        sheet = _Sheet(arrangement, marks, lanes, 1)
        if lanes == 1 or sheet.width <= width:
            break
        lanes -= 1
    if len(sheet.picture.lines) > _ACROSS:
        for across in natural_widths(arrangement, _ACROSS):
            wider = _Sheet(arrangement, marks, lanes, across)
            if wider.width <= width:
                return wider
    return sheet


class _Sheet:
    """A picture and the cells that it takes."""

    def __init__(self, arrangement: Arrangement, marks: _Marks, lanes: int, across: int) -> None:
        self.picture = draw(arrangement, across=across, lanes=lanes, lines=_LINES, fold=_FOLD)
        self.marks = marks
        self.heads = [
            "system memory" if arrangement.system else f"NPU {lane}" for lane in self.picture.lanes
        ]
        ends = [-1, *self.picture.lanes, arrangement.chip.lanes]
        #: whether lanes are left out before each lane, and behind the last
        self.jumps = [b - a > 1 for a, b in pairwise(ends)]
        rows = list(self.picture.rows())
        self.first = max([4, *(len(str(line.byte)) for line in self.picture.lines)])
        #: cells of a block, for each lane
        self.cells = [
            max(len(marks.of(block)[0]) for row in rows for block in row.blocks[at])
            for at in range(len(self.heads))
        ]
        self.widths = [
            max(len(head), across * (cells + _SPACE) - _SPACE)
            for head, cells in zip(self.heads, self.cells, strict=True)
        ]

    @property
    def width(self) -> int:
        jumps = sum(self.jumps) * _GUTTER + self.jumps[-1] * len(self.marks.more)
        return self.first + 3 + sum(self.widths) + (len(self.widths) - 1) * _GUTTER + jumps

    def lines(self) -> list[Line]:
        heads: Line = []
        for at, (head, width) in enumerate(zip(self.heads, self.widths, strict=True)):
            if self.jumps[at]:
                heads.append((f"{self.marks.more:<{_GUTTER}}", "dim"))
            heads.append((f"{head:<{width + _GUTTER}}", "message"))
        if self.jumps[-1]:
            heads.append((self.marks.more, "dim"))
        found = [[*self._margin("byte"), *heads]]
        for line in self.picture.lines:
            margin = self._margin(str(line.byte))
            if isinstance(line, Gap):
                mark = self.marks.more if line.kind == "elided" else self.marks.padding
                found.append([*margin, (f"{mark} {line.text}", "dim")])
            else:
                found.append([*margin, *self._blocks(line.blocks)])
        return found

    def _margin(self, text: str) -> Line:
        return [(f"{text:>{self.first}} ", "dim"), (f"{self.marks.bar} ", "gutter")]

    def _blocks(self, lanes: tuple[tuple[Block, ...], ...]) -> Line:
        line: Line = []
        for at, blocks in enumerate(lanes):
            if self.jumps[at]:
                line.append((" " * _GUTTER, ""))
            used = 0
            for block in blocks:
                text, style = self.marks.of(block)
                line += [(text, style), (" " * (self.cells[at] - len(text) + _SPACE), "")]
                used += self.cells[at] + _SPACE
            line.append((" " * (self.widths[at] + _GUTTER - used), ""))
        return line
