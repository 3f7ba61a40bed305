"""What a kernel that is given a structure of inputs gets: an instance of the user's class.

``@okk.kernel(Params) def f(args)`` and ``@okk.kernel def f(args: Params)`` take one argument whose
fields are the inputs; each is named as its field.
"""

from __future__ import annotations

from collections.abc import Mapping

from verifier.source import ir
from verifier.symbolic.dialect import Declare, Input
from verifier.symbolic.python import names
from verifier.symbolic.python.heap import UNBOUND, ObjectBox, Scope
from verifier.symbolic.python.model import Class
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Ref


def structured(vm: VM, definition: ir.FunctionDef, declare: Declare) -> Mapping[str, object] | None:
    """The only argument of a kernel whose fields are its inputs; None if it has none."""
    if len(definition.params) != 1:
        return None
    cls = _structure_of(vm, definition)
    return None if cls is None else {definition.params[0].name: _instance(vm, cls, declare)}


def _structure_of(vm: VM, definition: ir.FunctionDef) -> Class | None:
    for decorator in definition.decorators:
        if isinstance(decorator, ir.Call) and decorator.args:
            given = type_of(vm, decorator.args[0])
            if isinstance(given, Class):
                return given
    annotation = definition.params[0].annotation
    found = type_of(vm, annotation) if annotation is not None else None
    return found if isinstance(found, Class) and _fields(found) else None


def _instance(vm: VM, cls: Class, declare: Declare) -> Ref:
    """An instance of the class with an input in each field."""
    box = ObjectBox(cls)
    for name, (owner, node) in _fields(cls).items():
        default = _default(vm, owner, name) if node.value is not None else UNBOUND
        made = Input(
            name,
            node.target.span,
            node.annotation,
            None if default is UNBOUND else default,
            default is not UNBOUND,
        )
        box.attributes[name] = declare(made)
    return vm.heap.new(box)


def _default(vm: VM, cls: Class, name: str) -> object:
    """A field's default, UNBOUND if it has none of its own (``field(default_factory=...)``)."""
    scope = vm.heap.get(cls.namespace.id)
    assert isinstance(scope, Scope)
    value = scope.names.get(name, UNBOUND)
    return UNBOUND if isinstance(value, Ref) else value


def _fields(cls: Class) -> dict[str, tuple[Class, ir.AnnAssign]]:
    """The annotated fields in order, those of a base class first."""
    out: dict[str, tuple[Class, ir.AnnAssign]] = {}
    for owner in reversed(cls.mro):
        if not isinstance(owner, Class) or owner.definition is None:
            continue
        for stmt in owner.definition.body:
            if isinstance(stmt, ir.AnnAssign) and isinstance(stmt.target, ir.Name):
                out[stmt.target.id] = (owner, stmt)
    return out


def type_of(vm: VM, node: ir.Expr) -> object:
    """The value of a type as it is written, None if it is no plain name that means something."""
    root = node
    while isinstance(root, ir.Attribute):
        root = root.value
    if not isinstance(root, ir.Name) or not names.known(vm, root.id):
        return None
    return vm.eval(node)


__all__ = ["structured", "type_of"]
