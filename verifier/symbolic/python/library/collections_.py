"""``collections``: ``OrderedDict``, ``defaultdict``, and the tables of the module."""

from __future__ import annotations

import collections
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.python import keys
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import UNBOUND, DictBox, StateBox
from verifier.symbolic.python.kinds.dict_methods import DICT, copied, pop_end
from verifier.symbolic.python.kinds.entries import (
    UNSETTLED,
    dict_box,
    find,
    missing,
    present,
    put,
    store,
    unknown_key,
    updated,
    writable,
)
from verifier.symbolic.python.kinds.list_methods import apart
from verifier.symbolic.python.kinds.states import change, state_of
from verifier.symbolic.python.library.deques import DEQUE, new_deque
from verifier.symbolic.python.library.wrapped import WrappedDict, contents
from verifier.symbolic.python.model import Builtin, HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Ref

ORDERED: Final = Table("OrderedDict")
DEFAULT: Final = Table("defaultdict")


class Ordered(WrappedDict):
    host = collections.OrderedDict
    table = ORDERED

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        same = super().compare(vm, op, left, right, span)
        box = vm.box(right)
        if same is NotImplemented or not (isinstance(box, StateBox) and box.kind is self):
            return same
        a, b = dict_box(vm, contents(vm, left)), dict_box(vm, contents(vm, right))
        certain = all(present(vm, v) is E.TRUE for v in (*a.items.values(), *b.items.values()))
        if a.shuffled or b.shuffled or not certain:
            vm.unfollowed("the order of dictionaries that are compared", span)
            return same
        if list(a.items) == list(b.items):
            return same
        return E.truth(op == "!=")


ORDERED_KIND: Final = Ordered()


def _ordered(vm: VM, span: Span, iterable: object = (), /, **more: object) -> object:
    entries = vm.heap.new(DictBox())
    apart(vm, iterable, lambda value: updated(vm, entries, value, span))
    for name, value in more.items():
        put(writable(vm, entries, span), name, value)
    return vm.heap.new(StateBox(ORDERED_KIND, {"entries": entries}))


@ORDERED.add("move_to_end")
def _move_to_end(vm: VM, span: Span, self: Ref, /, key: object, last: object = True) -> object:
    end = vm.decide(vm.truth(last, span))
    host = keys.key_of(vm, vm.settled(key), span)
    entries = contents(vm, self)
    if end is None or host is UNBOUND:
        return vm.unfollowed("which entry is moved to the end is not followed", span)
    found = dict_box(vm, entries).items.get(host, UNBOUND)
    missing(vm, key, found, span)
    box = writable(vm, entries, span)
    own = next(k for k in box.items if k == host)
    value = box.items.pop(host)
    box.items = {**box.items, own: value} if end else {own: value, **box.items}
    return None


@ORDERED.add("popitem")
def _popitem(vm: VM, span: Span, self: Ref, /, last: object = True) -> object:
    end = vm.decide(vm.truth(last, span))
    if end is None:
        return vm.unfollowed("which end an entry is taken from is not followed", span)
    return pop_end(vm, contents(vm, self), end, span)


@ORDERED.add("copy", "__copy__")
def _copy_ordered(vm: VM, span: Span, self: Ref, /) -> object:
    return ORDERED_KIND.made(vm, self, copied(vm, contents(vm, self)))


@ORDERED.add("fromkeys")
def _fromkeys(vm: VM, span: Span, cls: object, /, iterable: object, value: object = None) -> object:
    return DICT["fromkeys"].handler(vm, span, cls, iterable, value)


@ORDERED.add("__reversed__")
def _reversed(vm: VM, span: Span, self: Ref, /) -> object:
    return vm.call(vm.language.builtins["reversed"], (contents(vm, self),), span=span)


# ------------------------------------------------------------------------ defaultdict


class Default(WrappedDict):
    host = collections.defaultdict
    table = DEFAULT

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name == "default_factory":
            return state_of(vm, value).fields["factory"]
        return super().attribute(vm, value, name, span)

    def set_attribute(self, vm: VM, value: Any, name: str, new: object, span: Span) -> None:
        if name == "default_factory":
            change(vm, value, span, factory=None if new is UNBOUND else new)
            return
        super().set_attribute(vm, value, name, new, span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        entries = contents(vm, value)
        found = find(vm, dict_box(vm, entries), index, span)
        if found is UNSETTLED:
            return unknown_key(vm, index, "an item of a dictionary", span)
        return vm.fork(
            present(vm, found),
            lambda: vm.settled(found),
            lambda: self.missing(vm, value, index, span),
        )

    def missing(self, vm: VM, value: Ref, index: object, span: Span) -> object:
        """What a key gets that is not there."""
        factory = state_of(vm, value).fields["factory"]
        if factory is None:
            missing(vm, index, UNBOUND, span)
        made = vm.call(factory, (), span=span)
        store(vm, contents(vm, value), index, made, span)
        return made


DEFAULT_KIND: Final = Default()


def _default(
    vm: VM, span: Span, factory: object = None, iterable: object = (), /, **more: object
) -> object:
    if factory is not None:
        known = vm.truth(vm.call(vm.language.builtins["callable"], (factory,), span=span), span)
        message = "first argument must be callable or None"
        vm.fault(TypeError, message, span, when=E.not_(known))
    entries = vm.heap.new(DictBox())
    apart(vm, iterable, lambda value: updated(vm, entries, value, span))
    for name, value in more.items():
        put(writable(vm, entries, span), name, value)
    return vm.heap.new(StateBox(DEFAULT_KIND, {"entries": entries, "factory": factory}))


@DEFAULT.add("copy", "__copy__")
def _copy_default(vm: VM, span: Span, self: Ref, /) -> object:
    return DEFAULT_KIND.made(vm, self, copied(vm, contents(vm, self)))


@DEFAULT.add("__missing__")
def _missing(vm: VM, span: Span, self: Ref, key: object, /) -> object:
    return DEFAULT_KIND.missing(vm, self, key, span)


CONSTRUCTORS: Final[dict[type, Builtin]] = {
    collections.deque: Builtin.of("deque", new_deque),
    collections.OrderedDict: Builtin.of("OrderedDict", _ordered),
    collections.defaultdict: Builtin.of("defaultdict", _default),
}
METHODS: Final = {"deque": DEQUE, "OrderedDict": ORDERED, "defaultdict": DEFAULT}
NAMES: Final[dict[str, object]] = {host.__name__: HostType(host) for host in CONSTRUCTORS}
