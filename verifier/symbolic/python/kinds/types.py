"""Classes as values, built-in types too."""

from __future__ import annotations

import enum
import functools
import typing
from typing import Any, Final

from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.machine import Call
from verifier.symbolic.python import attributes, classes, hierarchy, nesting, probes
from verifier.symbolic.python.builtin import invoke
from verifier.symbolic.python.heap import UNBOUND, DictBox, ObjectBox, StateBox
from verifier.symbolic.python.hierarchy import Inherited
from verifier.symbolic.python.iteration import Items, Iteration
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds import aliases, descriptors, instancedicts, supers, typed
from verifier.symbolic.python.kinds.descriptors import TypeKind
from verifier.symbolic.python.kinds.supers import is_of_object
from verifier.symbolic.python.library import enum_bodies, enums
from verifier.symbolic.python.model import (
    AttributeDict,
    BoundBuiltin,
    Builtin,
    Checked,
    Class,
    HostType,
    Super,
)
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import TEXT, Opaque, Ref, unsure

#: what ``typing`` enters into classes
_OF_TYPED: Final = frozenset(
    {"__parameters__", "__orig_bases__", "_is_protocol", "_is_runtime_protocol"}
)


class ClassKind(TypeKind):
    """A class of the project."""

    def type_of(self, vm: VM, value: Any) -> object:
        if isinstance(value.metaclass, (Class, HostType)):
            return value.metaclass
        hosts = [base.type for base in value.mro if isinstance(base, HostType)]
        metaclass: type = type
        for host in hosts:
            if issubclass(type(host), metaclass):
                metaclass = type(host)
        return HostType(metaclass)

    def describe(self, vm: VM, value: Any) -> str:
        return f"the class `{value.name}`"

    # -- attributes ----------------------------------------------------------------------

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        own = _of_type(vm, value, name, span)
        if own is not UNBOUND:
            return own
        found = hierarchy.lookup(vm, value, name)
        if name == "__new__" and hierarchy.trait(value, "enum") is not None:
            return vm.unfollowed("`__new__` of an enumeration is not followed", span)
        return hierarchy.split(vm, found, lambda one: self._bound(vm, value, name, one, span))

    def _bound(self, vm: VM, value: Class, name: str, found: object, span: Span) -> object:
        if hierarchy.is_external(value):
            # its metaclass and the hooks of its bases may have made anything of it
            what = f"`{value.name}.{name}`, whose base or metaclass is not followed"
            return Opaque(what, lost=True)
        if found is not UNBOUND and not is_of_object(found):
            return hierarchy.bind(vm, found, UNBOUND, value, span)
        if isinstance(value.metaclass, Class):
            return vm.unfollowed(f"`{value.name}.{name}` of a metaclass is not followed", span)
        if found is not UNBOUND:
            return hierarchy.bind(vm, found, UNBOUND, value, span)
        if name in _OF_TYPED and _is_typed(value):
            return vm.unfollowed(f"`{value.name}.{name}` is not followed", span)
        host = self.type_of(vm, value)
        if isinstance(host, HostType) and hasattr(host.type, name):
            return vm.unfollowed(f"`{value.name}.{name}` is not followed", span)
        return UNBOUND

    def no_attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        """A finding, and on."""
        text = f"{self.describe(vm, value)} has no attribute `{name}`"
        full = f"{value.name}.{name}"
        return vm.absent(AttributeError, text, span, full, hierarchy.names_of(vm, value))

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        if hierarchy.is_external(value):
            vm.unfollowed(f"what the type of `{value.name}` makes of `.{name}`", span)
        classes.set_class_attribute(vm, value, name, new, span)

    # -- calls -----------------------------------------------------------------------------

    def call(self, vm: VM, value: Any, call: Call) -> object:
        if isinstance(value.metaclass, Class):
            if hierarchy.overrides(vm, value.metaclass, "__call__"):
                return vm.unfollowed("`__call__` of a metaclass is not followed", call.span)
        return classes.instantiate(vm, value, call)

    # -- enumerations --------------------------------------------------------------------

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        if hierarchy.trait(value, "enum") is not None:
            return enums.by_name(vm, value, index, span)
        found = hierarchy.lookup(vm, value, "__class_getitem__")
        if isinstance(found, Inherited):
            return _parameterised(vm, value, found, index, span)
        if found is not UNBOUND:
            bound = hierarchy.bind(vm, found, UNBOUND, value, span)
            return vm.call(bound, (index,), span=span)
        return self._missing(vm, value, "is not subscriptable", span)

    def length(self, vm: VM, value: Any, span: Span) -> object:
        if hierarchy.trait(value, "enum") is not None:
            return E.const(len(enums.members(value).own))
        return self._missing(vm, value, "has no len()", span)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        if hierarchy.trait(value, "enum") is not None:
            return Items(tuple(enums.members(value).own))
        return super().iterate(vm, value, span)

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        if hierarchy.trait(value, "enum") is None:
            return super().contains(vm, value, item, span)
        if vm.type_of(item) is value:
            return E.TRUE
        if hierarchy.trait(vm.type_of(item), "enum") is not None and _is_plain(vm, value, item):
            return E.FALSE  # a member of another one
        # an error before 3.12, a test of the values since
        return vm.unfollowed(f"whether a value is in `{value.name}` is not followed", span)

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        if hierarchy.is_external(value) or isinstance(value.metaclass, Class):
            vm.unfollowed("the truth of a class with a metaclass is not followed", span)
        return E.TRUE

    def text(self, vm: VM, value: Any, how: str, span: Span) -> object:
        if hierarchy.derives_from_host(value, enum.Flag):
            return TEXT  # another one by version
        if hierarchy.trait(value, "enum") is not None:
            return f"<enum '{value.name}'>"
        module = hierarchy.namespace(vm, value).get("__module__")
        name = hierarchy.namespace(vm, value).get("__qualname__")
        if isinstance(module, str) and isinstance(name, str):
            return f"<class '{module}.{name}'>"
        return TEXT

    def _missing(self, vm: VM, value: Any, what: str, span: Span) -> object:
        if hierarchy.is_external(value) or isinstance(value.metaclass, Class):
            return vm.unfollowed(f"whether {self.describe(vm, value)} {what}", span)
        return super()._missing(vm, value, what, span)


def _is_plain(vm: VM, cls: Class, member: object) -> bool:
    """Whether a member of one enumeration cannot be the value of a member of another one."""
    values = [enums.value_of(vm, other) for other in enums.members(cls).own]
    box = vm.box(member)
    plain = isinstance(box, ObjectBox) and box.payload is UNBOUND
    return plain and not any(isinstance(value, (Ref, tuple, Opaque)) for value in values)


def _parameterised(vm: VM, cls: Class, found: Inherited, index: object, span: Span) -> object:
    """``cls[...]`` of a class that has it from a built-in type."""
    if found.type is not typing.Generic:
        return aliases.made(vm, cls, index, span, typed=False)
    given = len(index) if isinstance(index, tuple) else 1
    if cls.traits.get("parameters") != given:
        what = f"whether `{cls.name}` takes {given} types is not followed"
        return vm.unfollowed(what, span)
    return aliases.made(vm, cls, index, span, typed=True)


def _is_typed(cls: Class) -> bool:
    """Whether ``typing`` has had a part in making a class."""
    return hierarchy.trait(cls, "aliased") is not None or HostType(typing.Generic) in cls.mro


def _of_type(vm: VM, cls: Class, name: str, span: Span) -> object:
    """What ``type`` itself says of a class, :data:`UNBOUND` if it is no such name."""
    own = hierarchy.namespace(vm, cls)
    if name == "__name__":
        return cls.name
    if name in ("__mro__", "__bases__") and hierarchy.trait(cls, "aliased") is not None:
        return vm.unfollowed(f"`{cls.name}.{name}` is not followed", span)
    if name == "__mro__":
        return cls.mro
    if name == "__bases__":
        return cls.bases
    if name in ("__module__", "__qualname__"):
        return own.get(name)
    if name == "__doc__":
        text = own.get(name, None)
        return hierarchy.split(vm, text, lambda one: hierarchy.bind(vm, one, UNBOUND, cls, span))
    if name == "__class__":
        return vm.type_of(cls)
    if name == "__dict__":
        return _entries(vm, cls)
    if name == "__annotations__" and name not in own and not hierarchy.is_external(cls):
        return vm.unfollowed(f"`{cls.name}.__annotations__` is not followed", span)
    if hierarchy.trait(cls, "enum") is not None:
        known = enum_bodies.kept(vm, cls, name)
        if known is not UNBOUND:
            return known
    if name == "__members__" and "enum" in cls.traits:
        return enums.as_dict(vm, cls)
    if name == "__abstractmethods__":
        return UNBOUND
    return UNBOUND


def _entries(vm: VM, cls: Class) -> object:
    """``cls.__dict__``, to read; what the type itself enters is there, in an order not known."""
    own = hierarchy.namespace(vm, cls)
    held: dict[object, object] = {k: v for k, v in own.items() if k.isidentifier()}
    body = cls.definition.body if cls.definition is not None else ()
    if any(isinstance(stmt, ir.AnnAssign) for stmt in body):
        held.setdefault("__annotations__", unsure("the annotations of a class"))
    for name in ("__dict__", "__weakref__"):
        if attributes.adds(vm, cls, name):
            held.setdefault(name, unsure("a descriptor"))
    return vm.heap.new(DictBox(held, shuffled=True, ghost=True))


# ------------------------------------------------------------------------ built-in types


class HostTypeKind(TypeKind):
    """``int``, ``list``, ``ValueError``."""

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(type(value.type))

    def describe(self, vm: VM, value: Any) -> str:
        return f"the type `{value.name}`"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        host = value.type
        if name in ("__name__", "__qualname__", "__module__"):
            return getattr(host, name)
        if name == "__mro__":
            return hierarchy.mro_of(value)
        if name == "__bases__":
            return tuple(HostType(base) for base in host.__bases__)
        if name == "__class__":
            return HostType(type(host))
        if name == "__doc__":
            return host.__doc__
        if name == "_member_type_" and issubclass(host, enum.Enum):
            return HostType(getattr(host, name))
        if name == "__new__":
            return vm.language.methods["object"][name] if host is object else _maker(host)
        found = _method_of(vm, host, name)
        if found is not UNBOUND:
            return found
        if not hasattr(host, name):
            return UNBOUND
        return vm.unfollowed(f"`{host.__name__}.{name}` is not followed", span)

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        if value.type.__flags__ & (1 << 8):  # CPython's Py_TPFLAGS_IMMUTABLETYPE
            message = f"cannot set `{name}` of the immutable type `{value.name}`"
            vm.fault(TypeError, message, span)
            return
        vm.unfollowed(f"`{value.name}.{name}` is assigned to", span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        if hasattr(value.type, "__class_getitem__") or value.type is type:
            typed = value.type in (typing.Generic, typing.Protocol)
            return aliases.made(vm, value, index, span, typed=typed)
        return self._missing(vm, value, "is not subscriptable", span)

    def call(self, vm: VM, value: Any, call: Call) -> object:
        made = vm.language.constructors.get(value.type)
        if made is not None:
            probes.named(vm, value.type.__name__, call)
            given = [] if call.keywords else [arg.value for arg in call.args]
            known = probes.called(vm, value.type.__name__, given, call.span)
            if known is not None:
                return known
            return probes.handed_back(vm, value.type.__name__, call, invoke(vm, made, call))
        if value.type is object:
            args = (value, *(arg.value for arg in call.args))
            keywords = {name: arg.value for name, arg in call.keywords.items()}
            new = vm.language.methods["object"]["__new__"]
            return vm.call(new, args, keywords, span=call.span)
        return vm.unfollowed(f"what `{value.name}(...)` makes is not followed", call.span)

    def text(self, vm: VM, value: Any, how: str, span: Span) -> object:
        return repr(value.type)


@functools.cache
def _maker(host: type) -> Builtin:
    """``host.__new__``: it makes instances of classes that derive from its type."""

    def new(vm: VM, span: Span, cls: object, /, *args: object, **keywords: object) -> object:
        if isinstance(cls, (Class, HostType)) and not hierarchy.is_external(cls):
            what = hierarchy.described(cls)
            if not hierarchy.derives_from_host(cls, host):
                vm.fault(TypeError, f"{host.__name__}.__new__({what}): it is no subtype", span)
            if isinstance(cls, HostType) and cls.type is not host:
                return vm.unfollowed(f"`{host.__name__}.__new__` of {what} is not followed", span)
        make = vm.language.methods["object"]["__new__"]
        return vm.call(make, (cls, *args), keywords, span=span)

    return Builtin.of(f"{host.__name__}.__new__", new)


def _method_of(vm: VM, host: type, name: str) -> object:
    """``str.join``: a method of a built-in type that is not bound to a value."""
    if name == "__init__":
        return Checked(host, vm.language.methods["object"][name])
    meant = hierarchy.original(host, name)
    host, name = meant.type, meant.name
    raw, owner = None, host
    for base in host.__mro__:
        if name in base.__dict__:
            raw, owner = base.__dict__[name], base
            break
    if any(base.__dict__.get(name, name) is None for base in host.__mro__):
        return None  # the type says that it has none
    table = hierarchy.table_of(vm, host, name)
    if isinstance(raw, classmethod) or _is_class_method(raw):
        return BoundBuiltin(table, name, HostType(host)) if table is not None else UNBOUND
    if table is not None:
        builtin = vm.language.methods[table][name]
        if issubclass(owner, enum.Enum) and name in hierarchy.TEXTS:
            return Checked(enum.Enum, builtin)  # plain functions, which members of all kinds have
        return builtin if isinstance(raw, staticmethod) else Checked(owner, builtin)
    special = vm.language.methods.get(hierarchy.SPECIAL, {})
    if raw is not None and name in special and not issubclass(host, BaseException):
        return Checked(owner, special[name])
    return UNBOUND


def _is_class_method(raw: object) -> bool:
    return type(raw).__name__ == "classmethod_descriptor"


def _may_differ(vm: VM, method: Checked, value: object, inside: object) -> bool:
    """Whether a method may do something else for an instance than for the value inside of it."""
    if isinstance(vm.box(inside), StateBox) and vm.type_of(inside) != HostType(method.host):
        return True
    texts = method.builtin.name.rpartition(".")[2] in hierarchy.TEXTS
    return texts and inside is not value and issubclass(method.host, hierarchy.SAY_THEIR_CLASS)


class CheckedKind(Kind[VM]):
    """A method of a built-in type as a function."""

    name = "method_descriptor"
    complete = True
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        return f"the method `{value.host.__name__}.{value.builtin.name.rpartition('.')[2]}`"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name == "__name__":
            return value.builtin.name.rpartition(".")[2]
        return vm.unfollowed(f"`.{name}` of {self.describe(vm, value)} is not followed", span)

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return value

    def call(self, vm: VM, value: Any, call: Call) -> object:
        if not call.args:
            what = f"{self.describe(vm, value)} needs a value of its type"
            vm.fault(TypeError, what, call.span, rule="call-signature")
            return vm.unfollowed(what, call.span)
        rest = Call(call.args[1:], call.keywords, call.span, call.text)
        given_up = nesting.too_deep(vm, call.span, lambda: value in vm.methods_running)
        if given_up is not None:
            return given_up

        def one(first: object) -> object:
            cls = vm.type_of(first)
            if isinstance(cls, (Class, HostType)) and not hierarchy.derives_from_host(
                cls, value.host
            ):
                what = (
                    f"{self.describe(vm, value)} does not take {vm.kind(first).describe(vm, first)}"
                )
                if issubclass(value.host, enum.Enum):
                    return vm.unfollowed(what, call.span)
                vm.fault(TypeError, what, call.span)
            box = vm.box(first)
            inside = getattr(box, "payload", first)
            if _may_differ(vm, value, first, inside):
                what = vm.kind(first).describe(vm, first)
                return vm.unfollowed(f"{self.describe(vm, value)} on {what}", call.span)
            payload = getattr(box, "payload", UNBOUND)
            whole = value.builtin is vm.language.methods["object"]["__init__"]
            keeps = whole or value.host is object or payload is UNBOUND
            if not keeps:
                keeps = not hierarchy.derives_from_host(vm.type_of(payload), value.host)
            return invoke(vm, value.builtin, rest, first if keeps else payload)

        vm.depth += 1
        vm.methods_running.append(value)
        try:
            return vm.each(call.args[0].value, one)
        finally:
            vm.depth -= 1
            vm.methods_running.pop()


KINDS: Final[dict[type, Kind[VM]]] = {
    Class: ClassKind(),
    HostType: HostTypeKind(),
    Checked: CheckedKind(),
    Super: supers.SuperKind(),
    **descriptors.KINDS,
    **aliases.KINDS,
    **typed.KINDS,
    AttributeDict: instancedicts.AttributeDictKind(),
}
METHODS: Final = {**descriptors.METHODS, **instancedicts.METHODS}

__all__ = ["KINDS", "METHODS"]
