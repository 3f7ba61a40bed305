"""The instructions of NKI: one description each, in files by engine and kind."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from verifier.dialects.nki.isa import (
    cores,
    dma,
    elementwise,
    language,
    movement,
    random,
    reductions,
    scalar_engine,
    selections,
    tensor_engine,
)
from verifier.symbolic.instruction import Instruction

#: every described function by its canonical name
INSTRUCTIONS: Final = MappingProxyType(
    {
        instruction.name: instruction
        for group in (
            tensor_engine.INSTRUCTIONS,
            scalar_engine.INSTRUCTIONS,
            elementwise.INSTRUCTIONS,
            reductions.INSTRUCTIONS,
            selections.INSTRUCTIONS,
            movement.INSTRUCTIONS,
            random.INSTRUCTIONS,
            dma.INSTRUCTIONS,
            cores.INSTRUCTIONS,
            language.INSTRUCTIONS,
        )
        for instruction in group
    }
)


def find(name: str) -> Instruction | None:
    return INSTRUCTIONS.get(name)
