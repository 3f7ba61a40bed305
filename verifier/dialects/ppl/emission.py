"""From a call of a device function to an operation of the trace."""

from __future__ import annotations

from typing import Final

from verifier.dialects.ppl.binding import Bound, tensor_of
from verifier.dialects.ppl.names import VOID
from verifier.dialects.ppl.signatures import Parameter, Signature
from verifier.dialects.ppl.tensors import LAYOUTS, box
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.machine import Call, Machine
from verifier.symbolic.tensors import DType, Operand, View
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import Enumerator, Opaque, Ref


def spoken(name: str) -> str:
    """The canonical name of an operation: ``tiu.fmul`` is ``ppl.tiu.fmul``."""
    return f"ppl.{name}"


def accessed(view: View) -> View:
    """What an operation touches: where a reinterpretation is not followed, the bytes it is of."""
    return view.base if not view.exact and view.base is not None else view


def perform(machine: Machine, signature: Signature, bound: Bound, call: Call) -> object:
    """Emit the operation; the new tensor if the destination was left out."""
    operands = dict(bound.operands)
    for parameter in signature.parameters:
        operand = operands.get(parameter.name)
        if operand is None or not parameter.tensor:
            continue
        if _lost(parameter, operand):
            machine.approximate("opaque", f"an operand of `{call.text}` is not followed", call.span)
            machine.unmodelled(spoken(signature.name), call.span)
            return Opaque(f"the result of {call.text} with operands that are not followed")
    for parameter in signature.parameters:
        operand = operands.get(parameter.name)
        if operand is not None and not parameter.tensor:
            operands[parameter.name] = _plain(machine, operand)
    made: View | None = None
    if bound.result:
        if not any(tensor_of(operand.value) for operand in operands.values()):
            return _scalar(signature, operands)
        made = _result(machine, signature, operands, call)
        first = signature.parameters[0].name
        operands = {first: Operand(first, made, call.span, given=False), **operands}
    emit(machine, signature, operands, call.span, call.text)
    return made


def _plain(machine: Machine, operand: Operand) -> Operand:
    """A list of numbers as a tuple (kernel sizes, padding); other options as they are."""
    if isinstance(operand.value, Ref):
        items = machine.as_items(operand.value, operand.span)
        if items is not None:
            numbers = tuple(machine.as_int(item, operand.span) for item in items)
            return Operand(operand.role, numbers, operand.span, operand.given)
    return operand


def _lost(parameter: Parameter, operand: Operand) -> bool:
    """Whether an operand that has to be a tensor is not known to be one."""
    if isinstance(operand.value, Opaque):
        return not operand.value.harmless
    if parameter.role == "vec":
        return False
    if operand.value is None and parameter.default == "None":
        return False
    return not isinstance(operand.value, View)


def emit(
    machine: Machine,
    signature: Signature,
    operands: dict[str, Operand],
    span: Span,
    text: str,
) -> Operation:
    """Append the operation: what it reads and writes follows from the roles."""
    reads: list[tuple[str, View]] = []
    writes: list[tuple[str, View]] = []
    adds = result_add(machine, operands)
    for parameter in signature.parameters:
        operand = operands.get(parameter.name)
        view = operand.view if operand is not None else None
        if view is None or not parameter.tensor:
            continue
        touched = _used(machine, signature, parameter, operands, accessed(view))
        if parameter.role in ("in", "vec", "rmw"):
            reads.append((parameter.name, touched))
        if parameter.role in ("out", "out?", "rmw"):
            writes.append((parameter.name, touched))
    operation = Operation(
        name=spoken(signature.name),
        operands=operands,
        span=span,
        api=machine.api,
        loops=machine.loops,
        path=machine.path,
        order=machine.next_order(),
        reads=tuple(reads),
        writes=tuple(writes),
        accumulates="always" if adds is E.TRUE else "no" if adds is E.FALSE else adds,
        engine=signature.engine,
        call_text=text,
    )
    machine.emit(operation)
    return operation


#: element by element: a source is used as far as the destination goes
ELEMENTWISE: Final[frozenset[str]] = frozenset(
    {
        "minimum", "maximum", "sub_abs", "truediv", "fmul", "fadd", "fsub", "add", "sub", "mul",
        "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "fadd_sqr", "fsub_sqr", "gt",
        "lt", "eq", "gt_select", "lt_select", "eq_select", "abs", "fexp", "fexp_part", "floor",
        "ceiling", "fsin_base", "fcos_base", "ftan_base", "farcsin_base", "farccos_base",
        "flog_base", "frsqrt", "fsqrt", "shift", "logical_shift", "circular_shift", "norm", "clz",
        "clo", "move", "cast", "fdiv", "mac", "fmac", "fmul_add", "round",
    }
)  # fmt: skip


def _used(
    machine: Machine,
    signature: Signature,
    parameter: Parameter,
    operands: dict[str, Operand],
    view: View,
) -> View:
    """The part of a source that an operation on elements uses: the shape of its destination."""
    first = operands.get(signature.parameters[0].name)
    target = first.view if first is not None else None
    if parameter.role in ("out", "out?") or target is None or not view.exact:
        return view
    if signature.name.removeprefix("tiu.") not in ELEMENTWISE or target.shape == view.shape:
        return view
    sizes = tuple(
        mine if mine is wanted or (mine.is_const and mine.const == 1) else E.minimum(mine, wanted)
        for mine, wanted in zip(view.shape, target.shape, strict=True)
    )
    return box(machine, view, sizes, view.span) if sizes != view.shape else view


def result_add(machine: Machine, operands: dict[str, Operand]) -> Bool:
    """Whether the operation adds to its destination (``result_add=``)."""
    operand = operands.get("result_add")
    if operand is None:
        return E.FALSE
    added = machine.as_bool(operand.value, operand.span)
    return added if added is not None else E.FALSE


def _scalar(signature: Signature, operands: dict[str, Operand]) -> object:
    """A device function of numbers only is worked out by the compiler: ``pl.cast(n, pl.int32)``."""
    if signature.name == "tiu.cast":
        return operands["src"].value
    return Opaque(f"the number that pl.{signature.name} makes", harmless=True)


#: parameters that say the dtype of a new result
_TYPED = ("type", "out_dtype")


def _result(
    machine: Machine, signature: Signature, operands: dict[str, Operand], call: Call
) -> View:
    tensors = [view for operand in operands.values() if (view := tensor_of(operand.value))]
    shape = tensors[0].shape
    for view in tensors[1:]:
        shape = tuple(_wider(a, b) for a, b in zip(shape, view.shape, strict=False))
    dtype = tensors[0].dtype
    for name in _TYPED:
        operand = operands.get(name)
        if operand is not None and operand.value != VOID:
            wanted = machine.as_dtype(operand.value, operand.span)
            dtype = wanted if isinstance(wanted, DType) else dtype
    layout = "compact" if signature.name == "dma.load_compact" else "aligned"
    align = operands.get("align_mode")
    if align is not None and isinstance(align.value, Enumerator):
        layout = LAYOUTS.get(align.value.name, layout)
    return machine.allocate(
        call.target_name or signature.name.partition(".")[2],
        shape,
        dtype,
        Buffer.LOCAL,
        call.span,
        kind="result",
        partition_axis=None,
        placement={"layout": layout},
    )


def _wider(a: Expr, b: Expr) -> Expr:
    return b if a.is_const and a.const == 1 else a
