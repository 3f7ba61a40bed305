"""What the process around the program is: environment variables, ``sys``, loggers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.python import probes
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.concrete import payload
from verifier.symbolic.python.flow import Wait
from verifier.symbolic.python.heap import UNBOUND, DictBox
from verifier.symbolic.python.iteration import Items, Iteration
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.library import loggers
from verifier.symbolic.python.model import BoundBuiltin
from verifier.symbolic.python.vm import VM
from verifier.symbolic.trace import LedgerKind
from verifier.symbolic.values import Opaque, OpaqueOf

#: the memo of a run that says that the program changes its environment
_CHANGED: Final = "environment changed"


class Environment(Struct, frozen=True):
    """``os.environ``. What is set there is not known: it is assumed that nothing is."""


ENVIRONMENT: Final = Environment()


def _unset(vm: VM, key: object, span: Span) -> bool:
    """Assume that a variable is not set; False if the program may have set it."""
    if vm.memo.get(_CHANGED):
        return False
    name = f"variable `{key}`" if isinstance(key, str) else "variables"
    verb = "is" if isinstance(key, str) else "are"
    vm.approximate(LedgerKind.RUNTIME, f"the environment {name} {verb} not set", span)
    return True


def _variable(vm: VM, key: object, default: object, span: Span) -> object:
    def one(value: object) -> object:
        name = payload(vm, value)
        if vm.kind(name).complete and not isinstance(name, str):
            vm.fault(TypeError, "the name of an environment variable is a string", span)
        if not _unset(vm, name, span):
            return Opaque("an environment variable")
        return default

    return vm.each(key, one)


ENVIRON: Final = Table("environ")
OS: Final = Table("os")


@ENVIRON.add("get")
def _get(vm: VM, span: Span, self: object, key: object, default: object = None) -> object:
    return _variable(vm, key, default, span)


@ENVIRON.add("__contains__")
def _contains(vm: VM, span: Span, self: object, key: object, /) -> object:
    return vm.kind(self).contains(vm, self, key, span)


@OS.add("getenv")
def _getenv(vm: VM, span: Span, key: object, default: object = None) -> object:
    return _variable(vm, key, default, span)


@ENVIRON.add("pop")
def _pop(vm: VM, span: Span, self: object, key: object, default: object = UNBOUND) -> object:
    if default is UNBOUND:
        return vm.unfollowed("an environment variable that is not set is read", span)
    return _variable(vm, key, default, span)


@ENVIRON.add("setdefault")
def _setdefault(vm: VM, span: Span, self: object, key: object, value: object) -> object:
    _set(vm, key, value, span)
    return OpaqueOf("an environment variable", host=str)


def _set(vm: VM, key: object, value: object, span: Span) -> None:
    """A variable is given a value; both must be strings that an environment can have."""
    vm.memo[_CHANGED] = True
    for one, what in ((key, "name"), (value, "value")):
        held = payload(vm, one)
        if not isinstance(held, str):
            known = probes.sample(vm, held)
            if known is not probes.UNSAMPLED and not isinstance(known, str):
                vm.fault(TypeError, f"str expected, not {type(known).__name__}", span)
            vm.unfollowed(f"an environment variable with a {what} that is not known", span)
        elif "\0" in held or not held.isascii() or (what == "name" and (not held or "=" in held)):
            vm.unfollowed(f"an environment variable with such a {what}", span)


@ENVIRON.add("update")
def _update(vm: VM, span: Span, self: object, other: object = (), /, **kwds: object) -> object:
    vm.memo[_CHANGED] = True
    box = vm.box(other)
    pairs: dict[Any, object] = dict(box.items) if isinstance(box, DictBox) else {}
    if not isinstance(box, DictBox) and other != ():
        return vm.unfollowed("environment variables that are not known are set", span)
    for key, value in {**pairs, **kwds}.items():
        _set(vm, key, value, span)
    return None


@ENVIRON.add("clear")
def _clear(vm: VM, span: Span, self: object) -> object:
    vm.memo[_CHANGED] = True
    return None


@OS.add("putenv")
def _put(vm: VM, span: Span, name: object, value: object, /) -> object:
    _set(vm, name, value, span)
    return None


@OS.add("unsetenv")
def _unset_variable(vm: VM, span: Span, name: object, /) -> object:
    _set(vm, name, "", span)
    return None


@ENVIRON.add("items", "keys", "values")
def _items(vm: VM, span: Span, self: object, /) -> object:
    if not _unset(vm, None, span):
        return Opaque("the environment variables")
    return ()


@ENVIRON.add("copy")
def _copy(vm: VM, span: Span, self: object, /) -> object:
    if not _unset(vm, None, span):
        return Opaque("the environment variables")
    return vm.heap.new(DictBox())


class _EnvironmentKind(Kind[VM]):
    name = "os._Environ"
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        return "`os.environ`"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name in ENVIRON:
            return BoundBuiltin("environ", name, value)
        return super().attribute(vm, value, name, span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        name = payload(vm, index)
        handled = any(landing.waits is Wait.HANDLERS for landing in vm.landings)
        # who handles that it is not set reads it in order to know whether it is
        if handled and isinstance(name, str) and _unset(vm, name, span):
            vm.fault(KeyError, f"the variable `{name}` is not set", span, args=(index,))
        return vm.unfollowed("an environment variable that has to be set is read", span)

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        if new is UNBOUND:
            vm.memo[_CHANGED] = True
            vm.unfollowed("an environment variable that has to be set is deleted", span)
            return
        _set(vm, index, new, span)

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        if not _unset(vm, payload(vm, item), span):
            return Opaque("the environment variables")
        return E.FALSE

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return vm.unknown_bool("whether there are environment variables", span)

    def length(self, vm: VM, value: Any, span: Span) -> object:
        return vm.unknown_int("how many environment variables there are", span)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        return Items(()) if _unset(vm, None, span) else super().iterate(vm, value, span)


# ------------------------------------------------------------------------ modules


_SYS: Final[dict[str, object]] = {
    "maxsize": sys.maxsize,
    "version_info": Opaque("the version of Python"),
    "version": OpaqueOf("the version of Python", host=str),
    "platform": OpaqueOf("the platform", host=str),
    "argv": Opaque("the arguments of the program"),
}
MODULES: Final[dict[str, Mapping[str, object]]] = {
    "os": {**OS, "environ": ENVIRONMENT},
    "sys": _SYS,
    "logging": loggers.MODULE,
}
METHODS: Final[dict[str, Table]] = {"environ": ENVIRON, **loggers.METHODS}
KINDS: Final[dict[type, Kind[VM]]] = {
    Environment: _EnvironmentKind(),
    **loggers.KINDS,
}
