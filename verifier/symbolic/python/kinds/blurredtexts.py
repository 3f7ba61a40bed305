"""Methods of texts that are not known: those that no text refuses, whatever it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.machine import Call
from verifier.symbolic.python import probes
from verifier.symbolic.python.concrete import MAX_LENGTH
from verifier.symbolic.python.integers import bounded_unknown
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque, OpaqueOf


class TextMethod(Struct, frozen=True):
    """A method of a text that is not known."""

    text: OpaqueOf
    name: str


def _is_text(vm: VM, value: object) -> bool:
    return isinstance(probes.sample(vm, value), str)


def _is_filled(vm: VM, value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_stripped(vm: VM, value: object) -> bool:
    return value is None or _is_text(vm, value)


def _is_affix(vm: VM, value: object) -> bool:
    if isinstance(value, tuple):
        return all(_is_text(vm, one) for one in value)
    return _is_text(vm, value)


def _is_width(vm: VM, value: object) -> bool:
    if not isinstance(value, Expr):
        return False
    high = E.bounds(value)[1]
    return high is not None and high <= MAX_LENGTH


def _is_fill(vm: VM, value: object) -> bool:
    return isinstance(value, str) and len(value) == 1


def _is_texts(vm: VM, value: object) -> bool:
    return isinstance(value, tuple) and all(_is_text(vm, one) for one in value)


_Test = Callable[[VM, object], bool]


class _Shape(Struct, frozen=True):
    """Arguments that a method takes without an error, and what of a type comes of them."""

    result: str
    takes: tuple[_Test, ...] = ()
    least: int = 0


_TEXT: Final = _Shape("text")
_TRUTH: Final = _Shape("truth")
_STRIP: Final = _Shape("text", (_is_stripped,))
_AFFIX: Final = _Shape("truth", (_is_affix,), 1)
_FIND: Final = _Shape("place", (_is_text,), 1)
_CUT: Final = _Shape("text", (_is_text,), 1)
_PARTS: Final = _Shape("parts", (_is_filled,), 1)
_FILL: Final = _Shape("text", (_is_width, _is_fill), 1)

_SHAPES: Final[dict[str, _Shape]] = {
    **dict.fromkeys(["upper", "lower", "title", "capitalize", "casefold", "swapcase"], _TEXT),
    **dict.fromkeys(["strip", "lstrip", "rstrip"], _STRIP),
    **dict.fromkeys(["startswith", "endswith"], _AFFIX),
    **dict.fromkeys((name for name in dir(str) if name.startswith("is")), _TRUTH),
    **dict.fromkeys(["find", "rfind"], _FIND),
    **dict.fromkeys(["removeprefix", "removesuffix"], _CUT),
    **dict.fromkeys(["partition", "rpartition"], _PARTS),
    **dict.fromkeys(["center", "ljust", "rjust"], _FILL),
    "count": _Shape("number", (_is_text,), 1),
    "zfill": _Shape("text", (_is_width,), 1),
    "replace": _Shape("text", (_is_text, _is_text, _is_width), 2),
    "join": _Shape("text", (_is_texts,), 1),
}


class TextMethodKind(Kind[VM]):
    """What CPython refuses for its type is its error; what may fail is not followed."""

    name = "builtin_function_or_method"
    pure = True

    def describe(self, vm: VM, value: Any) -> str:
        return f"the method `str.{value.name}`"

    def call(self, vm: VM, value: Any, call: Call) -> object:
        given = [vm.settled(arg.value) for arg in call.args]
        what = f"`.{value.name}()` of a text that is not known"
        if value.name == "join" and len(given) == 1:
            items = vm.items_of(given[0], call.span)
            given = [given[0] if items is None else items]
        shape = _SHAPES.get(value.name)
        if call.keywords or not all(_is_sure(vm, one) for one in given):
            return vm.unfollowed(f"{what} is not followed", call.span)
        if hasattr(str, value.name):
            probes.refused(vm, getattr(str, value.name), (value.text, *given), call.span)
        if shape is None or not shape.least <= len(given) <= len(shape.takes):
            return vm.unfollowed(f"{what} is not followed", call.span)
        if not all(test(vm, one) for test, one in zip(shape.takes, given, strict=False)):
            return vm.unfollowed(f"{what} is not followed", call.span)
        return _made(vm, shape.result, value.text, what, call)


def _is_sure(vm: VM, value: object) -> bool:
    """Whether the type of an argument is certain."""
    if isinstance(value, tuple):
        return True
    return probes.sample(vm, value) is not probes.UNSAMPLED


def _made(vm: VM, result: str, text: OpaqueOf, what: str, call: Call) -> object:
    if result == "truth":
        return vm.unknown_bool(f"{what} is not followed", call.span)
    if result in ("number", "place"):
        least = 0 if result == "number" else -1
        return bounded_unknown(vm, f"{what} is not followed", call.span, least)
    made = OpaqueOf(text.reason, text.harmless, host=str)
    return (made, made, made) if result == "parts" else made


def attribute(vm: VM, value: Opaque, name: str) -> TextMethod:
    """``text.name`` of a text that is not known."""
    assert isinstance(value, OpaqueOf)
    return TextMethod(value, name)


KINDS: Final[dict[type, Kind[VM]]] = {TextMethod: TextMethodKind()}

__all__ = ["KINDS", "attribute"]
