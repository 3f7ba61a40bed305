"""From one kind of value to another: truth, integers, tensors, dtypes, items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verifier.hardware import dtypes as dt
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.interpreter.heap import UNBOUND, DictBox, ListBox, ObjectBox
from verifier.symbolic.interpreter.inputs import LazyShape, Parameter
from verifier.symbolic.trace import DType, View
from verifier.symbolic.values import (
    ApiRef,
    Class,
    Enumerator,
    EnumMember,
    ExternalRef,
    Guarded,
    IndexGrid,
    IndexMask,
    IndexTensor,
    Opaque,
    ParDim,
    PendingAdd,
    Range,
    Ratio,
    Ref,
)

if TYPE_CHECKING:
    from verifier.symbolic.interpreter.vm import VM


def unknown_bool(vm: VM, reason: str, span: Span) -> Bool:
    """A truth value that is not followed; the ledger says so."""
    symbol = E.fresh("unknown", 0, 1)
    vm.approximate("opaque", reason, span, [repr(symbol)])
    return E.eq(symbol, 1)


def unknown_int(vm: VM, reason: str, span: Span) -> Expr:
    symbol = E.fresh("unknown")
    vm.approximate("opaque", reason, span, [repr(symbol)])
    return symbol


def is_object(vm: VM, value: object) -> bool:
    """Whether a value is an instance of a class that the project defines."""
    return isinstance(value, Ref) and isinstance(vm.heap.get(value.id), ObjectBox)


def truth(vm: VM, value: object, span: Span) -> Bool:
    """The value in a condition."""
    if isinstance(value, bool):
        return E.truth(value)
    if isinstance(value, Bool):
        return value
    if isinstance(value, Expr):
        return E.ne(value, 0)
    if value is None:
        return E.FALSE
    if isinstance(value, (str, tuple, float, bytes)):
        return E.truth(bool(value))
    if isinstance(value, Guarded):
        return E.or_(*(E.and_(guard, truth(vm, item, span)) for guard, item in value.cases))
    if isinstance(value, Parameter):
        if value.kind in (None, "bool") and value.annotation not in ("int", "float"):
            if value.default is None and value.has_default:
                return E.TRUE  # the None case was split off when the parameter was bound
            return vm.inputs.flag(value)
        if value.kind == "int" or value.annotation == "int":
            return E.ne(vm.inputs.integer(value), 0)
        return E.TRUE
    if isinstance(value, Ref):
        box = vm.heap.get(value.id)
        if isinstance(box, ListBox):
            return E.ne(box.length, 0)
        if isinstance(box, DictBox):
            return E.truth(bool(box.items))
        if isinstance(box, ObjectBox) and isinstance(box.cls, Class):
            from verifier.symbolic.interpreter import classes

            names = ("__bool__", "__len__")
            if any(classes.method(vm, box.cls, name) is not UNBOUND for name in names):
                return unknown_bool(vm, "a condition depends on an object", span)
        return E.TRUE
    if isinstance(value, Opaque):
        return unknown_bool(vm, f"a condition depends on {value.reason}", span)
    if isinstance(value, Ratio):
        return E.ne(value.num, 0)
    if isinstance(value, (IndexMask, IndexTensor)):
        return unknown_bool(vm, "a condition depends on an index tensor", span)
    if isinstance(value, (ExternalRef,)):
        return unknown_bool(vm, f"a condition depends on {value.said}", span)
    return E.TRUE


def as_int(vm: VM, value: object, span: Span) -> Expr | None:
    """The value as an integer; what cannot be followed becomes a symbol in the ledger."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool):
        return E.const(int(value))
    if isinstance(value, Bool):
        return E.ite(value, 1, 0)
    if isinstance(value, float) and value.is_integer():
        return E.const(int(value))
    if isinstance(value, Parameter):
        if value.kind in (None, "int", "bool"):
            return vm.inputs.integer(value)
        return None
    if isinstance(value, Guarded):
        return _guarded_int(vm, value, span)
    if isinstance(value, Ratio):
        exact = E.exact_quotient(value.num, value.den)
        if exact is not None:
            return exact
        return unknown_int(vm, "a fraction is used as an integer", span)
    if isinstance(value, (Opaque, ExternalRef)):
        reason = value.reason if isinstance(value, Opaque) else value.said
        return unknown_int(vm, f"a size depends on {reason}", span)
    if isinstance(value, ParDim):
        return value.size
    if isinstance(value, IndexTensor) and not value.axes:
        return value.expr
    return None


def _guarded_int(vm: VM, value: Guarded, span: Span) -> Expr | None:
    result: Expr | None = None
    for guard, item in reversed(value.cases):
        if vm.decide(guard) is False:
            continue
        if item is UNBOUND or item is None:
            continue
        number = as_int(vm, item, span)
        if number is None:
            return None
        result = number if result is None else E.ite(guard, number, result)
    return result


def as_view(vm: VM, value: object, span: Span) -> View | None:
    """The tensor a value is."""
    if isinstance(value, View):
        return value
    if isinstance(value, PendingAdd):
        return value.view
    if isinstance(value, Parameter):
        if value.kind in (None, "tensor"):
            return vm.inputs.tensor(value)
        return None
    if isinstance(value, Guarded):
        live = [
            (guard, item)
            for guard, item in value.cases
            if item is not None and item is not UNBOUND and vm.decide(guard) is not False
        ]
        if len(live) == 1:
            return as_view(vm, live[0][1], span)
    return None


def as_dtype(vm: VM, value: object, span: Span) -> DType | None:
    if isinstance(value, DType):
        return value
    if isinstance(value, str):
        name = dt.canonical(value)
        return DType.named(name) if name is not None else None
    if isinstance(value, Parameter):
        if value.kind in (None, "dtype", "str"):
            return vm.inputs.as_dtype(value)
        if value.kind == "tensor":
            return vm.inputs.dtype(value)
        return None
    if isinstance(value, ExternalRef):
        name = dt.canonical(value.path.rpartition(".")[2])
        return DType.named(name) if name is not None else None
    if isinstance(value, Guarded):
        out: DType | None = None
        for guard, item in reversed(value.cases):
            if vm.decide(guard) is False or item is None or item is UNBOUND:
                continue
            one = as_dtype(vm, item, span)
            if one is None:
                return None
            out = one if out is None else DType(E.ite(guard, one.code, out.code))
        return out
    if isinstance(value, Opaque):
        code = E.fresh("dtype", 0, len(dt.NAMES) - 1)
        vm.approximate("opaque", f"a dtype depends on {value.reason}", span, [repr(code)])
        return DType(code)
    return None


def as_items(vm: VM, value: object, span: Span) -> tuple[object, ...] | None:
    """The items of a sequence of known length."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, LazyShape):
        return vm.inputs.shape(value.parameter)
    if isinstance(value, Ref):
        box = vm.heap.get(value.id)
        if isinstance(box, ListBox):
            return box.concrete
        if isinstance(box, DictBox):
            return tuple(box.items)
        return None
    if isinstance(value, IndexGrid):
        return value.parts
    if isinstance(value, str):
        return tuple(value)
    if isinstance(value, Range):
        if value.start.is_const and value.stop.is_const and value.step.is_const:
            numbers = range(value.start.const, value.stop.const, value.step.const or 1)
            if len(numbers) <= 4096:
                return tuple(E.const(n) for n in numbers)
        return None
    if isinstance(value, Parameter) and value.pinned is not None:
        pinned = value.pinned.value
        if isinstance(pinned, tuple):
            return tuple(E.const(x) if isinstance(x, int) else x for x in pinned)
    if isinstance(value, Guarded):
        live = [item for guard, item in value.cases if vm.decide(guard) is not False]
        if len(live) == 1:
            return as_items(vm, live[0], span)
    return None


def kind_name(value: object) -> str:
    """What a value is, for messages."""
    if isinstance(value, ExternalRef):
        return value.said
    names = {
        Expr: "an integer",
        Bool: "a truth value",
        View: "a tensor",
        tuple: "a tuple",
        str: "a string",
        ApiRef: "an API function",
        Enumerator: "an operator",
        EnumMember: "an enum member",
    }
    for cls, text in names.items():
        if isinstance(value, cls):
            return text
    return "None" if value is None else type(value).__name__.lower()
