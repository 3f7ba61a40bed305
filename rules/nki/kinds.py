"""Which instructions a rule concerns: told by what their descriptions say, never by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from verifier.symbolic.effects import Carried
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.roles import Takes

Concerns: TypeAlias = Callable[[Instruction], bool]


def with_traits(*traits: Trait, but: tuple[Trait, ...] = ()) -> Concerns:
    """Those that have all the traits, ``but`` none of these."""
    return lambda i: i.traits.issuperset(traits) and i.traits.isdisjoint(but)


def taking(name: str, *takes: Takes) -> Concerns:
    """Those with a parameter of that name, which takes one of these if any are given."""

    def concerns(instruction: Instruction) -> bool:
        role = instruction.role(name)
        return role is not None and (not takes or role.takes in takes)

    return concerns


def fills(instruction: Instruction) -> bool:
    """Whether it makes a tile of one number, which stands in the call or is always the same."""
    number = instruction.fills
    if not isinstance(number, str):
        return number is not None
    return taking(number, Takes.CONSTANT)(instruction)


def limited(*takes: Takes) -> Concerns:
    """Those with a parameter that takes one of these, and a limit on what it may be."""
    return lambda i: any(role.value is not None and role.takes in takes for role in i.roles)


def both(*conditions: Concerns) -> Concerns:
    return lambda i: all(condition(i) for condition in conditions)


def either(*conditions: Concerns) -> Concerns:
    return lambda i: any(condition(i) for condition in conditions)


def moves(instruction: Instruction) -> bool:
    """Whether all that it reads arrives as it is, or converted: nothing is computed."""
    reads = instruction.footprint.reads
    return bool(reads) and all(isinstance(r.fate, Carried) and r.fate.moved for r in reads)


def exchanges(instruction: Instruction) -> bool:
    """Whether a core is given what another one holds."""
    return bool(instruction.footprint.orders and instruction.footprint.writes)


#: products of numbers as they are, in the array of the Tensor Engine
MULTIPLIES: Final = with_traits(Trait.MATMUL, but=(Trait.PACKED,))
#: of the instruction set: by an engine, by DMA
TRANSPOSES: Final = with_traits(Trait.TURNS, but=(Trait.DMA, Trait.LANGUAGE))
TRANSPOSES_BY_DMA: Final = with_traits(Trait.TURNS, Trait.DMA, but=(Trait.LANGUAGE,))
_BY_DMA: Final = with_traits(Trait.DMA, but=(Trait.LANGUAGE,))


def by_dma(instruction: Instruction) -> bool:
    """Whether it is a transfer of a core's own, as the instruction set has it."""
    return _BY_DMA(instruction) and not exchanges(instruction)


def searches(instruction: Instruction) -> bool:
    """Whether it looks through so many elements of so many dimensions of a partition."""
    return any(role.free is not None and role.rank for role in instruction.roles)
