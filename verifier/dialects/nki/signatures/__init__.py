"""Which functions each generation of NKI has, and their parameters.

The signatures of instructions are in their descriptions, those of other functions in
:mod:`verifier.dialects.nki.signatures.host`. A signature maps a generation to parameters in
positional order (see :mod:`verifier.dialects.signature`), which hold until the next one that is
named; None: the function is gone. Sources: the headings of catalogue section (c) and the version
differences of section (h).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from verifier.dialects.nki.isa import INSTRUCTIONS
from verifier.dialects.nki.signatures import host
from verifier.dialects.nki.versions import GENERATIONS, newer
from verifier.dialects.signature import Signature, parse


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
    return parse(name, generation, text)


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


def said_of(function: str, parameter: str) -> tuple[str, ...]:
    """The facts about one parameter of a function, be it that there is none."""
    return host.PARAMETERS.get((function, parameter), ())


def deprecation(name: str, generation: str) -> tuple[str, tuple[str, ...]] | None:
    """What to write instead of a name that a generation has for a while only, and the facts."""
    known = host.DEPRECATED.get(name, {})
    found = [instead for since, instead in known.items() if newer(generation, since)]
    return found[-1] if found else None
