"""The source lines that code frames show."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

_LINE_END = re.compile(r"\r\n|\r|\n")


class Sources:
    """Reads files at most once; a file that cannot be read has no lines."""

    def __init__(self, known: dict[str, str] | None = None) -> None:
        self._lines: dict[str, list[str]] = {
            path: _LINE_END.split(text) for path, text in (known or {}).items()
        }

    def has(self, path: str) -> bool:
        """Whether a file's text is there already."""
        return path in self._lines

    def put(self, path: str, text: str | None) -> None:
        """Take ``text`` for what is in the file; None: it cannot be read."""
        self._lines[path] = [] if text is None else _LINE_END.split(text)

    def line(self, path: str, number: int) -> str | None:
        """Line ``number`` (1-based) without its end, or None."""
        if path not in self._lines:
            self._lines[path] = _read(path)
        lines = self._lines[path]
        return lines[number - 1] if 1 <= number <= len(lines) else None


def _read(path: str) -> list[str]:
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError):
        return []
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError:
        encoding = "utf-8-sig"
    return _LINE_END.split(data.decode(encoding, errors="replace"))
