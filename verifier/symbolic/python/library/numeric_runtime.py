"""What the process around the program is: environment variables, ``sys``, loggers."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.machine import Call
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.concrete import payload
from verifier.symbolic.python.heap import UNBOUND, DictBox
from verifier.symbolic.python.kind import Items, Iteration, Kind
from verifier.symbolic.python.model import BoundBuiltin
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque

#: the memo of a run that says that the program changes its environment
_CHANGED: Final = "environment changed"


@dataclass(frozen=True, slots=True)
class Environment:
    """``os.environ``. What is set there is not known: it is assumed that nothing is."""


ENVIRONMENT: Final = Environment()


def _unset(vm: VM, key: object, span: Span) -> bool:
    """Assume that a variable is not set; False if the program may have set it."""
    if vm.memo.get(_CHANGED):
        return False
    name = f"variable `{key}`" if isinstance(key, str) else "variables"
    verb = "is" if isinstance(key, str) else "are"
    vm.approximate("runtime", f"the environment {name} {verb} not set", span)
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
def _get(vm: VM, span: Span, self: object, key: object, default: object = None, /) -> object:
    return _variable(vm, key, default, span)


@OS.add("getenv")
def _getenv(vm: VM, span: Span, key: object, default: object = None) -> object:
    return _variable(vm, key, default, span)


@ENVIRON.add("pop")
def _pop(vm: VM, span: Span, self: object, key: object, default: object = UNBOUND, /) -> object:
    if default is UNBOUND:
        return vm.unfollowed("an environment variable that is not set is read", span)
    return _variable(vm, key, default, span)


@ENVIRON.add("setdefault")
def _setdefault(vm: VM, span: Span, self: object, key: object, default: object = None, /) -> object:
    value = _variable(vm, key, default, span)
    vm.memo[_CHANGED] = True
    return value


@ENVIRON.add("update", "clear")
def _update(vm: VM, span: Span, self: object, /, *args: object, **keywords: object) -> object:
    vm.memo[_CHANGED] = True
    return None


@OS.add("putenv", "unsetenv")
def _put(vm: VM, span: Span, /, *args: object) -> object:
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


class _EnvironmentKind(Kind):
    name = "os._Environ"
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        return "`os.environ`"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name in ENVIRON:
            return BoundBuiltin("environ", name, value)
        return super().attribute(vm, value, name, span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        return vm.unfollowed("an environment variable that has to be set is read", span)

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        vm.memo[_CHANGED] = True

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


# ------------------------------------------------------------------------ loggers


@dataclass(frozen=True, slots=True)
class Logger:
    """A logger: what it is told leaves the program as it is."""


@dataclass(frozen=True, slots=True)
class LoggerMethod:
    """A method of a logger."""

    name: str


LOGGER: Final = Logger()
LOGGING: Final = Table("logging")

_SILENT: Final = (
    "debug", "info", "warning", "warn", "error", "critical", "fatal", "exception", "log",
    "setLevel", "addHandler", "removeHandler", "addFilter", "removeFilter", "addLevelName",
    "basicConfig", "disable", "captureWarnings", "shutdown",
)  # fmt: skip


@LOGGING.add("getLogger")
def _get_logger(vm: VM, span: Span, name: object = None) -> object:
    return LOGGER


@LOGGING.add(*_SILENT)
def _silent(vm: VM, span: Span, /, *args: object, **keywords: object) -> object:
    return None


class _LoggerKind(Kind):
    name = "logging.Logger"
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        return "a logger"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name in _SILENT or name in ("getChild", "isEnabledFor", "hasHandlers"):
            return LoggerMethod(name)
        if hasattr(logging.Logger, name) or name in ("name", "level", "parent", "handlers"):
            return Opaque(f"`.{name}` of a logger")
        return super().attribute(vm, value, name, span)

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        """Nothing of it is read."""


class _LoggerMethodKind(Kind):
    name = "method"
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        return f"`.{value.name}()` of a logger"

    def call(self, vm: VM, value: Any, call: Call) -> object:
        if value.name == "getChild":
            return LOGGER
        if value.name in ("isEnabledFor", "hasHandlers"):
            return vm.unknown_bool("what a logger shows is not known", call.span)
        return None


# ------------------------------------------------------------------------ modules


_SYS: Final[dict[str, object]] = {
    "maxsize": sys.maxsize,
    "version_info": Opaque("the version of Python"),
    "version": Opaque("the version of Python"),
    "platform": Opaque("the platform"),
    "argv": Opaque("the arguments of the program"),
}
_LEVELS: Final[dict[str, object]] = {
    name: getattr(logging, name)
    for name in ("CRITICAL", "DEBUG", "ERROR", "FATAL", "INFO", "NOTSET", "WARN", "WARNING")
}

MODULES: Final[dict[str, Mapping[str, object]]] = {
    "os": {**OS, "environ": ENVIRONMENT},
    "sys": _SYS,
    "logging": {**LOGGING, **_LEVELS},
}
METHODS: Final[dict[str, Table]] = {"environ": ENVIRON}
KINDS: Final[dict[type, Kind]] = {
    Environment: _EnvironmentKind(),
    Logger: _LoggerKind(),
    LoggerMethod: _LoggerMethodKind(),
}
