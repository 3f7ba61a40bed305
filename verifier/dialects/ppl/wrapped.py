"""What the front end of PPL has for lists, dtypes, modes, texts and None, and what takes them.

As a literal, as a parameter of a kernel or of a jit function that is called, and as the value of a
name that is annotated so, each is wrapped in a constant (``constexpr`` in ``language/core.py`` of
tpu_ppl 1.6.19): it has no items, no length and no attributes but ``value``, and operators take
constants only. Assigned to a name it is Python's own object, which has all that Python has, but no
operator with a constant. Functions of the language look into some of their arguments.
"""

from __future__ import annotations

from typing import Final

from verifier.dialects.ppl.binding_times import Stage
from verifier.dialects.ppl.compiling import is_wrapped, known, rejected
from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.machine import Arg, Call
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import DType
from verifier.symbolic.values import Enumerator, Guarded, Ratio, Ref

_LIST: Final = "a list"
_DTYPE: Final = "a dtype"
_MODE: Final = "a mode"
_TEXT: Final = "a text"
_NONE: Final = "None"

#: what functions do not look into when they are given it as a constant, by parameter; ``""``: all
_AS_IT_IS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "pl.make_tensor": {"dtype": (_DTYPE,)},
    "pl.gtensor": {"": (_LIST, _DTYPE, _MODE)},
    "pl.get_nic": {"": (_DTYPE,)},
    "pl.get_scalar_dtype": {"": (_DTYPE,)},
    "tiu.cast": {"type": (_DTYPE,)},
    "tiu.fconv": {"bias": (_NONE,)},
    "tiu.fdw_deconv": {"bias": (_NONE,)},
    "dma.reduce": {"psum": (_MODE,), "opcode": (_MODE,)},
    "tensor.view": {"": (_LIST, _DTYPE, _NONE)},
    "tensor.sub_view": {"": (_LIST, _NONE)},
}
#: parameters of all functions, likewise
_EVERYWHERE: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("kernel", "stride", "dilation", "padding"), (_LIST,)),
    "ins": (_LIST, _NONE),
    "trans_mode": (_MODE, _NONE),
}


def before(vm: VM, node: ir.Expr) -> None:
    """An expression that is about to be evaluated."""
    if isinstance(node, ir.Subscript):
        what = sealed(vm, node.value)
        if what in (_LIST, _TEXT):
            _end(vm, node.span, f"an item of a constant that holds {what}", _NAMED)
    elif isinstance(node, ir.Attribute):
        what = sealed(vm, node.value)
        if what and node.attr != "value":
            _end(vm, node.span, f"`.{node.attr}` of a constant that holds {what}", _NAMED)
    elif isinstance(node, ir.BinOp):
        _mixed(vm, node.op, node.left, node.right, node.span)
    elif isinstance(node, ir.Compare) and len(node.ops) == 1:
        _mixed(vm, node.ops[0], node.left, node.comparators[0], node.span)
    elif isinstance(node, ir.BoolOp):
        for each in node.values:
            if what := plain(vm, each):
                _end(vm, each.span, f"{what} of Python under `{node.op}`")
    elif isinstance(node, ir.UnaryOp) and node.op == "not":
        if what := plain(vm, node.operand):
            _end(vm, node.span, f"`not` before {what} of Python")
    elif isinstance(node, ir.JoinedStr):
        for part in node.parts:
            if isinstance(part, ir.FormattedValue) and (what := plain(vm, part.value)):
                _end(vm, part.value.span, f"{what} of Python in a text")


def returned(vm: VM, stmt: ir.Return) -> None:
    """Functions return numbers and tensors, or tuples of them."""
    parts = stmt.value.elements if isinstance(stmt.value, ir.TupleExpr) else (stmt.value,)
    for each in parts:
        if each is None:
            continue
        what = plain(vm, each) or sealed(vm, each)
        if what and (what != _NONE or plain(vm, each)):
            _end(vm, each.span, f"{what} that is returned", "return the numbers one by one")


def taken_apart(vm: VM, stmt: ir.Assign) -> None:
    """``a, b = part``: a constant is one value."""
    if isinstance(stmt.targets[0], ir.TupleExpr) and sealed(vm, stmt.value):
        _end(vm, stmt.value.span, "a constant that is taken apart", _NAMED)


def given(vm: VM, function: str, parameter: str, argument: Span, value: object) -> None:
    """An argument of a function of the language."""
    kept = _EVERYWHERE.get(parameter, ())
    table = _AS_IT_IS.get(function, {})
    kept = (*kept, *table.get(parameter, ()), *table.get("", ()))
    for guard, each in _cases(value):
        what = held(each)
        if what in kept and is_wrapped(vm, argument):
            help = "leave it out" if what == _NONE else _NAMED
            shown = f"`{parameter}`" if parameter else "an argument"
            message = f"{what} as a constant for {shown} of `{_spoken(function)}`"
            _end(vm, argument, message, help, E.not_(guard))


def given_all(vm: VM, function: str, call: Call) -> None:
    """The arguments of a function that no description binds."""
    arguments: tuple[tuple[str, Arg], ...] = tuple(("", each) for each in call.args)
    if function == "pl.make_tensor":
        names = ("mem_shape", "dtype", "tensor_shape", "align_mode")
        arguments = tuple(zip(names, call.args, strict=False))
    for name, each in (*arguments, *call.keywords.items()):
        given(vm, function, name, each.span, each.value)


def sealed(vm: VM, node: ir.Expr) -> str:
    """What a constant holds that is no number; empty: it is no such constant for certain."""
    if isinstance(node, ir.Const):
        return held(node.value)
    if not isinstance(node, ir.Name):
        return ""
    what = _of_name(vm, node)
    return what if what and is_wrapped(vm, node.span) else ""


def plain(vm: VM, node: ir.Expr) -> str:
    """What an object of Python is that is no number; empty: it is none for certain."""
    if isinstance(node, (ir.ListExpr, ir.TupleExpr)):
        return _LIST
    if isinstance(node, ir.Name):
        what = _of_name(vm, node)
        return what if what and not is_wrapped(vm, node.span) else ""
    if isinstance(node, ir.Attribute) and isinstance(node.value, ir.Name):
        # a name of the language, or the type of a tensor
        value = vm.eval(node) if node.value.id not in vm.scope().local else None
        return held(value) if isinstance(value, (DType, Enumerator)) else ""
    return ""


def _of_name(vm: VM, node: ir.Name) -> str:
    if node.id in vm.scope().local:
        value = vm.scope().names.get(node.id, UNBOUND)
    else:
        value = vm.eval(node)
    found = {held(each) for _, each in _cases(value)}
    return found.pop() if len(found) == 1 else ""


def _mixed(vm: VM, op: str, left: ir.Expr, right: ir.Expr, span: Span) -> None:
    """Constants have operators with constants, objects of Python with those of Python."""
    if op in ("is", "is not"):
        return
    for one, other in ((left, right), (right, left)):
        held = sealed(vm, other)
        if not held and not _is_number(vm, other) and not _is_constant(vm, other):
            continue
        if what := plain(vm, one):
            repeated = op == "*" and one is left and what == _LIST and not held
            equal = op in ("==", "!=") and one is left and what == _DTYPE
            if not repeated and not equal:
                _end(vm, span, f"`{op}` of {what} of Python and what is none")
            return
    for one, other in ((left, right), (right, left)):
        if (what := sealed(vm, one)) and _is_number(vm, other):
            fine = known(vm, other.span, Stage.FRONT_END).condition
            shown = f"`{op}` of {what} and what only a run knows"
            _end(vm, span, shown, fine=fine)


def _is_constant(vm: VM, node: ir.Expr) -> bool:
    """Whether it is a constant for certain, of whatever."""
    return isinstance(node, ir.Name) and is_wrapped(vm, node.span)


def _is_number(vm: VM, node: ir.Expr) -> bool:
    """Whether it is a number that is a constant or a value of the run, for certain."""
    if isinstance(node, ir.Const):
        return isinstance(node.value, (bool, int, float))
    if isinstance(node, ir.Name) and node.id in vm.scope().local:
        values = _cases(vm.scope().names.get(node.id, UNBOUND))
        return all(isinstance(v, (Expr, Bool, bool, float, Ratio)) for _, v in values)
    if isinstance(node, ir.BinOp):
        return _is_number(vm, node.left) and _is_number(vm, node.right)
    return isinstance(node, ir.UnaryOp) and _is_number(vm, node.operand)


def held(value: object) -> str:
    """What a value is that is no number; empty: it is none of these."""
    if value is None:
        return _NONE
    if isinstance(value, (Ref, tuple)):
        return _LIST
    if isinstance(value, DType):
        return _DTYPE
    if isinstance(value, Enumerator):
        return _DTYPE if value.kind == "dtype" else _MODE
    return _TEXT if isinstance(value, str) else ""


def _cases(value: object) -> tuple[tuple[Bool, object], ...]:
    return tuple(value.cases) if isinstance(value, Guarded) else ((E.TRUE, value),)


#: what unwraps a constant
_NAMED: Final = "assign it to a name first: that is the object of Python itself"


def _spoken(function: str) -> str:
    return function if function.startswith(("pl.", "tensor.")) else f"pl.{function}"


def _end(vm: VM, span: Span, what: str, help: str = "", fine: Bool = E.FALSE) -> None:
    if fine is E.TRUE:
        return
    message = f"{what} cannot be compiled in a kernel"
    text = "the front end compiles it"
    rejected(vm, fine, span, text, message, "PPL-C05", (help,) if help else ())


__all__ = ["before", "given", "given_all", "held", "plain", "returned", "sealed", "taken_apart"]
