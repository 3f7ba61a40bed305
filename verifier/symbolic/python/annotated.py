"""Annotations: what is evaluated where a definition stands, for what that does.

What an annotation is worth matters to nobody here; that evaluating it may fail does. What a library
has a say in is taken to be written as the library wants it: nothing of the program's own changes.
"""

from __future__ import annotations

import sys
from typing import Final

from verifier.source import ir
from verifier.source.project import Module
from verifier.symbolic.python import modules
from verifier.symbolic.python.heap import UNBOUND, ListBox, Scope
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import ApiRef, ExternalRef, Guarded, Opaque

#: positional-only parameters come after the others that are positional
_EVALUATED = (
    ir.ParamKind.POSITIONAL,
    ir.ParamKind.POSITIONAL_ONLY,
    ir.ParamKind.STAR,
    ir.ParamKind.KEYWORD,
    ir.ParamKind.DOUBLE_STAR,
)


def of_function(vm: VM, node: ir.FunctionDef | ir.LambdaExpr) -> None:
    """Evaluate the annotations of a definition, as CPython does after its defaults."""
    if isinstance(node, ir.LambdaExpr) or _postponed(vm.frame.module):
        return
    for kind in _EVALUATED:
        for param in node.params:
            if param.kind is kind and param.annotation is not None:
                _evaluate(vm, param.annotation)
    if node.returns is not None:
        _evaluate(vm, node.returns)


def of_variable(vm: VM, stmt: ir.AnnAssign) -> None:
    """Evaluate the annotation of a variable, after its value; not in functions."""
    if vm.frame.function is not None and vm.frame.body_of is None:
        return
    if not _postponed(vm.frame.module):
        _evaluate(vm, stmt.annotation)


def _postponed(module: Module) -> bool:
    """Whether a module has ``from __future__ import annotations``."""
    found = module.all_bindings("annotations")
    return any(b.module == "__future__" and b.original == "annotations" for b in found)


#: what an annotation is that a library has a say in: nobody here knows what it refuses
_FOREIGN: Final = Opaque("a type of a library's")


def _evaluate(vm: VM, node: ir.Expr) -> None:
    """Evaluate an annotation, for its effects and errors."""
    if isinstance(node, ir.Name):
        if not _is_bound(vm, node.id):
            vm.eval(node)  # which faults
    elif not isinstance(node, (ir.Const, ir.LambdaExpr)):
        _value(vm, node)


def _value(vm: VM, node: ir.Expr) -> object:
    """What an annotation, or a part of one, is worth."""
    if isinstance(node, ir.Attribute):
        owner = _value(vm, node.value)
        return owner if owner is _FOREIGN else _known(vm.attribute(owner, node.attr, node.span))
    if isinstance(node, ir.Subscript):
        owner = _value(vm, node.value)
        index = _value(vm, node.index)
        return owner if owner is _FOREIGN else _known(vm.item(owner, index, node.span))
    if isinstance(node, ir.BinOp) and node.op == "|":
        sides = [_value(vm, side) for side in (node.left, node.right)]
        if any(side is _FOREIGN for side in sides):
            return _FOREIGN
        return _known(vm.binary("|", sides[0], sides[1], node.span))
    if isinstance(node, ir.Call) and _is_foreign(vm, node.func):
        for arg in (*node.args, *(keyword.value for keyword in node.keywords)):
            _evaluate(vm, arg)
        return _FOREIGN
    if isinstance(node, (ir.TupleExpr, ir.ListExpr)):
        elements = [_value(vm, element) for element in node.elements]
        whole = isinstance(node, ir.ListExpr)
        return vm.heap.new(ListBox.of(elements)) if whole else tuple(elements)
    return _known(vm.eval(node))


def _known(value: object) -> object:
    """A value, unless it is a library's."""
    if isinstance(value, ExternalRef):
        return value if value.path.partition(".")[0] in sys.stdlib_module_names else _FOREIGN
    return _FOREIGN if isinstance(value, (ApiRef, Opaque)) else value


def _is_foreign(vm: VM, node: ir.Expr) -> bool:
    """Whether what is called is a library's: that changes nothing of the program's own."""
    while isinstance(node, (ir.Attribute, ir.Subscript)):
        node = node.value
    if not isinstance(node, ir.Name) or not _is_bound(vm, node.id):
        return False
    return isinstance(vm.eval(node), (ApiRef, ExternalRef, Opaque))


def _is_bound(vm: VM, name: str) -> bool:
    """Whether a name is bound on every path, without evaluating what it is bound to."""
    number: int | None = vm.frame.scope
    while number is not None:
        box = vm.heap.get(number)
        assert isinstance(box, Scope)
        value = box.names.get(name, UNBOUND)
        if value is not UNBOUND:
            return not isinstance(value, Guarded)
        number = box.parent
    module = vm.frame.module
    return (
        modules.is_waiting(vm, module, name)
        or name in vm.language.builtins
        or modules.global_value(vm, module, name) is not UNBOUND
        or modules.elsewhere(vm, module, name) is not UNBOUND
    )
