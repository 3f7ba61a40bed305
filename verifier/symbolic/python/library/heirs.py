"""Methods of ``collections`` that make instances of the class that they are asked of.

A method of a built-in type works on the value inside of an instance; these go through the
instance's class instead, as CPython's do.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic.python import hierarchy
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.kinds.states import state_of
from verifier.symbolic.python.model import Class, HostType
from verifier.symbolic.python.vm import VM

_Copy = Callable[..., object]


def _inside(vm: VM, self: object) -> object:
    return getattr(vm.box(self), "payload", self)


def _same(vm: VM, span: Span, self: object, contents: object) -> object:
    """``type(self)(contents)``."""
    return vm.call(vm.type_of(self), (contents,), span=span)


def _entered(vm: VM, span: Span, self: object, contents: object) -> object:
    """``type(self)()`` with the entries one by one."""
    made = vm.call(vm.type_of(self), (), span=span)

    def enter(key: object) -> None:
        vm.set_item(made, key, vm.item(contents, key, span), span)

    vm.iterate(contents, enter, span)
    return made


def _defaulted(vm: VM, span: Span, self: object, contents: object) -> object:
    factory = state_of(vm, _inside(vm, self)).fields["factory"]
    return vm.call(vm.type_of(self), (factory, contents), span=span)


def _limited(vm: VM, span: Span, self: object, contents: object) -> object:
    limit = state_of(vm, _inside(vm, self)).fields["maxlen"]
    args = (contents,) if limit is None else (contents, limit)
    made = vm.call(vm.type_of(self), args, span=span)
    known = vm.type_of(made)
    if isinstance(known, (Class, HostType)) and not hierarchy.derives_from_host(
        known, collections.deque
    ):
        what = vm.kind(made).describe(vm, made)
        vm.fault(TypeError, f"{hierarchy.described(vm.type_of(self))} makes {what}", span)
    return made


def _copying(table: Table, copy: _Copy) -> None:
    @table.add("copy", "__copy__")
    def _copy(vm: VM, span: Span, self: object, /) -> object:
        return copy(vm, span, self, self)


def _uniting(table: Table, make: _Copy) -> None:
    def united(vm: VM, span: Span, self: object, first: object, second: object) -> object:
        for value in (first, second):
            if not hierarchy.derives_from_host(vm.type_of(value), dict):
                return NotImplemented
        made = make(vm, span, self, first)
        vm.call(vm.attribute(made, "update", span), (second,), span=span)
        return made

    @table.add("__or__")
    def _or(vm: VM, span: Span, self: object, other: object, /) -> object:
        return united(vm, span, self, self, other)

    @table.add("__ror__")
    def _ror(vm: VM, span: Span, self: object, other: object, /) -> object:
        return united(vm, span, self, other, self)


def _table(host: type) -> Table:
    return Table(f"{host.__name__}.{hierarchy.HEIR}")


_ORDERED: Final = _table(collections.OrderedDict)
_DEFAULT: Final = _table(collections.defaultdict)
_COUNTER: Final = _table(collections.Counter)
_DEQUE: Final = _table(collections.deque)

_copying(_ORDERED, _entered)
_copying(_DEFAULT, _defaulted)
_copying(_COUNTER, _same)
_copying(_DEQUE, _limited)
_uniting(_ORDERED, _same)
_uniting(_DEFAULT, _defaulted)


@_DEQUE.add("__add__")
def _add(vm: VM, span: Span, self: object, other: object, /) -> object:
    if not hierarchy.derives_from_host(vm.type_of(other), collections.deque):
        return NotImplemented
    made = _limited(vm, span, self, self)
    vm.call(vm.attribute(made, "extend", span), (other,), span=span)
    return made


@_DEQUE.add("__mul__", "__rmul__")
def _mul(vm: VM, span: Span, self: object, other: object, /) -> object:
    return vm.inplace("*", _limited(vm, span, self, self), other, span)


#: what methods of these types ask the instance for, which a class may answer in its own way
_ASKED: Final[dict[type, frozenset[str]]] = {
    collections.Counter: frozenset(
        {"__getitem__", "__setitem__", "__delitem__", "__iter__", "get", "items", "keys", "update"}
    ),
    collections.OrderedDict: frozenset(
        {"__getitem__", "__setitem__", "__delitem__", "__contains__", "__iter__", "keys"}
    ),
    collections.defaultdict: frozenset({"__setitem__"}),
}


def asked_of(vm: VM, cls: Class, host: type) -> str:
    """A method that a class overrides and that those of the built-in type call; else nothing."""
    names = sorted(_ASKED.get(host, ()))
    return next((name for name in names if hierarchy.overrides(vm, cls, name)), "")


METHODS: Final = {t.owner: t for t in (_ORDERED, _DEFAULT, _COUNTER, _DEQUE)}

__all__ = ["METHODS", "asked_of"]
