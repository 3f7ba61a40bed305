"""Python operators on tiles, and assignment to them (NKI-L55, NKI-X69)."""

from __future__ import annotations

from typing import Final

from verifier.dialects.nki import beta1, isa, parameter_kinds
from verifier.dialects.nki.binding import SIGNATURE_RULE
from verifier.dialects.nki.emission import (
    compared,
    engine_of,
    no_operator,
    overwritten,
    perform,
)
from verifier.dialects.nki.isa.language import ASSIGN, FILL
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import views
from verifier.symbolic.expr import FALSE, TRUE, Bool, Expr
from verifier.symbolic.machine import Machine
from verifier.symbolic.tensors import Mark, Operand, StorageKind, View
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import Enumerator, IndexMask, IndexTensor, Missing

_BINARY: Final[dict[str, str]] = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "%": "mod",
    "**": "power",
    "&": "bitwise_and",
    "|": "bitwise_or",
    "^": "bitwise_xor",
    "<<": "left_shift",
    ">>": "right_shift",
    "==": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
_UNARY: Final[dict[str, str]] = {"-": "negative", "~": "invert"}

#: operators that compare
COMPARED: Final = frozenset({"<", "<=", ">", ">="})

_SCALARS = (Expr, Bool, int, float, bool)


def operator(machine: Machine, op: str, left: object, right: object, span: Span) -> object | None:
    """``left op right``, or ``op left`` when ``right`` is None; None if it has no meaning here."""
    if isinstance(left, IndexMask) or isinstance(right, IndexMask):
        return views.mask_binop(machine, op, left, right, span)
    if isinstance(left, IndexTensor) or isinstance(right, IndexTensor):
        if not isinstance(left, View) and not isinstance(right, View):
            if right is None:
                return views.index_binop(machine, "-", 0, left, span) if op == "-" else left
            return views.index_binop(machine, op, left, right, span)
    if right is None:
        name = _UNARY.get(op)
        if name is None:
            return left if op == "+" else None
        arguments = {"x": Operand("x", left, span)}
    else:
        name = _BINARY.get(op)
        if name is None:
            return None
        arguments = {"x": Operand("x", left, span), "y": Operand("y", right, span)}
    instruction = isa.find(f"language.{name}")
    assert instruction is not None
    equal = op in ("==", "!=")
    found = [parameter_kinds.no_operand(machine, o.value, span, equal) for o in arguments.values()]
    other = next((each.value for each in found if each is not None), None)
    if other is not None:
        machine.check(
            SIGNATURE_RULE,
            FALSE,
            span,
            f"both sides of `{op}` are tensors or numbers",
            f"`{op}` is given a tensor and {other}, which are never the same kind of thing",
            facts=("N09",),
            help=("compare `t.buffer`, or `t.dtype`",) if equal else (),
        )
        if equal:
            return op == "!="
        return Missing(f"the result of `{op}`", api=True)
    later = machine.api != "beta1" and op not in ("==", "!=")
    if later and op not in COMPARED:
        no_operator(machine, op, name, span)
    made = perform(machine, instruction, arguments, span, op)
    if later and op in COMPARED and isinstance(made, View):
        # a condition is no tile that is compared: who uses it decides what is said
        made.storage.mark(Mark.COMPARED, op)
    return made


def store(
    machine: Machine, target: View, value: object, op: str | None, span: Span, value_span: Span
) -> None:
    """``target[...] = value`` (``language.assign``, of a number ``language.fill``), or ``op=``.

    A result that is assigned whole to another tile, or added to a sum in PSUM, is that tile as far
    as memory goes: :attr:`Mark.FORWARDED` of its storage is the view of the tile. It is True
    where the result goes to another memory or is computed with. The mask of a call whose result is
    assigned is that of the assignment, too: the instruction is generated for these elements alone,
    and what the target held stays elsewhere (Beta 1, "NKI API Masking").
    """
    if machine.api == "beta1":
        beta1.assigned(machine, target, value, span)
    elif op is not None and op not in _BINARY:
        machine.unmodelled("assignment", span, f"`{op}=` on a tile is not followed")
        return
    elif op is not None:
        no_operator(machine, f"{op}=", _BINARY[op], span)
    mask = _mask_of(value)
    overwritten(target)
    target = views.use(machine, target, mask, span)
    operands = {"dst": Operand("dst", target, span)}
    reads: list[tuple[str, View]] = []
    scalar = isinstance(value, _SCALARS)
    operands["value"] = Operand("value", value, value_span)
    if not scalar:
        view = machine.as_view(value, value_span)
        if view is None:
            lost = "the value that is assigned is not followed"
            machine.unmodelled("assignment", value_span, lost)
            return
        compared(machine, view)
        view = views.use(machine, view, mask, value_span)
        if view.storage.kind is StorageKind.RESULT and (mask is not None or view.mask is TRUE):
            summed = view.buffer is Buffer.PSUM and Mark.SUM in view.storage.marks
            same = view.buffer is target.buffer and (op is None or summed)
            view.storage.mark(Mark.FORWARDED, target if same else True)
        operands["value"] = Operand("value", view, value_span)
        reads.append(("value", view))
    if op is not None:
        reads.append(("dst", target))
        operands["op"] = Operand("op", Enumerator("op", _BINARY.get(op, op)), span)
    instruction = FILL if scalar else ASSIGN
    operation = Operation(
        name=instruction.name,
        operands=operands,
        span=span,
        generation=machine.generation,
        capabilities=machine.target.capabilities,
        loops=machine.loops,
        path=machine.path,
        order=machine.next_order(),
        reads=tuple(reads),
        writes=(("dst", target),),
        call_text="=" if op is None else f"{op}=",
        instruction=instruction,
    )
    operation.effect = instruction.footprint.effect_of(operation)
    operation.engine = engine_of(operation, instruction)
    machine.emit(operation)


def _mask_of(value: object) -> IndexMask | Bool | None:
    """The mask of the call that a value is the result of, if that is all that it is."""
    if not isinstance(value, View) or not views.is_whole(value):
        return None
    mask = value.storage.marks.get(Mark.MASKED)
    return mask if isinstance(mask, (IndexMask, Bool)) else None
