"""Changing the text of a file and nothing else of it.

A file is decoded with its line ends, its byte order mark and its encoding, so that what is not
edited is written back byte for byte.
"""

from __future__ import annotations

import codecs
import io
import re
import tokenize
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from verifier.source.text import SourceError, decode

_LINE_END = re.compile(r"\r\n|\r|\n")


class Replacement(Struct, frozen=True):
    """``text`` (with ``\\n`` line ends) in place of a region: lines from 1, columns from 0."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class Exact(Struct, frozen=True):
    """A file as it is: ``text`` with its own line ends, ``mark`` the byte order mark."""

    path: Path
    text: str
    encoding: str
    mark: bytes

    def encoded(self, text: str) -> bytes:
        """Another text as the bytes of this file.

        Raises:
            SourceError: the encoding of the file has no bytes for it.
        """
        try:
            return self.mark + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            line = len(_LINE_END.findall(text[: error.start])) + 1
            message = f"{self.encoding.upper()} has no {text[error.start]!r}"
            raise SourceError(self.path, line, 0, message) from error


def exact(path: Path, raw: bytes) -> Exact:
    """Decode a file so that encoding it gives the same bytes.

    Raises:
        SourceError: it cannot be decoded, or not without a loss.
    """
    decode(path, raw)  # whatever is wrong with it
    encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
    mark = b""
    if encoding == "utf-8-sig":
        encoding, mark = "utf-8", codecs.BOM_UTF8
    found = Exact(path, raw[len(mark) :].decode(encoding), encoding, mark)
    if found.encoded(found.text) != raw:
        raise SourceError(path, 1, 0, f"{encoding.upper()} does not keep the file as it is")
    return found


def replaced(text: str, replacements: Iterable[Replacement]) -> str:
    """The text with regions replaced; new lines end as the lines around them do.

    Raises:
        ValueError: regions overlap, lie outside of the text, or a line between a carriage return
            and a line feed vanishes.
    """
    starts, ends = [0], []
    for end in _LINE_END.finditer(text):
        ends.append(end)
        starts.append(end.end())
    newline = ends[0].group() if ends else "\n"

    def offset(line: int, column: int) -> int:
        if not 1 <= line <= len(starts):
            raise ValueError(f"there is no line {line}")
        limit = ends[line - 1].start() if line <= len(ends) else len(text)
        if not 0 <= column <= limit - starts[line - 1]:
            raise ValueError(f"line {line} has no column {column}")
        return starts[line - 1] + column

    regions = []
    for item in replacements:
        first = offset(item.line, item.column)
        last = offset(item.end_line, item.end_column)
        if last < first:
            raise ValueError("a region ends before it starts")
        near = ends[min(item.line, len(ends)) - 1].group() if ends else newline
        regions.append((first, last, item.text.replace("\r\n", "\n").replace("\n", near)))
    parts: list[str] = []
    position = 0
    for first, last, new in sorted(regions, key=lambda region: region[:2]):
        if first < position:
            raise ValueError("regions overlap")
        parts += (text[position:first], new)
        position = last
    parts.append(text[position:])
    whole = "".join(parts)
    if len(_LINE_END.findall(whole)) != sum(len(_LINE_END.findall(part)) for part in parts):
        raise ValueError("line ends run together")
    return whole


def problem(path: Path, text: str) -> SourceError | None:
    """Why a text is no Python that can be written back as it is, or None."""
    import libcst

    try:
        tree = libcst.parse_module(text)
    except libcst.ParserSyntaxError as error:
        return SourceError(path, error.raw_line, error.raw_column, error.message)
    except RecursionError:
        return SourceError(path, 1, 0, "the code is nested too deeply")
    if tree.code != text:
        return SourceError(path, 1, 0, "the code cannot be written back as it is")
    return None
