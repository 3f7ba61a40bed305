"""Code frames: source lines with the places marked, as rustc and ruff draw them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from verifier.report.model import Span
from verifier.report.sources import Sources
from verifier.report.text import Glyphs, Line, cells, words, wrap

TAB = 4
_LONGEST = 6  # lines of one marked region that are shown in full
_NARROWEST = 24  # cells a label needs beside its mark before it moves to a line of its own


class Mark(Struct, frozen=True):
    """A region to underline; ``primary`` with carets, the others with dashes."""

    span: Span
    text: str
    primary: bool
    style: str


def frame(
    sources: Sources, marks: Sequence[Mark], width: int, glyphs: Glyphs
) -> tuple[list[Line], int]:
    """The frame of all marks, the first mark's file first, and the width of its line numbers.

    Files that cannot be read are left out; the caller prints the position in any case.
    """
    files: dict[str, list[Mark]] = {}
    for mark in marks:
        if sources.line(mark.span.path, mark.span.line) is not None:
            files.setdefault(mark.span.path, []).append(mark)
    if not files:
        return [], len(str(marks[0].span.line))
    number_width = max(len(str(m.span.end_line)) for group in files.values() for m in group)
    lines: list[Line] = []
    main = marks[0].span.path
    for path, group in files.items():
        if path != main:
            first = min(group, key=lambda mark: (mark.span.line, mark.span.column))
            place = f"{path}:{first.span.line}:{first.span.column + 1}"
            lines.append([(f"{' ' * number_width}::: ", "arrow"), (place, "")])
        lines.append([(f"{' ' * number_width} |", "gutter")])
        lines.extend(_File(sources, path, group, number_width, width, glyphs).render())
    return lines, number_width


class _File:
    def __init__(
        self,
        sources: Sources,
        path: str,
        marks: Sequence[Mark],
        number_width: int,
        width: int,
        glyphs: Glyphs,
    ) -> None:
        self.sources = sources
        self.path = path
        self.number_width = number_width
        self.glyphs = glyphs
        self.rail, self.marks = _one_rail(marks)
        self.available = max(20, width - number_width - 3 - (2 if self.rail else 0))

    def render(self) -> list[Line]:
        lines: list[Line] = []
        previous = 0
        for number in self.numbers():
            if previous and number == previous + 2:
                lines.append(self.code(number - 1, _Row(self.text(number - 1)), 0))
            elif previous and number > previous + 2:
                in_rail = self.rail is not None and self.within(previous + 1)
                lines.append(
                    [("..." + (" " * self.number_width + "|" if in_rail else ""), "gutter")]
                )
            previous = number
            lines.extend(self.row(number))
        return lines

    def numbers(self) -> list[int]:
        shown = {mark.span.line for mark in self.marks}
        if self.rail:
            first, last = self.rail.span.line, self.rail.span.end_line
            if last - first < _LONGEST:
                shown.update(range(first, last + 1))
            else:
                shown.update((first, first + 1, last))
        return sorted(number for number in shown if self.text(number) is not None)

    def text(self, number: int) -> str | None:
        return self.sources.line(self.path, number)

    def within(self, number: int) -> bool:
        return self.rail is not None and self.rail.span.line < number <= self.rail.span.end_line

    def row(self, number: int) -> list[Line]:
        row = _Row(self.text(number))
        here = sorted(
            (mark for mark in self.marks if mark.span.line == number),
            key=lambda mark: (mark.span.column, mark.span.end_column),
        )
        places = [(mark, *row.place(mark.span.column, mark.span.end_column)) for mark in here]
        offset = 0
        if places:
            # Scroll no further than needed, and never past the start of a mark.
            beyond = max(end for _, _, end in places) - self.available
            if beyond > 0:
                offset = max(0, min(beyond + 2, min(start for _, start, _ in places) - 8))
        lines = [self.code(number, row, offset)]
        last = self.available - 1  # a mark that does not fit on the line is shown at its end
        visible = [
            (mark, max(0, min(start - offset, last)), max(1, min(end - offset, last + 1)))
            for mark, start, end in places
        ]
        lines.extend(self.underlines(number, visible))
        if self.rail and number == self.rail.span.end_line:
            lines.extend(self.rail_end(row))
        return lines

    def gutter(self, number: int | None, rail: str) -> Line:
        shown = "" if number is None else str(number)
        line: Line = [(f"{shown:>{self.number_width}} | ", "gutter")]
        if self.rail:
            line.append((f"{rail} ", self.rail.style))
        return line

    def code(self, number: int, row: _Row, offset: int) -> Line:
        rail = " "
        if self.rail:
            rail = "/" if number == self.rail.span.line else "|" if self.within(number) else " "
        text = row.crop(offset, self.available, self.glyphs.ellipsis)
        return [*self.gutter(number, rail), (text, "")]

    def after(self, number: int) -> Line:
        """The gutter of a line between code lines."""
        inside = self.rail and self.rail.span.line <= number < self.rail.span.end_line
        closing = self.rail and number == self.rail.span.end_line
        return self.gutter(None, "|" if inside or closing else " ")

    def underlines(self, number: int, places: Sequence[tuple[Mark, int, int]]) -> list[Line]:
        if not places:
            return []
        width = max(end for _, _, end in places)
        canvas: list[tuple[str, str]] = [(" ", "")] * width
        for primary in (False, True):
            for mark, start, end in places:
                if mark.primary is primary:
                    for cell in range(start, end):
                        canvas[cell] = ("^" if primary else "-", mark.style)
        texts = [(mark, start, end) for mark, start, end in places if mark.text]
        beside = texts[-1] if texts and texts[-1][2] == width else None
        first = [*self.after(number), *_merge(canvas)]
        lines: list[Line] = []
        if beside and self.available - width - 1 >= min(_NARROWEST, cells(beside[0].text)):
            texts.pop()
            head: Line = [*first, (" ", "")]
            limit = self.available + self.prefix()
            wrapped = wrap(head, words(beside[0].text, beside[0].style), limit)
            lines.extend([wrapped[0], *(self.continued(number, line) for line in wrapped[1:])])
        else:
            lines.append(first)
        if texts:
            lines.append(self.connectors(number, texts, width))
        while texts:
            # Leave room for the text by pulling it to the left when its mark is far right.
            mark, start, _ = texts.pop()
            room = min(cells(mark.text), _NARROWEST)
            start = max(0, min(start, self.available - room))
            head = [*self.connectors(number, [t for t in texts if t[1] < start], start)]
            wrapped = wrap(head, words(mark.text, mark.style), self.available + self.prefix())
            lines.extend([wrapped[0], *(self.continued(number, line) for line in wrapped[1:])])
        return lines

    def prefix(self) -> int:
        return self.number_width + 3 + (2 if self.rail else 0)

    def continued(self, number: int, line: Line) -> Line:
        """A wrapped line of a label with the gutter put back in place of its indentation."""
        indent = len(line[0][0]) - self.prefix()
        return [*self.after(number), (" " * indent, ""), *line[1:]]

    def connectors(self, number: int, texts: Sequence[tuple[Mark, int, int]], width: int) -> Line:
        canvas: list[tuple[str, str]] = [(" ", "")] * width
        for mark, start, _ in texts:
            canvas[start] = ("|", mark.style)
        return [*self.after(number), *_merge(canvas)]

    def rail_end(self, row: _Row) -> list[Line]:
        assert self.rail is not None
        _, end = row.place(0, self.rail.span.end_column)
        end = min(end, self.available)
        style = self.rail.style
        head: Line = [
            *self.gutter(None, "|")[:-1],
            ("|" + "_" * end + ("^" if self.rail.primary else "-"), style),
        ]
        if not self.rail.text:
            return [head]
        limit = self.available + self.prefix()
        if self.available - end - 2 < min(_NARROWEST, cells(self.rail.text)):
            lines: list[Line] = [head]
            head = self.gutter(None, " ")
        else:
            lines = []
            head = [*head, (" ", "")]
        wrapped = wrap(head, words(self.rail.text, style), limit)
        lines.append(wrapped[0])
        for line in wrapped[1:]:
            indent = len(line[0][0]) - self.prefix()
            lines.append([*self.gutter(None, " "), (" " * indent, ""), *line[1:]])
        return lines


class _Row:
    """One source line: what is shown for each code point, and at which cell it starts."""

    def __init__(self, text: str | None) -> None:
        self.shown: list[str] = []
        self.starts: list[int] = []
        position = 0
        for character in (text or "").rstrip():
            if character == "\t":
                shown = " " * (TAB - position % TAB)
            elif character.isprintable():
                shown = character
            elif character == "\N{ZERO WIDTH JOINER}":
                shown = ""
            else:  # control characters, and those that reorder text on a terminal
                shown = "\N{REPLACEMENT CHARACTER}"
            self.shown.append(shown)
            self.starts.append(position)
            position += cells(shown)
        self.width = position

    def cell(self, column: int) -> int:
        return self.starts[column] if column < len(self.starts) else self.width

    def place(self, column: int, end_column: int) -> tuple[int, int]:
        """The cells of a region: at least one."""
        start = self.cell(column)
        return start, max(start + 1, self.cell(end_column))

    def crop(self, offset: int, available: int, ellipsis: str) -> str:
        if offset == 0 and self.width <= available:
            return "".join(self.shown)
        room = cells(ellipsis)
        left = offset + (room if offset else 0)
        right = offset + available - (room if self.width > offset + available else 0)
        kept = [
            (start, shown)
            for start, shown in zip(self.starts, self.shown, strict=True)
            if start >= left and start + cells(shown) <= right
        ]
        text = "".join(shown for _, shown in kept)
        if offset and kept:
            text = ellipsis + " " * (kept[0][0] - left) + text
        return text + (ellipsis if self.width > offset + available else "")


def _one_rail(marks: Sequence[Mark]) -> tuple[Mark | None, list[Mark]]:
    """The mark over several lines that gets the rail (a primary one first), and the others.

    Further marks over several lines shrink to their first line.
    """
    tall = [mark for mark in marks if mark.span.end_line > mark.span.line]
    rail = next((mark for mark in tall if mark.primary), tall[0] if tall else None)
    others = []
    for mark in marks:
        if mark is rail:
            continue
        span = mark.span
        if span.end_line > span.line:
            span = Span(span.path, span.line, span.column, span.line, 1 << 30)
            mark = Mark(span, mark.text, mark.primary, mark.style)
        others.append(mark)
    return rail, others


def _merge(canvas: Sequence[tuple[str, str]]) -> Line:
    line: Line = []
    for text, style in canvas:
        if line and line[-1][1] == style:
            line[-1] = (line[-1][0] + text, style)
        else:
            line.append((text, style))
    return line
