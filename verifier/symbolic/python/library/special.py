"""Special methods by name: ``[].__len__()``, ``super().__getitem__(k)`` of a built-in type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic.python import hierarchy
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import UNBOUND, ObjectBox
from verifier.symbolic.python.kinds.numbers import is_integer, is_number
from verifier.symbolic.python.kinds.protocols import converted
from verifier.symbolic.python.model import HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque

SPECIAL: Final = Table(hierarchy.SPECIAL)

_BINARY: Final = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
    "pow": "**", "lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
_COMPARED: Final = {
    "__eq__": "==", "__ne__": "!=", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">=",
}  # fmt: skip
_UNARY: Final = {"__neg__": "-", "__pos__": "+", "__invert__": "~"}


def _content(vm: VM, value: object) -> object:
    box = vm.box(value)
    if isinstance(box, ObjectBox) and box.payload is not UNBOUND:
        return box.payload
    return value


def _operator(op: str, way: str) -> Callable[..., object]:
    def handler(vm: VM, span: Span, whole: object, other: object, /) -> object:
        self = _content(vm, whole)

        def one(right: object) -> object:
            right = _content(vm, right)
            if op in ("+", "*") and vm.type_of(self) in _SEQUENCES:
                return _of_sequence(vm, op, way, self, right, span)
            if not _takes(self, right):
                return NotImplemented
            kept = op == "%" and way == "reflected" and vm.type_of(self) in _TEXTS
            if kept and vm.type_of(right) != vm.type_of(self):
                return NotImplemented
            if way == "reflected":
                return vm.kind(right).binary(vm, op, right, self, span)
            return getattr(vm.kind(self), way)(vm, op, self, right, span)

        result = vm.each(other, one)
        return whole if way == "inplace" and result == self else result

    return handler


#: which format their own type alone
_TEXTS: Final = tuple(map(HostType, (str, bytes, bytearray)))
#: of which ``+`` and ``*`` raise an error for what they do not take
_SEQUENCES: Final = tuple(map(HostType, (str, bytes, bytearray, tuple, list)))


def _of_sequence(vm: VM, op: str, way: str, self: object, right: object, span: Span) -> object:
    """``+`` and ``*`` of a sequence, which are no arithmetic: nobody else is asked."""
    if op == "*" and isinstance(vm.box(right), ObjectBox):
        right = converted(vm, right, "__index__", span)
    asked = "binary" if way == "reflected" else way
    result = getattr(vm.kind(self), asked)(vm, op, self, right, span)
    if result is NotImplemented and asked == "inplace":
        result = vm.kind(self).binary(vm, op, self, right, span)
    if result is not NotImplemented:
        return result
    if isinstance(right, Opaque):
        return right
    return vm.unsupported(op, self, right, span)


def _takes(self: object, right: object) -> bool:
    """Whether a number's own method takes a number of that type."""
    if isinstance(right, Opaque) or not is_number(self):
        return True
    if is_integer(self):
        return is_integer(right)
    if isinstance(self, complex):
        return is_number(right)
    return is_number(right) and not isinstance(right, complex)


def _power(way: str) -> Callable[..., object]:
    plain = _operator("**", way)

    def handler(
        vm: VM, span: Span, self: object, other: object, modulus: object = None, /
    ) -> object:
        if modulus is not None:
            return vm.unfollowed("a power by its special method with a modulus", span)
        return plain(vm, span, self, other)

    return handler


for _name, _op in _BINARY.items():
    SPECIAL.add(f"__{_name}__")(_operator(_op, "binary"))
    SPECIAL.add(f"__r{_name}__")(_operator(_op, "reflected"))
    SPECIAL.add(f"__i{_name}__")(_operator(_op, "inplace"))
for _name, _op in _COMPARED.items():
    SPECIAL.add(_name)(_operator(_op, "compare"))
for _name, _way in (("__pow__", "binary"), ("__rpow__", "reflected")):
    SPECIAL.add(_name)(_power(_way))


def _unary(op: str) -> Callable[..., object]:
    return lambda vm, span, self, /: vm.unary(op, self, span)


for _name, _op in _UNARY.items():
    SPECIAL.add(_name)(_unary(_op))


@SPECIAL.add("__getitem__")
def _getitem(vm: VM, span: Span, self: object, key: object, /) -> object:
    return vm.item(self, key, span)


@SPECIAL.add("__setitem__")
def _setitem(vm: VM, span: Span, self: object, key: object, value: object, /) -> object:
    vm.set_item(self, key, value, span)
    return None


@SPECIAL.add("__delitem__")
def _delitem(vm: VM, span: Span, self: object, key: object, /) -> object:
    vm.set_item(self, key, UNBOUND, span)
    return None


@SPECIAL.add("__contains__")
def _contains(vm: VM, span: Span, self: object, key: object, /) -> object:
    return vm.compare("in", key, self, span)


@SPECIAL.add("__len__")
def _len(vm: VM, span: Span, self: object, /) -> object:
    return vm.length(self, span)


@SPECIAL.add("__bool__")
def _bool(vm: VM, span: Span, self: object, /) -> object:
    return vm.truth(self, span)


@SPECIAL.add("__iter__")
def _iter(vm: VM, span: Span, self: object, /) -> object:
    return vm.call(vm.language.builtins["iter"], (self,), span=span)


def _builtin(name: str) -> Callable[..., object]:
    return lambda vm, span, self, /: vm.call(vm.language.builtins[name], (self,), span=span)


for _name in ("int", "float", "str", "repr", "hash", "abs", "reversed"):
    SPECIAL.add(f"__{_name}__")(_builtin(_name))
SPECIAL.add("__index__")(_builtin("int"))

METHODS: Final[Mapping[str, Table]] = {hierarchy.SPECIAL: SPECIAL}
