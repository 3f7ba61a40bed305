"""Calls of API functions: through the dialect the first time, by a plan after that.

A plan belongs to a call site, the layouts of its tensors and its other arguments. When it is made,
binding and every rule have passed; what is left for each call is what depends on data and on
offsets: whether what is read was written, and the protocol of sums.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from types import FrameType, NoneType
from typing import TYPE_CHECKING, Any

from verifier.executor.conversion import outward
from verifier.executor.direct import direct
from verifier.executor.memory import Bound, Layout, Memory
from verifier.executor.names import BufferProxy, DTypeProxy, EnumProxy
from verifier.executor.operands import perform, steps_of
from verifier.executor.programs import Plan
from verifier.executor.regions import Geometry
from verifier.executor.tiles import Tensor, call_of
from verifier.symbolic.expr import Bool
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import ApiRef

if TYPE_CHECKING:
    from verifier.executor.machine import ConcreteMachine

_PLAIN = frozenset({int, float, str, bool, NoneType})
_NAMED = frozenset({DTypeProxy, EnumProxy, BufferProxy})


def call(
    machine: ConcreteMachine,
    ref: ApiRef,
    frame: FrameType,
    args: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Any:
    """Perform a call of an API function and give its result."""
    values = (*args, *keywords.values())
    kinds = tuple(map(type, values))
    parts: list[Any] = [ref.name, id(frame.f_code), frame.f_lasti, *keywords, *kinds]
    spots = _describe(values, kinds, parts)
    key: tuple[Any, ...] | None = None
    if spots is not None:
        key = tuple(parts)
        plan = machine.plans.get(key)
        if plan is not None:
            made = _run(machine, plan, spots)
            if plan.returns is None:
                return plan.outcome
            return made if made is not None else _tensors(values)[plan.returns]
    machine.clean = True
    before = machine.emitted
    new = machine.made
    result = machine.dialect.call(machine, ref, call_of(machine, _short(ref), args, keywords))
    count = machine.emitted - before
    out = outward(machine, result)
    if key is not None and machine.clean and count <= 1:
        operation = machine.last if count == 1 else None
        plan = _plan(machine, ref, operation, _tensors(values), result, out, machine.made - new)
        if plan is not None:
            machine.plans[key] = plan
            machine.kept.append(frame.f_code)
    return out


def anew(
    machine: ConcreteMachine,
    ref: ApiRef,
    frame: FrameType,
    args: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Any:
    """As :func:`call`, by the dialect, whatever was called before."""
    found = machine.dialect.call(machine, ref, call_of(machine, _short(ref), args, keywords))
    return machine.outward(found)


def _short(ref: ApiRef) -> str:
    return ref.name.rpartition(".")[2]


def _tensors(values: tuple[Any, ...]) -> list[Tensor]:
    return [value for value in values if type(value) is Tensor]


_spot: Callable[[Tensor], Bound] = attrgetter("spot")
_layout: Callable[[Bound], Layout] = attrgetter("layout")
_memory: Callable[[Bound], Memory] = attrgetter("memory")


def _describe(
    values: tuple[Any, ...], kinds: tuple[type, ...], parts: list[Any]
) -> list[Bound] | None:
    """Append what identifies the arguments and give the tensors; None: they cannot be planned.

    Tensors come last. This runs on each call of the API: what can be left to ``map`` is.
    """
    tensors: list[Tensor] = []
    for value, kind in zip(values, kinds, strict=True):
        if kind is Tensor:
            tensors.append(value)
        elif kind in _PLAIN:
            parts.append(value)
        elif kind in _NAMED:
            if value.key is None:
                return None
            parts.append(value.key)
        elif not _nested(value, parts):
            return None
    spots = [*map(_spot, tensors)]
    if not all(spots):
        return None
    parts.extend(map(_layout, spots))
    if len(set(map(_memory, spots))) < len(spots):
        # which of them share memory, and where in it
        memories = [*map(_memory, spots)]
        parts.append(tuple(memories.index(memory) for memory in memories))
        parts.append(tuple(spot.place.offset for spot in spots if isinstance(spot.place, Geometry)))
    return spots


def _nested(value: Any, parts: list[Any]) -> bool:
    """As :func:`_describe`, of a sequence without tensors, or of a function of the API."""
    if type(value) is tuple or type(value) is list:
        kinds = tuple(map(type, value))
        parts.append(kinds)
        if _PLAIN.issuperset(kinds):
            parts.append(tuple(value))
            return True
        return _describe(tuple(value), kinds, parts) == []
    if not hasattr(value, "tilelint_api"):
        return False
    parts.append(value)
    return True


def _plan(
    machine: ConcreteMachine,
    ref: ApiRef,
    operation: Operation | None,
    tensors: list[Tensor],
    result: object,
    out: Any,
    made: int,
) -> Plan | None:
    new: Memory | None = None
    if made:
        if made > 1 or not isinstance(out, Tensor) or out.place is not out.memory.template.whole:
            if made > 1 or not isinstance(out, Tensor) or out.place != out.memory.template.whole:
                return None
        new = out.memory
    if operation is None:
        if new is None or ref.name not in ("language.ndarray", "language.empty_like"):
            return None
        return Plan(
            None,
            (),
            new.template,
            new.name,
            new.span,
            new.arguments,
            {**new.storage.marks},
            False,
            -1,
            None,
        )
    if isinstance(operation.effect, Bool):
        return None
    own = {id(tensor._view): k for k, tensor in enumerate(tensors) if tensor._view is not None}
    roles = _positions(operation, own, new)
    if roles is None:
        return None
    returns: int | None = None
    if isinstance(result, View):
        returns = -1 if new is not None else own.get(id(result))
        if returns is None:
            return None
    bounds = {role: (tensors[at] if at >= 0 else out).bound() for role, at in roles.items()}
    steps = steps_of(machine, operation, bounds)
    steps.direct = direct(machine, operation, bounds)
    return Plan(
        steps,
        tuple(roles.items()),
        new.template if new is not None else None,
        new.name if new is not None else "",
        new.span if new is not None else operation.span,
        new.arguments if new is not None else {},
        {**new.storage.marks} if new is not None else {},
        new is not None and new.template.prototype.initialised,
        returns,
        None if isinstance(result, View) else out,
    )


def _positions(
    operation: Operation, own: dict[int, int], new: Memory | None
) -> dict[str, int] | None:
    """The position of each role's tensor: among the arguments, by their views, or -1 for ``new``.

    None: an operand is another tensor, or several.
    """
    roles: dict[str, int] = {}
    for role, operand in operation.operands.items():
        value = operand.value
        if isinstance(value, View):
            at = own.get(id(value))
            if at is None:
                if new is None or getattr(value.storage, "memory", None) is not new:
                    return None
                at = -1
            roles[role] = at
        elif isinstance(value, tuple) and any(isinstance(item, View) for item in value):
            return None
    return roles


def _run(machine: ConcreteMachine, plan: Plan, spots: list[Bound]) -> Tensor | None:
    """Repeat a call on these tensors; gives the tensor that it makes."""
    made: Tensor | None = None
    template = plan.template
    if template is not None:
        memory = machine.make(template, plan.name, plan.span, None)
        memory.arguments, memory.marks = plan.arguments, plan.marks
        part = template.partition_axis if template.on_chip else None
        made = Tensor(machine, memory, template.whole, None, part)
        spots.append(made.bound())  # -1 from now on
        if plan.filled:
            machine.clear(memory)
    if plan.steps is not None:
        bounds: dict[str, Bound] = {}
        for role, at in plan.roles:
            bounds[role] = spots[at]
        perform(machine, plan.steps, bounds)
    return made
