"""From spans of the engine to ranges of the client, and from paths to URIs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from lsprotocol import types as lsp
from pygls import uris

from verifier.lsp.text import Buffer, Encoding, Position, bare, split, units
from verifier.report.model import Span
from verifier.source.text import SourceError, decode, read_bytes


def path_of(uri: str) -> str:
    """The path of a document; one that is not saved anywhere has a path in no folder."""
    path = uris.to_fs_path(uri)
    if path is None:
        return os.path.join(os.sep, "untitled", uri.replace("/", "_") + ".py")  # noqa: PTH118
    return os.path.abspath(path)  # noqa: PTH100  (links are not followed)


class Places:
    """Where things are, as the client counts."""

    def __init__(self, buffers: Mapping[str, Buffer]) -> None:
        self.encoding: Encoding = "utf-16"
        self._buffers = buffers
        #: lines of files that are not open, with the time they were read at
        self._files: dict[str, tuple[int, Sequence[str]]] = {}

    def uri(self, path: str) -> str:
        buffer = self._buffers.get(path)
        return buffer.uri if buffer is not None else str(uris.from_fs_path(path))

    def line(self, path: str, number: int) -> str:
        """A line (0-based) without its end; empty where there is none."""
        buffer = self._buffers.get(path)
        if buffer is not None:
            return buffer.line(number)
        lines = self._lines(path)
        return bare(lines[number]) if 0 <= number < len(lines) else ""

    def _lines(self, path: str) -> Sequence[str]:
        try:
            stamp = os.stat(path).st_mtime_ns  # noqa: PTH116
        except OSError:
            return ()
        known = self._files.get(path)
        if known is None or known[0] != stamp:
            try:
                text = decode(Path(path), read_bytes(Path(path))).text
            except SourceError:
                text = ""
            if len(self._files) > 64:
                self._files.clear()
            known = self._files[path] = (stamp, split(text))
        return known[1]

    def position(self, path: str, place: Position) -> lsp.Position:
        text = self.line(path, place.line)
        return lsp.Position(place.line, units(text[: place.column], self.encoding))

    def range(self, span: Span) -> lsp.Range:
        return lsp.Range(
            self.position(span.path, Position(span.line - 1, span.column)),
            self.position(span.path, Position(span.end_line - 1, span.end_column)),
        )

    def location(self, span: Span) -> lsp.Location:
        return lsp.Location(self.uri(span.path), self.range(span))

    def whole_line(self, path: str, line: int) -> Span:
        """The text of a line (1-based), without the white space around it."""
        text = self.line(path, line - 1)
        start = len(text) - len(text.lstrip())
        return Span(path, line, start, line, max(start, len(text.rstrip())))
