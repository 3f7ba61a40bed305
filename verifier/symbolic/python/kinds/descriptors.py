"""What lies in classes (properties, static methods) and what stands for several or special ones."""

from __future__ import annotations

import types
import typing
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from verifier.source.ir import Span
from verifier.symbolic.expr import Expr
from verifier.symbolic.machine import Call
from verifier.symbolic.python import hierarchy
from verifier.symbolic.python.builtin import Table, invoke
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.hierarchy import Alias
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.model import (
    BoundBuiltin,
    Builtin,
    Class,
    ClassMethod,
    EnumProperty,
    HostType,
    Property,
    StaticMethod,
)
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque, OpaqueOf, unsure


class Union(Struct, frozen=True):
    """``int | None``: one of several types."""

    members: tuple[object, ...]


class NewType(Struct, frozen=True, eq=False):
    """``typing.NewType(name, of)``: a name for a type, which gives back what it is called with."""

    name: object
    of: object


class TypeForm(Struct, frozen=True, eq=False):
    """A name of ``typing`` that is no class, a type variable, or what brackets make of one."""

    name: str
    variable: bool = False
    made: bool = False


def united(vm: VM, left: object, right: object) -> object:
    """``left | right`` of types; NotImplemented if the other one is none."""
    parts: list[object] = []
    for value in (left, right):
        if isinstance(value, Union):
            parts.extend(value.members)
        elif value is None:
            parts.append(HostType(type(None)))
        elif isinstance(value, (Class, HostType, Alias, NewType, TypeForm, Opaque)):
            parts.append(value)
        else:
            return NotImplemented
    members = tuple(dict.fromkeys(parts))
    alone = len(members) == 1 and not isinstance(members[0], (Opaque, TypeForm))
    return members[0] if alone else Union(members)


class TypeKind(Kind[VM]):
    """What classes of the project and built-in types have in common."""

    name = "type"
    complete = True

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        return united(vm, left, right) if op == "|" else NotImplemented

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        return united(vm, left, right) if op == "|" else NotImplemented

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return value


# ------------------------------------------------------------------------ what lies in classes


PROPERTY: Final = Table("property")


def made_property(
    vm: VM, fget: object, fset: object, fdel: object, doc: object, span: Span
) -> Property:
    """``property(fget, fset, fdel, doc)``: without a text it has the getter's."""
    if doc is not None or fget is None:
        return Property(fget, fset, fdel, doc)
    found = vm.find_attribute(fget, "__doc__", span)
    return Property(fget, fset, fdel, None if found is UNBOUND else found, True)


def _changed(vm: VM, old: Property, span: Span, **parts: object) -> Property:
    functions = {"fget": old.fget, "fset": old.fset, "fdel": old.fdel, **parts}
    fget, fset, fdel = functions.values()
    if isinstance(old, EnumProperty):
        return replace(old, fget=fget, fset=fset, fdel=fdel)
    doc = None if old.getters_doc and fget is not None else old.doc
    return made_property(vm, fget, fset, fdel, doc, span)


@PROPERTY.add("getter")
def _getter(vm: VM, span: Span, self: Property, fget: object, /) -> object:
    return _changed(vm, self, span, fget=fget)


@PROPERTY.add("setter")
def _setter(vm: VM, span: Span, self: Property, fset: object, /) -> object:
    return _changed(vm, self, span, fset=fset)


@PROPERTY.add("deleter")
def _deleter(vm: VM, span: Span, self: Property, fdel: object, /) -> object:
    return _changed(vm, self, span, fdel=fdel)


class DescriptorKind(Kind[VM]):
    """A property, a static method or a class method as a value."""

    complete = True

    def __init__(self, host: type) -> None:
        self.name = host.__name__
        self.host = host

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(self.host)

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if isinstance(value, Property):
            if name in ("fget", "fset", "fdel"):
                return getattr(value, name)
            if name in PROPERTY:
                return BoundBuiltin("property", name, value)
            if name == "__doc__" and not isinstance(value, EnumProperty):
                return value.doc
        elif name in ("__func__", "__wrapped__"):
            return hierarchy.plain(value.function)
        elif name in ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__"):
            return vm.attribute(hierarchy.plain(value.function), name, span)
        if hasattr(self.host, name) or isinstance(value, EnumProperty):
            return vm.unfollowed(f"`.{name}` of a {self.name} is not followed", span)
        return UNBOUND

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        if isinstance(value, Property) and (name.startswith("f") or not hasattr(property, name)):
            super().set_attribute(vm, value, name, new, span)
            return
        vm.unfollowed(f"`.{name}` of a {self.name} is assigned to", span)

    def call(self, vm: VM, value: Any, call: Call) -> object:
        if isinstance(value, StaticMethod):
            return vm.invoke(hierarchy.plain(value.function), call)
        return self._missing(vm, value, "is not callable", call.span)

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return value


# ------------------------------------------------------------------------ unions


class UnionKind(TypeKind):
    """``int | None``."""

    pure = True

    def type_of(self, vm: VM, value: Any) -> object:
        return TypeForm("the type of a union", made=True)

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name == "__args__":
            if any(isinstance(member, (Opaque, TypeForm)) for member in value.members):
                return unsure("the members of a union")
            return value.members
        return vm.unfollowed(f"`.{name}` of a union of types is not followed", span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        if all(isinstance(member, (Class, HostType)) for member in value.members):
            return super().item(vm, value, index, span)
        return vm.unfollowed("the parameters of a union are not followed", span)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op not in ("==", "!="):
            return NotImplemented
        if not isinstance(right, Union):
            plain = isinstance(right, (Class, HostType, str, Expr)) or right is None
            unsaid = OpaqueOf("whether two types are the same", host=bool)
            return NotImplemented if plain else unsaid
        members = (*left.members, *right.members)
        if not all(isinstance(member, (Class, HostType)) for member in members):
            return OpaqueOf("whether two unions are the same", host=bool)
        return (set(left.members) == set(right.members)) == (op == "==")


class NewTypeKind(TypeKind):
    """A name for a type."""

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(typing.NewType)

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name in ("__name__", "__qualname__"):
            return value.name
        if name == "__supertype__":
            return value.of
        return vm.unfollowed(f"`.{name}` of a `NewType` is not followed", span)

    def call(self, vm: VM, value: Any, call: Call) -> object:
        return invoke(vm, _SAME, call)


def _same(vm: VM, span: Span, x: object, /) -> object:
    return x


_SAME: Final = Builtin.of("NewType", _same)

KINDS: Final[dict[type, Kind[VM]]] = {
    Property: DescriptorKind(property),
    EnumProperty: DescriptorKind(types.DynamicClassAttribute),
    StaticMethod: DescriptorKind(staticmethod),
    ClassMethod: DescriptorKind(classmethod),
    Union: UnionKind(),
    NewType: NewTypeKind(),
}
METHODS: Final = {"property": PROPERTY}
