"""Arguments that a function sorts by what they are, not by where they stand.

``add(*args, shift=-100, mode=..., saturation=False)`` and its like (``language/tiu/tiu.py`` of
tpu_ppl 1.6.19) take a dtype and a mode wherever they stand. Of the rest a constant that comes last
is the shift, or the number of steps, and no operand: ``add(y, x, 5)`` shifts ``y + x``, which is a
new tensor. What a name was assigned is a value of the run, and an operand.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum, auto
from typing import Final

from verifier.dialects.ppl import isa
from verifier.dialects.signature import Parameter
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.roles import Takes


class Given(Enum):
    """What an argument is to the front end."""

    DTYPE = auto()
    MODE = auto()
    #: a constant whose integer part is 0 or 1, and any other one
    TRUTH = auto()
    CONSTANT = auto()
    OPERAND = auto()


#: parameters by what is taken for them wherever it stands
_BY_KIND: Final = {Given.DTYPE: "type", Given.MODE: "mode"}


def sorts(instruction: Instruction) -> bool:
    """Whether it sorts what it is given."""
    return bool(_sorted(instruction)) and isa.signature(instruction).parameters[0].nameless


def taken(
    instruction: Instruction, arguments: Sequence[Given], keywords: Collection[str]
) -> dict[int, str]:
    """The arguments that are no operands, and the parameters that they are taken for."""
    names = {p.name: p for p in _sorted(instruction)}
    out = {
        k: _BY_KIND[each]
        for k, each in enumerate(arguments)
        if each in _BY_KIND and _BY_KIND[each] in names
    }
    modes = sum(each is Given.MODE for each in arguments)
    last = len(arguments) - 1
    flags = [n for n in names if _takes(instruction, n) is Takes.FLAG]
    numbers = [n for n in names if n not in flags and n not in _BY_KIND.values()]
    truth = bool(flags) and bool(arguments) and arguments[last] is Given.TRUTH
    if truth:
        out[last] = flags[0]
    at = last - modes - truth
    if numbers and at >= 0 and arguments[at] in (Given.TRUTH, Given.CONSTANT):
        if numbers[0] not in keywords:
            out[at] = numbers[0]
    return out


def _sorted(instruction: Instruction) -> tuple[Parameter, ...]:
    positional = isa.signature(instruction).positional
    return tuple(p for p in positional if not p.nameless)


def _takes(instruction: Instruction, name: str) -> Takes | None:
    role = instruction.role(name)
    return None if role is None else role.takes


__all__ = ["Given", "sorts", "taken"]
