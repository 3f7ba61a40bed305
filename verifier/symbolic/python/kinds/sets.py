"""Sets. The order in which CPython runs through one is its own affair, but for small integers."""

from __future__ import annotations

from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.python import concrete, keys
from verifier.symbolic.python.builtin import method
from verifier.symbolic.python.heap import UNBOUND, ListBox, SetBox
from verifier.symbolic.python.iteration import Iteration, Live, Runs, Unknown
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.elements import (
    combined,
    compared,
    element,
    listed,
    order_of,
    set_box,
    sought,
    update,
)
from verifier.symbolic.python.kinds.entries import at, has, has_any, present, size
from verifier.symbolic.python.kinds.segments import watch
from verifier.symbolic.python.kinds.set_methods import METHODS
from verifier.symbolic.python.model import DictView, HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Ref


class SetKind(Kind[VM]):
    name = "set"
    complete = True

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(frozenset if set_box(vm, value).frozen else set)

    def describe(self, vm: VM, value: Any) -> str:
        return "a set"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        host = frozenset if set_box(vm, value).frozen else set
        found = method(METHODS, host.__name__, name, value)
        if found is not UNBOUND:
            return found
        return concrete.host_attribute(vm, value, host, name, span)

    def _is_set(self, vm: VM, value: object) -> bool:
        if isinstance(value, DictView):
            return value.which != "values"
        return isinstance(vm.box(value), SetBox)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op not in ("&", "|", "-", "^") or not self._is_set(vm, right):
            return NotImplemented
        return combined(vm, op, left, right, span)

    def inplace(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op not in ("&", "|", "-", "^") or not self._is_set(vm, right):
            return NotImplemented
        if set_box(vm, left).frozen:
            return NotImplemented
        update(vm, op, left, right, span)
        return left

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if not isinstance(vm.box(right), SetBox):
            return NotImplemented
        return compared(vm, op, left, right, span)

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        return vm.each(item, lambda one: self._has(vm, value, one, span))

    def _has(self, vm: VM, value: Ref, item: object, span: Span) -> object:
        return has(vm, set_box(vm, value), sought(vm, item), span)

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return has_any(vm, set_box(vm, value))

    def length(self, vm: VM, value: Any, span: Span) -> object:
        return size(vm, set_box(vm, value))

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        box = set_box(vm, value)
        order = order_of(vm, box)
        if order is None:
            vm.unfollowed("the order of the items of a set is not followed", span)
            return Unknown("a set")
        start = tuple(order)
        if any(present(vm, box.items[key]) is not E.TRUE for key in start):
            return Runs(ListBox(listed(vm, box)), watch(vm, (value,), span))
        return Live(lambda position: at(vm, value, start, position, element, span))

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return keys.key_of(vm, value, span)


KINDS: Final[dict[type, Kind[VM]]] = {SetBox: SetKind()}
