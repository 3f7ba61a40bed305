"""``collections``: ``deque``, ``OrderedDict`` and ``defaultdict``.

Each is a :class:`~verifier.symbolic.python.heap.StateBox` whose contents are a list or a
dictionary of its own, so that these have all the operations.
"""

from __future__ import annotations

import collections
from typing import Any, ClassVar, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python import concrete, keys
from verifier.symbolic.python.builtin import Table, method
from verifier.symbolic.python.heap import UNBOUND, DictBox, ListBox, Segment, StateBox
from verifier.symbolic.python.kinds.dict_methods import DICT, copied, equal_dicts, pop_end
from verifier.symbolic.python.kinds.entries import (
    UNSETTLED,
    dict_box,
    dict_ref,
    find,
    merged,
    missing,
    present,
    put,
    store,
    unknown_key,
    updated,
    writable,
)
from verifier.symbolic.python.kinds.list_methods import LIST, apart, list_box
from verifier.symbolic.python.kinds.list_methods import store as store_list
from verifier.symbolic.python.kinds.segments import (
    as_list,
    index_of,
    raises,
    segments_of,
    values_in,
)
from verifier.symbolic.python.kinds.states import change, state_of
from verifier.symbolic.python.model import Builtin, HostType
from verifier.symbolic.python.vm import VM, Iteration, Kind
from verifier.symbolic.values import Opaque, Ref, SliceValue

DEQUE: Final = Table("deque")
ORDERED: Final = Table("OrderedDict")
DEFAULT: Final = Table("defaultdict")


def contents(vm: VM, value: object) -> Ref:
    """The list or dictionary with what a container holds."""
    inner = state_of(vm, value).fields["entries"]
    assert isinstance(inner, Ref)
    return inner


class Wrapped(Kind):
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


# ------------------------------------------------------------------------ deque


class Deque(Wrapped):
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
            _shortened(vm, left, False, span)
            return left
        return NotImplemented

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        other = self._other(vm, right)
        if other is None:
            return NotImplemented
        return vm.compare(op, contents(vm, left), other, span)


DEQUE_KIND: Final = Deque()


def make_deque(vm: VM, segments: tuple[Segment, ...], maxlen: object) -> Ref:
    inner = as_list(vm, segments)
    return vm.heap.new(StateBox(DEQUE_KIND, {"entries": inner, "maxlen": maxlen}))


def _deque(vm: VM, span: Span, /, iterable: object = (), maxlen: object = None) -> object:
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
        k = -number.const % length.const
        store_list(vm, inner, (*box.segments[k:], *box.segments[:k]), "", span)

    apart(vm, n, one)
    return None


@DEQUE.add("copy", "__copy__")
def _copy(vm: VM, span: Span, self: Ref, /) -> object:
    return DEQUE_KIND._copy(vm, self)


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
    collections.deque: Builtin.of("deque", _deque),
    collections.OrderedDict: Builtin.of("OrderedDict", _ordered),
    collections.defaultdict: Builtin.of("defaultdict", _default),
}
METHODS: Final = {"deque": DEQUE, "OrderedDict": ORDERED, "defaultdict": DEFAULT}
NAMES: Final[dict[str, object]] = {host.__name__: HostType(host) for host in CONSTRUCTORS}

__all__ = ["CONSTRUCTORS", "METHODS", "NAMES", "Opaque", "WrappedDict", "contents"]
