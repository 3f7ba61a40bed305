"""Styled lines of text: widths in terminal cells, wrapping, and printing with or without colour.

Renderers build lists of :class:`Line`; only :func:`write` knows whether they end up on a terminal.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import TextIO, TypeAlias

from msgspec import Struct, field

from verifier.report.rules import RuleText

#: cells of the longest formula that is told whole
_LONG = 280
#: cells of the shortest part in parentheses that it is worth to leave out
_WORTH = 12

#: Style names that renderers use, and what they look like on a terminal.
STYLES: Mapping[str, str] = {
    "": "",
    "error": "bold red",
    "warning": "bold yellow",
    "note": "bold cyan",
    "message": "bold",
    "gutter": "blue",
    "arrow": "bold blue",
    "primary": "bold red",
    "primary-warning": "bold yellow",
    "primary-note": "bold cyan",
    "label": "blue",
    "key": "bold",
    "value": "magenta",
    "help": "green",
    "help-key": "bold green",
    "path": "bold",
    "ok": "green",
    "bad": "red",
    "unsure": "yellow",
    "dim": "dim",
}

Piece: TypeAlias = tuple[str, str]
Line: TypeAlias = list[Piece]


class Glyphs(Struct, frozen=True):
    """The few characters that not every output encoding has."""

    ok: str = "✓"
    partly: str = "~"
    bad: str = "✗"
    unsure: str = "?"
    dot: str = "·"
    ellipsis: str = "…"


UNICODE = Glyphs()
ASCII = Glyphs(ok="+", bad="x", unsure="?", dot="-", ellipsis="...")


class Options(Struct, frozen=True):
    """How a report is printed; ``width`` is in terminal cells.

    ``root`` is the directory that paths count from in formats for other programs. ``strict``: the
    exit status counts warnings and unknowns, too. ``verbose``: what the preconditions of kernels
    stand for is shown one by one, with what is assumed. ``rules`` has the texts of the rules by id,
    for formats that explain them.
    """

    version: str = "0"
    width: int = 100
    color: bool = False
    glyphs: Glyphs = UNICODE
    statistics: bool = False
    root: str = os.curdir
    strict: bool = False
    verbose: bool = False
    rules: Mapping[str, RuleText] = field(default_factory=dict)

    @staticmethod
    def for_stream(stream: TextIO, *, version: str, statistics: bool = False) -> Options:
        """Colour only on a terminal and never with NO_COLOR; width of the terminal or 100."""
        terminal = stream.isatty()
        color = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return Options(
            version=version,
            width=_width(stream, terminal),
            color=color,
            glyphs=_glyphs(stream),
            statistics=statistics,
        )


def _width(stream: TextIO, terminal: bool) -> int:
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        width = int(columns)
    elif terminal:
        try:
            width = os.get_terminal_size(stream.fileno()).columns
        except (OSError, ValueError):
            width = 100
    else:
        width = 100
    return max(40, width or 100)


def _glyphs(stream: TextIO) -> Glyphs:
    try:
        "✓✗·…".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


@lru_cache(maxsize=4096)
def cells(text: str) -> int:
    """How many terminal cells a text takes (wide characters two, combining ones none)."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def plain(line: Line) -> str:
    return "".join(text for text, _ in line).rstrip()


def words(text: str, style: str = "") -> list[Piece]:
    return [(word, style) for word in text.split()]


def wrap(head: Line, body: Iterable[Piece], width: int, *, indent: int | None = None) -> list[Line]:
    """``head`` and the unbreakable pieces of ``body`` behind it, wrapped to ``width`` cells.

    Continuation lines start under the first piece, or after ``indent`` cells when given.
    """
    start = sum(cells(text) for text, _ in head)
    hanging = start if indent is None else indent
    lines: list[Line] = []
    line: Line = list(head)
    used, fresh = start, True
    for text, style in body:
        needed = cells(text) + (0 if fresh else 1)
        if not fresh and used + needed > width:
            lines.append(line)
            line, used, fresh = [(" " * hanging, "")], hanging, True
            needed = cells(text)
        if not fresh:
            previous = line[-1][1]
            line.append((" ", style if style == previous else ""))
        line.append((text, style))
        used, fresh = used + needed, False
    lines.append(line)
    return lines


def one_line(text: str) -> str:
    """``text`` on one line, without characters that would disturb a terminal."""
    return "".join(
        character if character.isprintable() else " " for character in " ".join(text.split())
    )


def folded(text: str, options: Options) -> str:
    """A very long text with its longest parts in parentheses left out, unless ``verbose``."""
    while cells(text) > _LONG and not options.verbose:
        opened: list[int] = []
        longest = 0, 0
        for position, character in enumerate(text):
            if character == "(":
                opened.append(position)
            elif character == ")" and opened:
                start = opened.pop()
                if position - start > longest[1] - longest[0]:
                    longest = start, position
        start, end = longest
        if end - start < _WORTH:
            break
        text = f"{text[:start]}({options.glyphs.ellipsis}{text[end:]}"
    return text


def write(lines: Sequence[Line], stream: TextIO, options: Options) -> None:
    """Print the lines; colours only where ``options`` says so."""
    if not options.color:
        stream.writelines(f"{plain(line)}\n" for line in lines)
        return
    from rich.console import Console
    from rich.style import Style
    from rich.text import Text

    printed = io.StringIO()
    console = Console(
        file=printed,
        force_terminal=True,
        width=max(options.width, 1),
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False if sys.platform != "win32" else None,
    )
    styles = {name: Style.parse(text) if text else Style() for name, text in STYLES.items()}
    for line in lines:
        text = Text(no_wrap=True, end="")
        for style, pieces in groupby(line, key=lambda piece: piece[1]):
            text.append("".join(piece for piece, _ in pieces), styles[style])
        text.rstrip()
        console.print(text, soft_wrap=True)
    stream.writelines(printed.getvalue().splitlines(keepends=True))
