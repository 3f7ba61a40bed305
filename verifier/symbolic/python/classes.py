"""Classes of the project: running their bodies, and what their type makes of these."""

from __future__ import annotations

import abc
import dataclasses
import enum
import functools
import typing
from collections.abc import Mapping
from typing import Final

from verifier.source import ir
from verifier.source.ir import Span
from verifier.source.scopes import names_of
from verifier.symbolic.machine import Arg, Call
from verifier.symbolic.python import attributes, fields, hierarchy
from verifier.symbolic.python.attempts import attempt
from verifier.symbolic.python.flow import Frame
from verifier.symbolic.python.heap import UNBOUND, ObjectBox, Scope
from verifier.symbolic.python.hierarchy import Alias, Inherited, linearised, lookup, namespace
from verifier.symbolic.python.kinds.descriptors import TypeForm
from verifier.symbolic.python.library import enum_bodies, enums, namedtuples
from verifier.symbolic.python.making import instantiate
from verifier.symbolic.python.model import (
    Class,
    ClassMethod,
    Function,
    HostType,
    StaticMethod,
)
from verifier.symbolic.python.names import private
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import (
    TEXT,
    ApiRef,
    ExternalRef,
    Guarded,
    ModuleRef,
    Opaque,
    Ref,
    unsure,
)

#: methods that belong to the class without being declared so
_OF_CLASS: Final = ("__init_subclass__", "__class_getitem__")
#: of a type that may be a base (CPython's ``Py_TPFLAGS_BASETYPE``)
_BASETYPE: Final = 1 << 10


# ------------------------------------------------------------------------ definition


def define(vm: VM, stmt: ir.ClassDef) -> object:
    """Run a class statement; the class, before its decorators."""
    bases, traits = _bases(vm, stmt)
    keywords = _keywords(vm, stmt)
    metaclass = _metaclass(vm, stmt, keywords, traits)
    above = linearised(bases)
    if above is None:
        message = f"the bases of `{stmt.name}` have no consistent order"
        vm.fault(TypeError, message, stmt.span)
        return vm.unfollowed(message, stmt.span)
    _check_layout(vm, stmt, above)
    scope = vm.scope()
    frame = vm.frame
    parent = frame.scope if frame.function is not None or scope.skipped else None
    own = names_of(stmt)
    names: dict[str, object] = {
        "__module__": frame.module.path.stem,
        "__qualname__": _qualname(vm, stmt.name),
    }
    space = vm.heap.new(
        Scope(
            names,
            parent,
            shared_global=own.declared_global,
            shared_outer=own.declared_nonlocal,
            skipped=True,
        )
    )
    if stmt.docstring is not None:
        names["__doc__"] = stmt.docstring
    cls = Class(stmt.name, frame.module, space, bases, stmt, above, traits, metaclass)
    if hierarchy.derives_from_host(cls, enum.Enum):
        enum_bodies.begin(vm, cls, stmt.span)
    _run(vm, cls, stmt)
    _finish(vm, cls, keywords, stmt)
    return cls


def _bases(vm: VM, stmt: ir.ClassDef) -> tuple[tuple[object, ...], dict[str, object]]:
    """The base classes, and what bases that are none make of the class."""
    bases: list[object] = []
    traits: dict[str, object] = {}
    for node in stmt.bases:
        if isinstance(node, ir.Starred):
            items = vm.items_of(vm.settled(vm.eval(node.value)), node.span)
            values = items if items is not None else (Opaque("a base class"),)
        else:
            values = (vm.eval(node),)
        for value in values:
            _base(vm, stmt, vm.settled(value), bases, traits)
    if not bases:
        bases.append(HostType(object))
    if len({id(b) if isinstance(b, Class) else b for b in bases}) < len(bases):
        if "aliased" in traits:
            vm.unfollowed("bases that come of one class are not followed", stmt.span)
        vm.fault(TypeError, f"`{stmt.name}` has the same base twice", stmt.span)
    _check_typed(vm, stmt, bases, traits)
    return tuple(bases), traits


def _check_typed(vm: VM, stmt: ir.ClassDef, bases: list[object], traits: dict[str, object]) -> None:
    """What ``typing`` says of the bases of named tuples and protocols."""
    generic, protocol = HostType(typing.Generic), HostType(typing.Protocol)
    if "namedtuple" in traits and any(b not in (HostType(tuple), generic) for b in bases):
        vm.fault(TypeError, "can only inherit from a NamedTuple type and Generic", stmt.span)
    if protocol in bases:
        others = [b for b in bases if b not in (protocol, generic, HostType(object))]
        if not all(isinstance(b, Class) and protocol in b.bases for b in others):
            vm.unfollowed("a protocol with other bases is not followed", stmt.span)


def _base(
    vm: VM, stmt: ir.ClassDef, value: object, bases: list[object], traits: dict[str, object]
) -> None:
    if isinstance(value, Alias):
        traits["aliased"] = True
        _count_parameters(value, traits)
        value = value.origin
    if isinstance(value, Class):
        bases.append(value)
    elif isinstance(value, HostType):
        if not value.type.__flags__ & _BASETYPE:
            vm.fault(TypeError, f"`{value.name}` is not an acceptable base type", stmt.span)
        bases.append(value)
    elif value == namedtuples.NAMED_TUPLE:
        traits["namedtuple"] = ()
        bases.append(HostType(tuple))
    elif isinstance(value, ApiRef) and value.name.rpartition(".")[2] == "NKIObject":
        traits[fields.TRAIT] = ()
        traits[hierarchy.DEVICE] = True
    elif isinstance(value, (Opaque, ExternalRef, ApiRef, ModuleRef)):
        if not (isinstance(value, Opaque) and value.harmless):
            vm.may_raise(f"the base {vm.kind(value).describe(vm, value)}", stmt.span)
            traits["external"] = value
    elif isinstance(value, TypeForm):
        traits["external"] = value
        if value.name != "TypedDict":
            vm.unfollowed(f"`{value.name}` as a base of a class is not followed", stmt.span)
    elif isinstance(value, Guarded):
        what = f"which base `{stmt.name}` has depends on the inputs"
        traits["external"] = vm.unfollowed(what, stmt.span)
    elif isinstance(vm.box(value), ObjectBox):
        what = f"what a base of `{stmt.name}` makes of it is not followed"
        traits["external"] = vm.unfollowed(what, stmt.span)
    else:
        what = vm.kind(value).describe(vm, value)
        vm.fault(TypeError, f"{what} is no base class", stmt.span)
        traits["external"] = vm.unfollowed(f"{what} is a base class", stmt.span)


def _count_parameters(alias: Alias, traits: dict[str, object]) -> None:
    """Note how many types a class takes that says so itself: ``Generic[K, V]``."""
    if alias.origin in (HostType(typing.Generic), HostType(typing.Protocol)):
        traits["parameters"] = len(alias.args)


def _keywords(vm: VM, stmt: ir.ClassDef) -> dict[str, Arg]:
    out: dict[str, Arg] = {}
    for keyword in stmt.keywords:
        value = vm.eval(keyword.value)
        if keyword.name is None:
            vm.unfollowed("the keywords of a class come from a dictionary", keyword.span)
        else:
            out[keyword.name] = Arg(value, keyword.value.span)
    return out


def _metaclass(
    vm: VM, stmt: ir.ClassDef, keywords: dict[str, Arg], traits: dict[str, object]
) -> object:
    given = keywords.pop("metaclass", None)
    if given is None:
        return None
    value = vm.settled(given.value)
    if isinstance(value, HostType) and value.type in (type, abc.ABCMeta):
        return value
    what = f"the metaclass of `{stmt.name}` is not followed"
    if isinstance(value, (ExternalRef, Opaque, ApiRef)):
        vm.may_raise(f"the metaclass of `{stmt.name}`", given.span)
        traits["external"] = value
    else:
        traits["external"] = vm.unfollowed(what, given.span)
    return value


def _check_layout(vm: VM, stmt: ir.ClassDef, above: tuple[object, ...]) -> None:
    """A class has the value of at most one built-in type."""
    first: type | None = None
    for base in above:
        here = hierarchy.layout(base) if isinstance(base, HostType) else None
        if here is None:
            continue
        if first is None or issubclass(here, first):
            first = here
        elif not issubclass(first, here) and not issubclass(here, BaseException):
            message = f"the bases of `{stmt.name}` have an instance lay-out conflict"
            vm.fault(TypeError, message, stmt.span)
            return


def _qualname(vm: VM, name: str) -> str:
    frame = vm.frame
    if frame.body_of is not None and vm.scope().skipped:
        outer = namespace(vm, frame.body_of).get("__qualname__")
        return f"{outer}.{name}" if isinstance(outer, str) else name
    if frame.function is not None:
        return f"{frame.function.qualname}.<locals>.{name}"
    return name


def _run(vm: VM, cls: Class, stmt: ir.ClassDef) -> None:
    outer = vm.frame
    frame = Frame(outer.module, cls.namespace.id, outer.path_base, outer.function, None, cls)
    if "enum" in cls.traits:
        frame.binds = lambda name, value: enum_bodies.bound(vm, cls, name, value, stmt.span)
    vm.frames.append(frame)
    hint, vm.target_name = vm.target_name, None
    try:
        vm.exec(stmt.body)
    finally:
        vm.target_name = hint
        vm.frames.pop()


# ------------------------------------------------------------------------ what type() does


def _finish(vm: VM, cls: Class, keywords: dict[str, Arg], stmt: ir.ClassDef) -> None:
    _adjust(vm, cls, stmt)
    if "namedtuple" in cls.traits:
        namedtuples.finish(vm, cls, stmt)
    if hierarchy.trait(cls, fields.TRAIT) is not None:
        fields.finish(vm, cls, stmt)
    if "enum" in cls.traits:
        enums.finish(vm, cls, stmt.span)
    _set_names(vm, cls, stmt.span)
    _init_subclass(vm, cls, keywords, stmt.span)


def _adjust(vm: VM, cls: Class, stmt: ir.ClassDef) -> None:
    """What the type's constructor makes of some names in a class body."""
    for name, value in list(namespace(vm, cls).items()):
        hidden = private(cls.name, name)
        if hidden != name:
            hierarchy.define_attribute(vm, cls, name, UNBOUND)
            hierarchy.define_attribute(vm, cls, hidden, value)
        if name in _OF_CLASS and isinstance(value, Function):
            hierarchy.define_attribute(vm, cls, name, ClassMethod(value))
        elif name == "__new__" and isinstance(value, Function):
            hierarchy.define_attribute(vm, cls, name, StaticMethod(value))
    names = namespace(vm, cls)
    if "__doc__" not in names:
        hierarchy.define_attribute(vm, cls, "__doc__", _text_of(cls))
    if "__eq__" in names and "__hash__" not in names:
        hierarchy.define_attribute(vm, cls, "__hash__", None)
    if "__slots__" in names:
        _slots(vm, cls, names["__slots__"], stmt.span)


def _text_of(cls: Class) -> object:
    """The text of a class without one: that of a named tuple is made up."""
    if "namedtuple" in cls.traits:
        return TEXT
    return unsure("the text of an enumeration") if "enum" in cls.traits else None


def _slots(vm: VM, cls: Class, value: object, span: Span) -> None:
    value = vm.settled(value)
    items = (value,) if isinstance(value, str) else vm.items_of(value, span)
    if items is None or not all(isinstance(item, str) for item in items):
        vm.unfollowed(f"the slots of `{cls.name}` are not followed", span)
        return
    slots = frozenset(private(cls.name, str(item)) for item in items)
    names = namespace(vm, cls)
    for name in slots:
        if name in names:
            message = f"`{name}` in `__slots__` conflicts with a class variable"
            vm.fault(ValueError, message, span)
    cls.traits["slots"] = slots


def _set_names(vm: VM, cls: Class, span: Span) -> None:
    """Tell the objects in a class body their names."""
    for name, value in list(namespace(vm, cls).items()):
        box = vm.box(value)
        if not isinstance(box, ObjectBox):
            continue
        if box.cls == HostType(dataclasses.Field):  # it tells its default
            value = box.attributes[fields.DEFAULT]
            box = vm.box(value)
            if not isinstance(box, ObjectBox):
                continue
        if box.cls == HostType(functools.cached_property) and isinstance(value, Ref):
            if box.attributes.get("attrname", name) != name:
                _refused_name(vm, span)
            attributes.put(vm, value, "attrname", name, span)
        if isinstance(box.cls, Class):
            _set_name(vm, cls, value, box.cls, name, span)


def _set_name(vm: VM, cls: Class, value: object, own: Class, name: str, span: Span) -> None:
    hook = lookup(vm, own, "__set_name__")
    if hook is not UNBOUND:
        attempt(
            vm,
            lambda: vm.call(hierarchy.bind(vm, hook, value, own, span), (cls, name), span=span),
            Exception,
            lambda error: _refused_name(vm, span),
        )


def _refused_name(vm: VM, span: Span) -> object:
    """Before Python 3.12 the error is the cause of another one, since then it is that error."""
    return vm.unfollowed("an error in `__set_name__` is not followed", span)


def _init_subclass(vm: VM, cls: Class, keywords: Mapping[str, Arg], span: Span) -> None:
    hook = hierarchy.find(vm, cls.mro[1:], "__init_subclass__")
    if isinstance(hook, Inherited) or hook is UNBOUND:
        if keywords and "enum" in cls.traits:
            vm.unfollowed(f"the keywords of `{cls.name}` are not followed", span)
        elif keywords and not hierarchy.is_external(cls):
            message = f"`{cls.name}.__init_subclass__()` takes no keyword arguments"
            vm.fault(TypeError, message, span, rule="call-signature")
        return
    bound = hierarchy.bind(vm, hook, UNBOUND, cls, span)
    vm.invoke(bound, Call((), keywords, span, "__init_subclass__"))


# ------------------------------------------------------------------------ class attributes


#: attributes of classes that are the type's own affair
_OF_TYPE: Final = frozenset(
    {"__class__", "__bases__", "__mro__", "__dict__", "__abstractmethods__", "__name__"}
)


def set_class_attribute(vm: VM, cls: Class, name: str, value: object, span: Span) -> None:
    """``cls.name = value``; deleted if the value is :data:`UNBOUND`."""
    held = namespace(vm, cls).get(name, UNBOUND)
    if "enum" in cls.traits and enums.is_member_name(cls, name):
        vm.fault(AttributeError, f"cannot reassign member `{name}`", span)
        return
    if name == "__annotations__":
        vm.unfollowed(f"`{cls.name}.{name}` is assigned to", span)
        return
    if value is UNBOUND and held is UNBOUND:
        vm.fault(AttributeError, f"`{cls.name}` has no attribute `{name}`", span)
        return
    if name in _OF_TYPE or (name == "__qualname__" and not isinstance(value, str)):
        vm.unfollowed(f"`{cls.name}.{name}` is assigned to", span)
        return
    if name in dict(fields.of_nki(cls)):
        # whether instances have it from the class or as their own is not documented
        vm.unfollowed(f"the field `{cls.name}.{name}` is changed", span)
    box = vm.write(cls.namespace, span)
    assert isinstance(box, Scope)
    if value is UNBOUND:
        box.names.pop(name, None)
    else:
        box.names[name] = value


__all__ = ["define", "instantiate", "lookup", "set_class_attribute"]
