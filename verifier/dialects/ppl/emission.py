"""From a call of a device function to an operation of the trace."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from verifier.dialects.binding import Bound, is_known
from verifier.dialects.ppl.binding import spoken, taken
from verifier.dialects.ppl.isa.shared import Joined
from verifier.dialects.ppl.tensors import box
from verifier.dialects.signature import Parameter
from verifier.source.ir import Span
from verifier.symbolic import absent
from verifier.symbolic import expr as E
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.machine import Call, Machine
from verifier.symbolic.roles import Elements, Role, Takes
from verifier.symbolic.tensors import Mark, Operand, StorageKind, View
from verifier.symbolic.trace import LedgerKind, Operation
from verifier.symbolic.values import Opaque, Ref

_WANTED: Final = {
    Takes.TILE: "a tensor",
    Takes.TENSOR_OR_NUMBER: "a tensor or a number",
    Takes.FLAG: "a number",
    Takes.INTEGER: "a number",
}


def accessed(view: View) -> View:
    """What an operation touches: where a reinterpretation is not followed, the bytes it is of."""
    return view.base if not view.exact and view.base is not None else view


def perform(machine: Machine, instruction: Instruction, bound: Bound, call: Call) -> object:
    """Emit the operation; the new tensor if the destination was left out."""
    operands = dict(bound.operands)
    tensors = {
        r.name: r for r in instruction.roles if r.takes in (Takes.TILE, Takes.TENSOR_OR_NUMBER)
    }
    for parameter in bound.signature.parameters:
        operand, role = operands.get(parameter.name), instruction.role(parameter.name)
        if operand is None or role is None:
            continue
        if _unfit(machine, role, parameter, operand, call):
            absent.writes(machine, call)
            refused = f"`{call.text}` is given what it does not take"
            machine.unmodelled(instruction.name, call.span, refused)
            return Opaque(f"the result of {call.text} with what it does not take")
        if role.name in tensors and _lost(role, parameter, operand):
            lost = f"an operand of `{call.text}` is not followed"
            machine.approximate(LedgerKind.OPAQUE, lost, call.span)
            machine.unmodelled(instruction.name, call.span, lost)
            return Opaque(f"the result of {call.text} with operands that are not followed")
    for name, operand in operands.items():
        if name in tensors:
            operands[name] = replace(operand, known=is_known(operand.value))
        else:
            operands[name] = _plain(machine, instruction.role(name), operand)
    made: View | None = None
    if bound.result:
        assert isinstance(instruction.result, Joined)
        described = instruction.result.of(machine, operands, call.span)
        if described is None:
            return _scalar(instruction, instruction.result, operands)
        made = machine.allocate(
            call.target_name or instruction.short,
            described.shape,
            described.dtype,
            described.buffer,
            call.span,
            kind=StorageKind.RESULT,
            partition_axis=None,
            marks={Mark.LAYOUT: described.layout},
        )
        first = bound.signature.parameters[0].name
        operands = {first: Operand(first, made, call.span, given=False), **operands}
    emit(machine, instruction, operands, call.span, call.text)
    return made


def _plain(machine: Machine, role: Role | None, operand: Operand) -> Operand:
    """A list of numbers as a tuple (kernel sizes, padding); an input as what it has to be."""
    value, span = operand.value, operand.span
    if isinstance(value, Ref):
        items = machine.as_items(value, span)
        if items is not None:
            numbers = tuple(machine.as_int(item, span) for item in items)
            return replace(operand, value=numbers, known=None not in numbers)
    if role is not None and not is_known(value):
        if role.takes is Takes.FLAG:
            value = machine.as_bool(value, span)
        elif role.takes is Takes.INTEGER and role.count is None:
            value = machine.as_int(value, span)
    if value is None and operand.value is not None:
        value = operand.value
    return replace(operand, value=value, known=is_known(value))


def _unfit(
    machine: Machine, role: Role, parameter: Parameter, operand: Operand, call: Call
) -> bool:
    """Whether an argument is for certain none that the function takes, which is reported."""
    if operand.value is None and (
        parameter.default == "None"
        or not (role.takes is Takes.TILE or isinstance(role.shape, Elements))
    ):
        return False
    name, wanted = parameter.name, _wanted(role)
    return not taken(machine, call.text, name, wanted, operand.span, operand.value)


def _wanted(role: Role) -> str:
    """What the front end takes for a parameter; empty: it asks nothing."""
    if role.takes is Takes.PLAIN:
        return "" if role.barred is None else "a mode"
    if role.takes is Takes.INTEGER and role.count is not None:
        return ""
    return _WANTED.get(role.takes, "")


def _lost(role: Role, parameter: Parameter, operand: Operand) -> bool:
    """Whether an operand that has to be a tensor is not known to be one."""
    if isinstance(operand.value, Opaque):
        return not operand.value.harmless
    if role.takes is Takes.TENSOR_OR_NUMBER:
        return False
    if operand.value is None and parameter.default == "None":
        return False
    return not isinstance(operand.value, View)


def emit(
    machine: Machine,
    instruction: Instruction,
    operands: dict[str, Operand],
    span: Span,
    text: str,
) -> Operation:
    """Append the operation: what it reads and writes is said by the description."""
    operation = Operation(
        name=instruction.name,
        operands=operands,
        span=span,
        generation=machine.generation,
        capabilities=machine.chip.capabilities,
        loops=machine.loops,
        path=machine.path,
        order=machine.next_order(),
        call_text=text,
        instruction=instruction,
    )
    operation.engine = instruction.engines.of(operation)
    footprint = instruction.footprint
    reads: list[tuple[str, View]] = []
    writes: list[tuple[str, View]] = []
    for role in instruction.roles:
        view = operation.view(role.name)
        if view is None:
            continue
        if any(read.when.holds(operation) is not E.FALSE for read in footprint.reads_of(role.name)):
            reads.append((role.name, _used(machine, operation, role, accessed(view))))
        if footprint.writes_of(role.name):
            writes.append((role.name, accessed(view)))
    operation.reads, operation.writes = tuple(reads), tuple(writes)
    operation.effect = footprint.effect_of(operation)
    machine.emit(operation)
    return operation


def _used(machine: Machine, operation: Operation, role: Role, view: View) -> View:
    """The part of a source that an operation on elements uses: the shape of its destination."""
    target = operation.view(role.shape.of) if isinstance(role.shape, Elements) else None
    if target is None or not view.exact or target.shape == view.shape:
        return view
    sizes = tuple(
        mine if mine is wanted or (mine.is_const and mine.const == 1) else E.minimum(mine, wanted)
        for mine, wanted in zip(view.shape, target.shape, strict=True)
    )
    return box(machine, view, sizes, view.span) if sizes != view.shape else view


def _scalar(instruction: Instruction, result: Joined, operands: dict[str, Operand]) -> object:
    """A device function of numbers only is worked out by the compiler: ``pl.cast(n, pl.int32)``."""
    if result.alone:
        return operands[result.alone].value
    return Opaque(f"the number that {spoken(instruction)} makes", harmless=True)
