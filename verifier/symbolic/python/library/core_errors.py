"""The exceptions of the language."""

from __future__ import annotations

import builtins
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic.python.heap import ObjectBox
from verifier.symbolic.python.model import Builtin, HostType
from verifier.symbolic.python.vm import VM

#: exceptions with parts that are not followed
GROUPS: Final[tuple[type, ...]] = tuple(
    getattr(builtins, name) for name in ("BaseExceptionGroup",) if hasattr(builtins, name)
)
#: keywords that a type's constructor takes, with what stands for one that is not given
_KEYWORDS: Final[dict[type[BaseException], tuple[str, ...]]] = {
    ImportError: ("name", "path", *(("name_from",) if hasattr(ImportError(), "name_from") else ())),
    NameError: ("name",),
    AttributeError: ("name", "obj"),
}


def attributes_of(
    error: type[BaseException], args: tuple[object, ...], keywords: dict[str, object]
) -> dict[str, object] | None:
    """The attributes of a new exception; None if its constructor does not take a keyword."""
    out: dict[str, object] = {"args": args}
    for base, names in _KEYWORDS.items():
        if issubclass(error, base):
            if not set(keywords) <= set(names):
                return None
            out.update({name: keywords.get(name) for name in names})
            keywords = {}
    if keywords:
        return None
    if issubclass(error, ImportError):
        out["msg"] = args[0] if len(args) == 1 else None
    elif issubclass(error, StopIteration):
        out["value"] = args[0] if args else None
    elif issubclass(error, SystemExit):
        out["code"] = (args[0] if len(args) == 1 else args) if args else None
    elif issubclass(error, OSError) and 2 <= len(args) <= 5:
        out.update(zip(("errno", "strerror", "filename"), args, strict=False))
        out["args"] = args[:2]
    return out


def _constructor(error: type[BaseException]) -> Builtin:
    def make(vm: VM, span: Span, /, *args: object, **keywords: object) -> object:
        parts = issubclass(error, SyntaxError) and len(args) > 1
        if parts or (issubclass(error, (*GROUPS, UnicodeError)) and error is not UnicodeError):
            return vm.unfollowed(f"an exception of type `{error.__name__}` is not followed", span)
        attributes = attributes_of(error, args, keywords)
        if attributes is None:
            message = f"`{error.__name__}()` does not take these keywords"
            vm.fault(TypeError, message, span, rule="call-signature")
            attributes = {"args": args}
        return vm.heap.new(ObjectBox(HostType(error), attributes))

    return Builtin.of(error.__name__, make)


#: every exception of the language, by its name
EXCEPTIONS: Final[dict[str, object]] = {
    name: HostType(value)
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}
CONSTRUCTORS: Final[dict[type, Builtin]] = {
    value: _constructor(value)
    for value in vars(builtins).values()
    if isinstance(value, type) and issubclass(value, BaseException)
}
