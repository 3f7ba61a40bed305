"""The text of an editor's buffer: lines as LSP counts them, positions, and what edits move where.

Inside the server, a position is a 0-based line and a column in code points, as in
:mod:`verifier.report.model` (whose lines are 1-based). What a client calls a character depends on
the encoding that was agreed on.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from verifier.report.model import Span

Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]

#: edits that are remembered; findings that are older than all of them are forgotten
_REMEMBERED: Final = 4000
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")


class Position(NamedTuple):
    """A 0-based line and a 0-based column in code points."""

    line: int
    column: int


class Change(Struct, frozen=True):
    """A replacement: what was from ``start`` to ``end`` is now from ``start`` to ``new_end``."""

    start: Position
    end: Position
    new_end: Position

    def moved(self, place: Position, *, opens: bool) -> Position:
        """Where a position is afterwards. ``opens``: it begins something, so that what is inserted
        right there comes before it; else it ends something, and the insertion comes after it."""
        inserted = self.start == self.end
        if place < self.start or (place == self.start and not (opens and inserted)):
            return place
        if place >= self.end:
            if place.line > self.end.line:
                return Position(place.line + self.new_end.line - self.end.line, place.column)
            return Position(self.new_end.line, self.new_end.column + place.column - self.end.column)
        return self.new_end if opens else self.start


def split(text: str) -> list[str]:
    """The lines with their ends: LSP knows three (``\\n``, ``\\r\\n``, ``\\r``). Never empty."""
    lines = _LINE.findall(text)
    if not lines or lines[-1][-1:] in ("\r", "\n"):
        lines.append("")
    return lines


def bare(line: str) -> str:
    """A line without its end."""
    return line.rstrip("\r\n")


def units(text: str, encoding: Encoding) -> int:
    """The length of a text in the units of an encoding."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(c > "\uffff" for c in text)


def column(line: str, character: int, encoding: Encoding) -> int:
    """The column of a client's character: in the middle of one, before it; past the end, there."""
    line = bare(line)
    if encoding == "utf-32" or line.isascii():
        return max(0, min(character, len(line)))
    left = character
    for index, char in enumerate(line):
        left -= units(char, encoding)
        if left < 0:
            return index
    return len(line)


class Buffer:
    """A document that is open in the editor.

    ``revision`` counts our own: it grows with every edit, whatever versions the client gives.
    """

    __slots__ = ("_changes", "_lines", "_text", "path", "revision", "uri", "version")

    def __init__(self, uri: str, path: str, version: int | None, text: str) -> None:
        self.uri = uri
        self.path = path
        self.version = version
        self.revision = 0
        self._lines = split(text)
        self._text: str | None = text
        self._changes: deque[Change] = deque(maxlen=_REMEMBERED)

    @property
    def text(self) -> str:
        if self._text is None:
            self._text = "".join(self._lines)
        return self._text

    @property
    def lines(self) -> Sequence[str]:
        """The lines with their ends; the last one is empty if the text ends with a line end."""
        return self._lines

    def line(self, number: int) -> str:
        """A line without its end; empty where there is none."""
        return bare(self._lines[number]) if 0 <= number < len(self._lines) else ""

    # ----------------------------------------------------------------- positions

    def position(self, line: int, character: int, encoding: Encoding) -> Position:
        """The position that a client means, moved to the nearest one that exists."""
        if line < 0:
            return Position(0, 0)
        if line >= len(self._lines):
            return Position(len(self._lines) - 1, len(bare(self._lines[-1])))
        return Position(line, column(self._lines[line], character, encoding))

    def character(self, place: Position, encoding: Encoding) -> int:
        """The client's character of a position."""
        return units(self.line(place.line)[: place.column], encoding)

    # ----------------------------------------------------------------- edits

    def replace(self, start: Position, end: Position, text: str) -> None:
        """Put ``text`` in the place of what is between two positions."""
        if end < start:
            start, end = end, start
        first, last = start.line, end.line
        head = self._lines[first][: start.column]
        tail = self._lines[last][end.column :]
        if first and not head and self._lines[first - 1].endswith("\r"):
            first -= 1  # a line feed that comes to stand after it ends the same line
            head = self._lines[first]
        new = split(head + text + tail)
        if new[-1] == "" and last + 1 < len(self._lines):
            new.pop()
        self._lines[first : last + 1] = new
        self._text = None
        inserted = split(text)
        if len(new) == start.line - first + len(inserted):
            at = start.column if len(inserted) == 1 else 0
            after = Position(start.line + len(inserted) - 1, at + len(inserted[-1]))
        else:  # halves of line ends have met, or been parted
            start, end = Position(first, 0), Position(last + 1, 0)
            after = Position(first + len(new), 0)
        self._remember(Change(start, end, after))

    def reset(self, text: str) -> None:
        """Put ``text`` in the place of everything, as a change of what differs."""
        old, new = self._lines, split(text)
        same = 0
        for same, (a, b) in enumerate(zip(old, new, strict=False)):  # noqa: B007
            if a != b:
                break
        else:
            same = min(len(old), len(new))
        behind = 0
        while behind < min(len(old), len(new)) - same and old[-1 - behind] == new[-1 - behind]:
            behind += 1
        start = Position(same, 0)
        end, moved = Position(len(old) - behind, 0), Position(len(new) - behind, 0)
        self._lines = new
        self._text = text
        self._remember(Change(start, end, moved))

    def _remember(self, change: Change) -> None:
        self.revision += 1
        self._changes.append(change)

    # ----------------------------------------------------------------- what moved

    def since(self, revision: int) -> Sequence[Change] | None:
        """The changes after ``revision``; None if they are not remembered any more."""
        count = self.revision - revision
        if count < 0 or count > len(self._changes):
            return None
        return list(self._changes)[len(self._changes) - count :] if count else ()

    def between(self, earlier: int, later: int) -> Sequence[Change] | None:
        """The changes after one revision, up to another."""
        changes = self.since(earlier)
        return None if changes is None else changes[: max(0, later - earlier)]


def moved(span: Span, changes: Iterable[Change]) -> Span | None:
    """Where a span is after the changes; None if nothing of its text is left."""
    start = Position(span.line - 1, span.column)
    end = Position(span.end_line - 1, span.end_column)
    empty = start == end
    for change in changes:
        start, end = change.moved(start, opens=True), change.moved(end, opens=False)
        if empty:
            end = start
        elif end <= start:
            return None
    return replace(
        span, line=start.line + 1, column=start.column, end_line=end.line + 1, end_column=end.column
    )


def touched(span: Span, changes: Iterable[Change]) -> bool:
    """Whether some change reaches into a span, or to its edge."""
    start = Position(span.line - 1, span.column)
    end = Position(span.end_line - 1, span.end_column)
    for change in changes:
        if change.start <= end and change.end >= start:
            return True
        start, end = change.moved(start, opens=True), change.moved(end, opens=False)
    return False


def words(line: str) -> Iterator[tuple[int, int, str]]:
    """The identifiers of a line: where each begins and ends."""
    for match in re.finditer(r"[^\W\d]\w*", line):
        yield match.start(), match.end(), match.group()
