"""``list[int]``, ``List[int]``, ``Stack[T]``: classes with type arguments."""

from __future__ import annotations

import collections.abc
import typing
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic.machine import Call
from verifier.symbolic.python import attributes, hierarchy
from verifier.symbolic.python.attempts import attempt
from verifier.symbolic.python.heap import UNBOUND, ListBox, ObjectBox
from verifier.symbolic.python.hierarchy import Alias
from verifier.symbolic.python.iteration import Iteration, Unknown
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.descriptors import TypeForm, TypeKind
from verifier.symbolic.python.kinds.typed import entered, is_type
from verifier.symbolic.python.model import Class, HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import ExternalRef, Opaque, OpaqueOf

#: how many types an alias of ``typing`` takes, where that is one number
_TAKEN: Final = {
    alias.__origin__: alias._nparams
    for alias in vars(typing).values()
    if getattr(alias, "_nparams", -1) >= 0 and not getattr(alias, "_defaults", ())
}
#: classes of which an alias of ``typing`` makes no instance
_SPELLED: Final = {
    alias.__origin__ for alias in vars(typing).values() if not getattr(alias, "_inst", True)
}
#: what of an alias goes on to the class
_FORWARDED: Final = frozenset({"__name__", "__qualname__", "__module__"})


def made(vm: VM, origin: object, index: object, span: Span, *, typed: bool) -> object:
    """``origin[index]``; ``typed``: as ``typing`` makes it."""
    args = index if isinstance(index, tuple) else (index,)
    if origin == _CALLABLE and len(args) != 2:
        message = "Callable must be used as Callable[[arg, ...], result]."
        vm.fault(TypeError, message, span)
    if origin in (HostType(typing.Generic), HostType(typing.Protocol)):
        fits = all(isinstance(arg, TypeForm) and arg.variable for arg in args)
        if not fits or len(set(args)) < len(args):
            what = f"what {hierarchy.described(origin)} takes"
            return vm.unfollowed(f"{what} is not followed", span)
        return Alias(origin, args, typed)
    found = _flat(vm, args) if origin == _CALLABLE else args
    if found is None or (typed and not _fits(origin, found)):
        what = hierarchy.described(origin)
        return vm.unfollowed(f"the types that {what} is given are not followed", span)
    return Alias(origin, tuple(map(entered, found)) if typed else found, typed)


_CALLABLE: Final = HostType(collections.abc.Callable)  # type: ignore[arg-type]


def _flat(vm: VM, args: tuple[object, ...]) -> tuple[object, ...] | None:
    """The types in ``Callable[[int, str], float]``; None if they do not fit."""
    box = vm.box(args[0])
    first = box.concrete if isinstance(box, ListBox) else None
    if first is None:
        return args if args[0] is ... else None
    return (*first, *args[1:])


def _fits(origin: object, args: tuple[object, ...]) -> bool:
    """Whether ``typing`` takes these types."""
    if origin == _CALLABLE and args[0] is ...:
        args = args[1:]
    elif origin == HostType(tuple) and len(args) == 2 and args[1] is ...:
        args = args[:1]
    return bool(args) and all(map(is_type, args))


def settled(value: object) -> bool:
    """Whether a type is known in full: it has no parameters and is equal to none but its like."""
    if isinstance(value, Alias):
        return all(map(settled, value.args))
    return isinstance(value, (Class, HostType, str)) or value is None or value is ...


class AliasKind(TypeKind):
    """A class with type arguments, or a name of ``typing`` that takes some."""

    pure = True

    def type_of(self, vm: VM, value: Any) -> object:
        return TypeForm("the type of a generic alias", made=True)

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name == "__origin__":
            return value.origin
        if name == "__args__":
            return value.args if value.args or not value.typed else UNBOUND
        if name == "__parameters__" and value.args and settled(value):
            return ()
        if name.startswith("__") and name not in _FORWARDED:
            return vm.unfollowed(f"`.{name}` of a generic alias is not followed", span)
        return vm.attribute(value.origin, name, span)

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        vm.unfollowed(f"`.{name}` of a generic alias is assigned to", span)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        vm.unfollowed("a generic alias in a loop is not followed", span)
        return Unknown("the parts of a generic alias")

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        if value.args:
            if settled(value):
                vm.fault(TypeError, "a generic alias without parameters is not generic", span)
            return vm.unfollowed("the parameters of a generic alias are not followed", span)
        args = index if isinstance(index, tuple) else (index,)
        taken = _TAKEN.get(value.origin.type, len(args))
        if taken != len(args):
            message = f"`{value.origin.name}` takes {taken} types, {len(args)} are given"
            vm.fault(TypeError, message, span)
        return made(vm, value.origin, index, span, typed=True)

    def call(self, vm: VM, value: Any, call: Call) -> object:
        host = value.origin.type if isinstance(value.origin, HostType) else None
        if value.typed and host in _SPELLED:
            what = hierarchy.described(value.origin)
            message = f"`typing`'s alias of {what} cannot be instantiated"
            vm.fault(TypeError, message, call.span)
        result = vm.invoke(value.origin, call)
        if isinstance(value.origin, Class):
            vm.each(result, lambda one: _remember(vm, one, value, call.span))
        return result

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op not in ("==", "!="):
            return NotImplemented
        if isinstance(right, (Opaque, ExternalRef)):
            return OpaqueOf("whether two types are the same", host=bool)
        if not isinstance(right, Alias):
            return NotImplemented
        if (left.origin, left.typed, len(left.args)) == (
            right.origin, right.typed, len(right.args),
        ):  # fmt: skip
            if not (settled(left) and settled(right)):
                return OpaqueOf("whether two types are the same", host=bool)
            return (left == right) == (op == "==")
        return op == "!="

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return value if settled(value) else UNBOUND


def _remember(vm: VM, instance: object, alias: Alias, span: Span) -> None:
    """An instance is told which alias has made it, if it can be."""
    box = vm.box(instance)
    if isinstance(box, ObjectBox) and attributes.allows(vm, box.cls, "__orig_class__"):
        attempt(
            vm,
            lambda: vm.set_attribute(instance, "__orig_class__", alias, span),
            AttributeError,
            lambda error: None,
        )


KINDS: Final[dict[type, Kind[VM]]] = {Alias: AliasKind()}
