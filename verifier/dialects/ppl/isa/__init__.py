"""The device functions of ``ppl.language``: one description each, in files by subject.

To add one, write an :class:`~verifier.symbolic.instruction.Instruction` into the file of its kind
and name it in that file's ``INSTRUCTIONS``; give it a meaning on numbers in
``verifier/executor/semantics/tpu`` (``@meaning("ppl.tiu.name")``). Signatures, checks of operands,
runs, the editor and the coverage of facts follow.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from verifier.dialects.ppl.isa import (
    control,
    elementwise,
    movement,
    products,
    selections,
    windows,
)
from verifier.dialects.signature import Signature, parse
from verifier.symbolic.instruction import Instruction

PREFIX: Final = "ppl."

#: every described function by its canonical name: ``ppl.tiu.fmul``
INSTRUCTIONS: Final = MappingProxyType(
    {
        instruction.name: instruction
        for group in (
            elementwise.INSTRUCTIONS,
            windows.INSTRUCTIONS,
            products.INSTRUCTIONS,
            movement.INSTRUCTIONS,
            selections.INSTRUCTIONS,
        )
        for instruction in group
    }
)

#: what has no operands
CONTROL: Final = MappingProxyType({i.name: i for i in control.INSTRUCTIONS})

_ALIASES: Final = {other: i.name for i in INSTRUCTIONS.values() for other in i.others}


def find(name: str) -> Instruction | None:
    """The function of that name (``tiu.fmul``); other names of it are followed."""
    full = f"{PREFIX}{name}"
    return INSTRUCTIONS.get(_ALIASES.get(full, full))


#: names that the package of a function alone has for it
_OWN_NAMES: Final = frozenset({"dot", "fma"})


def of_package(name: str) -> Instruction | None:
    """What ``pl.name`` is: the packages are imported into ``pl`` one after another, so that a name
    of several is that of the last one; second names they do not hand on."""
    if name in _OWN_NAMES:
        return None
    each = (find(f"{engine}.{name}") for engine in ("hau", "sdma", "tiu", "dma"))
    return next((found for found in each if found is not None), None)


def all_names() -> frozenset[str]:
    """The names that device functions are called by, with the package."""
    return frozenset((*INSTRUCTIONS, *_ALIASES, *CONTROL))


def signature(instruction: Instruction) -> Signature:
    """The parameters of a function."""
    text = instruction.signatures["ppl"]
    assert text is not None
    return parse(instruction.name, "ppl", text)
