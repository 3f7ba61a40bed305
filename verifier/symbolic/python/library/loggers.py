"""The ``logging`` module: it leaves the program as it is if nothing of the program runs in it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.python import hierarchy, probes
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.concrete import payload
from verifier.symbolic.python.heap import ObjectBox
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.numbers import is_integer
from verifier.symbolic.python.model import BoundBuiltin, Class
from verifier.symbolic.python.parts import reachable
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import ExternalRef, Opaque


class Logger(Struct, frozen=True):
    """A logger: there is one of each name."""

    name: str


LOGGING: Final = Table("logging")
LOGGER: Final = Table("Logger")
_ROOT: Final = Logger("root")

_LEVELS: Final = ("CRITICAL", "FATAL", "ERROR", "WARN", "WARNING", "INFO", "DEBUG", "NOTSET")
LEVELS: Final[dict[str, object]] = {name: getattr(logging, name) for name in _LEVELS}
#: methods that may run when something of the program's own is written
_WRITING: Final = (
    "__str__", "__repr__", "__format__", "__int__", "__index__", "__float__", "__getitem__",
    "__len__", "__bool__",
)  # fmt: skip


# ------------------------------------------------------------------------ messages


def _is_quiet(vm: VM, values: Sequence[object]) -> bool:
    """Whether writing values runs nothing of the program's own."""
    for number in reachable(vm.heap, values):
        box = vm.heap.find(number)
        if isinstance(box, ObjectBox) and isinstance(box.cls, Class):
            if any(hierarchy.overrides(vm, box.cls, name) for name in _WRITING):
                return False
    return True


def _written(vm: VM, values: Sequence[object], keywords: dict[str, object], span: Span) -> None:
    if not _is_quiet(vm, (*values, *keywords.values())):
        vm.unfollowed("a message runs code of the program when it is written", span)
    for name, value in keywords.items():
        known = payload(vm, value)
        plain = known is None or isinstance(known, (bool, Bool, Opaque))
        if name not in ("exc_info", "stack_info", "stacklevel", "extra"):
            vm.unfollowed(f"a message with `{name}` is not followed", span)
        elif name == "stacklevel" and not is_integer(known):
            vm.unfollowed("a message with this `stacklevel` is not followed", span)
        elif name in ("exc_info", "stack_info") and not plain:
            vm.unfollowed(f"a message with this `{name}` is not followed", span)
        elif name == "extra" and known is not None and not _is_extra(vm, value):
            vm.unfollowed("a message with this `extra` is not followed", span)


def _is_extra(vm: VM, value: object) -> bool:
    """Whether a dictionary names nothing that a message has itself."""
    names = getattr(vm.box(value), "items", None)
    if not isinstance(names, dict):
        return False
    taken = {"message", "asctime", *logging.makeLogRecord({}).__dict__}
    return all(isinstance(name, str) and name not in taken for name in names)


_MESSAGES: Final = (
    "debug", "info", "warning", "warn", "error", "critical", "fatal", "exception",
)  # fmt: skip


@LOGGING.add(*_MESSAGES)
def _message(vm: VM, span: Span, msg: object, *args: object, **keywords: object) -> object:
    _written(vm, (msg, *args), keywords, span)
    return None


@LOGGING.add("log")
def _log(
    vm: VM, span: Span, level: object, msg: object, *args: object, **keywords: object
) -> object:
    if not is_integer(payload(vm, level)):
        return vm.unfollowed("a message of this level is not followed", span)
    return _message(vm, span, msg, *args, **keywords)


@LOGGER.add(*_MESSAGES)
def _own_message(
    vm: VM, span: Span, self: object, msg: object, *args: object, **keywords: object
) -> object:
    return _message(vm, span, msg, *args, **keywords)


@LOGGER.add("log")
def _own_log(
    vm: VM,
    span: Span,
    self: object,
    level: object,
    msg: object,
    *args: object,
    **keywords: object,
) -> object:
    return _log(vm, span, level, msg, *args, **keywords)


# ------------------------------------------------------------------------ loggers, levels


def _level(vm: VM, level: object, span: Span) -> None:
    """A level must be an integer, or the name of one."""

    def one(value: object) -> None:
        held = payload(vm, value)
        if is_integer(held) or (isinstance(held, str) and held in _LEVELS):
            return
        known = probes.sample(vm, held)
        if known is probes.UNSAMPLED or (isinstance(known, str) and not isinstance(held, str)):
            vm.unfollowed("whether a value is a level of logging is not followed", span)
        elif not isinstance(known, str):
            vm.fault(TypeError, "a level is not an integer or a valid string", span)
        elif vm.memo.get("levels added"):
            vm.unfollowed(f"whether `{held}` is a level of logging is not followed", span)
        else:
            vm.fault(ValueError, f"Unknown level: {held!r}", span)

    vm.each(level, one)


@LOGGER.add("setLevel")
def _set_level(vm: VM, span: Span, self: object, level: object) -> object:
    _level(vm, level, span)
    return None


@LOGGING.add("disable")
def _disable(vm: VM, span: Span, level: object = E.const(logging.CRITICAL)) -> object:
    _level(vm, level, span)
    return None


@LOGGING.add("addLevelName")
def _add_level(vm: VM, span: Span, level: object, levelName: object) -> object:  # noqa: N803
    vm.memo["levels added"] = True
    if is_integer(payload(vm, level)) and isinstance(levelName, str):
        return None
    return vm.unfollowed("a level of logging with such a name", span)


@LOGGING.add("getLogger")
def _get_logger(vm: VM, span: Span, name: object = None) -> object:
    def one(value: object) -> object:
        held = payload(vm, value)
        if held is None or held in ("", "root"):
            return _ROOT
        if isinstance(held, str):
            return Logger(held)
        known = probes.sample(vm, held)
        if known is probes.UNSAMPLED or isinstance(known, str) or not known:
            return vm.unfollowed("a logger of a name that is not known", span)
        if is_integer(held):  # zero names the root
            unknown = vm.truth(held, span)
            vm.fault(TypeError, "a logger name must be a string", span, when=unknown)
            return _ROOT
        vm.fault(TypeError, "a logger name must be a string", span)
        return _ROOT

    return vm.each(name, one)


@LOGGER.add("getChild")
def _get_child(vm: VM, span: Span, self: Any, suffix: object) -> object:
    held = payload(vm, suffix)
    if not isinstance(held, str) or not held:
        return vm.unfollowed("a logger of a name that is not known", span)
    return Logger(held if self == _ROOT else f"{self.name}.{held}")


@LOGGER.add("isEnabledFor")
def _enabled(vm: VM, span: Span, self: object, level: object) -> object:
    if not is_integer(payload(vm, level)):
        return vm.unfollowed("whether a logger shows a message of this level", span)
    return vm.unknown_bool("what a logger shows is not known", span)


@LOGGER.add("hasHandlers")
def _handled(vm: VM, span: Span, self: object) -> object:
    return vm.unknown_bool("what a logger shows is not known", span)


@LOGGER.add("getEffectiveLevel")
def _effective(vm: VM, span: Span, self: object) -> object:
    return vm.unknown_int("the level of a logger is not known", span)


def _foreign(vm: VM, value: object, what: str, span: Span) -> object:
    """What takes part in writing messages has to be of a library's own."""
    if not isinstance(value, (Opaque, ExternalRef)):
        vm.unfollowed(f"{what} of the program's own is not followed", span)
    return None


@LOGGER.add("addHandler", "removeHandler")
def _handler(vm: VM, span: Span, self: object, hdlr: object) -> object:
    return _foreign(vm, hdlr, "a handler of messages", span)


@LOGGER.add("addFilter", "removeFilter")
def _filter(vm: VM, span: Span, self: object, filter: object) -> object:
    return _foreign(vm, filter, "a filter of messages", span)


@LOGGING.add("basicConfig")
def _basic(vm: VM, span: Span, /, **kwargs: object) -> object:
    for name, value in kwargs.items():
        held = payload(vm, value)
        usual = held is None or isinstance(held, (Opaque, ExternalRef))
        if name == "level":
            usual = held is None or is_integer(held) or (isinstance(held, str) and held in _LEVELS)
        elif name == "format":
            usual = held is None or (isinstance(held, str) and _is_format(held))
        elif name in ("datefmt", "filemode", "encoding"):
            usual = held is None or (name == "datefmt" and isinstance(held, str))
        elif name == "force":
            usual = isinstance(held, (bool, Bool))
        elif name != "stream":
            usual = False
        if not usual:
            return vm.unfollowed(f"`logging.basicConfig()` with this `{name}`", span)
    return None


def _is_format(text: str) -> bool:
    try:
        logging.Formatter(text)
    except ValueError:
        return False
    return True


@LOGGING.add("captureWarnings")
def _capture(vm: VM, span: Span, capture: object) -> object:
    vm.truth(capture, span)
    return None


@LOGGING.add("shutdown")
def _shutdown(vm: VM, span: Span) -> object:
    return None


class _LoggerKind(Kind[VM]):
    name = "logging.Logger"
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        return "a logger"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name == "name":
            return value.name
        if name in LOGGER:
            return BoundBuiltin("Logger", name, value)
        if hasattr(logging.root, name) and not name.startswith("__"):
            return Opaque(f"`.{name}` of a logger")
        return super().attribute(vm, value, name, span)

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        if name not in ("propagate", "disabled") or not isinstance(new, (bool, Bool)):
            super().set_attribute(vm, value, name, new, span)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op not in ("==", "!=") or not isinstance(right, Logger):
            return NotImplemented
        return (left == right) is (op == "==")

    def identical(self, vm: VM, value: Any, other: object, span: Span) -> Bool | None:
        return E.truth(value == other) if isinstance(other, Logger) else None


KINDS: Final[dict[type, Kind[VM]]] = {Logger: _LoggerKind()}
METHODS: Final[dict[str, Table]] = {"Logger": LOGGER}
MODULE: Final[dict[str, object]] = {**LOGGING, **LEVELS}

__all__ = ["KINDS", "METHODS", "MODULE"]
