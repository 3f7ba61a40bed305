"""Dictionaries and their views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.python import concrete, keys
from verifier.symbolic.python.builtin import Table, method
from verifier.symbolic.python.heap import UNBOUND, DictBox, ListBox, ObjectBox, SetBox
from verifier.symbolic.python.iteration import Iteration
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds import elements
from verifier.symbolic.python.kinds.dict_methods import DICT, copied, equal_dicts
from verifier.symbolic.python.kinds.entries import (
    UNSETTLED,
    dict_box,
    dict_ref,
    entry,
    find,
    has,
    has_any,
    iteration,
    listed,
    merged,
    present,
    size,
    store,
    updated,
)
from verifier.symbolic.python.kinds.list_methods import apart
from verifier.symbolic.python.kinds.segments import values_in
from verifier.symbolic.python.kinds.tuples import contains
from verifier.symbolic.python.model import DictView, HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Ref

KEYS: Final = Table("dict_keys")
VALUES: Final = Table("dict_values")
ITEMS: Final = Table("dict_items")
METHODS: Final = {"dict": DICT, "dict_keys": KEYS, "dict_values": VALUES, "dict_items": ITEMS}


class DictKind(Kind[VM]):
    name = "dict"
    complete = True

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(dict)

    def describe(self, vm: VM, value: Any) -> str:
        return "a dictionary"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        found = method(METHODS, "dict", name, value)
        if found is not UNBOUND:
            return found
        return concrete.host_attribute(vm, value, dict, name, span)

    def as_named(self, vm: VM, value: Any, span: Span) -> Mapping[str, object] | None:
        box = vm.heap.get(value.id)
        assert isinstance(box, DictBox)
        named = {key: held for key, held in box.items.items() if isinstance(key, str)}
        return named if len(named) == len(box.items) else None

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        return entry(vm, value, index, span)

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        store(vm, value, index, new, span)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        other = dict_ref(vm, right)
        if op != "|" or other is None:
            return NotImplemented
        made = copied(vm, left)
        merged(vm, made, other, span)
        return made

    def inplace(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op != "|":
            return NotImplemented
        apart(vm, right, lambda other: updated(vm, left, other, span))
        return left

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        other = dict_ref(vm, right)
        if op not in ("==", "!=") or other is None:
            return NotImplemented
        same = equal_dicts(vm, left, other, span)
        return same if op == "==" else E.not_(same)

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        return vm.each(item, lambda index: has(vm, dict_box(vm, value), index, span))

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return has_any(vm, dict_box(vm, value))

    def length(self, vm: VM, value: Any, span: Span) -> object:
        return size(vm, dict_box(vm, value))

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        return iteration(vm, value, element_of("keys"), span)


# ------------------------------------------------------------------------ views


def element_of(which: str) -> Any:
    """What a view of that kind shows of an entry."""
    if which == "keys":
        return lambda key, value: keys.value_of(key)
    if which == "values":
        return lambda key, value: value
    return lambda key, value: (keys.value_of(key), value)


_TYPES: Final = {"keys": type({}.keys()), "values": type({}.values()), "items": type({}.items())}


class ViewKind(Kind[VM]):
    """``d.keys()``, ``d.values()``, ``d.items()``: what the dictionary has now."""

    name = "dict_keys"
    complete = True

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(_TYPES[value.which])

    def describe(self, vm: VM, value: Any) -> str:
        return f"the {value.which} of a dictionary"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        found = method(METHODS, f"dict_{value.which}", name, value)
        if found is not UNBOUND:
            return found
        return concrete.host_attribute(vm, value, _TYPES[value.which], name, span)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if left.which == "values" or op not in ("&", "|", "-", "^"):
            return NotImplemented
        if op in ("&", "^") and _has_unhashable(vm, left):
            return vm.unfollowed(f"`{op}` of entries that cannot be in a set", span)
        return elements.combined(vm, op, as_set(vm, left, span), right, span)

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        if right.which == "values" or op not in ("&", "|", "-", "^"):
            return NotImplemented
        made = elements.made(vm, left, span)
        return elements.combined(vm, op, made, as_set(vm, right, span), span)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if left.which == "values":
            return NotImplemented
        other = right
        is_view = isinstance(right, DictView) and right.which != "values"
        if not is_view and not isinstance(vm.box(other), SetBox):
            return NotImplemented
        items = tuple(_listed(vm, value) for value in (left, right))
        if items[0] is not None and items[1] is not None:
            return _compared(vm, op, (left, right), items, span)
        if isinstance(right, DictView):
            other = as_set(vm, right, span)
        return elements.compared(vm, op, as_set(vm, left, span), other, span)

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        box = dict_box(vm, value.ref)
        if value.which == "keys":
            return vm.each(item, lambda index: has(vm, box, index, span))
        if value.which == "items":
            return vm.each(item, lambda pair: _has_pair(vm, box, pair, span))
        values = values_in(listed(vm, box, element_of("values")))
        if values is None:
            return vm.unfollowed("whether a dictionary has a value on some paths only", span)
        return contains(vm, values, item, span)

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return has_any(vm, dict_box(vm, value.ref))

    def length(self, vm: VM, value: Any, span: Span) -> object:
        return size(vm, dict_box(vm, value.ref))

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        return iteration(vm, value.ref, element_of(value.which), span)

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return value if value.which == "values" else keys.key_of(vm, value, span)


def _listed(vm: VM, value: object) -> list[object] | None:
    """What a view or a set shows, if all of it is there on every path."""
    which = value.which if isinstance(value, DictView) else "keys"
    box = vm.box(value.ref if isinstance(value, DictView) else value)
    assert isinstance(box, (DictBox, SetBox))
    if any(present(vm, item) is not E.TRUE for item in box.items.values()):
        return None
    element = element_of(which)
    return [element(key, vm.settled(item)) for key, item in box.items.items()]


def _compared(
    vm: VM, op: str, sides: tuple[object, object], items: Sequence[Any], span: Span
) -> object:
    """Compare as CPython does: by number, then item by item whether the other one has it."""
    if op == "!=":
        same = _compared(vm, "==", sides, items, span)
        return E.not_(vm.truth(same, span))
    lengths = tuple(map(len, items))
    if op in (">", ">="):
        return _compared(vm, "<" if op == ">" else "<=", sides[::-1], items[::-1], span)
    if not {"==": lengths[0] == lengths[1], "<": lengths[0] < lengths[1]}.get(
        op, lengths[0] <= lengths[1]
    ):
        return E.FALSE
    result = E.TRUE
    for item in items[0]:
        if vm.decide(result) is False:
            return E.FALSE
        found = vm.fork(
            result,
            lambda item=item: vm.truth(vm.compare("in", item, sides[1], span), span),  # type: ignore[misc]
            lambda: E.FALSE,
        )
        result = E.and_(result, found)
    return result


def _has_unhashable(vm: VM, view: DictView) -> bool:
    """Whether there may be values that cannot be in a set."""
    if view.which != "items":
        return False
    values = dict_box(vm, view.ref).items.values()
    return any(isinstance(vm.box(value), (ListBox, DictBox, SetBox, ObjectBox)) for value in values)


def _has_pair(vm: VM, box: DictBox, pair: object, span: Span) -> object:
    if not isinstance(pair, tuple) or len(pair) != 2:
        return E.FALSE
    found = find(vm, box, pair[0], span)
    if found is UNSETTLED:
        return vm.unknown_bool("whether an entry with a symbolic key is there", span)
    there = present(vm, found)
    if there is E.FALSE:
        return E.FALSE
    return E.and_(there, vm.equal(vm.settled(found), pair[1], span))


def as_set(vm: VM, view: DictView, span: Span) -> Ref:
    """The set of what a view of keys or items shows."""
    ref = vm.heap.new(SetBox())
    element = element_of(view.which)
    for key, value in list(dict_box(vm, view.ref).items.items()):
        there = present(vm, value)
        if there is not E.FALSE:
            elements.entered(vm, ref, element(key, vm.settled(value)), there, span)
    return ref


def _protocol(table: Table) -> None:
    @table.add("__len__")
    def _length(vm: VM, span: Span, self: object, /) -> object:
        return vm.length(self, span)

    @table.add("__iter__")
    def _iter(vm: VM, span: Span, self: object, /) -> object:
        return vm.call(vm.language.builtins["iter"], (self,), span=span)

    @table.add("__reversed__")
    def _reversed(vm: VM, span: Span, self: object, /) -> object:
        return vm.call(vm.language.builtins["reversed"], (self,), span=span)

    if table is VALUES:
        return

    @table.add("__contains__")
    def _contains(vm: VM, span: Span, self: object, key: object, /) -> object:
        return vm.compare("in", key, self, span)

    @table.add("isdisjoint")
    def _isdisjoint(vm: VM, span: Span, self: DictView, other: object, /) -> object:
        if _has_unhashable(vm, self):
            return vm.unfollowed("`isdisjoint()` of entries that cannot be in a set", span)
        method = vm.attribute(as_set(vm, self, span), "isdisjoint", span)
        return vm.call(method, (other,), span=span)


for _table in (KEYS, VALUES, ITEMS):
    _protocol(_table)

KINDS: Final[dict[type, Kind[VM]]] = {DictBox: DictKind(), DictView: ViewKind()}

__all__ = ["KINDS", "METHODS", "DictKind", "ListBox", "as_set", "element_of"]
