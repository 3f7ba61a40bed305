"""How long the formatter of a project lets a line be."""

# A tree has thousands of folders: plain strings, and links are not followed.
# ruff: noqa: PTH100, PTH110, PTH113, PTH118, PTH120, PTH123

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

#: files that may say it, the first one first, and the tables in which they do
_SAID: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...] = (
    (".ruff.toml", ((),)),
    ("ruff.toml", ((),)),
    ("pyproject.toml", (("tool", "ruff"), ("tool", "black"))),
)
_KEYS = ("line-length", "line_length")


class LineLengths:
    """The lengths of lines, folder by folder; each file is read once."""

    def __init__(self) -> None:
        self._of: dict[str, int | None] = {}

    def of(self, path: str) -> int | None:
        """What is said nearest to a file, up to the top of its repository; None: nothing."""
        return self._folder(os.path.dirname(os.path.abspath(path)))

    def _folder(self, folder: str) -> int | None:
        passed = []
        found: int | None = None
        for above in _upwards(folder):
            if above in self._of:
                found = self._of[above]
                break
            passed.append(above)
            found = _said_in(above)
            if found is not None:
                break
        self._of.update(dict.fromkeys(passed, found))
        return found


def _upwards(folder: str) -> Iterator[str]:
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder or os.path.exists(os.path.join(folder, ".git")):
            return
        folder = above


def _said_in(folder: str) -> int | None:
    for name, tables in _SAID:
        content = _content(os.path.join(folder, name))
        for table in tables:
            inner: Any = content
            for key in table:
                inner = inner.get(key, {}) if isinstance(inner, dict) else {}
            for key in _KEYS if isinstance(inner, dict) else ():
                if type(inner.get(key)) is int and inner[key] > 0:
                    return int(inner[key])
    return None


def _content(path: str) -> dict[str, Any]:
    """What a file says; nothing if it is not there, or is no TOML (others will complain)."""
    if not os.path.isfile(path):
        return {}
    from verifier.configuration import toml

    try:
        with open(path, encoding="utf-8") as stream:
            return toml.load(stream.read())
    except (OSError, UnicodeDecodeError, toml.BadTomlError):
        return {}
