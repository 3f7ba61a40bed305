"""Which functions each generation of NKI has, and their parameters.

One table per generation, written as the changes against the one before (Beta 1 and 0.2 in full).
An entry maps a canonical name (``isa.nc_matmul``, ``language.load``) to its parameters in
positional order: ``*`` marks a required one, ``|`` starts the keyword-only ones, ``**`` says that
unknown keywords are taken and dropped. Sources: the headings of catalogue section (c) and the
version differences of section (h).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from verifier.dialects.nki.signatures import beta1, v0_2, v0_3, v0_4, v0_5, v0_6

GENERATIONS: Final[tuple[str, ...]] = ("beta1", "0.2", "0.3", "0.4", "0.5", "0.6")

_CHANGES: Final[dict[str, Mapping[str, str | None]]] = {
    "beta1": beta1.TABLE,
    "0.2": v0_2.TABLE,
    "0.3": v0_3.TABLE,
    "0.4": v0_4.TABLE,
    "0.5": v0_5.TABLE,
    "0.6": v0_6.TABLE,
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """``default`` is the text of the default, None for a required parameter."""

    name: str
    default: str | None
    keyword_only: bool


@dataclass(frozen=True, slots=True)
class Signature:
    """Parameters of ``name`` in ``generation``; ``open``: unknown keywords are dropped silently."""

    name: str
    generation: str
    parameters: tuple[Parameter, ...]
    open: bool

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def positional(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters if not p.keyword_only)


@cache
def table(generation: str) -> Mapping[str, str]:
    """Every function of a generation with the text of its parameters.

    Raises:
        KeyError: there is no such generation.
    """
    if generation in ("beta1", "0.2"):
        return {name: text for name, text in _CHANGES[generation].items() if text is not None}
    before = dict(table(GENERATIONS[GENERATIONS.index(generation) - 1]))
    for name, text in _CHANGES[generation].items():
        if text is None:
            before.pop(name, None)
        else:
            before[name] = text
    return before


@cache
def lookup(name: str, generation: str) -> Signature | None:
    """The signature of a function, or None if the generation does not have it."""
    text = table(generation).get(name)
    if text is None:
        return None
    parameters: list[Parameter] = []
    keyword_only = False
    accepts_all = False
    for part in text.split(", ") if text else ():
        if part == "|":
            keyword_only = True
        elif part == "**":
            accepts_all = True
        elif part.endswith("*"):
            parameters.append(Parameter(part[:-1], None, keyword_only))
        else:
            parameter, default = part.split("=", 1)
            parameters.append(Parameter(parameter, default, keyword_only))
    return Signature(name, generation, tuple(parameters), accepts_all)


@cache
def generations_with(name: str) -> tuple[str, ...]:
    """The generations that have a function, oldest first."""
    return tuple(g for g in GENERATIONS if name in table(g))


def newer(generation: str, than: str) -> bool:
    """Whether ``generation`` is ``than`` or later."""
    return GENERATIONS.index(generation) >= GENERATIONS.index(than)
