"""Contracts put into the text of a configuration file, whose comments and order stay."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from verifier.configuration import toml
from verifier.configuration.model import PROJECT

#: contracts by their keys: one, or several that are checked one by one
Contracts: TypeAlias = Mapping[str, "str | Sequence[str]"]


class CannotWriteError(Exception):
    """The contracts of this file are laid out in a way that is better changed by hand."""


def with_contracts(path: str, text: str, contracts: Contracts, preset: str | None = None) -> str:
    """The text of a configuration file with more contracts, by their keys; of a preset or of none.

    Keys that are there already keep what they say.

    Raises:
        CannotWriteError: the text is not TOML, or its contracts are in no table of their own.
    """
    tables = ["tool", "tilelint"] if os.path.basename(path) == PROJECT else []  # noqa: PTH119
    tables += ["contracts"] if preset is None else ["presets", preset]
    try:
        before = toml.load(text)
    except toml.BadTomlError as error:
        raise CannotWriteError(error.message) from error
    known = _table(before, tables)
    wanted = {key: value if isinstance(value, str) else list(value)
              for key, value in contracts.items()}  # fmt: skip
    new = {key: value for key, value in wanted.items() if key not in known}
    if not new:
        return text
    lines = [f"{_quoted(key)} = {_written(value)}" for key, value in new.items()]
    name = ".".join(map(_bare, tables))
    header = re.search(rf"^\[{re.escape(name)}\][^\n]*\n?", text, re.MULTILINE)
    if header is None:
        space = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        after = f"{text}{space}[{name}]\n" + "".join(f"{line}\n" for line in lines)
    else:
        at = _end_of_table(text, header.end())
        start = text[:at] + ("" if text[:at].endswith("\n") else "\n")
        after = start + "".join(f"{line}\n" for line in lines) + text[at:]
    try:
        found = _table(toml.load(after), tables)
    except toml.BadTomlError as error:
        raise CannotWriteError("its contracts are in no table of their own") from error
    if found != {**known, **new}:
        raise CannotWriteError("its contracts are in no table of their own")
    return after


def _table(content: dict[str, Any], names: list[str]) -> dict[str, Any]:
    for name in names:
        content = content.get(name, {})
        if not isinstance(content, dict):
            raise CannotWriteError(f"'{name}' is no table")
    return content


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _bare(name: str) -> str:
    """A name in the header of a table."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _written(value: str | list[str]) -> str:
    if isinstance(value, str):
        return _quoted(value)
    return "[\n" + "".join(f"    {_quoted(item)},\n" for item in value) + "]"


def _end_of_table(text: str, start: int) -> int:
    """Behind the last line of a table that says something."""
    header = re.compile(r"^[ \t]*\[[^\n]*\][ \t]*(#[^\n]*)?$", re.MULTILINE)
    following = header.search(text, start)
    end = len(text) if following is None else following.start()
    body = text[start:end]
    # comments directly above the next table are its own
    said = [m.end() for m in re.finditer(r"^[^\n#]*[^\s#][^\n]*(\n|$)", body, re.MULTILINE)]
    return start + (said[-1] if said else 0)
