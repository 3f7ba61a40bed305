"""Calls that have been reported because they name, or are given, what does not exist.

The rest of the kernel is judged as if they had done their work: what they are given to write to
counts as written.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from verifier.hardware.engines import Engine
from verifier.symbolic import views
from verifier.symbolic.effects import Footprint, Writes
from verifier.symbolic.instruction import Engines, Instruction, Trait
from verifier.symbolic.machine import Arg, Call, Machine
from verifier.symbolic.tensors import Operand, View
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import DynamicSlice, Missing, SliceValue

_WRITES: Final = Instruction(
    name="missing",
    summary="a call that was not understood",
    signatures={},
    roles=(),
    engines=Engines(Engine.UNKNOWN),
    footprint=Footprint(writes=(Writes(role="dst"),)),
    traits=frozenset({Trait.NO_LANES, Trait.REFUSED}),
)


def writes(machine: Machine, call: Call, *, all_of_them: bool = False) -> None:
    """What goes to ``dst`` is written; ``all_of_them``: every tensor that is given.

    ``dst`` is given by name or first; collectives are given a list of them, ``dsts``.
    """
    given = (*call.args, *call.keywords.values())
    if not all_of_them:
        named = call.keywords.get("dst") or call.keywords.get("dsts")
        given = call.args[:1] if named is None else (named,)
    for argument in (each for one in given for each in _listed(machine, one)):
        value = argument.value
        whole = value.part_of if isinstance(value, Missing) else value
        if not isinstance(whole, View):
            continue
        written = views.use(machine, whole, None, argument.span)
        machine.emit(
            Operation(
                name=_WRITES.name,
                operands={"dst": Operand("dst", written, argument.span)},
                span=call.span,
                generation=machine.generation,
                loops=machine.loops,
                path=machine.path,
                order=machine.next_order(),
                writes=(("dst", written),),
                call_text=call.text,
                instruction=_WRITES,
            )
        )


def _listed(machine: Machine, argument: Arg) -> Iterable[Arg]:
    """An argument, or the items of a list that is one."""
    if isinstance(argument.value, (Missing, View)):
        return (argument,)
    items = machine.as_items(argument.value, argument.span)
    return (argument,) if items is None else (Arg(item, argument.span) for item in items)


def depends(value: object) -> bool:
    """Whether a value, an index or a size has a part that is of a name that does not exist."""
    if isinstance(value, tuple):
        return any(map(depends, value))
    if isinstance(value, SliceValue):
        return any(map(depends, (value.start, value.stop, value.step)))
    if isinstance(value, DynamicSlice):
        return depends(value.start)
    return isinstance(value, Missing)


__all__ = ["depends", "writes"]
