"""``typing``, ``abc``, ``types`` and ``collections.abc``."""

from __future__ import annotations

import abc
import collections.abc
import types
import typing
from collections.abc import Callable, Mapping
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic.python import hierarchy, notes
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import DictBox, ObjectBox
from verifier.symbolic.python.hierarchy import Alias
from verifier.symbolic.python.kinds.descriptors import NewType, TypeForm
from verifier.symbolic.python.kinds.typed import is_type
from verifier.symbolic.python.library import namedtuples
from verifier.symbolic.python.library.dataclass_fields import CLASS_VAR
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
from verifier.symbolic.values import TEXT


def _abstractmethod(vm: VM, span: Span, funcobj: object, /) -> object:
    target = funcobj
    while isinstance(target, (StaticMethod, ClassMethod)):
        target = target.function
    if isinstance(target, Property):
        target = target.fget
    notes.note(vm, target, "__isabstractmethod__", True)
    return funcobj


def _namespace(vm: VM, span: Span, /, *args: object, **keywords: object) -> object:
    if args:
        # a mapping, from 3.13 on
        return vm.unfollowed("`SimpleNamespace()` of a mapping is not followed", span)
    return vm.heap.new(ObjectBox(HostType(types.SimpleNamespace), dict(keywords)))


NAMESPACE: Final = Table("SimpleNamespace")


@NAMESPACE.add("__eq__")
def _same_namespace(vm: VM, span: Span, self: object, other: object, /) -> object:
    def one(right: object) -> object:
        mine, theirs = vm.box(self), vm.box(right)
        assert isinstance(mine, ObjectBox)
        if not isinstance(theirs, ObjectBox) or theirs.cls != mine.cls:
            return NotImplemented
        left = vm.heap.new(DictBox(dict(mine.attributes.items())))
        there = vm.heap.new(DictBox(dict(theirs.attributes.items())))
        return vm.compare("==", left, there, span)

    return vm.each(other, one)


@NAMESPACE.add("__repr__")
def _show_namespace(vm: VM, span: Span, self: object, /) -> object:
    return TEXT


def _cast(vm: VM, span: Span, typ: object, val: object) -> object:
    return val


def _same(vm: VM, span: Span, value: object, /) -> object:
    return value


def _new_type(vm: VM, span: Span, name: object, tp: object) -> object:
    return NewType(name, tp)


def _variable(kind: str) -> Callable[..., object]:
    """``TypeVar(name, ...)`` and kin, as far as they cannot be refused."""

    def handler(
        vm: VM,
        span: Span,
        name: object,
        /,
        *constraints: object,
        bound: object = None,
        covariant: object = False,
        contravariant: object = False,
    ) -> object:
        flags = (covariant, contravariant)
        limits = () if bound is None else (bound,)
        fits = isinstance(name, str) and all(isinstance(flag, bool) for flag in flags)
        fits = fits and not all(flags) and all(map(is_type, (*constraints, *limits)))
        if kind != "TypeVar":
            fits = fits and not constraints
        if not fits or len(constraints) == 1 or (constraints and limits):
            return vm.unfollowed(f"`{kind}` with these arguments is not followed", span)
        several = kind == "TypeVarTuple"  # stands for any number of types
        return TypeForm(str(name), variable=not several, made=several)

    return handler


def _assert_never(vm: VM, span: Span, arg: object, /) -> object:
    vm.fault(AssertionError, "expected code to be unreachable", span)
    return None


def _assert_type(vm: VM, span: Span, val: object, typ: object, /) -> object:
    return val


def _marked(mark: str) -> Callable[..., object]:
    """A decorator that leaves a mark, where it can."""

    def decorate(vm: VM, span: Span, value: object, /) -> object:
        if isinstance(value, Class):
            hierarchy.define_attribute(vm, value, mark, True)
        elif isinstance(value, Function):
            notes.note(vm, value, mark, True)
        elif isinstance(value, (StaticMethod, ClassMethod)):
            return vm.unfollowed(f"`{mark}` of a static or class method", span)
        return value

    return decorate


def _no_type_check(vm: VM, span: Span, arg: object, /) -> object:
    if not isinstance(arg, Function):
        return vm.unfollowed("`no_type_check` of what is no function", span)
    notes.note(vm, arg, "__no_type_check__", True)
    return arg


def _overload(vm: VM, span: Span, func: object, /) -> object:
    """One of several signatures: what it gives is not to be called."""

    def dummy(vm: VM, span: Span, /, *args: object, **keywords: object) -> object:
        vm.fault(NotImplementedError, "an overloaded function outside of a stub", span)
        return None

    return Builtin.of("_overload_dummy", dummy)


def _runtime_checkable(vm: VM, span: Span, cls: object) -> object:
    if isinstance(cls, Class) and HostType(typing.Protocol) not in cls.bases:
        if not hierarchy.is_external(cls):
            vm.fault(TypeError, f"`{cls.name}` is no protocol class", span)
    return cls


def _get_type_hints(vm: VM, span: Span, /, *args: object, **keywords: object) -> object:
    return vm.unfollowed("`get_type_hints()` is not followed", span)


_ALL: Final = [(name, getattr(typing, name)) for name in typing.__all__]

_TYPING: Final[dict[str, object]] = {
    **{
        name: TypeForm(name)
        for name in (
            *typing.__all__, "Self", "Never", "Required", "NotRequired", "Unpack", "LiteralString",
            "TypeAlias", "TypeGuard", "Concatenate", "ParamSpec", "ReadOnly", "TypeIs",
        )
        if name not in ("TypedDict", "SupportsInt", "SupportsFloat", "SupportsIndex")
    },
    "TYPE_CHECKING": False,
    "ClassVar": CLASS_VAR,
    "Generic": HostType(typing.Generic),
    "Protocol": HostType(typing.Protocol),
    "NamedTuple": namedtuples.NAMED_TUPLE,
    "NewType": Builtin.of("NewType", _new_type),
    "cast": Builtin.of("cast", _cast),
    "get_type_hints": Builtin.of("get_type_hints", _get_type_hints),
    **{
        name: Builtin.of(name, _same)
        for name in ("reveal_type",)
    },
    "runtime_checkable": Builtin.of("runtime_checkable", _runtime_checkable),
    **{
        name: Alias(HostType(origin), (), True)
        for name, origin in ((name, getattr(_alias, "__origin__", None)) for name, _alias in _ALL)
        if isinstance(origin, type)
    },
    **{
        name: Builtin.of(name, _variable(name)) for name in ("TypeVar", "ParamSpec", "TypeVarTuple")
    },
    **{
        name: Builtin.of(name, _marked(mark))
        for name, mark in (("final", "__final__"), ("override", "__override__"))
    },
    "no_type_check": Builtin.of("no_type_check", _no_type_check),
    "TypedDict": TypeForm("TypedDict"),
    "AnyStr": TypeForm("AnyStr", variable=True),
    "Text": HostType(str),
    "overload": Builtin.of("overload", _overload),
    "assert_never": Builtin.of("assert_never", _assert_never),
    "assert_type": Builtin.of("assert_type", _assert_type),
}  # fmt: skip

CONSTRUCTORS: Final[dict[type, Builtin]] = {
    types.SimpleNamespace: Builtin.of("SimpleNamespace", _namespace),
}
METHODS: Final[Mapping[str, Table]] = {"SimpleNamespace": NAMESPACE}
MODULES: Final[dict[str, dict[str, object]]] = {
    "abc": {
        "ABC": HostType(abc.ABC),
        "ABCMeta": HostType(abc.ABCMeta),
        "abstractmethod": Builtin.of("abstractmethod", _abstractmethod),
    },
    "types": {
        "SimpleNamespace": HostType(types.SimpleNamespace),
        "FunctionType": HostType(types.FunctionType),
        "MethodType": HostType(types.MethodType),
        "NoneType": HostType(type(None)),
    },
    "collections.abc": {
        name: HostType(getattr(collections.abc, name)) for name in collections.abc.__all__
    },
    "typing": _TYPING,
    "typing_extensions": _TYPING,
}
