"""The functions of NKI that do something on the device: one description each, in files by kind.

To add one, write an :class:`~verifier.symbolic.instruction.Instruction` into the file of its kind
and name it in that file's ``INSTRUCTIONS``; give it a meaning on numbers in
``verifier/executor/semantics`` (``@semantics("isa.name")``), and a call in
``tests/isa/test_footprints.py``. Signatures, checks of operands, runs, the editor and the coverage
of facts follow.
"""

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

CHANNELS: Final = cores.CHANNELS

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
