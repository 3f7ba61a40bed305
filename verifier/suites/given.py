"""Arguments of calls on the host: shapes, types, numbers."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from verifier.hardware import dtypes as dt
from verifier.source.ir import Span
from verifier.suites.values import Array
from verifier.symbolic.machine import Call
from verifier.symbolic.python.concrete import to_host
from verifier.symbolic.python.heap import UNBOUND, ListBox
from verifier.symbolic.python.model import HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import DType
from verifier.symbolic.values import Opaque, OpaqueOf

#: what Python's own types are as types of elements
_HOST_TYPES = {float: "float64", int: "int64", bool: "bool_"}

#: a number that is not known: what an array holds, or what is drawn
NUMBER: Final = OpaqueOf("a number that an array holds", harmless=True, host=object)

#: values in arguments that are looked at for why something is not known
_LOOKED_AT: Final = 64


class Given(Struct, frozen=True):
    """The arguments of a call, by position or by one of their names."""

    vm: VM
    call: Call

    @property
    def span(self) -> Span:
        return self.call.span

    def value(self, position: int, *names: str) -> object:
        """An argument; UNBOUND if it is not given."""
        if 0 <= position < len(self.call.args):
            return self.call.args[position].value
        for name in names:
            if name in self.call.keywords:
                return self.call.keywords[name].value
        return UNBOUND

    def number(self, position: int, *names: str) -> int | None:
        """An argument that is an integer; None if it is none that is known."""
        return whole(self.vm, self.value(position, *names))

    def shape(self, position: int, *names: str) -> tuple[int, ...] | None:
        """An argument that is a shape."""
        value = self.value(position, *names)
        return None if value is UNBOUND else shape_of(self.vm, value, self.span)

    def sizes(self, position: int) -> tuple[int, ...] | None:
        """A shape that is one argument, or all from ``position`` on."""
        rest = [arg.value for arg in self.call.args[position:]]
        if len(rest) == 1:
            return shape_of(self.vm, rest[0], self.span)
        return shape_of(self.vm, tuple(rest), self.span)

    def dtype(self, position: int, default: str | None) -> str | None:
        """The type that elements are to have."""
        value = self.value(position, "dtype")
        if value is UNBOUND or value is None:
            return default
        return dtype_of(self.vm, value, self.span)


def because(vm: VM, call: Call) -> str:
    """Why the result of a call is not known: the first argument that is not; empty if all are."""
    stack = [arg.value for arg in (*call.args, *call.keywords.values())][::-1]
    for _ in range(_LOOKED_AT):
        if not stack:
            break
        value = stack.pop()
        if isinstance(value, Opaque) and not value.harmless:
            return value.reason
        box = vm.box(value)
        if isinstance(value, tuple):
            stack.extend(reversed(value))
        elif isinstance(box, ListBox):
            stack.extend(reversed(box.concrete or ()))
    return ""


def whole(vm: VM, value: object) -> int | None:
    """A value that is an integer."""
    held = to_host(vm, value)
    return held if type(held) is int else None


def items_of(vm: VM, value: object, span: Span) -> tuple[object, ...] | None:
    """The items of a tuple or list."""
    if isinstance(value, tuple) or isinstance(vm.box(value), ListBox):
        return vm.items_of(value, span)
    return vm.as_items(value, span)


def shape_of(vm: VM, value: object, span: Span) -> tuple[int, ...] | None:
    """A shape: an integer, a tuple or a list of some."""
    size = whole(vm, value)
    if size is not None:
        return (size,) if size >= 0 else None
    items = items_of(vm, value, span)
    if items is None:
        return None
    sizes = [whole(vm, item) for item in items]
    found = tuple(size for size in sizes if size is not None and size >= 0)
    return found if len(found) == len(sizes) else None


def dtype_of(vm: VM, value: object, span: Span) -> str | None:
    """The name of an element type; None if it is not known."""
    if isinstance(value, HostType):
        return _HOST_TYPES.get(value.type)
    if isinstance(value, str):
        return dt.canonical(value)
    found = vm.as_dtype(value, span)
    return found.name if isinstance(found, DType) else None


def axes_of(vm: VM, value: object, rank: int, span: Span) -> tuple[int, ...] | None:
    """One axis or several, counted from the front."""
    number = whole(vm, value)
    items = (value,) if number is not None else items_of(vm, value, span)
    if items is None:
        return None
    numbers = [whole(vm, item) for item in items]
    found = [n + rank if n < 0 else n for n in numbers if n is not None]
    return (
        tuple(found) if len(found) == len(numbers) and all(0 <= n < rank for n in found) else None
    )


def array_of(vm: VM, value: object, span: Span) -> Array | None:
    """An array, or nested lists of numbers as one."""
    if isinstance(value, Array):
        return value
    if value == NUMBER:
        return Array((), None)
    held = to_host(vm, value)
    if isinstance(held, bool):
        return Array((), "bool_")
    if isinstance(held, (int, float)):
        return Array((), "int64" if isinstance(held, int) else "float64")
    items = items_of(vm, value, span)
    if items is None:
        return None
    inner = [array_of(vm, item, span) for item in items]
    if not inner:
        return Array((0,), "float64")
    first = inner[0]
    if first is None or any(one is None or one.shape != first.shape for one in inner):
        return None
    names = {one.dtype for one in inner if one is not None}
    name = names.pop() if len(names) == 1 else "float64" if "float64" in names else None
    return Array((len(inner), *first.shape), name)


__all__ = ["Given", "array_of", "axes_of", "because", "dtype_of", "items_of", "shape_of", "whole"]
