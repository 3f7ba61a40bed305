"""Classes and what they inherit: the order of bases, attributes of classes, how these bind."""

from __future__ import annotations

import abc
import collections
import collections.abc
import contextlib
import enum
import functools
import numbers
import typing
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from msgspec import Struct

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.python.heap import UNBOUND, ObjectBox, Scope
from verifier.symbolic.python.model import (
    BoundBuiltin,
    Builtin,
    Checked,
    Class,
    ClassMethod,
    EnumProperty,
    Function,
    HostType,
    Method,
    Property,
    StaticMethod,
)
from verifier.symbolic.python.terms import join
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Guarded, Opaque, Ref

_T = TypeVar("_T")

#: the method table of the special methods of values whose kind answers them: ``[].__len__``
SPECIAL: Final = "special"
#: those of them that give back the value that they have changed
IN_PLACE: Final = frozenset(f"__i{name}__" for name in ("add", "sub", "mul", "and", "or", "xor"))

#: the trait of classes whose base an API has for objects that are compiled as well
DEVICE: Final = "device"

#: ends the name of the table of methods that a class has in another way than the type it heirs
HEIR: Final = "heir"

#: built-in types that give an instance no value of its own
_EMPTY: Final[frozenset[type]] = frozenset(
    {
        object,
        abc.ABC,
        contextlib.AbstractContextManager,
        typing.Generic,
        typing.Protocol,
        *(getattr(collections.abc, name) for name in collections.abc.__all__),
        *(getattr(numbers, name) for name in numbers.__all__),
    }
)
#: what the namespace of every built-in type has, and a class of the project for itself
_BOOKKEEPING: Final = frozenset(
    {
        "__module__", "__doc__", "__slots__", "__dict__", "__weakref__", "__annotations__",
        "__abstractmethods__", "_abc_impl", "__parameters__", "__orig_bases__", "__qualname__",
        "_is_protocol",
    }
)  # fmt: skip


#: what a method of a built-in type is that is called on the type
_OF_CLASS: Final = (classmethod, staticmethod, type(dict.__dict__["fromkeys"]))


#: the special methods that say how a value is written
TEXTS: Final = ("__str__", "__repr__", "__format__")
#: built-in types that write the class of what derives from them
SAY_THEIR_CLASS: Final = (
    set, frozenset, bytearray, collections.deque, collections.defaultdict, collections.OrderedDict,
)  # fmt: skip
#: types that the members of the standard library's enumerations are of
_OF_MEMBERS: Final = (int, str, object)


class Inherited(Struct, frozen=True):
    """An attribute that a built-in type among the bases gives a class."""

    type: type
    name: str


class Generated(Struct, frozen=True, eq=False):
    """A method that a decorator or a base made; found on an instance, it binds like a function."""

    function: Builtin


class Alias(Struct, frozen=True):
    """``cls[...]``: a class with type arguments, which change nothing about it.

    ``typed``: as ``typing`` makes it; one of these without arguments is ``List`` itself.
    """

    origin: object
    args: tuple[object, ...]
    typed: bool = False


def origin_of(value: object) -> object:
    """A class without its type arguments."""
    return value.origin if isinstance(value, Alias) else value


# ------------------------------------------------------------------------ order


def mro_of(cls: object) -> tuple[object, ...]:
    """The classes in which an attribute of a class is looked for, in order."""
    if isinstance(cls, Class):
        return cls.mro
    if isinstance(cls, HostType):
        return tuple(HostType(base) for base in cls.type.__mro__)
    return ()


def linearised(bases: Sequence[object]) -> tuple[object, ...] | None:
    """The C3 linearisation of what is above a class; None if there is no consistent order."""
    rest = [list(mro_of(base)) for base in bases] + [list(bases)]
    out: list[object] = []
    while rest := [sequence for sequence in rest if sequence]:
        for sequence in rest:
            head = sequence[0]
            if not any(head in other[1:] for other in rest):
                break
        else:
            return None
        out.append(head)
        for sequence in rest:
            if sequence[0] == head:
                del sequence[0]
    return tuple(out)


def derives(cls: object, other: object) -> bool:
    """Whether a class is another one or derives from it."""
    return any(base == other for base in mro_of(cls))


def derives_from_host(cls: object, host: type) -> bool:
    """Whether a class derives from a built-in type."""
    return any(isinstance(b, HostType) and issubclass(b.type, host) for b in mro_of(cls))


def layout(cls: object) -> type | None:
    """The built-in type whose value is inside an instance, None if there is none."""
    for base in mro_of(cls):
        if isinstance(base, HostType) and base.type not in _EMPTY:
            if not issubclass(base.type, enum.Enum):
                return base.type
    return None


def trait(cls: object, name: str) -> object:
    """What a base with a model of its own made of a class, or of a class above it; else None."""
    for base in mro_of(cls):
        if isinstance(base, Class) and name in base.traits:
            return base.traits[name]
    return None


def is_external(cls: object) -> bool:
    """Whether a class derives from one that is not followed."""
    return trait(cls, "external") is not None


# ------------------------------------------------------------------------ attributes


def namespace(vm: VM, cls: Class) -> dict[str, object]:
    """The attributes that a class has itself, to read."""
    box = vm.heap.get(cls.namespace.id)
    assert isinstance(box, Scope)
    return box.names


def names_of(vm: VM, cls: object) -> set[str]:
    """The names that a class of the project has, itself or from its bases in the project."""
    bases = cls.mro if isinstance(cls, Class) else ()
    return {name for base in bases if isinstance(base, Class) for name in namespace(vm, base)}


def define_attribute(vm: VM, cls: Class, name: str, value: object) -> None:
    """Give a class an attribute that its body does not spell out."""
    box = vm.heap.write(cls.namespace.id)
    assert isinstance(box, Scope)
    if value is UNBOUND:
        box.names.pop(name, None)
    else:
        box.names[name] = value


def find(vm: VM, classes: Sequence[object], name: str) -> object:
    """The first of some classes' attributes of that name; :data:`UNBOUND` where none has it."""
    for position, cls in enumerate(classes):
        if isinstance(cls, HostType):
            if name in cls.type.__dict__ and name not in _BOOKKEEPING:
                refused = name.startswith("__") and cls.type.__dict__[name] is None
                return None if refused else original(cls.type, name)
            continue
        assert isinstance(cls, Class)
        value = namespace(vm, cls).get(name, UNBOUND)
        if isinstance(value, Guarded) and any(v is UNBOUND for _, v in value.cases):
            return _filled(value, find(vm, classes[position + 1 :], name))
        if value is not UNBOUND:
            return _meant(cls, value, name)
    return UNBOUND


@functools.cache
def original(host: type, name: str) -> Inherited:
    """An attribute of a built-in type; what an enumeration's has from another type is that type's.

    ``IntEnum.__str__`` is ``int.__repr__`` in most versions of Python.
    """
    if name in TEXTS and issubclass(host, enum.Enum):
        for owner in (enum.Enum, enum.Flag, *_OF_MEMBERS):
            for text in TEXTS:
                if owner.__dict__.get(text) is getattr(host, name):
                    return Inherited(owner, text)
    return Inherited(host, name)


def _meant(cls: Class, value: object, name: str) -> object:
    """``__str__ = object.__str__`` in a class: as if the class had it from there."""
    if isinstance(value, Checked) and value.builtin.name.rpartition(".")[2] == name:
        for base in value.host.__mro__:
            if name in base.__dict__:
                if derives_from_host(cls, base):
                    return original(base, name)
                break
    return value


def _filled(value: Guarded, rest: object) -> object:
    """The value, ``rest`` where it is unbound."""
    out: object = UNBOUND
    for guard, case in reversed(value.cases):
        out = join(guard, rest if case is UNBOUND else case, out)
    return out


def lookup(vm: VM, cls: object, name: str) -> object:
    """An attribute of a class as it stands there or in a base, not bound to anything."""
    return find(vm, mro_of(cls), name)


def split(vm: VM, value: object, action: Callable[[object], _T]) -> _T:
    """As :meth:`VM.each`, but :data:`UNBOUND` is a case as well."""
    if not isinstance(value, Guarded):
        return action(value)
    live = [(g, v) for g, v in value.cases if vm.decide(g) is not False]
    if not live:
        live = list(value.cases[-1:])

    def rest(position: int) -> _T:
        guard, case = live[position]
        if position == len(live) - 1:
            return action(case)
        return vm.fork(guard, lambda: action(case), lambda: rest(position + 1))

    return rest(0)


# ------------------------------------------------------------------------ binding


def bind(vm: VM, value: object, instance: object, cls: object, span: Span) -> object:
    """An attribute of a class as it is found on an instance, or on the class (no instance)."""
    if isinstance(value, Guarded):
        return split(vm, value, lambda one: bind(vm, one, instance, cls, span))
    if isinstance(value, (Function, Generated, Checked)):
        found: object = value.function if isinstance(value, Generated) else value
        return found if instance is UNBOUND else Method(found, instance)
    if isinstance(value, StaticMethod):
        return plain(value.function)
    if isinstance(value, ClassMethod):
        if isinstance(value.function, (Property, StaticMethod, Ref)):
            return bind(vm, value.function, cls, cls, span)
        return Method(plain(value.function), cls)
    if isinstance(value, EnumProperty) and (instance is UNBOUND or value.fget is None):
        if value.member is None:
            vm.fault(AttributeError, f"{described(cls)} has no attribute `{value.name}`", span)
        return value.member
    if isinstance(value, Property):
        if instance is UNBOUND:
            return value
        if value.fget is None:
            vm.fault(AttributeError, "the property has no getter", span)
        return vm.call(value.fget, (instance,), span=span)
    if isinstance(value, Inherited):
        return _inherited(vm, value, instance, cls, span)
    if isinstance(value, Ref):
        return _through_get(vm, value, instance, cls, span)
    return value


def plain(value: object) -> object:
    """A callable as the program sees it."""
    return value.function if isinstance(value, Generated) else value


def _through_get(vm: VM, value: Ref, instance: object, cls: object, span: Span) -> object:
    """An object in a class: what its ``__get__`` says, if it has one."""
    box = vm.heap.get(value.id)
    if not isinstance(box, ObjectBox):
        return value
    getter = lookup(vm, box.cls, "__get__")
    if getter is UNBOUND:
        return value
    owner = None if instance is UNBOUND else instance
    method = bind(vm, getter, value, box.cls, span)
    return vm.call(method, (owner, cls), span=span)


def is_data(vm: VM, value: object) -> bool:
    """Whether an attribute of a class goes before the instance's own."""
    if isinstance(value, (Property, Inherited)):
        return isinstance(value, Property) or _is_slot(value)
    box = vm.box(value)
    if not isinstance(box, ObjectBox):
        return False
    return any(lookup(vm, box.cls, name) is not UNBOUND for name in ("__set__", "__delete__"))


def _is_slot(value: Inherited) -> bool:
    raw = value.type.__dict__[value.name]
    return hasattr(type(raw), "__set__")


def _inherited(vm: VM, value: Inherited, instance: object, cls: object, span: Span) -> object:
    """A built-in type's attribute, on an instance of a class that derives from it."""
    name = value.name
    if name == "__new__":
        if issubclass(value.type, enum.Enum):
            return vm.unfollowed("`__new__` of an enumeration is not followed", span)
        return vm.language.methods["object"][name]
    if isinstance(value.type.__dict__[name], _OF_CLASS):
        return _of_class(vm, value, cls, span)
    if instance is UNBOUND:
        return vm.attribute(HostType(value.type), name, span)
    if name == "__init__":
        return BoundBuiltin("object", name, instance)
    box = vm.box(instance)
    payload = box.payload if isinstance(box, ObjectBox) else UNBOUND
    if payload is not UNBOUND and issubclass(layout(cls) or object, value.type):
        heir = heir_method(vm, value, instance)
        if heir is not UNBOUND:
            return heir
        if name in TEXTS and issubclass(value.type, SAY_THEIR_CLASS):
            return vm.unfollowed(f"`{name}` of what derives from `{value.type.__name__}`", span)
        if value.type is not object:
            if name in vm.language.methods.get(SPECIAL, {}):
                return BoundBuiltin(SPECIAL, name, instance if name in IN_PLACE else payload)
            return vm.attribute(payload, name, span)
    table = table_of(vm, value.type, name)
    if issubclass(value.type, BaseException) and name in vm.language.methods["BaseException"]:
        table = "BaseException"
    if table is not None:
        return BoundBuiltin(table, name, instance)
    what = f"`{value.type.__name__}.{name}`"
    return vm.unfollowed(f"{what} is not followed", span)


def _of_class(vm: VM, value: Inherited, cls: object, span: Span) -> object:
    """A class method of a built-in type, for the class that it is asked of."""
    table = table_of(vm, value.type, value.name)
    if table is not None:
        return BoundBuiltin(table, value.name, cls)
    if cls == HostType(value.type):
        return vm.attribute(cls, value.name, span)
    what = f"`{value.type.__name__}.{value.name}`"
    return vm.unfollowed(f"{what} of a class that derives from it is not followed", span)


def heir_method(vm: VM, value: Inherited, instance: object) -> object:
    """A method that makes instances of the class; :data:`UNBOUND` if it is none of these."""
    table = f"{value.type.__name__}.{HEIR}"
    if value.name in vm.language.methods.get(table, {}):
        return BoundBuiltin(table, value.name, instance)
    return UNBOUND


def table_of(vm: VM, host: type, name: str) -> str | None:
    """The table that has the model of a built-in type's method, also of a type above it."""
    for base in host.__mro__:
        if name in base.__dict__:
            known = vm.language.methods.get(base.__name__, {})
            return base.__name__ if name in known else None
    return None


# ------------------------------------------------------------------------ special methods


def special(
    vm: VM,
    instance: object,
    name: str,
    args: Sequence[object],
    span: Span,
    built_in: Callable[[Inherited], object],
    missing: Callable[[], object],
) -> object:
    """Call a special method of an instance's class.

    ``built_in`` answers if it is a built-in type's own, ``missing`` if there is none.
    """
    box = vm.box(instance)
    assert isinstance(box, ObjectBox)
    cls = box.cls

    def one(found: object) -> object:
        if found is UNBOUND:
            return missing()
        if found is None:  # the class says that it has none: nothing stands in for it
            vm.fault(TypeError, f"`{name}` of {described(cls)} is None", span)
            return vm.unfollowed(f"`{name}` of {described(cls)} is None", span)
        if isinstance(found, Inherited):
            return built_in(found)
        return vm.call(bind(vm, found, instance, cls, span), args, span=span)

    return split(vm, lookup(vm, cls, name), one)


def overrides(vm: VM, cls: object, name: str) -> bool:
    """Whether a class of the project gives a special method a meaning of its own."""
    found = lookup(vm, cls, name)
    return found is not UNBOUND and not isinstance(found, Inherited)


def answers_class(vm: VM, cls: object) -> bool:
    """Whether instances of a class may say in code of their own what class they have."""
    return overrides(vm, cls, "__class__") or overrides(vm, cls, "__getattribute__")


def answered(vm: VM, result: object, otherwise: Callable[[], object]) -> object:
    """An operator's result, ``otherwise`` on the paths on which it is NotImplemented."""
    if not isinstance(result, Guarded):
        return result
    refused = E.or_(*(g for g, v in result.cases if v is NotImplemented))
    if refused is E.FALSE:
        return result
    given = [(g, v) for g, v in result.cases if v is not NotImplemented]
    return vm.fork(refused, otherwise, lambda: vm.settled(Guarded(tuple(given))))


def described(cls: object) -> str:
    """A class in words."""
    if isinstance(cls, (Class, HostType)):
        return f"`{cls.name}`"
    return cls.reason if isinstance(cls, Opaque) else "a class"
