"""Names: of a block, of the blocks around it, of the module, built in; and binding them."""

from __future__ import annotations

from verifier.source import ir
from verifier.symbolic import expr as E
from verifier.symbolic.python import modules
from verifier.symbolic.python.heap import UNBOUND, Scope
from verifier.symbolic.python.terms import join
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import View
from verifier.symbolic.values import Guarded, PendingAdd


def lookup(vm: VM, node: ir.Name) -> object:
    """The value of a name; an unbound one is a fault on every path that gets here."""
    name = node.id
    hidden = mangled(vm, name)
    number: int | None = vm.frame.scope
    own = True
    while number is not None:
        box = vm.heap.get(number)
        assert isinstance(box, Scope)
        if name in box.shared_global:
            break
        value = box.names.get(name, UNBOUND)
        if value is not UNBOUND and (own or not box.skipped):
            if type(value) is Guarded:
                return _bound_cases(vm, node, value, own and name in box.local)
            return found(vm, value, node.span)
        if name in box.local and name not in box.shared_outer:
            _unbound(vm, node, own)
            raise AssertionError  # pragma: no cover - what is unbound everywhere ends the path
        own = False
        number = box.parent
        if box.skipped:
            name = hidden  # outside of the class the name is another one
    name = hidden
    if name == "__class__":
        function = vm.frame.function
        if function is not None and function.owner is not None:
            return function.owner
    value = modules.global_value(vm, vm.frame.module, name)
    if isinstance(value, Guarded):
        return _bound_cases(vm, node, value, False)
    if value is not UNBOUND:
        return found(vm, value, node.span)
    value = vm.language.builtins.get(name, UNBOUND)
    if value is not UNBOUND:
        return value
    value = modules.elsewhere(vm, vm.frame.module, name)
    if value is not UNBOUND:
        return value
    message = f"`{node.id}` is bound nowhere on this path"
    known = {*vm.frame.module.bindings, *vm.language.builtins}
    return vm.absent(NameError, message, node.span, node.id, known, text=f"`{node.id}` is bound")


def found(vm: VM, value: object, span: ir.Span) -> object:
    """The value of a name; if it is lost, nothing that is done with it is followed."""
    return vm.had(value, span)


def _unbound(vm: VM, node: ir.Name, local: bool) -> None:
    vm.fault(
        UnboundLocalError if local else NameError,
        f"`{node.id}` is bound nowhere on this path",
        node.span,
        text=f"`{node.id}` is bound",
    )


def _bound_cases(vm: VM, node: ir.Name, value: Guarded, local: bool) -> object:
    """A name bound on some paths only: reading it elsewhere is a fault."""
    live = [(g, v) for g, v in value.cases if vm.decide(g) is not False]
    unbound = E.or_(*(g for g, v in live if v is UNBOUND))
    bound = [(g, v) for g, v in live if v is not UNBOUND]
    vm.fault(
        UnboundLocalError if local else NameError,
        f"`{node.id}` may be read before anything is bound to it"
        if bound
        else f"`{node.id}` is bound nowhere on this path",
        node.span,
        when=unbound if bound else E.TRUE,
        text=f"`{node.id}` is bound",
    )
    result = bound[-1][1]
    for guard, item in reversed(bound[:-1]):
        result = join(guard, item, result)
    return found(vm, result, node.span)


def known(vm: VM, name: str) -> bool:
    """Whether a name means something here; asking is no use of it."""
    number: int | None = vm.frame.scope
    while number is not None:
        box = vm.heap.get(number)
        assert isinstance(box, Scope)
        if box.names.get(name, UNBOUND) is not UNBOUND:
            return True
        number = box.parent
    if modules.global_value(vm, vm.frame.module, name) is not UNBOUND:
        return True
    if name in vm.language.builtins:
        return True
    return modules.elsewhere(vm, vm.frame.module, name) is not UNBOUND


def bind(vm: VM, name: str, value: object) -> None:
    """Bind a name of the running block; to :data:`UNBOUND` it is deleted."""
    if isinstance(value, PendingAdd):
        value = _settled_sum(value)
    box = vm.heap.get(vm.frame.scope)
    assert isinstance(box, Scope)
    if name in box.shared_global:
        modules.bind_global(vm, vm.frame.module, mangled(vm, name), value)
        return
    number = vm.frame.scope
    if name in box.shared_outer:
        number = _owner(vm, box.parent, name)
    if vm.frame.binds is not None and not box.inlined:
        value = vm.frame.binds(name, value)
    target = vm.heap.write(number)
    assert isinstance(target, Scope)
    target.names[name] = value


def bind_outside(vm: VM, name: str, value: object) -> None:
    """Bind the target of a walrus: in the block around the comprehensions that it stands in."""
    number = vm.frame.scope
    box = vm.heap.get(number)
    assert isinstance(box, Scope)
    while box.inlined and box.parent is not None:
        number = box.parent
        parent = vm.heap.get(number)
        assert isinstance(parent, Scope)
        box = parent
    if name in box.shared_global:
        modules.bind_global(vm, vm.frame.module, mangled(vm, name), value)
        return
    if name in box.shared_outer:
        number = _owner(vm, box.parent, name)
    target = vm.heap.write(number)
    assert isinstance(target, Scope)
    target.names[name] = value


def _owner(vm: VM, number: int | None, name: str) -> int:
    """The function's scope that a ``nonlocal`` name belongs to."""
    while number is not None:
        box = vm.heap.get(number)
        assert isinstance(box, Scope)
        if name in box.local and name not in box.shared_outer and not box.skipped:
            return number
        number = box.parent
    raise AssertionError(name)  # pragma: no cover - a syntax error of Python's


def _settled_sum(value: PendingAdd) -> View:
    return value.view


# ------------------------------------------------------------------------ private names


def mangled(vm: VM, name: str) -> str:
    """``__name`` as the class in whose text the running code stands has it."""
    if not name.startswith("__") or name.endswith("__") or not vm.frames:
        return name
    frame = vm.frame
    owner = frame.body_of or (frame.function.owner if frame.function is not None else None)
    return name if owner is None else private(owner.name, name)


def private(cls: str, name: str) -> str:
    """``__name`` in the text of a class."""
    stripped = cls.lstrip("_")
    if not stripped or not name.startswith("__") or name.endswith("__"):
        return name
    return f"_{stripped}{name}"
