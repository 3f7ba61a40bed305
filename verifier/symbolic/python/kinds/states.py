"""Objects with a fixed set of named fields: each behaves as the kind that it holds says."""

from __future__ import annotations

from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic.expr import Bool
from verifier.symbolic.machine import Call
from verifier.symbolic.python.heap import StateBox
from verifier.symbolic.python.iteration import Iteration
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Ref


def state_of(vm: VM, ref: object) -> StateBox:
    """The state of an object, to read."""
    box = vm.box(ref)
    assert isinstance(box, StateBox)
    return box


def field(vm: VM, ref: object, name: str) -> object:
    return state_of(vm, ref).fields[name]


def change(vm: VM, ref: Ref, span: Span, **fields: object) -> None:
    """Change fields of an object."""
    box = vm.write(ref, span)
    assert isinstance(box, StateBox)
    box.fields.update(fields)


class StateKind(Kind[VM]):
    """Asks the kind in the box."""

    complete = True

    def _of(self, vm: VM, value: object) -> Kind[VM]:
        kind = state_of(vm, value).kind
        assert isinstance(kind, Kind)
        return kind

    def type_of(self, vm: VM, value: Any) -> object:
        return self._of(vm, value).type_of(vm, value)

    def describe(self, vm: VM, value: Any) -> str:
        return self._of(vm, value).describe(vm, value)

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        return self._of(vm, value).attribute(vm, value, name, span)

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        self._of(vm, value).set_attribute(vm, value, name, new, span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        return self._of(vm, value).item(vm, value, index, span)

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        self._of(vm, value).set_item(vm, value, index, new, span)

    def unary(self, vm: VM, op: str, value: Any, span: Span) -> object:
        return self._of(vm, value).unary(vm, op, value, span)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        return self._of(vm, left).binary(vm, op, left, right, span)

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        return self._of(vm, right).reflected(vm, op, right, left, span)

    def inplace(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        return self._of(vm, left).inplace(vm, op, left, right, span)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        return self._of(vm, left).compare(vm, op, left, right, span)

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        return self._of(vm, value).contains(vm, value, item, span)

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return self._of(vm, value).truth(vm, value, span)

    def length(self, vm: VM, value: Any, span: Span) -> object:
        return self._of(vm, value).length(vm, value, span)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        return self._of(vm, value).iterate(vm, value, span)

    def call(self, vm: VM, value: Any, call: Call) -> object:
        return self._of(vm, value).call(vm, value, call)

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return self._of(vm, value).key(vm, value, span)

    def text(self, vm: VM, value: Any, how: str, span: Span) -> object:
        return self._of(vm, value).text(vm, value, how, span)

    def as_items(self, vm: VM, value: Any, span: Span) -> tuple[object, ...] | None:
        return self._of(vm, value).as_items(vm, value, span)


KINDS: Final[dict[type, Kind[VM]]] = {StateBox: StateKind()}
