"""What a kernel that is given a structure of inputs gets: an instance of the user's class.

``@okk.kernel(Params) def f(args)`` and ``@okk.kernel def f(args: Params)`` take one argument whose
fields are the inputs; each is named as its field.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verifier.source import ir
from verifier.symbolic.interpreter import classes, names
from verifier.symbolic.interpreter.heap import ObjectBox
from verifier.symbolic.interpreter.inputs import Parameter
from verifier.symbolic.values import AddressType, Class, Ref

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from verifier.symbolic.interpreter.inputs import Pinned
    from verifier.symbolic.interpreter.vm import VM


def structure_of(vm: VM, definition: ir.FunctionDef) -> Class | None:
    """The class of a kernel's only parameter, whose fields are its inputs; None if it has none."""
    if len(definition.params) != 1:
        return None
    for decorator in definition.decorators:
        if isinstance(decorator, ir.Call) and decorator.args:
            given = _type_of(vm, decorator.args[0])
            if isinstance(given, Class):
                return given
    annotation = definition.params[0].annotation
    found = _type_of(vm, annotation) if annotation is not None else None
    return found if isinstance(found, Class) and found.kind == "object" else None


def instance(
    vm: VM,
    cls: Class,
    pinned: Mapping[str, Pinned],
    initial: Callable[[VM, Parameter], object],
) -> Ref:
    """An instance of the class with an input in each field."""
    box = ObjectBox(cls)
    for name, (owner, node) in _declared(vm, cls).items():
        default = classes._default(vm, owner, node.value) if node.value is not None else None
        p = Parameter(
            name=name,
            span=node.target.span,
            annotation=vm.text(node.annotation.span),
            pinned=pinned.get(name),
            default=default,
            has_default=node.value is not None,
        )
        vm.inputs.parameters[name] = p
        box.attributes[name] = typed(vm, p, node.annotation, initial)
    return vm.heap.new(box)


def typed(
    vm: VM, p: Parameter, annotation: ir.Expr | None, initial: Callable[[VM, Parameter], object]
) -> object:
    """The value of an input, with what its annotation says about it."""
    absent = p.pinned is not None and p.pinned.kind == "value" and p.pinned.value is None
    if annotation is not None and not absent and isinstance(_type_of(vm, annotation), AddressType):
        return vm.inputs.address(p)
    if p.pinned is not None and p.pinned.kind == "range":
        return vm.inputs.integer(p)
    return initial(vm, p)


def _declared(vm: VM, cls: Class) -> dict[str, tuple[Class, ir.AnnAssign]]:
    """The annotated fields in order, those of a base class first."""
    base = classes.base_class(vm, cls)
    out = _declared(vm, base) if base is not None and base is not cls else {}
    for stmt in cls.definition.body:
        if isinstance(stmt, ir.AnnAssign) and isinstance(stmt.target, ir.Name):
            out[stmt.target.id] = (cls, stmt)
    return out


def _type_of(vm: VM, node: ir.Expr) -> object:
    """The value of a type as it is written, None if it is no plain name that means something."""
    root = node
    while isinstance(root, ir.Attribute):
        root = root.value
    if not isinstance(root, ir.Name) or not names.known(vm, root.id):
        return None
    return vm.eval(node)
