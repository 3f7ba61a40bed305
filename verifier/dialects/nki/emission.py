"""From bound arguments and the description of a function to an operation of the trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from verifier.dialects.binding import Bound, is_known
from verifier.dialects.nki import beta1, handles, names
from verifier.dialects.nki.binding import REMOVED_RULE, SIGNATURE_RULE, spoken
from verifier.dialects.nki.present import NEEDED, only_read, stands_for_none
from verifier.dialects.nki.results import Like, asked_dtype
from verifier.dialects.nki.versions import newer
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import absent, registers, views
from verifier.symbolic import expr as E
from verifier.symbolic.expr import FALSE, Bool, Expr
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.machine import Arg, Call, Machine
from verifier.symbolic.roles import INDEX, Role, Takes
from verifier.symbolic.tensors import DType, Mark, Operand, StorageKind, View
from verifier.symbolic.trace import LedgerKind, Operation
from verifier.symbolic.values import (
    ApiRef,
    BufferValue,
    Enumerator,
    ExternalRef,
    Guarded,
    IndexMask,
    IndexTensor,
    Missing,
    Opaque,
    Ref,
    Register,
    places,
)

#: values that are certainly no tensor
_NUMBERS = (Expr, Bool, int, float, bool)
#: what is no number, whatever it is
NO_NUMBER: Final = (str, DType, Enumerator, BufferValue, ApiRef)
_NO_TENSOR = (*_NUMBERS, *NO_NUMBER, IndexTensor, IndexMask)

#: what is a tile, or may be one
_TILES = (Takes.TILE, Takes.VECTOR, Takes.TENSOR_OR_NUMBER)


class _Gathered(Struct):
    """Operands so far; ``lost`` is set when one could not be followed.

    ``missing``: one is of a name that does not exist, which has been reported. ``skips``: what lies
    outside of its tensor is left out. ``unclear``: why the mask may leave out more than is known.
    """

    operands: dict[str, Operand]
    reads: list[tuple[str, View]]
    writes: list[tuple[str, View]]
    lost: bool = False
    missing: bool = False
    skips: bool = False
    unclear: str = ""


def as_operator(value: object) -> object:
    """An ``op=`` argument as an operator, if it names one (``nl.add``, ``np.add``)."""
    if isinstance(value, ApiRef) and value.name.startswith("language."):
        written = value.name.removeprefix("language.")
        name = names.operator_name(written)
        return Enumerator("op", name, written=written) if name is not None else value
    elif isinstance(value, ExternalRef):
        found = names.external(value.path)
        return found if isinstance(found, Enumerator) else value
    return value


def present(machine: Machine, instruction: Instruction, bound: Bound, call: Call) -> Bound:
    """The arguments with a tensor wherever there must be one; ``None`` there is a finding."""
    operands = dict(bound.operands)
    for parameter in bound.signature.parameters:
        operand = operands.get(parameter.name)
        role = instruction.role(parameter.name)
        if operand is None or not operand.given or role is None:
            continue
        if role.takes in _TILES:
            value = handles.tile_of(machine, operand.value, operand.span)
            if value is not operand.value:
                operand = operands[parameter.name] = replace(operand, value=value)
        if stands_for_none(instruction, role):
            continue
        reads = only_read(instruction, role)
        if parameter.default is None or reads:
            operands[parameter.name] = _there(machine, role, reads, operand, call.text)
    return replace(bound, operands=operands)


def _there(machine: Machine, role: Role, reads: bool, operand: Operand, text: str) -> Operand:
    """An operand that must not be None: the paths on which it is are reported, and left out."""
    value = operand.value
    if value is None and not reads:
        _unfit(machine, operand, text, FALSE, role.takes)
    if not isinstance(value, Guarded) or all(item is not None for _, item in value.cases):
        return operand
    absent = E.or_(*(guard for guard, item in value.cases if item is None))
    _unfit(machine, operand, text, E.not_(absent), role.takes)
    cases = [(guard, item) for guard, item in value.cases if item is not None]
    rest = cases[0][1] if len(cases) == 1 else Guarded(tuple(cases))
    return replace(operand, value=rest if cases else None)


def _unfit(
    machine: Machine,
    operand: Operand,
    text: str,
    predicate: Bool,
    takes: Takes = Takes.TILE,
) -> None:
    """An operand is what it must be only where the predicate holds."""
    name = operand.role
    tile = takes is Takes.TILE
    machine.check(
        SIGNATURE_RULE,
        predicate,
        operand.span,
        f"`{name}` is a tensor" if tile else f"`{name}` is {NEEDED[takes]}",
        f"`{name}` of `{text}` must be {NEEDED[takes]}",
        facts=("N09",) if takes in (Takes.TILE, Takes.VECTOR) else (),
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
    expression around it is marked as intermediate, and with the mask of the call.
    """
    mask = _mask(machine, arguments.get("mask"))
    gathered = _Gathered({}, [], [], skips=_skips(instruction, arguments))
    if isinstance(mask, IndexMask):
        given = [item.value for item in arguments.values() if isinstance(item.value, View)]
        gathered.unclear = _UNCLEAR if _about_none(machine, mask, given) else ""
    for name, operand in arguments.items():
        if name != "mask":
            _gather(machine, instruction, name, operand, mask, text, gathered)
    if gathered.lost:
        lost = f"an operand of `{text}` is not followed"
        machine.approximate(LedgerKind.OPAQUE, lost, span)
        machine.unmodelled(spoken(instruction.name), span, lost)
        return Opaque(f"the result of {text} with operands that are not followed")
    if instruction.name.startswith("language."):
        _mark_intermediates(gathered.reads, span)
    for _, view in gathered.writes:
        overwritten(view)
    result: View | None = None
    if instruction.result is not None and "dst" not in arguments:
        result = _returned(machine, instruction, gathered, mask, span, target_name)
        if result is None:
            return _unknown_result(machine, instruction, gathered, span, text)
        _look_at_dtype(machine, gathered, span, text)
    _gather_registers(machine, instruction, gathered)
    if isinstance(mask, IndexMask):
        operands = [view for _, view in (*gathered.reads, *gathered.writes)]
        if _about_none(machine, mask, operands):
            machine.approximate(LedgerKind.OPAQUE, _UNCLEAR, span)
    operation = Operation(
        name=instruction.name,
        operands=gathered.operands,
        span=span,
        generation=machine.generation,
        capabilities=machine.target.capabilities,
        loops=machine.loops,
        path=machine.path,
        order=machine.next_order(),
        reads=tuple(gathered.reads),
        writes=tuple(gathered.writes),
        call_text=text,
        instruction=instruction,
    )
    operation.effect = instruction.footprint.effect_of(operation)
    operation.engine = engine_of(operation, instruction)
    machine.emit(operation)
    return result if result is not None else handles.issued(machine, text, operation.order)


def _skips(instruction: Instruction, arguments: Mapping[str, Operand]) -> bool:
    """Whether a call leaves out what lies outside of its tensors."""
    asked = arguments.get("oob_mode")
    mode = asked.value if asked is not None and instruction.skips is not None else None
    return isinstance(mode, Enumerator) and mode.name == "skip"


def overwritten(view: View) -> None:
    """A result is no longer what the one call made."""
    marks = view.storage.marks
    view.storage.marks = {mark: marks[mark] for mark in marks if mark not in _OF_ONE_CALL}


#: what is said of a result as long as nothing else writes it
_OF_ONE_CALL: Final = (Mark.MASKED, Mark.SUM)
#: of an axis of a mask that is no operand's
_UNCLEAR: Final = "which axis of its operands a mask is about is not known"


def _about_none(machine: Machine, mask: IndexMask, operands: Sequence[View]) -> bool:
    """Whether a mask has an axis that no operand has: it is not known what is left out."""
    found = [views.axes_of_mask(machine, view, mask)[1] for view in operands]
    return bool(found) and bool(set.intersection(*found))


def _returned(
    machine: Machine,
    instruction: Instruction,
    gathered: _Gathered,
    mask: IndexMask | Bool | None,
    span: Span,
    target_name: str | None,
) -> View | None:
    """The tile that a call returns, which is the operand ``dst``; None if it is not known."""
    returns = instruction.result
    described = None if returns is None else returns.of(machine, gathered.operands, span)
    if described is None:
        return None
    result = machine.allocate(
        target_name or instruction.short,
        described.shape,
        described.dtype,
        described.buffer,
        span,
        kind=StorageKind.RESULT,
        partition_axis=0,
    )
    if isinstance(mask, IndexMask) and described.axes is not None:
        mask = views.mask_of_result(machine, mask, described.axes, len(described.shape))
        if mask is None:
            machine.approximate(LedgerKind.OPAQUE, _UNCLEAR, span)
    if mask is not None:
        result.storage.mark(Mark.MASKED, mask)
    if Trait.SUMS in instruction.traits:
        result.storage.mark(Mark.SUM, True)
    written = views.use(machine, result, mask, span)
    gathered.operands["dst"] = Operand("dst", written, span, given=False)
    gathered.writes.append(("dst", written))
    return result


def _look_at_dtype(machine: Machine, gathered: _Gathered, span: Span, text: str) -> None:
    """Say that the dtype of a result is not known where one is asked for that is not."""
    asked = gathered.operands.get("dtype")
    if asked is None or asked.value is None or isinstance(asked.value, str):
        return  # texts that name none are an error
    if asked_dtype(machine, gathered.operands) is None:
        guess = f"the dtype given to `{text}` is not known"
        machine.approximate(LedgerKind.GUESS, guess, span)


def _unknown_result(
    machine: Machine, instruction: Instruction, gathered: _Gathered, span: Span, text: str
) -> Opaque:
    """A tensor of which nothing is known."""
    if gathered.missing:
        return Missing(f"the result of {text}", api=True)
    if _only_numbers(instruction, gathered.operands):
        machine.check(
            SIGNATURE_RULE,
            FALSE,
            span,
            f"an operand of `{text}` is a tile",
            f"`{text}` is given numbers alone",
            facts=("L46",),
            help=("compute it in Python, or give it a tile",),
        )
        return Missing(f"the result of {text}", api=True)
    machine.unmodelled(spoken(instruction.name), span, f"the shape of `{text}` is not known")
    return Opaque(f"the result of {text}, whose shape is not known")


def _only_numbers(instruction: Instruction, operands: Mapping[str, Operand]) -> bool:
    """Whether a comparison or a logical function is given no tile (NKI-L46)."""
    if not (isinstance(instruction.result, Like) and instruction.result.truth):
        return False
    names = [role.name for role in instruction.roles if role.takes is Takes.VECTOR]
    values = [operands[name].value for name in names if name in operands]
    numbers = all(isinstance(value, (Expr, int, float)) for value in values)
    return len(values) == len(names) and numbers


def _mark_intermediates(reads: Sequence[tuple[str, View]], span: Span) -> None:
    """Mark what the text of the expression makes itself.

    The compiler chooses how to tile such a value, or fuses it away. Instructions of ``nki.isa``
    take tiles as they are.
    """
    for _, view in reads:
        storage = view.storage
        made = storage.kind is StorageKind.RESULT and storage.buffer is Buffer.SBUF
        if made and _inside(storage.span, span):
            storage.mark(Mark.INTERMEDIATE, True)


def _inside(inner: Span, outer: Span) -> bool:
    """Whether one region of a file is a proper part of another."""
    return (
        inner != outer
        and inner.path == outer.path
        and (outer.line, outer.column) <= (inner.line, inner.column)
        and (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)
    )


#: what is no operand of the device
_PLAIN: Final = frozenset({Takes.PLAIN, Takes.CONSTANT, Takes.INTEGER, Takes.INTEGERS})


def _mask(machine: Machine, operand: Operand | None) -> IndexMask | Bool | None:
    if operand is None or operand.value is None:
        return None
    beta1.mask(machine, operand)
    if isinstance(operand.value, IndexMask):
        return operand.value
    if isinstance(operand.value, View):
        return None  # which is reported
    condition = machine.as_bool(operand.value, operand.span)
    if condition is None:
        machine.approximate(
            LedgerKind.OPAQUE,
            "a mask that is not followed is taken to let everything pass",
            operand.span,
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
    takes = Takes.PLAIN if role is None else role.takes
    if role is None or takes in _PLAIN:
        value = _plain(machine, operand.value, operand.span)
        if takes is Takes.INTEGERS:
            value = _numbers(machine, value, operand.span)
        elif role is not None and (takes is Takes.INTEGER or role.value is not None):
            value = _number(machine, value, operand.span)
    elif takes is Takes.OPERATOR:
        value = as_operator(operand.value)
    elif takes is Takes.FLAG:
        value = _flag(machine, name, operand)
    elif takes is Takes.TILES:
        if not _absent(machine, instruction, operand, text, gathered):
            _gather_list(machine, instruction, name, operand, gathered)
        return
    else:
        _gather_tile(machine, instruction, role, operand, mask, text, gathered)
        return
    if operand.given and not _fits(takes, value):
        _unfit(machine, operand, text, FALSE, takes)
    gathered.operands[name] = replace(operand, value=value, known=is_known(value))


def _fits(takes: Takes, value: object) -> bool:
    """Whether an argument that is no operand has whole numbers where it must, if that is known."""
    if value is None or isinstance(value, (Register, Missing)) or not is_known(value):
        return True  # what is of another kind altogether has been said
    if takes is Takes.INTEGERS:
        if not isinstance(value, tuple):
            return False
        nested = (Takes.INTEGERS if isinstance(item, tuple) else Takes.INTEGER for item in value)
        return all(map(_fits, nested, value))
    whole = isinstance(value, float) and value.is_integer()  # NKI 0.2 has such a default
    return takes is not Takes.INTEGER or whole or isinstance(value, (Expr, Bool, int))


def _flag(machine: Machine, name: str, operand: Operand) -> object:
    """A truth value: plain if it is settled, a condition if it depends on inputs."""
    value = operand.value
    if value is None or isinstance(value, bool):
        return value
    condition = machine.as_bool(value, operand.span)
    if condition is None:
        machine.approximate(
            LedgerKind.OPAQUE, f"`{name}` is not followed: taken as its default", operand.span
        )
        return value
    return condition is E.TRUE if condition in (E.TRUE, E.FALSE) else condition


def _absent(
    machine: Machine, instruction: Instruction, operand: Operand, text: str, gathered: _Gathered
) -> bool:
    """Whether there is no operand, which has been said: nothing is to be asked of it."""
    if not isinstance(operand.value, Missing):
        return False
    gathered.operands[operand.role] = operand
    gathered.missing = True
    if instruction.footprint.writes_of(operand.role):
        given = Arg(operand.value, operand.span)
        absent.writes(machine, Call((given,), {}, operand.span, text))
    return True


def _gather_tile(
    machine: Machine,
    instruction: Instruction,
    role: Role,
    operand: Operand,
    mask: IndexMask | Bool | None,
    text: str,
    gathered: _Gathered,
) -> None:
    name = operand.role
    if _absent(machine, instruction, operand, text, gathered):
        return
    until = role.number_until
    vector = role.takes is Takes.VECTOR or (bool(until) and not newer(machine.api, until))
    if operand.value is None and (not operand.given or not only_read(instruction, role)):
        gathered.operands[name] = operand
        return
    if vector and isinstance(operand.value, (*_NO_TENSOR, Opaque)):
        if isinstance(operand.value, NO_NUMBER):
            _unfit(machine, operand, text, FALSE, role.takes)
        gathered.operands[name] = replace(operand, known=is_known(operand.value))
        return
    if vector and not isinstance(operand.value, View):
        reason = f"`{name}` of `{text}` is taken to be a number"
        known = machine.is_tensor(operand.value, reason, operand.span)
        view = machine.as_view(operand.value, operand.span) if known else None
        if view is None:
            gathered.operands[name] = replace(operand, known=False)
            return
    elif operand.value is None or isinstance(operand.value, (*_NO_TENSOR, Register)):
        if not isinstance(operand.value, Register):
            _unfit(machine, operand, text, FALSE)
        gathered.operands[name] = operand
        return
    else:
        view = machine.as_view(operand.value, operand.span)
        if view is None:
            gathered.lost = True
            return
    if role.column and view.rank == 1 and machine.api == "beta1":
        # a column of a tensor loads into a tile of one column: tiles have two dimensions
        view = views.expand_dim(machine, view, 1, operand.span)
    if machine.api == "beta1":
        view = beta1.gathered(machine, role, view, text, operand.span)
    _check_view(machine, instruction, view, operand.span)
    view = views.use(machine, view, mask, operand.span, gathered.skips, gathered.unclear)
    gathered.operands[name] = replace(operand, value=view)
    gathered.reads.extend(
        (name + INDEX, views.use_index(machine, index, view, mask, operand.span))
        for index in view.indices
    )
    if instruction.footprint.reads_of(name):
        gathered.reads.append((name, view))
    if instruction.footprint.writes_of(name):
        gathered.writes.append((name, view))


def compared(machine: Machine, view: View) -> None:
    """A tile is not what an operator has made of tiles that have none."""
    op = view.storage.marks.get(Mark.COMPARED)
    if isinstance(op, str):
        no_operator(machine, op, view.storage.name, view.storage.span)


def no_operator(machine: Machine, op: str, name: str, span: Span) -> None:
    """Tiles have no operators of Python since NKI 0.2 (NKI-L55)."""
    machine.check(
        REMOVED_RULE,
        FALSE,
        span,
        f"tiles have `{op}` in NKI {machine.api}",
        f"tiles have no `{op}` since NKI 0.2",
        facts=("L55",),
        help=(f"write `nl.{name}`, or an instruction of `nki.isa` with `op=nl.{name}`",),
    )


def _check_view(machine: Machine, instruction: Instruction, view: View, span: Span) -> None:
    """A tile is one, and rows that an index names are one to a partition of the index.

    But for functions that read indices column by column.
    """
    compared(machine, view)
    if view.rows_from is not None and not instruction.flattens:
        rows = view.shape[0] if view.axes else None
        views.one_per_row(machine, view, view.rows_from, rows, ("DCP05", "X46"), span)


def _plain(machine: Machine, value: object, span: Span) -> object:
    """A list of a constant argument as a tuple, nested ones too: rules read plain values."""
    if not isinstance(value, (Ref, tuple)):
        return value
    items = machine.as_items(value, span)
    return value if items is None else tuple(_plain(machine, item, span) for item in items)


def _number(machine: Machine, value: object, span: Span) -> object:
    """What must be a number within limits: an input of which nothing is known yet is one."""
    if value is None or isinstance(value, (Expr, int, float, str, tuple, View, Missing)):
        return value
    number = machine.as_int(value, span)
    return value if number is None else number


def _numbers(machine: Machine, value: object, span: Span) -> object:
    """A list of numbers, nested ones too."""
    if not isinstance(value, tuple):
        return value
    return tuple(
        _numbers(machine, item, span) if isinstance(item, tuple) else _number(machine, item, span)
        for item in value
    )


def _gather_registers(machine: Machine, instruction: Instruction, gathered: _Gathered) -> None:
    """Operands in registers: those that the call sets, and those that it takes."""
    for name, operand in gathered.operands.items():
        if not isinstance(operand.value, Register):
            continue
        into = gathered.reads
        if name in instruction.footprint.registers:
            into = gathered.writes
            registers.fill(machine, operand.value, None, operand.span)
        into.extend((name, place) for place in places(operand.value))


def _gather_list(
    machine: Machine, instruction: Instruction, name: str, operand: Operand, gathered: _Gathered
) -> None:
    found: list[View] = []
    pending = list(machine.as_items(operand.value, operand.span) or (operand.value,))
    while pending:
        item = handles.tile_of(machine, pending.pop(0), operand.span)
        nested = None if isinstance(item, View) else machine.as_items(item, operand.span)
        if nested is not None:
            pending[:0] = list(nested)
            continue
        if isinstance(item, Missing):
            gathered.missing = True
            continue
        view = machine.as_view(item, operand.span)
        if view is None:
            gathered.lost = True
            return
        found.append(views.use(machine, view, None, operand.span, skips=gathered.skips))
    gathered.operands[name] = replace(operand, value=tuple(found))
    into = gathered.reads if instruction.footprint.reads_of(name) else gathered.writes
    into.extend((f"{name}[{position}]", view) for position, view in enumerate(found))


def engine_of(operation: Operation, instruction: Instruction) -> Engine:
    """The engine that runs the call: the one asked for, or the one that its form leads to."""
    engines = instruction.engines
    if not engines.heeds(operation):
        return engines.of(operation)
    chosen = operation.value("engine")
    if isinstance(chosen, Enumerator) and chosen.kind == "engine" and chosen.name != "unknown":
        # `engine=` of a DMA names the queue that triggers it (NKI-N36)
        return Engine.DMA if engines.default is Engine.DMA else Engine(chosen.name)
    return engines.of(operation)
