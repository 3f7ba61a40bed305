"""Names that users write, and what they stand for: targets, API versions, rules.

The command line and the configuration file check what they are given here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from verifier.configuration.suggestions import did_you_mean

API_VERSIONS = ("beta1", "0.2", "0.3", "0.4", "0.5", "0.6")


class UnknownNameError(ValueError):
    """A name that stands for nothing; the message is one line and may suggest another."""


class RuleLike(Protocol):
    """What selecting a rule needs of it."""

    @property
    def id(self) -> str: ...
    @property
    def code(self) -> str: ...
    @property
    def family(self) -> str: ...


def target(name: str) -> str:
    """The canonical name of a target.

    Raises:
        UnknownNameError: there is no such target.
    """
    from verifier.hardware.catalogue import NAMES, find

    found = find(name.lower())
    if found is None:
        raise UnknownNameError(_unknown("target", name, NAMES))
    return found.name


def api_version(value: str) -> str:
    """The version itself.

    Raises:
        UnknownNameError: there is no such version.
    """
    if value not in API_VERSIONS:
        raise UnknownNameError(_unknown("API version", value, API_VERSIONS))
    return value


def rules(key: str, known: Sequence[RuleLike], where: str) -> tuple[str, ...]:
    """Ids of the rules that a key stands for: see :func:`match`.

    Raises:
        UnknownNameError: it stands for none; the message names ``where`` it was written.
    """
    matches = match(key, known)
    if not matches:
        names = [name for rule in known for name in (rule.id, rule.code, rule.family)]
        raise UnknownNameError(f"unknown rule '{key}' in {where}{did_you_mean(key, names)}")
    return tuple(matches)


def match(key: str, known: Sequence[RuleLike]) -> list[str]:
    """Ids of the rules a key stands for: an exact id, code or family, else a prefix, or ``all``."""
    low = key.lower()
    if low == "all":
        return [rule.id for rule in known]
    exact = [rule.id for rule in known if low in (rule.id, rule.code.lower())]
    if exact:
        return exact
    family = [rule.id for rule in known if rule.family.lower() == low]
    if family:
        return family
    stem = low.rstrip("-*")
    return [
        rule.id
        for rule in known
        if stem and (rule.code.lower().startswith(stem) or rule.id.startswith(f"{stem}-"))
    ]


def _unknown(what: str, name: str, known: Sequence[str]) -> str:
    hint = did_you_mean(name, known) or f" (known: {', '.join(known)})"
    return f"unknown {what} '{name}'{hint}"
