"""Which files depend on which: the imports of a file at the cost of searching it for a word.

Made for repositories of thousands of files, of which a few have changed. A file is not parsed; what
looks like an import is taken for one (also inside a function or a string), so that no dependence is
missed. A name that a module only passes on, as packages do in ``__init__.py``, leads to the module
that it comes from, not to everything that the package holds.
"""

# Thousands of files are looked at: plain strings are several times faster here than path objects.
# ruff: noqa: PTH100, PTH116, PTH118, PTH120

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from verifier.source.project import Project

_STATEMENT = re.compile(
    r"(?:^|[;:])[ \t\f]*"
    r"(?:import[ \t]+(?P<modules>[^;#\n]+)"
    r"|from(?=[ \t.])(?P<source>[ \t.\w]*?)(?<![\w])import(?![\w])[ \t]*"
    r"(?P<names>\((?:[^)#]|\#[^\n]*)*\)?|[^;#\n]+))",
    re.M,
)
_COMMENT = re.compile(r"#[^\n]*")
_CONTINUED = re.compile(r"\\\r?\n")


@dataclass(frozen=True, slots=True)
class Import:
    """``import module as bound``, or ``from ..module import name as bound`` (``level`` 2).

    A plain ``import a.b`` binds ``a``; a star import has the name ``*`` and binds nothing (``""``).
    """

    module: str
    level: int
    name: str | None
    bound: str


def imports(raw: bytes) -> tuple[Import, ...]:
    """What looks like an import statement in a file with these bytes."""
    if b"import" not in raw:
        return ()
    text = raw.decode("utf-8", "surrogateescape")
    if "\\" in text:
        text = _CONTINUED.sub(" ", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    found: dict[Import, None] = {}
    done = 0
    at = text.find("import")
    while at >= 0:
        start = max(text.rfind("\n", 0, at) + 1, done)
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        for match in _STATEMENT.finditer(text, start):
            if match.start() > end:
                break
            found.update(dict.fromkeys(_of(match)))
            end = max(end, match.end())
            break_at = text.find("\n", match.end())
            if break_at < 0 or break_at >= end:
                break
        done = end
        at = text.find("import", end)
    return tuple(found)
