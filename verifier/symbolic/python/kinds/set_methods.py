"""The methods of sets and frozen sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.python import keys
from verifier.symbolic.python.builtin import Handler, Table
from verifier.symbolic.python.heap import UNBOUND, SetBox
from verifier.symbolic.python.kinds.elements import (
    combination,
    entered,
    made,
    set_box,
    sought,
    subset,
    update,
    writable,
)
from verifier.symbolic.python.kinds.entries import has, has_any, present, take
from verifier.symbolic.python.kinds.list_methods import apart
from verifier.symbolic.python.terms import presence
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Ref

SET: Final = Table("set")
FROZENSET: Final = Table("frozenset")
METHODS: Final = {"set": SET, "frozenset": FROZENSET}


def _both(name: str) -> Callable[[Handler], Handler]:
    """Enter a method that sets and frozen sets have."""

    def enter(handler: Handler) -> Handler:
        SET.add(name)(handler)
        return FROZENSET.add(name)(handler)

    return enter


def _gathered(vm: VM, op: str, ref: Ref, others: tuple[object, ...], span: Span) -> object:
    box = set_box(vm, ref)
    result = vm.heap.new(SetBox(dict(box.items)))
    for other in others:
        update(vm, op, result, other, span)
    writable(vm, result, span).frozen = box.frozen
    return result


@_both("union")
def _union(vm: VM, span: Span, self: Ref, /, *others: object) -> object:
    return _gathered(vm, "|", self, others, span)


@_both("intersection")
def _intersection(vm: VM, span: Span, self: Ref, /, *others: object) -> object:
    return _gathered(vm, "&", self, others, span)


@_both("difference")
def _difference(vm: VM, span: Span, self: Ref, /, *others: object) -> object:
    return _gathered(vm, "-", self, others, span)


@_both("symmetric_difference")
def _symmetric(vm: VM, span: Span, self: Ref, other: object, /) -> object:
    return _gathered(vm, "^", self, (other,), span)


@_both("issubset")
def _issubset(vm: VM, span: Span, self: Ref, other: object, /) -> object:
    return subset(vm, set_box(vm, self), set_box(vm, made(vm, other, span)))


@_both("issuperset")
def _issuperset(vm: VM, span: Span, self: Ref, other: object, /) -> object:
    return subset(vm, set_box(vm, made(vm, other, span)), set_box(vm, self))


@_both("isdisjoint")
def _isdisjoint(vm: VM, span: Span, self: Ref, other: object, /) -> object:
    common = combination(vm, "&", set_box(vm, self), set_box(vm, made(vm, other, span)))
    return E.not_(E.or_(*(presence(value) for value in common.values())))


@_both("copy")
def _copy(vm: VM, span: Span, self: Ref, /) -> object:
    box = set_box(vm, self)
    return self if box.frozen else vm.heap.new(SetBox(dict(box.items)))


@SET.add("add")
def _add(vm: VM, span: Span, self: Ref, item: object, /) -> object:
    entered(vm, self, item, E.TRUE, span)
    return None


@SET.add("discard")
def _discard(vm: VM, span: Span, self: Ref, item: object, /) -> object:
    apart(vm, item, lambda one: _taken(vm, self, one, span))
    return None


@SET.add("remove")
def _remove(vm: VM, span: Span, self: Ref, item: object, /) -> object:
    def one(value: object) -> None:
        there = _taken(vm, self, value, span)
        if there is not None:
            vm.fault(KeyError, repr(value), span, when=E.not_(there), args=(value,))

    apart(vm, item, one)
    return None


def _taken(vm: VM, ref: Ref, item: object, span: Span) -> Bool | None:
    """Take an item out; whether it was there, None: nobody knows."""
    box = set_box(vm, ref)
    item = sought(vm, item)
    key = keys.key_of(vm, item, span)
    if key is UNBOUND and keys.matches(vm, box.items, item, span) is None:
        vm.unfollowed("a set loses a symbolic element", span)
        return None
    there = has(vm, box, item, span)
    take(vm, writable(vm, ref, span), item, span)
    return there


@SET.add("pop")
def _pop(vm: VM, span: Span, self: Ref, /) -> object:
    box = set_box(vm, self)
    empty = "pop from an empty set"
    vm.fault(KeyError, empty, span, when=E.not_(has_any(vm, box)), args=(empty,))
    there = [key for key, value in box.items.items() if present(vm, value) is not E.FALSE]
    if len(there) != 1 or present(vm, box.items[there[0]]) is not E.TRUE:
        return vm.unfollowed("which item a set gives up is not followed", span)
    writable(vm, self, span).items = {}
    return keys.value_of(there[0])


@SET.add("clear")
def _clear(vm: VM, span: Span, self: Ref, /) -> object:
    writable(vm, self, span).items = {}
    return None


@SET.add("update")
def _update(vm: VM, span: Span, self: Ref, /, *others: object) -> object:
    for other in others:
        update(vm, "|", self, other, span)
    return None


@SET.add("intersection_update")
def _intersection_update(vm: VM, span: Span, self: Ref, /, *others: object) -> object:
    for other in others:
        update(vm, "&", self, other, span)
    return None


@SET.add("difference_update")
def _difference_update(vm: VM, span: Span, self: Ref, /, *others: object) -> object:
    for other in others:
        update(vm, "-", self, other, span)
    return None


@SET.add("symmetric_difference_update")
def _symmetric_update(vm: VM, span: Span, self: Ref, other: object, /) -> object:
    update(vm, "^", self, other, span)
    return None
