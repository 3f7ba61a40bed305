"""Kernels by number: of every instruction, in every generation and on every chip.

The drawing knows the form of descriptions, not the instructions: one that is added is drawn too.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from itertools import count

from tests.differential.kernels import Kernel, Text
from tests.differential.nki import NkiText
from tests.differential.okk import OkkText
from tests.differential.ppl import PplText
from tests.differential.whole import Whole, drawn
from tests.differential.whole_nki import NKI_KERNELS
from tests.differential.whole_okk import OKK_KERNELS
from tests.differential.whole_ppl import PPL_KERNELS
from verifier.dialects.descriptor import DialectDescriptor
from verifier.dialects.names import NKI, OKK, PPL
from verifier.dialects.nki.signatures import lookup
from verifier.dialects.registry import DIALECTS, of_generation
from verifier.hardware import catalogue
from verifier.hardware.catalogue import Hardware
from verifier.hardware.chips import CHIPS
from verifier.symbolic.instruction import Instruction

#: the dialects for whose kernels text is drawn
DRAWN: dict[str, type[Text]] = {NKI: NkiText, OKK: OkkText, PPL: PplText}

#: an instruction, a generation of its API, and the chip if there is one generation for all
Pair = tuple[Instruction, str, str]

#: how bold a kernel is: how often what is drawn does not fit
_BOLDNESS = (0.0, 0.0, 0.0, 0.0, 0.03, 0.06, 0.1, 0.25)
#: kernels that are drawn as a whole
WHOLES: tuple[Whole, ...] = (*OKK_KERNELS, *PPL_KERNELS, *NKI_KERNELS)
#: of so many numbers one is that of a whole kernel, once each instruction was drawn
_WHOLE = 23
#: the targets of generations that are for several
_TARGETS = ("trn1", "trn2", "trn2", "trn3", "trn3")


@cache
def subjects() -> tuple[Pair, ...]:
    """Every instruction in every generation that has it, or on every chip of its dialect.

    What has no signature is written as an assignment, which every generation has.
    """
    return tuple(pair for name in DRAWN for pair in _pairs(DIALECTS[name]))


def _pairs(dialect: DialectDescriptor) -> Iterator[Pair]:
    chips = [name for name, chip in CHIPS.items() if dialect.runs(chip)]
    for instruction in dialect.instructions.values():
        for api in dialect.generations:
            if chips:
                yield from ((instruction, api, chip) for chip in chips)
            elif not instruction.signatures or lookup(instruction.name, api) is not None:
                yield instruction, api, ""


@cache
def _others(api: str) -> tuple[Instruction, ...]:
    """What may be called besides, in a kernel of that generation."""
    return tuple(dict.fromkeys(pair[0] for pair in subjects() if pair[1] == api))


def undrawn() -> tuple[str, ...]:
    """Dialects for whose kernels no text is drawn."""
    return tuple(sorted(set(DIALECTS) - set(DRAWN)))


def whole(number: int) -> Whole | None:
    """What the kernel of a number is one of; None: it is drawn for an instruction."""
    if number < len(subjects()) or number % _WHOLE:
        return None
    return WHOLES[number // _WHOLE % len(WHOLES)]


def dialect_of(number: int) -> DialectDescriptor:
    """The dialect of the kernel of a number."""
    found = whole(number)
    if found is not None:
        return DIALECTS[found.dialect]
    return of_generation(subjects()[number % len(subjects())][1])


def of_dialect(name: str | None, first: int) -> Iterator[int]:
    """The numbers from one on, of kernels of a dialect, or of all."""
    return (number for number in count(first) if name in (None, dialect_of(number).name))


def numbered(number: int) -> Kernel:
    """The kernel of a number: always the same."""
    rng = random.Random(f"drawn {number}")
    found = whole(number)
    if found is not None:
        return drawn(found, rng)
    instruction, api, chip = subjects()[number % len(subjects())]
    dialect = of_generation(api)
    if rng.random() < 0.02:
        api = rng.choice([*dialect.generations])
    target = _target(chip or rng.choice(_TARGETS))
    text = DRAWN[dialect.name](
        rng,
        api,
        boldness=rng.choice(_BOLDNESS),
        naming=0.9 if rng.random() < DRAWN[dialect.name].named_often else 0.0,
    )
    subjects_ = [instruction.name]
    text.begun()
    shape, other = text.extents()
    text.call(instruction, target, shape, other)
    while text.one(0.3) and len(subjects_) < 3:
        following = rng.choice(_others(api))
        subjects_.append(following.name)
        text.call(following, target, shape, other)
    for tile in dict.fromkeys([*text.written, *text.tiles]):
        if text.one(0.95 if tile in text.written else 0.1):
            text.stored(tile)
    text.ended()
    return Kernel(
        api,
        target.name,
        tuple(text.lines),
        tuple(text.inputs.items()),
        text.grid(),
        tuple(subjects_),
        text.naming > 0,
    )


def _target(name: str) -> Hardware:
    found = catalogue.find(name)
    assert found is not None
    return found
