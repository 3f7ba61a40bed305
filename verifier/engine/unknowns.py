"""Values that are not known, in words: what they are and where, never the names of symbols."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Final

from verifier.engine.memo import names_a_line
from verifier.source.ir import Span
from verifier.symbolic.trace import LedgerEntry

_SUBJECT: Final = re.compile(r"^a (?:size|condition|dtype) depends on ")
_NUMBER: Final = re.compile(r"#\d+$")

#: symbols that the interpreter names itself
_OWN: Final = {
    "unknown": "a value that is not followed",
    "iterations": "how often a loop runs",
    "length": "the length of a list",
    "extent": "the extent of a slice",
    "runtime": "a value that the device computes",
    "dtype": "a dtype",
}
#: as many are named as can be read
_MOST: Final = 3


def said(symbols: Sequence[str], ledger: Iterable[LedgerEntry], place: Span) -> str:
    """What the symbols stand for, and where that is if not in the lines of ``place``."""
    entries = {name: entry for entry in ledger for name in entry.symbols}
    texts = list(dict.fromkeys(_text(name, entries.get(name), place) for name in symbols))
    more = [f"and {len(texts) - _MOST} more"] if len(texts) > _MOST else []
    return "; ".join(texts[:_MOST] + more)


def _text(symbol: str, entry: LedgerEntry | None, place: Span) -> str:
    if entry is None:
        name = _NUMBER.sub("", symbol)
        if name.isidentifier():
            return _OWN.get(name, f"the value of `{name}`")
        return _OWN["unknown"]
    text = _SUBJECT.sub("", entry.message)
    here = entry.span.path == place.path and place.line <= entry.span.line <= place.end_line
    if here or names_a_line(text):
        return text
    other = "" if entry.span.path == place.path else f" of {PurePath(entry.span.path).name}"
    return f"{text} (line {entry.span.line}{other})"
