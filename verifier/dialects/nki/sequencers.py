"""What the sequencers of the engines do: they use registers, and go through loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from verifier.hardware.engines import Engine
from verifier.source.ir import Span
from verifier.symbolic import views
from verifier.symbolic.effects import Footprint
from verifier.symbolic.instruction import Engines, Instruction, Trait
from verifier.symbolic.machine import Call, Machine
from verifier.symbolic.tensors import Operand, View
from verifier.symbolic.trace import Operation

_Uses = Sequence[tuple[str, View]]

_SEQUENCED: Final = Instruction(
    name="",
    summary="",
    signatures={},
    roles=(),
    engines=Engines(Engine.SYNC),
    footprint=Footprint(),
    traits=frozenset({Trait.NO_LANES}),
)

_CONDITION: Final = "condition"


def use(
    machine: Machine,
    name: str,
    call: Call,
    operands: Mapping[str, Operand],
    reads: _Uses,
    writes: _Uses = (),
) -> None:
    """Note that something reads and writes what only the device knows, if it does."""
    if reads or writes:
        machine.emit(
            Operation(
                name=name,
                operands=dict(operands),
                span=call.span,
                generation=machine.generation,
                capabilities=machine.target.capabilities,
                loops=machine.loops,
                path=machine.path,
                order=machine.next_order(),
                reads=tuple(reads),
                writes=tuple(writes),
                call_text=call.text,
                instruction=replace(_SEQUENCED, name=name),
            )
        )


def decide(machine: Machine, held: Sequence[View], span: Span) -> None:
    """Whether a loop goes on hangs on elements of these (NKI-REG06)."""
    reads = [(_CONDITION, views.use(machine, view, None, span)) for view in held]
    use(machine, "while", Call((), {}, span, "while"), {}, reads)


__all__ = ["decide", "use"]
