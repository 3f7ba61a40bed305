"""Built-in functions on types and attributes: isinstance, type, getattr, callable ..."""

from __future__ import annotations

import abc
import collections.abc
import contextlib
import numbers
import typing
from collections.abc import Callable
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.python import hierarchy, keys
from verifier.symbolic.python.attempts import attempt
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.concrete import asked, payload
from verifier.symbolic.python.heap import UNBOUND, ObjectBox, TupleBox
from verifier.symbolic.python.inputs import InputKind, Parameter
from verifier.symbolic.python.integers import bounded_unknown
from verifier.symbolic.python.kinds.descriptors import TypeForm, Union
from verifier.symbolic.python.model import (
    BoundBuiltin,
    Builtin,
    Class,
    Function,
    HostType,
    Method,
    Partial,
    TensorMethod,
)
from verifier.symbolic.python.terms import join
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import (
    ApiRef,
    ExternalRef,
    Guarded,
    IndexMask,
    IndexTensor,
    Opaque,
    OpaqueOf,
    PendingAdd,
    Ref,
    SliceValue,
)

TYPES: Final = Table()

#: modules whose names are abstract base classes of the host's
_ABSTRACT: Final = {
    "collections.abc": collections.abc,
    "typing": collections.abc,
    "numbers": numbers,
}
#: abstract base classes that ask for methods and for no ancestor
_STRUCTURAL: Final[frozenset[type]] = frozenset(
    {
        contextlib.AbstractContextManager,
        *(
            getattr(collections.abc, name)
            for name in collections.abc.__all__
            if "__subclasshook__" in getattr(collections.abc, name).__dict__
        ),
    }
)


#: methods that they ask for although they have them
_ASKED: Final[dict[type, frozenset[str]]] = {
    contextlib.AbstractContextManager: frozenset({"__enter__"}),
    collections.abc.Iterator: frozenset({"__iter__"}),
    collections.abc.Generator: frozenset({"__iter__", "__next__", "close"}),
    collections.abc.Coroutine: frozenset({"close"}),
    collections.abc.AsyncIterator: frozenset({"__aiter__"}),
    collections.abc.AsyncGenerator: frozenset({"__aiter__", "__anext__", "aclose"}),
}


# ------------------------------------------------------------------------ isinstance, issubclass


@TYPES.add("isinstance")
def _isinstance(vm: VM, span: Span, obj: object, class_or_tuple: object, /) -> object:
    return vm.each(obj, lambda v: _is_any(vm, v, class_or_tuple, span))


def _is_any(vm: VM, value: object, info: object, span: Span) -> Bool:
    """``isinstance(value, info)``: the classes are asked in order."""
    return _among(vm, info, span, lambda cls: _is_one(vm, value, cls, span))


@TYPES.add("issubclass")
def _issubclass(vm: VM, span: Span, cls: object, class_or_tuple: object, /) -> object:
    def of(value: object) -> Bool:
        if isinstance(value, (Opaque, ExternalRef, ApiRef)) and not _is_no_class(value):
            vm.may_raise("`issubclass()` of what may be no class", span)
            if isinstance(value, OpaqueOf):
                vm.unfollowed("`issubclass()` of what may be no class", span)
            return vm.unknown_bool("`issubclass()` of a class that is not followed", span)
        if not isinstance(value, (Class, HostType)):
            kind = vm.kind(value)
            if isinstance(value, (hierarchy.Alias, Union)):
                vm.unfollowed("`issubclass()` of a class with types is not followed", span)
            if _is_no_class(value) or (kind.complete and not _looks_like_class(vm, value)):
                vm.fault(TypeError, "issubclass() arg 1 must be a class", span)
            vm.unfollowed("`issubclass()` of what may be no class is not followed", span)
        return _among(
            vm, class_or_tuple, span, lambda other: _derives(vm, value, other, span, "subclass")
        )

    return vm.each(cls, of)


def _among(vm: VM, info: object, span: Span, test: Callable[[object], Bool]) -> Bool:
    """Whether a test holds for a class, or for one of several: those of a tuple or a union."""

    def one(given: object) -> Bool:
        if isinstance(vm.box(given), TupleBox):
            vm.unfollowed("how many classes a tuple has depends on the inputs", span)
        parts = _classes_in(given)
        return test(given) if parts is None else among(parts)

    def among(parts: tuple[object, ...]) -> Bool:
        result = E.FALSE
        for part in parts:
            if vm.decide(result) is True:
                return E.TRUE
            result = E.or_(result, _among(vm, part, span, test))
        return result

    return vm.each(info, one)


def _classes_in(info: object) -> tuple[object, ...] | None:
    if isinstance(info, Union):
        return info.members
    return info if isinstance(info, tuple) else None


#: values that are tensors, whatever the API calls their types
_TENSORS: Final = (View, PendingAdd, IndexTensor, IndexMask)
#: built-in types that no tensor derives from
_NO_TENSORS: Final[frozenset[type]] = frozenset(
    {
        int, bool, float, complex, str, bytes, tuple, list, dict, set, frozenset, range, slice,
        type, type(None), BaseException,
    }
)  # fmt: skip


def _is_tensor(value: object) -> bool:
    return isinstance(value, _TENSORS) or (
        isinstance(value, Parameter) and value.kind is InputKind.TENSOR
    )


def _is_one(vm: VM, value: object, cls: object, span: Span) -> Bool:
    if _is_tensor(value) and isinstance(cls, (HostType, Class)):
        if isinstance(cls, Class) or cls.type in _NO_TENSORS:
            return E.FALSE
    if isinstance(value, Parameter) and value.kind is None and isinstance(cls, Class):
        if cls.name not in value.annotation and not isinstance(value.default, Ref):
            # what is handed to a kernel from outside is data, unless the kernel says otherwise
            vm.approximate(
                LedgerKind.RUNTIME, f"`{value.name}` is no instance of `{cls.name}`", span
            )
            return E.FALSE
    known = vm.type_of(value)
    foreign = isinstance(value, (Opaque, ExternalRef)) and not isinstance(value, OpaqueOf)
    if foreign or not isinstance(known, (Class, HostType)):
        if cls == HostType(object):
            return E.TRUE
        said = vm.kind(value).describe(vm, value)
        return vm.unknown_bool(f"whether {said} is an instance is not followed", span)
    found = _derives(vm, known, cls, span, "instance", value)
    if found is E.FALSE and hierarchy.answers_class(vm, known):
        vm.unfollowed("`isinstance()` of an object with a `__class__` of its own", span)
        return vm.unknown_bool("whether it is an instance", span)
    return found


def _derives(
    vm: VM, cls: object, other: object, span: Span, what: str, value: object = UNBOUND
) -> Bool:
    """Whether a class derives from another one; ``value``: asked of this instance of it."""
    if isinstance(other, ExternalRef):
        other = _abstract(other)
    if isinstance(other, Class):
        own = _own_answer(vm, cls, other, span, what, value)
        if own is not None:
            return own
        if hierarchy.derives(cls, other):
            return E.TRUE
        return _not_derived(vm, cls, other, span)
    if isinstance(other, HostType):
        return _from_host(vm, cls, other.type, span)
    if isinstance(other, hierarchy.Alias) and not other.args:
        return _derives(vm, cls, other.origin, span, what, value)
    if isinstance(other, TypeForm):
        vm.unfollowed(f"`is{what}()` of a part of a type", span)  # most of them are refused
    if not _is_no_class(other) and (
        isinstance(other, (Opaque, ExternalRef, ApiRef)) or not vm.kind(other).complete
    ):
        return _not_settled(vm, other, f"is{what}", span)
    if _looks_like_class(vm, other):
        vm.unfollowed(f"`is{what}()` of what is like a class is not followed", span)
        return vm.unknown_bool("whether it is an instance", span)
    vm.fault(TypeError, f"is{what}() arg 2 must be a type, a tuple of types, or a union", span)
    return E.FALSE


def _is_no_class(value: object) -> bool:
    """Whether a value of which the type is known is no class, nor several."""
    return isinstance(value, OpaqueOf) and value.host not in (object, tuple)


def _not_settled(vm: VM, other: object, what: str, span: Span) -> Bool:
    """Whether something is of what may be a class, and may be none."""
    said = other.reason if isinstance(other, Opaque) else "a class that is not followed"
    if isinstance(other, OpaqueOf):
        vm.unfollowed(f"`{what}()` of {said}", span)
    vm.may_raise(f"`{what}()` of {said}", span)
    return vm.unknown_bool(f"`{what}()` of {said}", span)


#: what makes an object more than an instance for ``isinstance()``
_LIKE_CLASSES: Final = (
    "__bases__", "__getattr__", "__getattribute__", "__instancecheck__", "__subclasscheck__",
)  # fmt: skip


def _looks_like_class(vm: VM, value: object) -> bool:
    """Whether an object may have bases, or an answer of its own; asking may run code then."""
    box = vm.box(value)
    if not isinstance(box, ObjectBox):
        return False
    return "__bases__" in box.attributes or any(
        hierarchy.overrides(vm, box.cls, name) for name in _LIKE_CLASSES
    )


def _abstract(ref: ExternalRef) -> object:
    """An abstract base class of the standard library that has no model of its own."""
    owner, _, name = ref.path.rpartition(".")
    module = _ABSTRACT.get(owner)
    found = getattr(module, name, None) if module is not None else None
    return HostType(found) if isinstance(found, type) else ref


def _own_answer(
    vm: VM, cls: object, other: Class, span: Span, what: str, value: object
) -> Bool | None:
    """What the metaclass of a class says itself, None if it says nothing."""
    if not isinstance(other.metaclass, Class):
        return None
    name = f"__{what}check__"
    found = hierarchy.lookup(vm, other.metaclass, name)
    if found is UNBOUND or isinstance(found, hierarchy.Inherited):
        return None
    if value is not UNBOUND and cls == other:
        return E.TRUE
    method = hierarchy.bind(vm, found, other, other.metaclass, span)
    return vm.truth(vm.call(method, (cls if value is UNBOUND else value,), span=span), span)


def _not_derived(vm: VM, cls: object, other: Class, span: Span) -> Bool:
    """A class has another one not among its bases; with a base that is not followed, who knows."""
    if isinstance(hierarchy.trait(other, "external"), TypeForm):
        vm.unfollowed(f"whether something is a `{other.name}` is not followed", span)
    if hierarchy.is_external(cls):
        return vm.unknown_bool(f"whether a class derives from `{other.name}`", span)
    if HostType(typing.Protocol) in other.bases:
        vm.unfollowed(f"whether a class fits the protocol `{other.name}` is not followed", span)
        return vm.unknown_bool(f"whether a class fits the protocol `{other.name}`", span)
    known = vm.type_of(other)
    is_abstract = isinstance(known, HostType) and issubclass(known.type, abc.ABCMeta)
    if is_abstract and _registers(vm, other):
        vm.unfollowed(f"what is registered with `{other.name}` is not followed", span)
    return E.FALSE


def _registers(vm: VM, cls: Class) -> bool:
    """Whether a class says in code of its own which classes count as derived from it."""
    found = hierarchy.lookup(vm, cls, "__subclasshook__")
    return found is not UNBOUND and not isinstance(found, hierarchy.Inherited)


def _from_host(vm: VM, cls: object, host: type, span: Span) -> Bool:
    if isinstance(cls, HostType):
        return E.truth(issubclass(cls.type, host))
    if host is not collections.abc.Hashable and hierarchy.derives_from_host(cls, host):
        return E.TRUE
    if hierarchy.is_external(cls):
        return vm.unknown_bool(f"whether a class derives from `{host.__name__}`", span)
    if host in _STRUCTURAL:
        methods: frozenset[str] = getattr(host, "__abstractmethods__", frozenset())
        methods |= _ASKED.get(host, frozenset())
        found = [_stated(hierarchy.lookup(vm, cls, name)) for name in sorted(methods)]
        if any(isinstance(value, Guarded) for value in found):
            return vm.unknown_bool(f"whether a class is a `{host.__name__}`", span)
        if HostType(host) in hierarchy.mro_of(cls):
            return E.TRUE
        return E.truth(all(value is not UNBOUND and value is not None for value in found))
    if any("__subclasshook__" in base.__dict__ for base in host.__mro__[:-1]):
        return vm.unknown_bool(f"whether a class is a `{host.__name__}`", span)
    return E.FALSE


def _stated(found: object) -> object:
    """An attribute of a class; None where a built-in type says that it has none."""
    if isinstance(found, hierarchy.Inherited) and found.type.__dict__[found.name] is None:
        return None
    return found


# ------------------------------------------------------------------------ type, callable


def make_type(vm: VM, span: Span, /, *args: object, **keywords: object) -> object:
    """``type(value)``; with three arguments a class is made."""
    if len(args) == 1 and not keywords:
        return vm.each(args[0], vm.type_of)
    if len(args) != 3:
        vm.fault(TypeError, "type() takes 1 or 3 arguments", span, rule="call-signature")
    return vm.unfollowed("a class made by `type()` is not followed", span)


_CALLABLE: Final = (
    Function, Method, Builtin, BoundBuiltin, HostType, Class, Partial, TensorMethod, ApiRef,
)  # fmt: skip


@TYPES.add("callable")
def _callable(vm: VM, span: Span, obj: object, /) -> object:
    def one(value: object) -> Bool:
        if isinstance(value, _CALLABLE):
            return E.TRUE
        if isinstance(vm.box(value), ObjectBox):
            cls = vm.type_of(value)
            if hierarchy.is_external(cls):
                return vm.unknown_bool("whether an object can be called", span)
            return E.truth(hierarchy.lookup(vm, cls, "__call__") is not UNBOUND)
        if isinstance(value, (Opaque, ExternalRef, Parameter)):
            return vm.unknown_bool("whether a value can be called", span)
        known = vm.type_of(value)
        if isinstance(known, HostType):
            return E.truth(issubclass(known.type, collections.abc.Callable))  # type: ignore[arg-type]
        return vm.unknown_bool("whether a value can be called", span)

    return vm.each(obj, one)


# ------------------------------------------------------------------------ attributes by name


def _named(vm: VM, name: object, what: str, span: Span, action: Callable[[str], object]) -> object:
    """Do something with an attribute's name, which must be a string."""

    def one(value: object) -> object:
        text = payload(vm, value)
        if isinstance(text, str):
            return action(text)
        if vm.kind(text).complete:
            vm.fault(TypeError, f"{what}: attribute name must be string", span)
        return vm.unfollowed(f"`{what}()` with a name that is not followed", span)

    return vm.each(name, one)


@TYPES.add("getattr")
def _getattr(vm: VM, span: Span, obj: object, name: object, default: object = UNBOUND, /) -> object:
    def found(text: str) -> object:
        if default is UNBOUND:
            return vm.attribute(obj, text, span)
        return attempt(
            vm,
            lambda: vm.each(obj, lambda v: _or_default(vm, v, text, default, span)),
            AttributeError,
            lambda error: default,
        )

    return _named(vm, name, "getattr", span, found)


def _or_default(vm: VM, value: object, name: str, default: object, span: Span) -> object:
    found = vm.kind(value).attribute(vm, value, name, span)
    if found is UNBOUND:
        return default
    if isinstance(value, (Opaque, ExternalRef)) and isinstance(found, (Opaque, ExternalRef)):
        said = vm.kind(value).describe(vm, value)
        there = vm.unknown_bool(f"whether {said} has an attribute `{name}`", span)
        return vm.settled(join(there, found, default))
    if not isinstance(found, Guarded) or all(v is not UNBOUND for _, v in found.cases):
        return found
    out: object = default
    for guard, case in reversed(found.cases):
        out = join(guard, default if case is UNBOUND else case, out)
    return vm.settled(out)


@TYPES.add("hasattr")
def _hasattr(vm: VM, span: Span, obj: object, name: object, /) -> object:
    def found(text: str) -> object:
        return attempt(
            vm,
            lambda: vm.each(obj, lambda v: _has(vm, v, text, span)),
            AttributeError,
            lambda error: E.FALSE,
        )

    return _named(vm, name, "hasattr", span, found)


def _has(vm: VM, value: object, name: str, span: Span) -> Bool:
    found = vm.kind(value).attribute(vm, value, name, span)
    if isinstance(value, (Opaque, ExternalRef, Parameter, ApiRef)):
        if isinstance(found, (Opaque, ExternalRef)):
            said = vm.kind(value).describe(vm, value)
            return vm.unknown_bool(f"whether {said} has an attribute `{name}`", span)
    if isinstance(found, Guarded):
        return E.not_(E.or_(*(guard for guard, case in found.cases if case is UNBOUND)))
    return E.truth(found is not UNBOUND)


@TYPES.add("setattr")
def _setattr(vm: VM, span: Span, obj: object, name: object, value: object, /) -> object:
    def assign(text: str) -> object:
        vm.set_attribute(obj, text, value, span)
        return None

    return _named(vm, name, "setattr", span, assign)


@TYPES.add("delattr")
def _delattr(vm: VM, span: Span, obj: object, name: object, /) -> object:
    def delete(text: str) -> object:
        vm.set_attribute(obj, text, UNBOUND, span)
        return None

    return _named(vm, name, "delattr", span, delete)


# ------------------------------------------------------------------------ hash, id


@TYPES.add("id")
def _id(vm: VM, span: Span, obj: object, /) -> object:
    return bounded_unknown(vm, "an identity is not followed", span, 0, 1 << 64)


@TYPES.add("hash")
def _hash(vm: VM, span: Span, obj: object, /) -> object:
    return vm.each(obj, lambda v: _hash_of(vm, v, span))


def _hash_of(vm: VM, value: object, span: Span) -> object:
    own = asked(vm, value, "__hash__", (), span)
    if own is not UNBOUND:
        return own
    if isinstance(value, SliceValue):
        return vm.unfollowed("the hash of a slice, which there is from 3.12 on", span)
    from_key = keys.key_of(vm, value, span)
    if _steady(from_key):
        return E.const(hash(from_key))
    return bounded_unknown(vm, "a hash is not followed", span, -(1 << 63), 1 << 63)


def _steady(key: object) -> bool:
    """Whether a value's hash is the same in every process."""
    if type(key) is tuple:
        return all(map(_steady, key))
    return isinstance(key, (int, float, complex)) and key == key
