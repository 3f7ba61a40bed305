"""What every description of an instruction keeps, of whichever dialect."""

from __future__ import annotations

import pytest

from verifier.dialects.nki.signatures import table
from verifier.dialects.nki.versions import GENERATIONS
from verifier.dialects.registry import DIALECTS
from verifier.dialects.signature import parse
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.roles import Takes

DESCRIBED = [i for dialect in DIALECTS.values() for i in dialect.instructions.values()]


@pytest.mark.parametrize("instruction", DESCRIBED, ids=lambda each: each.name)
def test_every_role_of_a_footprint_is_described(instruction: Instruction) -> None:
    footprint = instruction.footprint
    named = {read.role for read in footprint.reads} | {write.role for write in footprint.writes}
    assert named <= {role.name for role in instruction.roles}


@pytest.mark.parametrize("instruction", DESCRIBED, ids=lambda each: each.name)
def test_signatures_are_of_generations_and_can_be_read(instruction: Instruction) -> None:
    generations = [g for dialect in DIALECTS.values() for g in dialect.generations]
    assert instruction.signatures.keys() <= {*generations}
    for generation, text in instruction.signatures.items():
        if text is not None:
            names = [each.name for each in parse(instruction.name, generation, text).parameters]
            assert len(names) == len({*names})


@pytest.mark.parametrize("generation", GENERATIONS)
def test_operators_are_read_as_operators(generation: str) -> None:
    operators = {"op", "op0", "op1", "reduce_op", "cmp_op", "comp_op0", "comp_op1", "dst_rmw_op"}
    known = DIALECTS["nki"].instructions
    for name, text in table(generation).items():
        if name not in known:
            continue
        for parameter in parse(name, generation, text).parameters:
            role = known[name].role(parameter.name)
            if parameter.name in operators:
                assert role is not None and role.takes is Takes.OPERATOR, (name, parameter.name)


def test_a_function_that_is_gone_says_what_to_write_or_why() -> None:
    for instruction in DIALECTS["nki"].instructions.values():
        if None in instruction.signatures.values() or instruction.instead:
            assert instruction.removal, instruction.name
