"""From bound arguments and the description of a function to operations of the trace."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from verifier.dialects.okk.binding import Bound
from verifier.dialects.okk.functions import TensorRole
from verifier.dialects.okk.operands import tensor
from verifier.dialects.okk.strides import StrideOrigin, origin_of
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.lanes import Touch
from verifier.symbolic.machine import Call, Machine
from verifier.symbolic.trace import Operation


def perform(machine: Machine, bound: Bound, call: Call) -> None:
    """Emit the operation.

    A flag of the call that depends on an input (``using_bias``, ``result_add``) decides about what
    is read: there is one operation for each of its values then, each on its own path.

    ``Operation.attributes["origins"]`` maps roles to the :class:`StrideOrigin` of their strides,
    where a stride helper made them.
    """
    function = bound.function
    for condition, chosen in _cases(bound):
        touches, origins = [], {}
        for role in function.tensors:
            reads = "r" in role.access if not role.flag else chosen[role.flag]
            destroys = role.access == "d"
            writes = destroys or "w" in role.access
            if not reads and not writes:
                continue
            found = tensor(machine, bound, role)
            if found is None:
                continue
            touches.append(Touch(role.role, found, reads, writes, destroys))
            origin = _origin(machine, bound, role)
            if origin is not None:
                origins[role.role] = origin
        machine.emit(
            Operation(
                name=function.operation,
                operands=bound.operands,
                span=call.span,
                api=machine.api,
                loops=machine.loops,
                path=(*machine.path, condition) if condition is not E.TRUE else machine.path,
                order=machine.next_order(),
                engine=function.engine,
                call_text=call.text,
                attributes={"origins": origins} if origins else {},
                touches=tuple(touches),
            )
        )


def _origin(machine: Machine, bound: Bound, role: TensorRole) -> StrideOrigin | None:
    given = bound.record(role.stride) if role.stride is not None else None
    return origin_of(machine.chip, given) if given is not None else None


def _cases(bound: Bound) -> Iterator[tuple[Bool, dict[str, bool]]]:
    """The values of the flags that decide about reads, each with the condition for them."""
    flags = list(dict.fromkeys(role.flag for role in bound.function.tensors if role.flag))
    for values in product((False, True), repeat=len(flags)):
        tests = [bound.truth(flag) for flag in flags]
        condition = E.and_(
            *(test if value else E.not_(test) for test, value in zip(tests, values, strict=True))
        )
        if condition is not E.FALSE:
            yield condition, dict(zip(flags, values, strict=True))
