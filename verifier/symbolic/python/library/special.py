"""Special methods by name: ``[].__len__()``, ``super().__getitem__(k)`` of a built-in type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic.python import hierarchy
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import UNBOUND, ObjectBox
from verifier.symbolic.python.vm import VM

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
    def handler(vm: VM, span: Span, self: object, other: object, /) -> object:
        def one(right: object) -> object:
            right = _content(vm, right)
            if way == "reflected":
                return vm.kind(right).binary(vm, op, right, self, span)
            return getattr(vm.kind(self), way)(vm, op, self, right, span)

        return vm.each(other, one)

    return handler


for _name, _op in _BINARY.items():
    SPECIAL.add(f"__{_name}__")(_operator(_op, "binary"))
    SPECIAL.add(f"__r{_name}__")(_operator(_op, "reflected"))
    SPECIAL.add(f"__i{_name}__")(_operator(_op, "inplace"))
for _name, _op in _COMPARED.items():
    SPECIAL.add(_name)(_operator(_op, "compare"))


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
