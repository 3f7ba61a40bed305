"""Making instances of classes of the project."""

from __future__ import annotations

import abc
import collections
import functools
import inspect
import typing
from collections.abc import Iterator
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic.machine import Arg, Call
from verifier.symbolic.python import attributes, hierarchy, notes
from verifier.symbolic.python.heap import UNBOUND, ObjectBox
from verifier.symbolic.python.hierarchy import Generated, Inherited, lookup, namespace
from verifier.symbolic.python.library import enums, heirs
from verifier.symbolic.python.library.core_errors import GROUPS, attributes_of
from verifier.symbolic.python.model import (
    Builtin,
    Class,
    ClassMethod,
    Function,
    HostType,
    Property,
    StaticMethod,
)
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import ExternalRef, Opaque, OpaqueOf, Ref

#: built-in types whose instances are made with their value, which never changes
_IMMUTABLE: Final = (
    int, float, complex, str, bytes, tuple, frozenset, functools.partial,
)  # fmt: skip
#: built-in types whose instances are made empty, and filled by ``__init__``
_CONTAINERS: Final = (list, dict, set, collections.deque, bytearray)

# ------------------------------------------------------------------------ instances


def instantiate(vm: VM, cls: Class, call: Call) -> object:
    """``cls(...)``."""
    if hierarchy.trait(cls, "enum") is not None:
        return enums.called(vm, cls, call)
    vm.dialect.instantiate(vm, cls, call.span)
    if hierarchy.is_external(cls):
        what = f"an instance of `{cls.name}`, whose base is not followed"
        return vm.unfollowed(what, call.span)
    if lookup(vm, cls, "__del__") is not UNBOUND:
        return vm.unfollowed(f"`{cls.name}.__del__` runs at a time that is not known", call.span)
    if hierarchy.overrides(vm, cls, "__del__"):
        vm.unfollowed(f"when `{cls.name}.__del__` runs is not followed", call.span)
    _check_protocol(vm, cls, call.span)
    made = _new(vm, cls, call)

    def initialise(value: object) -> object:
        actual = vm.type_of(value)
        if hierarchy.derives(actual, cls) and isinstance(value, Ref):
            _initialise(vm, value, actual, call)
        return value

    return vm.each(made, initialise)


def _new(vm: VM, cls: Class, call: Call) -> object:
    """What ``__new__`` makes."""
    found = lookup(vm, cls, "__new__")
    if isinstance(found, Inherited) or found is UNBOUND:
        return allocate(vm, cls, call)
    bound = hierarchy.bind(vm, found, UNBOUND, cls, call.span)
    given = (Arg(cls, call.span), *call.args)
    return vm.invoke(bound, Call(given, call.keywords, call.span, call.text))


def allocate(vm: VM, cls: Class, call: Call) -> object:
    """A new instance, not initialised; with the value that a built-in base gives it."""
    host = hierarchy.layout(cls)
    if host is None:
        _check_abstract(vm, cls, call.span)
        return vm.heap.new(ObjectBox(cls))
    if issubclass(host, GROUPS):
        return vm.unfollowed(f"an exception of type `{host.__name__}` is not followed", call.span)
    if issubclass(host, BaseException):
        args = tuple(arg.value for arg in call.args)
        named = {} if hierarchy.overrides(vm, cls, "__init__") else call.keywords
        values = {name: arg.value for name, arg in named.items()}
        held = attributes_of(host, args, values)
        return vm.heap.new(ObjectBox(cls, {"args": args} if held is None else held))
    if host in _IMMUTABLE:
        payload = vm.invoke(HostType(host), call)
        return vm.heap.new(ObjectBox(cls, payload=payload))
    asked = heirs.asked_of(vm, cls, host)
    if asked:
        what = f"`{cls.name}.{asked}`, which methods of `{host.__name__}` call, is not followed"
        return vm.unfollowed(what, call.span)
    if issubclass(host, _CONTAINERS) and host in vm.language.constructors:
        empty = Call((), {}, call.span, call.text)
        payload = vm.invoke(HostType(host), empty)
        return vm.heap.new(ObjectBox(cls, payload=payload))
    what = f"the value that `{host.__name__}` gives an instance is not followed"
    return vm.unfollowed(what, call.span)


def _initialise(vm: VM, value: Ref, cls: object, call: Call) -> None:
    found = lookup(vm, cls, "__init__")

    def one(attribute: object) -> None:
        if isinstance(attribute, Inherited) or attribute is UNBOUND:
            built_in_init(vm, value, call)
            return
        bound = hierarchy.bind(vm, attribute, value, cls, call.span)
        vm.apart(vm.invoke(bound, call), nothing)

    def nothing(result: object) -> None:
        """What ``__init__`` has returned on some paths."""
        if isinstance(result, OpaqueOf) and result.host is object:
            vm.unfollowed(f"whether `__init__()` returns None: {result.reason}", call.span)
        elif result is not None and (isinstance(result, OpaqueOf) or not _is_foreign(result)):
            message = f"`{hierarchy.described(cls)}.__init__()` should return None"
            vm.fault(TypeError, message, call.span)

    hierarchy.split(vm, found, one)


def _is_foreign(value: object) -> bool:
    """Whether a value is a library's, which may be None."""
    return isinstance(value, (Opaque, ExternalRef))


def built_in_init(vm: VM, value: Ref, call: Call) -> None:
    """``__init__`` of the built-in type among the bases."""
    box = vm.heap.get(value.id)
    assert isinstance(box, ObjectBox)
    host = hierarchy.layout(box.cls)
    if host is not None and issubclass(host, OSError) and _made_complete(vm, box.cls):
        return
    if host is not None and issubclass(host, BaseException):
        values = {name: arg.value for name, arg in call.keywords.items()}
        held = attributes_of(host, tuple(arg.value for arg in call.args), values)
        if held is None:
            _no_arguments(vm, box.cls, "such keyword arguments", call.span)
        for name, item in (held or {}).items():
            attributes.put(vm, value, name, item, call.span)
    elif host in _IMMUTABLE:
        return
    elif host is not None:
        _fill(vm, box.payload, vm.invoke(HostType(host), call), call.span)
    elif call.args or call.keywords:
        new = lookup(vm, box.cls, "__new__")
        init = lookup(vm, box.cls, "__init__")
        if isinstance(new, Inherited) or not isinstance(init, Inherited):
            _no_arguments(vm, box.cls, "arguments", call.span)


def _made_complete(vm: VM, cls: object) -> bool:
    """Whether ``OSError.__new__`` has done what ``__init__`` otherwise does."""
    own = hierarchy.overrides(vm, cls, "__new__")
    return own and not hierarchy.overrides(vm, cls, "__init__")


def _no_arguments(vm: VM, cls: object, what: str, span: Span) -> None:
    message = f"{hierarchy.described(cls)} takes no {what}"
    vm.fault(TypeError, message, span, rule="call-signature")


def _fill(vm: VM, payload: object, contents: object, span: Span) -> None:
    """Give the container in an instance the contents of another one."""
    if not isinstance(payload, Ref) or not isinstance(contents, Ref):
        vm.unfollowed("what a built-in base is filled with is not followed", span)
        return
    source = vm.heap.get(contents.id).copy()
    target = vm.write(payload, span)
    if type(source) is not type(target):
        vm.unfollowed("what a built-in base is filled with is not followed", span)
        return
    for name in target.__struct_fields__:
        if name not in ("owner", "ghost"):
            setattr(target, name, getattr(source, name))


# ------------------------------------------------------------------------ abstract classes


def _check_protocol(vm: VM, cls: Class, span: Span) -> None:
    if typing.Protocol in (b.type for b in cls.bases if isinstance(b, HostType)):
        if hierarchy.overrides(vm, cls, "__init__"):
            vm.unfollowed(f"whether `{cls.name}` can have instances is not followed", span)
            return
        vm.fault(TypeError, f"`{cls.name}` is a protocol, which has no instances", span)


def _check_abstract(vm: VM, cls: Class, span: Span) -> None:
    missing = sorted(abstract_names(vm, cls))
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        message = f"`{cls.name}` is abstract: it has no implementation of {names}"
        vm.fault(TypeError, message, span)


def abstract_names(vm: VM, cls: Class) -> set[str]:
    """The abstract methods that a class leaves unimplemented, if its metaclass minds."""
    minds = any(
        isinstance(base.type, abc.ABCMeta) if isinstance(base, HostType) else _is_abc(base)
        for base in cls.mro
    )
    return set(_abstract(vm, cls)) if minds else set()


def _is_abc(cls: object) -> bool:
    return isinstance(cls, Class) and cls.metaclass == HostType(abc.ABCMeta)


def _abstract(vm: VM, cls: Class) -> Iterator[str]:
    for base in cls.mro:
        if isinstance(base, HostType):
            names: frozenset[str] = getattr(base.type, "__abstractmethods__", frozenset())
        else:
            assert isinstance(base, Class)
            names = frozenset(namespace(vm, base))
        for name in names:
            if _is_abstract(vm, lookup(vm, cls, name)):
                yield name


def _is_abstract(vm: VM, value: object) -> bool:
    if isinstance(value, Inherited):
        raw = inspect.getattr_static(value.type, value.name, None)
        return bool(getattr(raw, "__isabstractmethod__", False))
    if isinstance(value, Property):
        parts = (value.fget, value.fset, value.fdel)
        return any(part is not None and _is_abstract(vm, part) for part in parts)
    if isinstance(value, (StaticMethod, ClassMethod)):
        return _is_abstract(vm, value.function)
    if isinstance(value, (Function, Builtin, Generated)):
        return notes.noted(vm, value, "__isabstractmethod__") is True
    return False
