"""From what a user writes to what the analysis takes: targets, versions, rules, contracts.

Every function raises :class:`Refusal` with one line per mistake.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from verifier.cli.output import Refusal, did_you_mean

API_VERSIONS = ("beta1", "0.2", "0.3", "0.4", "0.5", "0.6")


class RuleLike(Protocol):
    """What selecting a rule needs of it."""

    @property
    def id(self) -> str: ...
    @property
    def code(self) -> str: ...
    @property
    def family(self) -> str: ...


def split(values: Iterable[str]) -> list[str]:
    """``("a,b", "c")`` -> ``["a", "b", "c"]``."""
    return [part.strip() for value in values for part in value.split(",") if part.strip()]


def targets(values: Iterable[str]) -> tuple[str, ...]:
    """Canonical names of known targets, each once, in the order given."""
    from verifier.hardware.catalogue import NAMES, find

    names: dict[str, None] = {}
    bad: list[str] = []
    for name in split(values):
        target = find(name.lower())
        if target is None:
            bad.append(_unknown("target", name, NAMES))
        else:
            names[target.name] = None
    _refuse(bad)
    return tuple(names)


def api_version(value: str | None) -> str | None:
    if value is not None and value not in API_VERSIONS:
        _refuse([_unknown("API version", value, API_VERSIONS)])
    return value


def rules(values: Iterable[str], known: Sequence[RuleLike], option: str) -> tuple[str, ...]:
    """Ids of the rules that ids, codes, families or prefixes of codes and ids stand for."""
    chosen: dict[str, None] = {}
    bad: list[str] = []
    for key in split(values):
        matches = match(key, known)
        if not matches:
            names = [name for rule in known for name in (rule.id, rule.code, rule.family)]
            bad.append(f"unknown rule '{key}' in {option}{did_you_mean(key, names)}")
        chosen.update(dict.fromkeys(matches))
    _refuse(bad)
    return tuple(sorted(chosen))


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


def contracts(texts: Iterable[str]) -> tuple[str, ...]:
    """The contracts as given, once their grammar has been checked."""
    from verifier.configuration.contracts import ContractError, parse

    bad = []
    given = tuple(dict.fromkeys(texts))
    for text in given:
        try:
            parse(text)
        except ContractError as error:
            bad.append(str(error))
    _refuse(bad)
    return given


def _unknown(what: str, name: str, known: Sequence[str]) -> str:
    hint = did_you_mean(name, known) or f" (known: {', '.join(known)})"
    return f"unknown {what} '{name}'{hint}"


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        raise Refusal("\n".join(problems))
