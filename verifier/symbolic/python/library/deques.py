"""``collections.deque``: a list of its own, which may be limited in length."""

from __future__ import annotations

import collections
from typing import Any, ClassVar, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python.attempts import attempt
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import UNBOUND, ListBox, Segment, StateBox
from verifier.symbolic.python.iteration import Iteration, Live
from verifier.symbolic.python.kinds.list_methods import LIST, apart, list_box
from verifier.symbolic.python.kinds.list_methods import store as store_list
from verifier.symbolic.python.kinds.segments import (
    as_list,
    index_of,
    raises,
    segments_of,
    values_in,
)
from verifier.symbolic.python.kinds.sources import (
    OwnIterator,
    ReverseIterator,
    SequenceIterator,
)
from verifier.symbolic.python.kinds.states import change, field, state_of
from verifier.symbolic.python.library.wrapped import Wrapped, contents
from verifier.symbolic.python.model import HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Ref, SliceValue

DEQUE: Final = Table("deque")


class Deque(Wrapped, OwnIterator):
    host = collections.deque
    table = DEQUE
    shared = LIST

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name == "maxlen":
            return state_of(vm, value).fields["maxlen"]
        return super().attribute(vm, value, name, span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        if isinstance(index, SliceValue):
            raises(vm, TypeError, "sequence index must be integer, not 'slice'", span)
        return super().item(vm, value, index, span)

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        if isinstance(index, SliceValue):
            raises(vm, TypeError, "sequence index must be integer, not 'slice'", span)
        super().set_item(vm, value, index, new, span)
        if new is UNBOUND:
            changed(vm, value, span)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        way = super().iterate(vm, value, span)
        if not isinstance(way, Live):
            return way
        start, items = changes(vm, value), way.at

        def at(position: int) -> object:
            raises(vm, RuntimeError, _MUTATED, span, E.ne(changes(vm, value), start))
            return items(position)

        return Live(at)

    def iterator(self, vm: VM, value: Any, reverse: bool, span: Span) -> object:
        kind, first = (_BACKWARDS, -1) if reverse else (_FORWARDS, 0)
        source = contents(vm, value)
        start = list_box(vm, source).length + first if reverse else E.const(first)
        made = {"source": source, "deque": value, "start": changes(vm, value), "done": False}
        return kind.make(vm, position=start, **made)

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        before = list_box(vm, contents(vm, value)).segments
        found = super().contains(vm, value, item, span)
        if list_box(vm, contents(vm, value)).segments != before:
            return vm.unfollowed("a deque that is changed while it is searched", span)
        return found

    def _other(self, vm: VM, value: object) -> Ref | None:
        box = vm.box(value)
        return contents(vm, value) if isinstance(box, StateBox) and box.kind is self else None

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        other = self._other(vm, right)
        if op == "+" and other is not None:
            made = self._copy(vm, left)
            _extended(vm, made, other, span)
            return made
        if op == "*" and other is None and index_of(vm, right, span) is not None:
            made = self._copy(vm, left)
            self.inplace(vm, op, made, right, span)
            return made
        return NotImplemented

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        return self.binary(vm, op, right, left, span) if op == "*" else NotImplemented

    def _copy(self, vm: VM, value: Ref) -> Ref:
        segments = list_box(vm, contents(vm, value)).segments
        return make_deque(vm, segments, state_of(vm, value).fields["maxlen"])

    def inplace(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op == "+":
            _extended(vm, left, right, span)
            return left
        if op == "*" and index_of(vm, right, span) is not None:
            vm.inplace("*", contents(vm, left), right, span)
            changed(vm, left, span)
            _shortened(vm, left, False, span)
            return left
        return NotImplemented

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        other = self._other(vm, right)
        if other is None:
            return NotImplemented
        return vm.compare(op, contents(vm, left), other, span)


DEQUE_KIND: Final = Deque()


class DequeIterator(SequenceIterator):
    """``iter()`` of a deque, which must not get more or fewer items meanwhile.

    ``deque`` is asked for its number of changes, which was ``start``.
    """

    host: ClassVar[type] = type(iter(collections.deque()))

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(self.host)

    def changed(self, vm: VM, ref: Ref) -> Bool:
        start = field(vm, ref, "start")
        assert isinstance(start, Expr)
        return E.ne(changes(vm, field(vm, ref, "deque")), start)

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        raises(vm, RuntimeError, _MUTATED, span, self.changed(vm, ref))
        return super().advance(vm, ref, span)

    def rest(self, vm: VM, ref: Ref, span: Span) -> tuple[Segment, ...] | None:
        if vm.decide(self.changed(vm, ref)) is not False:
            return None
        return super().rest(vm, ref, span)


class ReverseDequeIterator(DequeIterator, ReverseIterator):
    """``reversed()`` of a deque."""

    host: ClassVar[type] = type(reversed(collections.deque()))

    def advance(self, vm: VM, ref: Ref, span: Span) -> object:
        return UNBOUND if field(vm, ref, "done") is True else super().advance(vm, ref, span)


_FORWARDS: Final = DequeIterator()
_BACKWARDS: Final = ReverseDequeIterator()
#: what CPython says of a deque that changes under its iterator
_MUTATED: Final = "deque mutated during iteration"


def changes(vm: VM, value: object) -> Expr:
    """How often a deque has got more or fewer items, or others at their places."""
    found = field(vm, value, "changes")
    assert isinstance(found, Expr)
    return found


def changed(vm: VM, ref: Ref, span: Span, times: Expr | int = 1) -> None:
    """Note a change of a deque."""
    change(vm, ref, span, changes=changes(vm, ref) + times)


def make_deque(vm: VM, segments: tuple[Segment, ...], maxlen: object) -> Ref:
    inner = as_list(vm, segments)
    return vm.heap.new(
        StateBox(DEQUE_KIND, {"entries": inner, "maxlen": maxlen, "changes": E.const(0)})
    )


def new_deque(vm: VM, span: Span, /, iterable: object = (), maxlen: object = None) -> object:
    limit: object = None
    if maxlen is not None:
        limit = index_of(vm, vm.settled(maxlen), span)
        if limit is None:
            raises(vm, TypeError, "an integer is required", span)
            return vm.unfollowed("the length of a deque is not followed", span)
        assert isinstance(limit, Expr)
        raises(vm, ValueError, "maxlen must be non-negative", span, E.lt(limit, 0))
    made = make_deque(vm, (), limit)
    _extended(vm, made, iterable, span)
    return made


def _extended(vm: VM, ref: Ref, iterable: object, span: Span) -> None:
    def one(value: object) -> None:
        more = segments_of(vm, value, span)
        if more is None:
            vm.unfollowed("a deque is extended by something that is not followed", span)
            return
        inner = contents(vm, ref)
        store_list(vm, inner, (*list_box(vm, inner).segments, *more), "", span)
        changed(vm, ref, span, ListBox(more).length)
        _shortened(vm, ref, False, span)

    apart(vm, iterable, one)


def _shortened(vm: VM, ref: Ref, right: bool, span: Span) -> None:
    """Drop what is too much, on the left or on the right."""
    limit = state_of(vm, ref).fields["maxlen"]
    if limit is None:
        return
    inner = contents(vm, ref)
    box = list_box(vm, inner)
    assert isinstance(limit, Expr)
    if vm.decide(E.le(box.length, limit)) is True:
        return
    extra = E.maximum(box.length - limit, 0)
    kept = SliceValue(None, limit, None) if right else SliceValue(extra, None, None)
    cut = vm.item(inner, kept, span)
    made = vm.box(cut)
    segments = made.segments if isinstance(made, ListBox) else None
    store_list(vm, inner, segments, "a deque of limited length", span)


@DEQUE.add("append")
def _append(vm: VM, span: Span, self: Ref, item: object, /) -> object:
    _extended(vm, self, (item,), span)
    return None


@DEQUE.add("extend")
def _extend(vm: VM, span: Span, self: Ref, iterable: object, /) -> object:
    _extended(vm, self, iterable, span)
    return None


@DEQUE.add("appendleft")
def _appendleft(vm: VM, span: Span, self: Ref, item: object, /) -> object:
    vm.call(vm.attribute(contents(vm, self), "insert", span), (E.const(0), item), span=span)
    changed(vm, self, span)
    _shortened(vm, self, True, span)
    return None


@DEQUE.add("extendleft")
def _extendleft(vm: VM, span: Span, self: Ref, iterable: object, /) -> object:
    segments = segments_of(vm, iterable, span)
    items = None if segments is None else values_in(segments)
    if items is None:
        return vm.unfollowed("a deque is extended by something that is not followed", span)
    for item in items:
        _appendleft(vm, span, self, item)
    return None


def _taken(vm: VM, ref: Ref, index: int, span: Span) -> object:
    inner = contents(vm, ref)
    empty = E.eq(list_box(vm, inner).length, 0)
    raises(vm, IndexError, "pop from an empty deque", span, empty)
    changed(vm, ref, span)
    return vm.call(vm.attribute(inner, "pop", span), (E.const(index),), span=span)


@DEQUE.add("pop")
def _pop(vm: VM, span: Span, self: Ref, /) -> object:
    return _taken(vm, self, -1, span)


@DEQUE.add("popleft")
def _popleft(vm: VM, span: Span, self: Ref, /) -> object:
    return _taken(vm, self, 0, span)


@DEQUE.add("insert")
def _insert(vm: VM, span: Span, self: Ref, index: object, item: object, /) -> object:
    limit = state_of(vm, self).fields["maxlen"]
    inner = contents(vm, self)
    if isinstance(limit, Expr):
        full = E.ge(list_box(vm, inner).length, limit)
        raises(vm, IndexError, "deque already at its maximum size", span, full)
    vm.call(vm.attribute(inner, "insert", span), (index, item), span=span)
    changed(vm, self, span)
    return None


def _searched(vm: VM, span: Span, ref: Ref, name: str, args: tuple[object, ...]) -> object:
    """A search as lists have it; one that changes the deque is not followed."""
    before = changes(vm, ref)

    def checked(found: object) -> object:
        if vm.decide(E.eq(changes(vm, ref), before)) is not True:
            return vm.unfollowed("a deque that is changed while it is searched", span)
        return found

    def absent(_: object) -> object:
        lost = checked(UNBOUND)
        if lost is UNBOUND:
            raises(vm, ValueError, "the value is not in deque", span)
        return lost

    method = vm.attribute(contents(vm, ref), name, span)
    return checked(attempt(vm, lambda: vm.call(method, args, span=span), ValueError, absent))


@DEQUE.add("index")
def _index(vm: VM, span: Span, self: Ref, value: object, /, *bounds: object) -> object:
    return _searched(vm, span, self, "index", (value, *bounds))


@DEQUE.add("remove")
def _remove(vm: VM, span: Span, self: Ref, value: object, /) -> object:
    _searched(vm, span, self, "remove", (value,))
    changed(vm, self, span)
    return None


@DEQUE.add("clear")
def _clear(vm: VM, span: Span, self: Ref, /) -> object:
    length = list_box(vm, contents(vm, self)).length
    vm.call(vm.attribute(contents(vm, self), "clear", span), (), span=span)
    changed(vm, self, span, length)
    return None


@DEQUE.add("rotate")
def _rotate(vm: VM, span: Span, self: Ref, n: object = E.const(1), /) -> object:
    def one(count: object) -> None:
        inner = contents(vm, self)
        box = list_box(vm, inner)
        number = index_of(vm, count, span)
        length = box.length
        if number is None or not number.is_const or box.concrete is None:
            vm.unfollowed("a deque is turned by what is not followed", span)
            return
        if not length.const:
            return
        changed(vm, self, span, int(length.const > 1))
        k = -number.const % length.const
        store_list(vm, inner, (*box.segments[k:], *box.segments[:k]), "", span)

    apart(vm, n, one)
    return None


@DEQUE.add("copy", "__copy__")
def _copy(vm: VM, span: Span, self: Ref, /) -> object:
    return DEQUE_KIND._copy(vm, self)
