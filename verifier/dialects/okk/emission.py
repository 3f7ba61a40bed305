"""From bound arguments and the description of a function to operations of the trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from msgspec.structs import replace

from verifier.dialects.binding import Bound
from verifier.dialects.okk.binding import used
from verifier.dialects.okk.operands import stride_origin, tensor
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.lanes import Touch
from verifier.symbolic.machine import Call, Machine
from verifier.symbolic.roles import Role
from verifier.symbolic.trace import Operation


def perform(machine: Machine, instruction: Instruction, bound: Bound, call: Call) -> None:
    """Emit the operation.

    A flag of the call that depends on an input (``using_bias``, ``result_add``) decides about what
    is read: there is one operation for each of its values then, each on its own path.

    ``Operation.attributes["origins"]`` maps roles to the ``StrideOrigin`` of their strides, where a
    stride helper made them.
    """
    operation = Operation(
        name=instruction.name,
        operands=bound.operands,
        span=call.span,
        generation=machine.generation,
        capabilities=machine.chip.capabilities,
        loops=machine.loops,
        path=machine.path,
        order=0,
        call_text=call.text,
        instruction=instruction,
    )
    operation.effect = instruction.footprint.effect_of(operation)
    operation.engine = instruction.engines.of(operation)
    read = {role.name: _read(operation, role) for role in instruction.roles if role.placed}
    operation = _without_null(machine, operation, read)
    for condition, chosen in _cases(read.values()):
        touches, origins = _touched(machine, operation, read, chosen)
        machine.emit(
            replace(
                operation,
                path=(*machine.path, condition) if condition is not E.TRUE else machine.path,
                order=machine.next_order(),
                attributes={"origins": origins} if origins else {},
                touches=touches,
            )
        )


def _without_null(machine: Machine, operation: Operation, read: Mapping[str, Bool]) -> Operation:
    """The operation with a place, which nothing looks at, for tensors that it is not given."""
    assert operation.instruction is not None
    operands = dict(operation.operands)
    for role in operation.instruction.roles:
        operand = operands.get(role.parameter)
        if role.placed is None or operand is None or operand.value is not None:
            continue
        if read[role.name] is not E.FALSE:
            used(machine, operation, role, read[role.name])
        operands[role.parameter] = replace(operand, value=E.const(0))
    return replace(operation, operands=operands)


def _touched(
    machine: Machine,
    operation: Operation,
    read: Mapping[str, Bool],
    chosen: Mapping[Bool, Bool],
) -> tuple[tuple[Touch, ...], dict[str, object]]:
    """The tensors of an operation, and where their strides come from; ``read``: when each is."""
    assert operation.instruction is not None
    touches: list[Touch] = []
    origins: dict[str, object] = {}
    for role in operation.instruction.roles:
        if role.placed is None:
            continue
        condition = read[role.name]
        reads = chosen.get(condition, condition) is E.TRUE
        writes = operation.instruction.footprint.writes_of(role.name)
        if not reads and not writes:
            continue
        found = tensor(machine, operation, role, role.placed)
        if found is None:
            continue
        destroys = any(write.destroys for write in writes)
        touches.append(Touch(role.name, found, reads, bool(writes), destroys))
        origin = stride_origin(machine, operation, role.placed)
        if origin is not None:
            origins[role.name] = origin
    return tuple(touches), origins


def _read(operation: Operation, role: Role) -> Bool:
    """When what an operand holds is read, or added to."""
    assert operation.instruction is not None
    footprint = operation.instruction.footprint
    conditions = [read.when.holds(operation) for read in footprint.reads_of(role.name)]
    effects = [write.effect(operation) for write in footprint.writes_of(role.name)]
    found = [*conditions, *(effect for effect in effects if isinstance(effect, Bool))]
    return E.or_(*(E.TRUE if each is None else each for each in found))


def _cases(conditions: Iterable[Bool]) -> Iterator[tuple[Bool, dict[Bool, Bool]]]:
    """The values of what decides about reads, each with the condition for them."""
    tests = [test for test in dict.fromkeys(conditions) if test not in (E.TRUE, E.FALSE)]
    for values in product((E.FALSE, E.TRUE), repeat=len(tests)):
        chosen = dict(zip(tests, values, strict=True))
        condition = E.and_(*(test if v is E.TRUE else E.not_(test) for test, v in chosen.items()))
        if condition is not E.FALSE:
            yield condition, chosen
