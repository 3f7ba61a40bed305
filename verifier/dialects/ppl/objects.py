"""What the front end of PPL has for a value: a constant, a value of the run, an object of Python.

Each question is answered for certain: no is also the answer where nobody knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from verifier.dialects.ppl.compiling import (
    is_compiled,
    is_wrapped,
    plain_global,
    wrapped_global,
)
from verifier.hardware import dtypes as dt
from verifier.source import ir
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python.heap import UNBOUND, DictBox
from verifier.symbolic.python.inputs import InputKind, Parameter
from verifier.symbolic.python.model import Builtin, Class, Function, TensorMethod
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import DType, View
from verifier.symbolic.values import (
    ApiRef,
    Enumerator,
    ExternalRef,
    Guarded,
    ModuleRef,
    OpaqueOf,
    Ratio,
    Ref,
)

#: functions of Python that the front end calls as they are, which gives objects of Python
NUMBERS: Final = frozenset({"int", "float", "isinstance"})
FLOATS: Final = dt.codes("float32", "float16", "bfloat16", "float64")
#: integers of 64 bits are below it
_HALF: Final = 2**63


def is_number(vm: VM, node: ir.Expr) -> bool:
    """Whether it is a number of Python as it is."""
    if isinstance(node, ir.Name):
        return node.id not in vm.scope().local and plain_global(vm, node.id)
    if isinstance(node, ir.Attribute):
        if node.attr == "value" and isinstance(node.value, ir.Name):
            return is_wrapped(vm, node.value.span)
        return is_of_python(vm, node) and type_of(vm.eval(node)) is not None
    if isinstance(node, ir.Call) and isinstance(node.func, ir.Name):
        if node.func.id in vm.scope().local:
            return False
        return node.func.id in NUMBERS or (is_helper(vm, node.func) and bool(node.args))
    if isinstance(node, ir.Call):
        return is_of_python(vm, node.func)
    if isinstance(node, ir.UnaryOp):
        return node.op != "not" and is_number(vm, node.operand)
    if isinstance(node, ir.BinOp):
        return is_number(vm, node.left) and is_number(vm, node.right)
    return False


def is_of_python(vm: VM, node: ir.Expr) -> bool:
    """Whether it is a name of a library of Python: ``math.pi``."""
    if not isinstance(node, ir.Attribute) or not isinstance(node.value, ir.Name):
        return False
    if node.value.id in vm.scope().local:
        return False
    owner = vm.eval(node.value)
    external = isinstance(owner, ExternalRef)
    return external or (isinstance(owner, ModuleRef) and owner.module is None)


def is_helper(vm: VM, node: ir.Name) -> bool:
    """Whether it is a function of Python that no ``jit`` decorates."""
    value = vm.eval(node)
    return isinstance(value, Function) and not is_compiled(value.definition)


def is_number_of_front_end(vm: VM, node: ir.Expr) -> bool:
    """Whether it is a number that is a constant or a value of the run."""
    if isinstance(node, ir.Const):
        return isinstance(node.value, (bool, int, float))
    if isinstance(node, ir.Name):
        if node.id not in vm.scope().local:
            return wrapped_global(vm, node.id)
        values = cases(vm.scope().names.get(node.id, UNBOUND))
        return all(type_of(value) is not None for _, value in values)
    if isinstance(node, ir.UnaryOp):
        return is_number_of_front_end(vm, node.operand)
    if isinstance(node, ir.BinOp):
        return is_number_of_front_end(vm, node.left) and is_number_of_front_end(vm, node.right)
    return False


def is_counted(vm: VM, node: ir.Expr) -> bool:
    """Whether it is a number, and no truth value, for certain."""
    if isinstance(node, ir.Const):
        return isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    if isinstance(node, ir.Name):
        types = [type_of(value) for _, value in cases(vm.scope().names.get(node.id, UNBOUND))]
        return all(each in (int, float) for each in types)
    if isinstance(node, ir.BinOp):
        return node.op in ("+", "-", "*", "//", "%") and is_counted(vm, node.left)
    return isinstance(node, ir.UnaryOp) and node.op == "-" and is_counted(vm, node.operand)


def is_fraction(vm: VM, node: ir.Expr) -> bool:
    """Whether it is a float for certain."""
    if isinstance(node, ir.Const):
        return isinstance(node.value, float)
    if isinstance(node, ir.Name):
        local = node.id in vm.scope().local
        value = vm.scope().names.get(node.id, UNBOUND) if local else vm.eval(node)
        return all(type_of(case) is float for _, case in cases(value))
    if isinstance(node, ir.BinOp):
        one, other = is_fraction(vm, node.left), is_fraction(vm, node.right)
        return node.op == "/" or (node.op != "//" and (one or other))
    if isinstance(node, ir.Attribute):
        return is_of_python(vm, node) and type_of(vm.eval(node)) is float
    if isinstance(node, ir.Call) and ir.last_name(node.func) == "to" and len(node.args) == 1:
        wanted = vm.eval(node.args[0])
        return isinstance(wanted, DType) and wanted.among(FLOATS) is E.TRUE
    return isinstance(node, ir.UnaryOp) and node.op != "not" and is_fraction(vm, node.operand)


def is_tensor(vm: VM, node: ir.Expr) -> bool:
    """Whether it is a tensor for certain."""
    if not isinstance(node, ir.Name):
        return False
    value = vm.scope().names.get(node.id, UNBOUND)
    return all(isinstance(case, View) for _, case in cases(value))


def constant_value(vm: VM, node: ir.Expr) -> object:
    """The value of what is made of literals and names of the file; None: of something else."""
    for each in ir.own((node,)):
        local = isinstance(each, ir.Name) and each.id in vm.scope().local
        if local or not isinstance(each, (ir.Const, ir.Name, ir.BinOp, ir.UnaryOp)):
            return None
    return vm.eval(node) if isinstance(node, (ir.Const, ir.Name, ir.BinOp, ir.UnaryOp)) else None


def is_beyond(value: object) -> bool:
    """Whether it is an integer that no value of the run holds (``_to_tensor``)."""
    return isinstance(value, Expr) and value.is_const and not -_HALF <= value.const < _HALF


def is_none(node: ir.Expr) -> bool:
    return isinstance(node, ir.Const) and node.value is None


def is_view(vm: VM, node: ir.Expr) -> bool:
    """Whether it may be a tensor: names that hold one, and what calls give."""
    if isinstance(node, ir.Name):
        value = vm.scope().names.get(node.id, UNBOUND)
        return any(isinstance(case, View) for _, case in cases(value))
    return isinstance(node, (ir.Call, ir.Subscript))


def is_named_tensor(vm: VM, node: ir.Expr) -> bool:
    """Whether it is a tensor, and not one of global memory that no name was given yet."""
    if isinstance(node, ir.Call):
        return ir.last_name(node.func) in ("sub_view", "view", "make_tensor")
    return isinstance(node, ir.Name) and is_view(vm, node)


def is_list(vm: VM, node: ir.Expr) -> bool:
    return isinstance(node, ir.Name) and isinstance(vm.scope().names.get(node.id), Ref)


def is_listed(vm: VM, node: ir.Expr) -> bool:
    """Whether it is a list or a tuple of Python for certain."""
    if isinstance(node, ir.Name):
        local = node.id in vm.scope().local
        value = vm.eval(node) if not local else vm.scope().names.get(node.id, UNBOUND)
        return all(isinstance(each, (Ref, tuple)) for _, each in cases(value))
    if isinstance(node, ir.Subscript) and isinstance(node.index, ir.Const):
        return is_listed(vm, node.value) and isinstance(vm.eval(node), (Ref, tuple))
    return isinstance(node, (ir.ListExpr, ir.TupleExpr))


def is_dict(vm: VM, node: ir.Expr) -> bool:
    """Whether it is a name of the file for a dict."""
    if not isinstance(node, ir.Name) or node.id in vm.scope().local:
        return False
    value = vm.eval(node)
    return isinstance(value, Ref) and isinstance(vm.box(value), DictBox)


def type_of(value: object) -> type | None:
    """Of a number; None: it is none, or nobody knows."""
    if isinstance(value, (bool, Bool)):
        return bool
    if isinstance(value, (int, Expr)):
        return int
    if isinstance(value, (float, Ratio)) or (isinstance(value, OpaqueOf) and value.host is float):
        return float
    if isinstance(value, Parameter):
        return {InputKind.INTEGER: int, InputKind.FLAG: bool}.get(value.kind or InputKind.TENSOR)
    return None


def no_value(value: object) -> str:
    """What cannot be assigned to a name."""
    if isinstance(value, Enumerator) and value.kind != "dtype":
        return f"`pl.{value.name}` as the value of a name"
    if isinstance(value, (Function, Builtin, Class, ModuleRef, ApiRef, TensorMethod)):
        return "a function as the value of a name"
    if is_beyond(value):
        return "a number that 64 bits do not hold"
    if isinstance(value, complex) or value is ...:
        return "such a value of a name"
    return ""


def cases(value: object) -> Sequence[tuple[Bool, object]]:
    return value.cases if isinstance(value, Guarded) else ((E.TRUE, value),)
