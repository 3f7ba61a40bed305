"""Annotations: what is evaluated where a definition stands, for what that does.

What an annotation is worth matters to nobody here. So only what could be noticed is evaluated:
calls of the program's own code, and names that may be bound nowhere.
"""

from __future__ import annotations

from verifier.source import ir
from verifier.source.project import Module
from verifier.symbolic.python import modules
from verifier.symbolic.python.heap import UNBOUND, Scope
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import ApiRef, ExternalRef, Guarded, Opaque


def of_function(vm: VM, node: ir.FunctionDef | ir.LambdaExpr) -> None:
    """Evaluate the annotations of a definition, as CPython does after its defaults."""
    if isinstance(node, ir.LambdaExpr) or _postponed(vm.frame.module):
        return
    # positional-only parameters come after the others that are positional
    for kind in ("positional", "positional-only", "*", "keyword", "**"):
        for param in node.params:
            if param.kind == kind and param.annotation is not None:
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


def _evaluate(vm: VM, node: ir.Expr) -> None:
    stack: list[ir.Node] = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, (ir.NamedExpr, ir.Comprehension)) or (
            isinstance(part, ir.Call) and not _is_foreign(vm, part.func)
        ):
            vm.eval(part)
        elif isinstance(part, ir.Name):
            if not _is_bound(vm, part.id):
                vm.eval(part)  # which faults
        elif not isinstance(part, ir.LambdaExpr):
            stack.extend(reversed(tuple(ir.children(part))))


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
