"""Where None stands for no argument: it does so for none that an instruction needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from verifier.dialects.signature import Signature
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.roles import Role, Takes

#: what None does not stand for where it is no default, in words
NEEDED: Final = {
    Takes.TILE: "a tile or a tensor",
    Takes.VECTOR: "a number, a tile or a tensor",
    Takes.OPERATOR: "an operator",
    Takes.INTEGER: "an integer",
    Takes.INTEGERS: "a list of integers",
}


def stands_for_none(instruction: Instruction, role: Role) -> bool:
    """Whether None may be given for what a role takes, whatever the signature says."""
    return role.takes not in NEEDED or _may_bypass(instruction, role)


def needed(instruction: Instruction, signature: Signature) -> Iterator[str]:
    """The parameters of a generation for which None does not stand."""
    for parameter in signature.parameters:
        role = instruction.role(parameter.name)
        if parameter.default is None and role is not None:
            if not stands_for_none(instruction, role):
                yield parameter.name


def _may_bypass(instruction: Instruction, role: Role) -> bool:
    """Whether None may stand for it: for an operator that does nothing, in a list of pairs of
    operators, or for the operand of a unary one.
    """
    chain = instruction.chain
    if chain is None:
        return False
    nothing = bool(chain.pairs)
    return any(
        (nothing and step.operator == role.name) or (step.alone and step.operand == role.name)
        for step in chain.steps
    )


def only_read(instruction: Instruction, role: Role) -> bool:
    """Whether there is a tile to be read in it, and nothing else."""
    footprint = instruction.footprint
    written = footprint.writes_of(role.name)
    return role.takes is Takes.TILE and bool(footprint.reads_of(role.name)) and not written


__all__ = ["NEEDED", "needed", "only_read", "stands_for_none"]
