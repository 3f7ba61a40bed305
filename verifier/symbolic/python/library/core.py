"""The built-in functions and types, by name; parts of them are in the files next to this one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python import probes, strings
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.concrete import payload, run
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.library.core_errors import CONSTRUCTORS as _ERRORS
from verifier.symbolic.python.library.core_errors import EXCEPTIONS
from verifier.symbolic.python.library.core_numbers import (
    NUMBERS,
    make_bool,
    make_bytes,
    make_complex,
    make_float,
    make_int,
)
from verifier.symbolic.python.library.core_order import ORDER
from verifier.symbolic.python.library.core_types import TYPES, make_type
from verifier.symbolic.python.model import Builtin, HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import ExternalRef, Opaque, SliceValue

TEXTS: Final = Table()


# ------------------------------------------------------------------------ texts


@TEXTS.add("repr")
def _repr(vm: VM, span: Span, obj: object, /) -> object:
    return strings.text_of(vm, obj, "r", span)


@TEXTS.add("ascii")
def _ascii(vm: VM, span: Span, obj: object, /) -> object:
    return strings.text_of(vm, obj, "a", span)


@TEXTS.add("format")
def _format(vm: VM, span: Span, value: object, format_spec: object = "", /) -> object:
    return strings.formatted(vm, value, format_spec, span)


@TEXTS.add("print")
def _print(
    vm: VM,
    span: Span,
    /,
    *values: object,
    sep: object = " ",
    end: object = "\n",
    file: object = None,
    flush: object = False,
) -> object:
    for name, piece in (("sep", sep), ("end", end)):
        vm.each(piece, _separator(vm, name, span))
    if flush is not False:
        vm.truth(flush, span)
    for value in values:
        strings.text_of(vm, value, "s", span)
    if file is not None and not isinstance(file, (Opaque, ExternalRef)):
        vm.unfollowed("`print()` to a file of the program's own is not followed", span)
    return None


def _separator(vm: VM, name: str, span: Span) -> Callable[[object], object]:
    """A check of what `print()` writes between values, or after them."""

    def one(value: object) -> None:
        held = probes.sample(vm, payload(vm, value))
        if held is probes.UNSAMPLED:
            vm.unfollowed(f"`print()` with this `{name}` is not followed", span)
        elif held is not None and not isinstance(held, str):
            message = f"{name} must be None or a string, not {type(held).__name__}"
            vm.fault(TypeError, message, span)

    return one


@TEXTS.add("len")
def _len(vm: VM, span: Span, obj: object, /) -> object:
    return vm.length(obj, span)


def _make_str(
    vm: VM,
    span: Span,
    object: object = UNBOUND,
    encoding: object = UNBOUND,
    errors: object = UNBOUND,
) -> object:
    """``str(object, encoding, errors)``."""
    if encoding is UNBOUND and errors is UNBOUND:
        return "" if object is UNBOUND else strings.text_of(vm, object, "s", span)
    given = {"encoding": encoding, "errors": errors}
    held = {name: payload(vm, value) for name, value in given.items() if value is not UNBOUND}
    source = vm.settled(object)
    plain = (str, Expr, Bool, bool, float, complex, tuple, type(None))
    if any(isinstance(v, plain) and not isinstance(v, str) for v in held.values()):
        vm.fault(TypeError, "str() argument must be str", span)
    if isinstance(payload(vm, source), plain):
        vm.fault(TypeError, "decoding to str: need a bytes-like object", span)
    if isinstance(source, (str, bytes)) and held.get("encoding", "utf-8") in ("utf-8", "ascii"):
        if held.get("errors", "strict") in ("strict", "ignore", "replace"):
            return run(vm, span, str, source, **held)
    return vm.unfollowed("`str()` with an encoding is not followed", span)


def _make_slice(vm: VM, span: Span, /, *args: object) -> object:
    """``slice(stop)``, ``slice(start, stop, step)``."""
    if not 1 <= len(args) <= 3:
        message = f"slice expected 1 to 3 arguments, got {len(args)}"
        vm.fault(TypeError, message, span, rule="call-signature")
    if len(args) == 1:
        return SliceValue(None, args[0], None)
    return SliceValue(*args, *(None,) * (3 - len(args)))


# ------------------------------------------------------------------------ what is not followed


def _unfollowed(name: str) -> Builtin:
    """A function that runs code, or shows the state of the program."""

    def handler(vm: VM, span: Span, /, *args: object, **keywords: object) -> object:
        return vm.unfollowed(f"`{name}()` is not followed", span)

    return Builtin.of(name, handler)


def _memory(vm: VM, span: Span, /, *args: object, **keywords: object) -> object:
    """``bytearray(...)``, ``memoryview(...)``."""
    return vm.unfollowed("objects in raw memory are not followed", span)


_NOT_FOLLOWED: Final = (
    "input", "open", "exec", "eval", "compile", "__import__", "globals", "locals", "dir",
    "breakpoint",
)  # fmt: skip

_CONSTRUCTED: Final[dict[type, Builtin]] = {
    int: Builtin.of("int", make_int),
    float: Builtin.of("float", make_float),
    bool: Builtin.of("bool", make_bool),
    complex: Builtin.of("complex", make_complex),
    bytes: Builtin.of("bytes", make_bytes),
    memoryview: Builtin.of("memoryview", _memory),
    str: Builtin.of("str", _make_str),
    slice: Builtin.of("slice", _make_slice),
    type: Builtin.of("type", make_type),
}

CONSTRUCTORS: Final[dict[type, Builtin]] = {**_CONSTRUCTED, **_ERRORS}

BUILTINS: Final[dict[str, object]] = {
    **NUMBERS,
    **ORDER,
    **TYPES,
    **TEXTS,
    **EXCEPTIONS,
    **{cls.__name__: HostType(cls) for cls in _CONSTRUCTED},
    **{name: _unfollowed(name) for name in _NOT_FOLLOWED},
    "NotImplemented": NotImplemented,
    "Ellipsis": ...,
    "__debug__": True,
}

__all__ = ["BUILTINS", "CONSTRUCTORS", "EXCEPTIONS"]
