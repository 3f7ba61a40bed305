"""Which functions each generation of NKI has, and their parameters.

The signatures of instructions are in their descriptions, those of other functions in
:mod:`verifier.dialects.nki.signatures.host`. A signature maps a generation to parameters in
positional order, which hold until the next one that is named: ``*`` marks a required one, ``|``
starts the keyword-only ones, ``**`` says that unknown keywords are taken and dropped; None: the
function is gone. Sources: the headings of catalogue section (c) and the version differences of
section (h).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from verifier.dialects.nki.isa import INSTRUCTIONS
from verifier.dialects.nki.signatures import host
from verifier.dialects.nki.versions import GENERATIONS, newer


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
    if generation not in GENERATIONS:
        raise KeyError(generation)
    described = {name: instruction.signatures for name, instruction in INSTRUCTIONS.items()}
    found: dict[str, str] = {}
    for name, signatures in {**described, **host.SIGNATURES}.items():
        known = [text for since, text in signatures.items() if newer(generation, since)]
        if known and known[-1] is not None:
            found[name] = known[-1]
    return found


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


def removal(name: str) -> tuple[str, tuple[str, ...]]:
    """What to write instead of a function that is gone (or nothing), and the facts of that."""
    described = INSTRUCTIONS.get(name)
    if described is not None:
        return described.instead, described.removal or host.REMOVAL
    return host.GONE.get(name) or host.GONE.get(name.partition(".")[0]) or ("", host.REMOVAL)
