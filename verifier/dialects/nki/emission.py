"""From bound arguments and the description of a function to an operation of the trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from verifier.dialects.nki import names
from verifier.dialects.nki.binding import SIGNATURE_RULE, Bound, spoken
from verifier.dialects.nki.instructions import Instruction
from verifier.dialects.nki.results import result_of
from verifier.hardware import dtypes as dt
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic import views
from verifier.symbolic.expr import FALSE, Bool, Expr
from verifier.symbolic.machine import Call, Machine
from verifier.symbolic.tensors import DType, Operand, View
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import (
    ApiRef,
    BufferValue,
    Enumerator,
    ExternalRef,
    Guarded,
    IndexMask,
    IndexTensor,
    Opaque,
    Ref,
    Register,
)

#: values that are certainly no tensor
_NUMBERS = (Expr, Bool, int, float, bool)
_NO_TENSOR = (*_NUMBERS, str, DType, Enumerator, BufferValue, ApiRef, IndexTensor, IndexMask)

#: roles of parameters that hold a tensor, or a number, and nothing else
_NEEDED = frozenset({"in", "out", "inout", "rmw", "vec", "sync"})

HANDLE = Opaque("handle of an instruction", harmless=True)


@dataclass(slots=True)
class _Gathered:
    """Operands so far; ``lost`` is set when one could not be followed."""

    operands: dict[str, Operand]
    reads: list[tuple[str, View]]
    writes: list[tuple[str, View]]
    kept: list[str]
    lost: bool = False


def as_operator(value: object) -> object:
    """An ``op=`` argument as an operator, if it names one (``nl.add``, ``np.add``)."""
    if isinstance(value, ApiRef) and value.name.startswith("language."):
        name = names.operator_name(value.name.removeprefix("language."))
    elif isinstance(value, ExternalRef):
        found = names.external(value.path)
        return found if isinstance(found, Enumerator) else value
    else:
        return value
    return Enumerator("op", name) if name is not None else value


def present(machine: Machine, instruction: Instruction, bound: Bound, call: Call) -> Bound:
    """The arguments with a tensor wherever there must be one; ``None`` there is a finding."""
    operands = dict(bound.operands)
    for parameter in bound.signature.parameters:
        operand = operands.get(parameter.name)
        role = instruction.role(parameter.name)
        if operand is None or not operand.given or role not in _NEEDED:
            continue
        if parameter.default is None or role == "in":
            operands[parameter.name] = _there(machine, role, operand, call.text)
    return replace(bound, operands=operands)


def _there(machine: Machine, role: str, operand: Operand, text: str) -> Operand:
    """An operand that must not be None: the paths on which it is are reported, and left out."""
    value = operand.value
    if value is None and role != "in":
        _no_tensor(machine, operand, text, FALSE, role)
    if not isinstance(value, Guarded) or all(item is not None for _, item in value.cases):
        return operand
    absent = E.or_(*(guard for guard, item in value.cases if item is None))
    _no_tensor(machine, operand, text, E.not_(absent), role)
    cases = [(guard, item) for guard, item in value.cases if item is not None]
    rest = cases[0][1] if len(cases) == 1 else Guarded(tuple(cases))
    return replace(operand, value=rest if cases else None)


def _no_tensor(
    machine: Machine, operand: Operand, text: str, predicate: Bool, role: str = "in"
) -> None:
    """An operand is a tensor only where the predicate holds."""
    name = operand.role
    what = "a number, a tile or a tensor" if role == "vec" else "a tile or a tensor"
    machine.check(
        SIGNATURE_RULE,
        predicate,
        operand.span,
        f"`{name}` is a tensor" if role != "vec" else f"`{name}` is not None",
        f"`{name}` of `{text}` must be {what}",
        facts=("N09",),
    )


def perform(
    machine: Machine,
    instruction: Instruction,
    arguments: Mapping[str, Operand],
    span: Span,
    text: str,
    target_name: str | None = None,
) -> object:
    """Emit the operation; the result's view if the function returns one, else a handle.

    A value-returning call is one whose arguments have no ``dst``. A result that only feeds the
    expression around it is marked with ``placement["intermediate"]``.
    """
    mask = _mask(machine, arguments.get("mask"))
    gathered = _Gathered({}, [], [], [])
    for name, operand in arguments.items():
        if name != "mask":
            _gather(machine, instruction, name, operand, mask, text, gathered)
    if gathered.lost:
        machine.approximate("opaque", f"an operand of `{text}` is not followed", span)
        machine.unmodelled(spoken(instruction.name), span)
        return Opaque(f"the result of {text} with operands that are not followed")
    if instruction.name.startswith("language."):
        _mark_intermediates(gathered.reads, span)
    result: View | None = None
    if instruction.result != "-" and "dst" not in arguments:
        described = result_of(machine, instruction, gathered.operands, span)
        if described is None:
            machine.unmodelled(spoken(instruction.name), span)
            return Opaque(f"the result of {text}, whose shape is not known")
        result = machine.allocate(
            target_name or instruction.short,
            described.shape,
            described.dtype,
            described.buffer,
            span,
            kind="result",
            partition_axis=0,
        )
        written = views.use(machine, result, mask, span)
        gathered.operands["dst"] = Operand("dst", written, span, given=False)
        gathered.writes.append(("dst", written))
    operation = Operation(
        name=instruction.name,
        operands=gathered.operands,
        span=span,
        api=machine.api,
        loops=machine.loops,
        path=machine.path,
        order=machine.next_order(),
        reads=tuple(gathered.reads),
        writes=tuple(gathered.writes),
        accumulates=_accumulates(machine, instruction, gathered.operands),
        engine=resolve_engine(instruction, gathered.operands),
        call_text=text,
        attributes={"keeps": tuple(gathered.kept)} if gathered.kept else {},
    )
    machine.emit(operation)
    return result if result is not None else HANDLE


def _mark_intermediates(reads: Sequence[tuple[str, View]], span: Span) -> None:
    """Mark what the text of the expression makes itself.

    The compiler chooses how to tile such a value, or fuses it away. Instructions of ``nki.isa``
    take tiles as they are.
    """
    for _, view in reads:
        storage = view.storage
        made = storage.kind == "result" and storage.buffer is Buffer.SBUF
        if made and _inside(storage.span, span):
            storage.placement = {**storage.placement, "intermediate": True}


def _inside(inner: Span, outer: Span) -> bool:
    """Whether one region of a file is a proper part of another."""
    return (
        inner != outer
        and inner.path == outer.path
        and (outer.line, outer.column) <= (inner.line, inner.column)
        and (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)
    )


def _mask(machine: Machine, operand: Operand | None) -> IndexMask | Bool | None:
    if operand is None or operand.value is None:
        return None
    if isinstance(operand.value, IndexMask):
        return operand.value
    condition = machine.as_bool(operand.value, operand.span)
    if condition is None:
        machine.approximate(
            "opaque", "a mask that is not followed is taken to let everything pass", operand.span
        )
    return condition


def _gather(
    machine: Machine,
    instruction: Instruction,
    name: str,
    operand: Operand,
    mask: IndexMask | Bool | None,
    text: str,
    gathered: _Gathered,
) -> None:
    role = instruction.role(name)
    if role == "op":
        gathered.operands[name] = replace(operand, value=as_operator(operand.value))
        return
    if role in ("ins", "outs"):
        _gather_list(machine, name, role, operand, gathered)
        return
    if role == "const":
        gathered.operands[name] = replace(
            operand, value=_plain(machine, operand.value, operand.span)
        )
        return
    if operand.value is None and (not operand.given or role != "in"):
        gathered.operands[name] = operand
        return
    if role == "vec" and isinstance(operand.value, (*_NO_TENSOR, Opaque)):
        gathered.operands[name] = operand
        return
    if role == "vec" and not isinstance(operand.value, View):
        view = machine.as_view(operand.value, operand.span) if _is_tensor(operand.value) else None
        if view is None:
            gathered.operands[name] = operand
            return
    elif operand.value is None or isinstance(operand.value, (*_NO_TENSOR, Register)):
        if isinstance(operand.value, Register):
            gathered.operands[name] = operand
            return
        _no_tensor(machine, operand, text, FALSE)
        gathered.operands[name] = operand
        return
    else:
        view = machine.as_view(operand.value, operand.span)
        if view is None:
            gathered.lost = True
            return
    if instruction.name == "language.load" and view.rank == 1 and machine.api == "beta1":
        # a column of a tensor loads into a tile of one column: tiles have two dimensions
        view = views.expand_dim(machine, view, 1, operand.span)
    view = views.use(machine, view, mask, operand.span)
    gathered.operands[name] = replace(operand, value=view)
    gathered.reads.extend(
        (f"{name}.index", views.use(machine, index, None, operand.span)) for index in view.indices
    )
    if role in ("in", "vec", "rmw"):
        gathered.reads.append((name, view))
    if role in ("out", "inout", "rmw"):
        gathered.writes.append((name, view))
    if role == "inout":
        gathered.kept.append(name)


def _plain(machine: Machine, value: object, span: Span) -> object:
    """A list of a constant argument as a tuple, nested ones too: rules read plain values."""
    if not isinstance(value, (Ref, tuple)):
        return value
    items = machine.as_items(value, span)
    return value if items is None else tuple(_plain(machine, item, span) for item in items)


def _is_tensor(value: object) -> bool:
    """Whether an undecided value is known to be a tensor (a parameter that was used as one)."""
    return getattr(value, "kind", None) == "tensor"


def _gather_list(
    machine: Machine, name: str, role: str, operand: Operand, gathered: _Gathered
) -> None:
    found: list[View] = []
    pending = list(machine.as_items(operand.value, operand.span) or (operand.value,))
    while pending:
        item = pending.pop(0)
        nested = None if isinstance(item, View) else machine.as_items(item, operand.span)
        if nested is not None:
            pending[:0] = list(nested)
            continue
        view = machine.as_view(item, operand.span)
        if view is None:
            gathered.lost = True
            return
        found.append(views.use(machine, view, None, operand.span))
    gathered.operands[name] = replace(operand, value=tuple(found))
    into = gathered.reads if role == "ins" else gathered.writes
    into.extend((f"{name}[{position}]", view) for position, view in enumerate(found))


def _accumulates(
    machine: Machine, instruction: Instruction, operands: Mapping[str, Operand]
) -> str | Bool:
    if instruction.name == "language.atomic_rmw":
        return "always"
    if instruction.name == "isa.dma_copy":
        added = operands.get("dst_rmw_op")
        return "always" if added is not None and added.value is not None else "no"
    if instruction.name not in ("isa.nc_matmul", "isa.nc_matmul_mx") or machine.api == "beta1":
        return "no"
    operand = operands.get("accumulate")
    if operand is None or operand.value is None:
        return "first-overwrites"
    if isinstance(operand.value, bool):
        return "always" if operand.value else "no"
    condition = machine.as_bool(operand.value, operand.span)
    if condition is None:
        machine.approximate(
            "opaque", "`accumulate` is not followed: taken as its default", operand.span
        )
        return "first-overwrites"
    if condition is E.TRUE:
        return "always"
    return "no" if condition is E.FALSE else condition


def resolve_engine(instruction: Instruction, operands: Mapping[str, Operand]) -> str:
    """The engine that runs the call: the one asked for, or the one that its form leads to."""
    engine = operands.get("engine")
    chosen = engine.value if engine is not None else None
    if isinstance(chosen, Enumerator) and chosen.kind == "engine" and chosen.name != "unknown":
        # `engine=` of a DMA names the queue that triggers it (NKI-N36)
        return "dma" if instruction.engine == "dma" else chosen.name
    if instruction.engine != "?":
        return instruction.engine
    if chosen is not None and not isinstance(chosen, Enumerator):
        return "unknown"
    tiles = [view for operand in operands.values() if (view := operand.view) is not None]
    if instruction.name == "isa.nc_transpose":
        data, dst = operands.get("data"), operands.get("dst")
        source = data.view if data is not None else None
        into = dst.view if dst is not None else None
        if source is None or into is None:
            return "unknown"
        tensor = source.buffer is Buffer.SBUF and into.buffer is Buffer.PSUM
        return "tensor" if tensor else "vector"
    if instruction.name == "isa.tensor_tensor":
        op = operands.get("op")
        if op is not None and op.value == Enumerator("op", "power"):
            return "gpsimd"
        words = dt.codes("int32", "uint32")
        if not any(view.buffer is Buffer.PSUM for view in tiles) and all(
            view.dtype.among(words) is E.TRUE for view in tiles
        ):
            return "gpsimd"
        return "vector"
    if instruction.name in ("isa.tensor_scalar", "isa.tensor_copy", "isa.memset"):
        return "vector"
    return "unknown"
