"""Lines of the keys of a TOML document, which ``tomllib`` does not tell.

The scanner reads documents that ``tomllib`` has accepted, so it need not recognise mistakes: it
only has to skip values correctly.
"""

from __future__ import annotations

import bisect
import re
import sys
from typing import TypeAlias

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: Keys from the top of the document; an integer is an index into an array.
Where: TypeAlias = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BASIC = re.compile(r'"(?:[^"\\]|\\.)*"')
_LITERAL = re.compile(r"'[^']*'")
#: up to five quotes end a multi-line string: two of them may be its last characters
_LONG_BASIC = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}', re.S)
_LONG_LITERAL = re.compile(r"'''.*?'{3,5}", re.S)
_SCALAR = re.compile(r"[^,\]}\n#]+")


def lines(text: str) -> dict[Where, int]:
    """The 1-based line of every table, key and array element of a valid document.

    A table that several headers or dotted keys create has the line of the first of them.
    """
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._breaks = [match.start() for match in re.finditer("\n", text)]
        self._found: dict[Where, int] = {}
        #: arrays of tables -> how many there are so far
        self._counts: dict[Where, int] = {}

    def scan(self) -> dict[Where, int]:
        table: Where = ()
        self._skip(_BLANK)
        while self._at < len(self._text):
            if self._text.startswith("[[", self._at):
                table = self._header(2)
            elif self._text[self._at] == "[":
                table = self._header(1)
            else:
                self._pair(table)
            self._skip(_BLANK)
        return self._found

    def _header(self, brackets: int) -> Where:
        """``[table]`` or ``[[element]]``: where it is."""
        start = self._at
        self._at += brackets
        keys = self._keys()
        self._at += brackets
        path: Where = ()
        for key in keys:
            if path in self._counts:
                path = (*path, self._counts[path] - 1)
            path = (*path, key)
            self._note(path, start)
        if brackets == 2:
            count = self._counts.get(path, 0)
            self._counts[path] = count + 1
            path = (*path, count)
            self._note(path, start)
        elif path in self._counts:
            path = (*path, self._counts[path] - 1)
        return path

    def _pair(self, table: Where) -> None:
        start = self._at
        path = table
        for key in self._keys():
            path = (*path, key)
            self._note(path, start)
        self._at += 1  # the sign of equality
        self._skip(_SPACE)
        self._value(path)

    def _keys(self) -> list[str]:
        found: list[str] = []
        while True:
            self._skip(_SPACE)
            start = self._text[self._at]
            if start == '"':
                raw = self._skip(_BASIC)
                found.append(str(tomllib.loads(f"key = {raw}")["key"]))
            elif start == "'":
                found.append(self._skip(_LITERAL)[1:-1])
            else:
                found.append(self._skip(_BARE_KEY))
            self._skip(_SPACE)
            if self._text[self._at] != ".":
                return found
            self._at += 1

    def _value(self, path: Where) -> None:
        start = self._text[self._at]
        if start == "[":
            self._at += 1
            self._skip(_BLANK)
            index = 0
            while self._text[self._at] != "]":
                self._note((*path, index), self._at)
                self._value((*path, index))
                index += 1
                self._separator()
            self._at += 1
        elif start == "{":
            self._at += 1
            self._skip(_BLANK)
            while self._text[self._at] != "}":
                self._pair(path)
                self._separator()
            self._at += 1
        elif self._text.startswith('"""', self._at):
            self._skip(_LONG_BASIC)
        elif self._text.startswith("'''", self._at):
            self._skip(_LONG_LITERAL)
        elif start == '"':
            self._skip(_BASIC)
        elif start == "'":
            self._skip(_LITERAL)
        else:
            self._skip(_SCALAR)

    def _separator(self) -> None:
        self._skip(_BLANK)
        if self._text[self._at] == ",":
            self._at += 1
            self._skip(_BLANK)

    def _skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise ValueError(f"no {pattern.pattern} at {self._at}")
        self._at = match.end()
        return match.group()

    def _note(self, path: Where, at: int) -> None:
        self._found.setdefault(path, bisect.bisect_left(self._breaks, at) + 1)
