"""What makes loops run in stages, and cores and engines wait: calls without operands."""

from __future__ import annotations

from typing import Final

from verifier.hardware.engines import Engine
from verifier.symbolic.effects import Footprint
from verifier.symbolic.instruction import Engines, Instruction, Trait


def _control(
    name: str,
    summary: str,
    *,
    orders: tuple[str, ...] = (),
    traits: frozenset[Trait] = frozenset(),
    facts: tuple[str, ...] = (),
) -> Instruction:
    return Instruction(
        name=f"ppl.{name}",
        summary=summary,
        signatures={"ppl": ""},
        roles=(),
        engines=Engines(Engine.CONTROL),
        footprint=Footprint(orders=orders),
        traits=traits,
        facts=facts,
    )


INSTRUCTIONS: Final = (
    _control(
        "enable_pipeline",
        "the loop around it loads, computes and stores in stages",
        traits=frozenset({Trait.PIPELINES}),
    ),
    # all cores: there is no operand that names them
    _control(
        "sync", "waits until all cores have come to it", orders=("cores",), facts=("PPL-B11",)
    ),
    _control("hau_poll", "waits for the sorting engine"),
    _control("tpu_poll", "waits for all engines"),
    _control("fence", "puts the accesses of a core in order"),
    _control("msg_send", "sends a message to another engine"),
    _control("msg_wait", "waits for a message of another engine"),
    _control("lane_mask", "chooses the lanes that compute"),
    _control("vset", "sets the length of vector registers"),
)
