"""The functions of kernel APIs, for an editor that asks while a call is written."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from verifier.dialects.registry import DIALECTS

_CHAIN: Final = re.compile(r"([^\W\d][\w.]*)\.(\w*)\Z")
_WHOLE: Final = re.compile(r"[^\W\d][\w.]*\.\w+")
_IMPORT: Final = re.compile(r"^[ \t]*import[ \t]+(.+)$", re.MULTILINE)
_FROM: Final = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+\(?([^)#\n]+)", re.MULTILINE)


class Function(Struct, frozen=True):
    """One function; ``text``: all about it, in Markdown."""

    name: str
    parameters: str
    text: str


def offered(text: str, line: str, column: int) -> list[Function]:
    """The functions that may be meant at a column of a line: what stands before it names them."""
    chain = _CHAIN.search(line[:column])
    if chain is None:
        return []
    return [f for f in _of(text, chain.group(1)) if f.name.startswith(chain.group(2))]


def named(text: str, line: str, column: int) -> Function | None:
    """The function that is named at a column of a line."""
    for found in _WHOLE.finditer(line):
        owner, _, name = found.group().rpartition(".")
        if found.end() - len(name) <= column <= found.end():
            return next((f for f in _of(text, owner) if f.name == name), None)
    return None


def _of(text: str, owner: str) -> list[Function]:
    first, dot, rest = owner.partition(".")
    imported = _imports(text).get(first)
    if imported is None:
        return []
    dotted = f"{imported}{dot}{rest}"
    found = (dialect.functions(dotted, text) for dialect in DIALECTS.values())
    return [Function(*function) for each in found for function in each]


def _imports(text: str) -> dict[str, str]:
    """What the names that a text imports stand for; the text may be half written."""
    found: dict[str, str] = {}
    for statement in _IMPORT.finditer(text):
        for item in statement.group(1).split(","):
            dotted, _, alias = (part.strip() for part in item.partition(" as "))
            found[alias or dotted.partition(".")[0]] = dotted if alias else dotted.partition(".")[0]
    for statement in _FROM.finditer(text):
        for item in statement.group(2).split(","):
            name, _, alias = (part.strip() for part in item.partition(" as "))
            if name:
                found[alias or name] = f"{statement.group(1)}.{name}"
    return found
