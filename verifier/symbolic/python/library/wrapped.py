"""Containers of ``collections`` that are a list or a dictionary with something more.

Each is a :class:`~verifier.symbolic.python.heap.StateBox` whose contents are a list or a
dictionary of its own, so that these have all the operations.
"""

from __future__ import annotations

from typing import Any, ClassVar

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.python import concrete
from verifier.symbolic.python.builtin import Table, method
from verifier.symbolic.python.heap import UNBOUND, StateBox
from verifier.symbolic.python.iteration import Iteration
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.dict_methods import DICT, copied, equal_dicts
from verifier.symbolic.python.kinds.entries import dict_ref, merged, updated
from verifier.symbolic.python.kinds.list_methods import apart
from verifier.symbolic.python.kinds.segments import raises
from verifier.symbolic.python.kinds.states import state_of
from verifier.symbolic.python.model import HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Ref


def contents(vm: VM, value: object) -> Ref:
    """The list or dictionary with what a container holds."""
    inner = state_of(vm, value).fields["entries"]
    assert isinstance(inner, Ref)
    return inner


class Wrapped(Kind[VM]):
    """A container whose contents are a list or a dictionary of its own."""

    complete = True
    host: ClassVar[type] = object
    table: ClassVar[Table]
    #: the methods of the contents that are the container's too
    shared: ClassVar[Table]

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(self.host)

    def describe(self, vm: VM, value: Any) -> str:
        return f"a `{self.host.__name__}`"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        tables = {self.host.__name__: self.table}
        found = method(tables, self.host.__name__, name, value)
        if found is UNBOUND and name in self.shared and hasattr(self.host, name):
            return vm.attribute(contents(vm, value), name, span)
        if found is not UNBOUND:
            return found
        return concrete.host_attribute(vm, value, self.host, name, span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        return vm.item(contents(vm, value), index, span)

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        vm.set_item(contents(vm, value), index, new, span)

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        return vm.compare("in", item, contents(vm, value), span)

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return vm.truth(contents(vm, value), span)

    def length(self, vm: VM, value: Any, span: Span) -> object:
        return vm.length(contents(vm, value), span)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        return vm.iteration(contents(vm, value), span)

    def key(self, vm: VM, value: Any, span: Span) -> object:
        raises(vm, TypeError, f"unhashable type: '{self.type_name}'", span)
        return UNBOUND

    @property
    def type_name(self) -> str:
        module = self.host.__module__
        return f"{module}.{self.host.__name__}" if module != "builtins" else self.host.__name__


# ------------------------------------------------------------------------ dictionaries


class WrappedDict(Wrapped):
    """A dictionary with something more."""

    shared = DICT

    def made(self, vm: VM, like: Ref, entries: Ref) -> Ref:
        """A dictionary of the same kind with other entries."""
        return vm.heap.new(StateBox(self, {**state_of(vm, like).fields, "entries": entries}))

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        other = dict_ref(vm, right)
        if op != "|" or other is None:
            return NotImplemented
        entries = copied(vm, contents(vm, left))
        merged(vm, entries, other, span)
        return self.made(vm, left, entries)

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        other = dict_ref(vm, left)
        if op != "|" or other is None:
            return NotImplemented
        entries = copied(vm, other)
        merged(vm, entries, contents(vm, right), span)
        return self.made(vm, right, entries)

    def inplace(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op != "|":
            return NotImplemented
        apart(vm, right, lambda other: updated(vm, contents(vm, left), other, span))
        return left

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        other = dict_ref(vm, right)
        if op not in ("==", "!=") or other is None:
            return NotImplemented
        same = equal_dicts(vm, contents(vm, left), other, span)
        return same if op == "==" else E.not_(same)
