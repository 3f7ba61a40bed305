"""The methods of dictionaries."""

from __future__ import annotations

from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.python import keys
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.choices import choices
from verifier.symbolic.python.heap import UNBOUND, DictBox
from verifier.symbolic.python.kinds.entries import (
    UNSETTLED,
    delete,
    dict_box,
    dict_ref,
    find,
    keyed,
    missing,
    present,
    put,
    size,
    store_each,
    take,
    unknown_key,
    updated,
    writable,
)
from verifier.symbolic.python.kinds.list_methods import apart
from verifier.symbolic.python.model import Class, DictView, HostType
from verifier.symbolic.python.terms import join, presence
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque, Ref

DICT: Final = Table("dict")


@DICT.add("get")
def _get(vm: VM, span: Span, self: Ref, key: object, default: object = None, /) -> object:
    return vm.each(key, lambda k: _got(vm, self, k, default, span))


def _got(vm: VM, ref: Ref, key: object, default: object, span: Span) -> object:
    found = find(vm, dict_box(vm, ref), key, span)
    if found is UNSETTLED:
        return unknown_key(vm, key, "`.get()` of a dictionary", span)
    if present(vm, found) is not E.FALSE:
        keyed(vm, ref, key, span, stored=False)
    return or_default(vm, found, default)


def or_default(vm: VM, found: object, default: object) -> object:
    """What was found, or the default where nothing was."""
    there = present(vm, found)
    if there is E.FALSE:
        return default
    value = vm.settled(found)
    return value if there is E.TRUE else join(there, value, default)


@DICT.add("setdefault")
def _setdefault(vm: VM, span: Span, self: Ref, key: object, default: object = None, /) -> object:
    def one(index: object) -> object:
        found = find(vm, dict_box(vm, self), index, span)
        host = keys.key_of(vm, index, span)
        if found is UNSETTLED or (host is UNBOUND and present(vm, found) is not E.TRUE):
            told = choices(vm, index)
            if told is not None:
                return vm.apart(told, one)
            return unknown_key(vm, index, "`.setdefault()` of a dictionary", span)
        value = or_default(vm, found, default)
        keyed(vm, self, index, span)
        if host is not UNBOUND and presence(found) is not E.TRUE:
            put(writable(vm, self, span), host, value)
        return value

    return apart(vm, key, one)


class _Absent:
    """No default is given."""


_ABSENT: Final = _Absent()


@DICT.add("pop")
def _pop(vm: VM, span: Span, self: Ref, key: object, default: object = _ABSENT, /) -> object:
    return apart(vm, key, lambda index: popped(vm, self, index, default, span))


def popped(vm: VM, ref: Ref, index: object, default: object, span: Span) -> object:
    """``ref.pop(index)``, with a default if one is given."""
    empty = E.eq(size(vm, dict_box(vm, ref)), 0)
    if default is _ABSENT:
        # an empty dictionary does not ask for the key's hash: CPython's dict.pop
        vm.fault(KeyError, "pop from an empty dictionary", span, when=empty, args=(index,))
        return delete(vm, ref, index, span)
    if empty is E.TRUE:
        return default
    found = find(vm, dict_box(vm, ref), index, span)
    if found is UNSETTLED:
        return unknown_key(vm, index, "an entry of a dictionary is taken out", span)
    if found is not UNBOUND:
        take(vm, writable(vm, ref, span), index, span)
    return or_default(vm, found, default)


@DICT.add("popitem")
def _popitem(vm: VM, span: Span, self: Ref, /) -> object:
    return pop_end(vm, self, True, span)


def pop_end(vm: VM, ref: Ref, last: bool, span: Span) -> object:
    """Take out the entry that was inserted last, or first."""
    box = dict_box(vm, ref)
    empty = "popitem(): dictionary is empty"
    vm.fault(KeyError, empty, span, when=E.eq(size(vm, box), 0), args=(empty,))
    there = [key for key, value in box.items.items() if present(vm, value) is not E.FALSE]
    key = there[-1 if last else 0]
    if present(vm, box.items[key]) is not E.TRUE or (box.shuffled and len(there) > 1):
        return vm.unfollowed("which entry of a dictionary is last depends on the path", span)
    value = vm.settled(box.items[key])
    target = writable(vm, ref, span)
    target.removed += 1
    del target.items[key]
    return (keys.value_of(key), value)


@DICT.add("clear")
def _clear(vm: VM, span: Span, self: Ref, /) -> object:
    box = writable(vm, self, span)
    box.items, box.shuffled, box.removed = {}, False, box.removed + 1
    return None


@DICT.add("copy")
def _copy(vm: VM, span: Span, self: Ref, /) -> object:
    return copied(vm, self)


def copied(vm: VM, ref: Ref) -> Ref:
    """A dictionary with the same entries."""
    box = dict_box(vm, ref)
    return vm.heap.new(DictBox(dict(box.items), box.shuffled))


@DICT.add("update")
def _update(vm: VM, span: Span, self: Ref, other: object = (), /, **more: object) -> object:
    apart(vm, other, lambda value: updated(vm, self, value, span))
    for name, value in more.items():
        put(writable(vm, self, span), name, value)
    return None


@DICT.add("keys")
def _keys(vm: VM, span: Span, self: Ref, /) -> object:
    return DictView(self, "keys", next(vm.heap.ids))


@DICT.add("values")
def _values(vm: VM, span: Span, self: Ref, /) -> object:
    return DictView(self, "values", next(vm.heap.ids))


@DICT.add("items")
def _items(vm: VM, span: Span, self: Ref, /) -> object:
    return DictView(self, "items", next(vm.heap.ids))


@DICT.add("fromkeys")
def _fromkeys(
    vm: VM, span: Span, self: object, iterable: object, value: object = None, /
) -> object:
    cls = self if isinstance(self, (Class, HostType)) else vm.type_of(self)
    if cls == HostType(dict):
        return from_keys(vm, iterable, value, span)
    made = vm.call(cls, (), span=span)
    vm.iterate(iterable, lambda key: vm.set_item(made, key, value, span), span)
    return made


def from_keys(vm: VM, iterable: object, value: object, span: Span) -> object:
    """``dict.fromkeys(iterable, value)``."""
    ref = vm.heap.new(DictBox())
    vm.iterate(iterable, lambda key: store_each(vm, ref, key, value, span), span)
    return ref


@DICT.add("__reversed__")
def _reversed(vm: VM, span: Span, self: Ref, /) -> object:
    return vm.call(vm.language.builtins["reversed"], (self,), span=span)


def pairs_equal(vm: VM, a: object, b: object, span: Span) -> E.Bool:
    """Whether two entries are both there and equal, or both not there."""
    here, there = present(vm, a), present(vm, b)
    neither = E.and_(E.not_(here), E.not_(there))
    both = E.and_(here, there)
    if vm.decide(both) is False:
        return neither
    same = vm.truth(
        vm.fork(both, lambda: vm.equal(vm.settled(a), vm.settled(b), span), lambda: E.FALSE),
        span,
    )
    return E.or_(neither, E.and_(both, same))


def equal_dicts(vm: VM, left: Ref, right: Ref, span: Span) -> E.Bool:
    """``left == right`` of dictionaries."""
    if left.id == right.id:
        return E.TRUE
    a, b = dict_box(vm, left), dict_box(vm, right)
    result = E.eq(size(vm, a), size(vm, b))
    for key in dict.fromkeys([*a.items, *b.items]):
        if vm.decide(result) is False:
            return E.FALSE
        x, y = a.items.get(key, UNBOUND), b.items.get(key, UNBOUND)
        result = E.and_(result, pairs_equal(vm, x, y, span))
    return result


__all__ = [
    "DICT",
    "Opaque",
    "copied",
    "dict_ref",
    "equal_dicts",
    "from_keys",
    "missing",
    "or_default",
    "pop_end",
    "popped",
]
