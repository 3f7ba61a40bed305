"""``super()``: the attributes that the classes above one have."""

from __future__ import annotations

from typing import Any

from verifier.source.ir import Span
from verifier.symbolic.python import hierarchy
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.hierarchy import Inherited, answers_class
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.model import Class, HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque


class SuperKind(Kind[VM]):
    """``super()``."""

    name = "super"
    complete = True

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(super)

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        is_class = isinstance(value.self, (Class, HostType))
        start = value.self if is_class else vm.type_of(value.self)
        mro = hierarchy.mro_of(start)
        if name == "__class__":
            return HostType(super)
        if value.cls not in mro and not is_class and answers_class(vm, start):
            return vm.unfollowed("`super()` of an object with a `__class__` of its own", span)
        if value.cls not in mro:
            vm.fault(TypeError, "super(type, obj): obj must be an instance of type", span)
            return vm.unfollowed("`super()` of something else", span)
        above = mro[mro.index(value.cls) + 1 :]
        if name == "__new__" and any(isinstance(c, Class) and "enum" in c.traits for c in above):
            return vm.unfollowed("`__new__` of an enumeration is not followed", span)
        found = hierarchy.find(vm, above, name)
        if is_of_object(found) or found is UNBOUND:
            if hierarchy.is_external(start):
                return Opaque(f"`super().{name}`")
        if found is UNBOUND:
            return UNBOUND
        instance = UNBOUND if is_class else value.self
        return hierarchy.split(
            vm,
            found,
            lambda one: one if one is UNBOUND else hierarchy.bind(vm, one, instance, start, span),
        )


def is_of_object(found: object) -> bool:
    """Whether an attribute is what every object has."""
    return isinstance(found, Inherited) and found.type is object
