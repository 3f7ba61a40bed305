"""Targets and API versions, for the commands that take no configuration.

Every function raises :class:`Refusal` with one line per mistake.
"""

from __future__ import annotations

from collections.abc import Iterable

from verifier.cli.output import Refusal
from verifier.configuration import names
from verifier.configuration.names import UnknownNameError


def split(values: Iterable[str]) -> list[str]:
    """``("a,b", "c")`` -> ``["a", "b", "c"]``."""
    return [part.strip() for value in values for part in value.split(",") if part.strip()]


def targets(values: Iterable[str]) -> tuple[str, ...]:
    """Canonical names of known targets, each once, in the order given."""
    found: dict[str, None] = {}
    bad: list[str] = []
    for name in split(values):
        try:
            found[names.target(name)] = None
        except UnknownNameError as error:
            bad.append(str(error))
    if bad:
        raise Refusal("\n".join(bad))
    return tuple(found)


def api_version(value: str | None) -> str | None:
    try:
        return value and names.api_version(value)
    except UnknownNameError as error:
        raise Refusal(str(error)) from error
