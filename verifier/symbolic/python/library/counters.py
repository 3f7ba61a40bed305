"""``collections.Counter``."""

from __future__ import annotations

import collections
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python import keys
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import UNBOUND, DictBox, Item, Segment, StateBox
from verifier.symbolic.python.kinds.dict_methods import DICT, copied
from verifier.symbolic.python.kinds.entries import (
    UNSETTLED,
    dict_box,
    dict_ref,
    find,
    listed,
    merged,
    present,
    unknown_key,
)
from verifier.symbolic.python.kinds.list_methods import apart
from verifier.symbolic.python.kinds.mappings import element_of
from verifier.symbolic.python.kinds.segments import raises, segments_of, values_in
from verifier.symbolic.python.library.sorting import sort_values
from verifier.symbolic.python.library.wrapped import WrappedDict, contents
from verifier.symbolic.python.model import Builtin, HostType
from verifier.symbolic.python.terms import some
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque, Ref

COUNTER: Final = Table("Counter")


class Counter(WrappedDict):
    host = collections.Counter
    table = COUNTER
    shared = DICT

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        found = find(vm, dict_box(vm, contents(vm, value)), index, span)
        if found is UNSETTLED:
            return unknown_key(vm, index, "a count of a symbolic element", span)
        there = present(vm, found)
        return vm.fork(there, lambda: vm.settled(found), lambda: E.const(0))

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        entries = contents(vm, value)
        if new is UNBOUND:  # what is not there need not be deleted
            vm.call(vm.attribute(entries, "pop", span), (index, None), span=span)
            return
        vm.set_item(entries, index, new, span)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        box = vm.box(right)
        if op not in ("+", "-", "|", "&"):
            return NotImplemented
        if not (isinstance(box, StateBox) and box.kind is self):
            return NotImplemented
        return _combined(vm, op, left, right, span)

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        return NotImplemented

    def inplace(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        box = vm.box(right)
        if op not in ("+", "-", "|", "&"):
            return NotImplemented
        if not (isinstance(box, StateBox) and box.kind is self):
            return vm.unfollowed(f"`{op}=` of a `Counter` and something else", span)
        made = _combined(vm, op, left, right, span)
        vm.call(vm.attribute(contents(vm, left), "clear", span), (), span=span)
        vm.call(vm.attribute(contents(vm, left), "update", span), (contents(vm, made),), span=span)
        return left

    def unary(self, vm: VM, op: str, value: Any, span: Span) -> object:
        """``+counter`` and ``-counter``: the counts that are positive then."""
        if op == "~":
            return super().unary(vm, op, value, span)
        result = _empty(vm)
        for name in _names(vm, value):
            count = vm.item(value, name, span)
            signed = vm.binary("-", E.const(0), count, span) if op == "-" else count
            _keep_positive(vm, result, name, signed, span)
        return result

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        box = vm.box(right)
        counter = isinstance(box, StateBox) and box.kind is self
        if not counter and (op in ("==", "!=") and dict_ref(vm, right) is not None):
            return NotImplemented if not counter else super().compare(vm, op, left, right, span)
        if not counter:
            return NotImplemented
        return _compared(vm, op, left, right, span)


COUNTER_KIND: Final = Counter()


def _names(vm: VM, *counters: object) -> list[object]:
    """The elements of some counters as values."""
    found: dict[object, None] = {}
    for counter in counters:
        found.update(dict.fromkeys(dict_box(vm, contents(vm, counter)).items))
    return [keys.value_of(key) for key in found]


def _combined(vm: VM, op: str, left: Ref, right: object, span: Span) -> object:
    """Counts that are positive, of the sum, difference, union or intersection."""
    result = _empty(vm)
    for name in _names(vm, left, right):
        a, b = vm.item(left, name, span), vm.item(right, name, span)
        count: object
        if op in ("+", "-"):
            count = vm.binary(op, a, b, span)
        else:
            first = vm.truth(vm.compare("<", a, b, span), span)
            low, high = (a, b) if op == "&" else (b, a)
            count = vm.fork(first, lambda low=low: low, lambda high=high: high)  # type: ignore[misc]
        _keep_positive(vm, result, name, count, span)
    return result


def _keep_positive(vm: VM, result: Ref, name: object, count: object, span: Span) -> None:
    positive = vm.truth(vm.compare(">", count, E.const(0), span), span)
    vm.fork(positive, lambda: vm.set_item(result, name, count, span), lambda: None)


def _compared(vm: VM, op: str, left: object, right: object, span: Span) -> object:
    names = _names(vm, left, right)
    if op in ("<", ">"):
        wide = "<=" if op == "<" else ">="
        wider = vm.truth(_compared(vm, wide, left, right, span), span)
        return E.and_(wider, vm.truth(_compared(vm, "!=", left, right, span), span))
    if op == "!=":
        return E.not_(vm.truth(_compared(vm, "==", left, right, span), span))
    parts: list[Bool] = []
    for name in names:
        a, b = vm.item(left, name, span), vm.item(right, name, span)
        parts.append(vm.truth(vm.compare(op, a, b, span), span))
    return E.and_(*parts)


def _empty(vm: VM) -> Ref:
    entries = vm.heap.new(DictBox(inside=True))
    return vm.heap.new(StateBox(COUNTER_KIND, {"entries": entries}))


def _counter(vm: VM, span: Span, iterable: object = None, /, **more: object) -> object:
    made = _empty(vm)
    _add_all(vm, made, iterable, more, "+", span)
    return made


def _add_all(
    vm: VM, ref: Ref, iterable: object, more: dict[str, object], op: str, span: Span
) -> None:
    def one(source: object) -> None:
        if source is None:
            return
        counts = dict_ref(vm, source)
        if counts is not None:
            _add_counts(vm, ref, counts, op, span)
            return
        segments = segments_of(vm, source, span)
        if segments is None:
            vm.unfollowed("a `Counter` of items that are not followed", span)
            return
        for segment in segments:
            _add_segment(vm, ref, segment, op, span)

    apart(vm, iterable, one)
    if more:
        named: dict[object, object] = dict(more.items())
        _add_counts(vm, ref, vm.heap.new(DictBox(named)), op, span)


def _add_segment(vm: VM, ref: Ref, segment: Segment, op: str, span: Span) -> None:
    if isinstance(segment, Item):
        _add(vm, ref, segment.value, E.const(1), op, span)
        return
    symbols = frozenset({segment.index})
    for value in segment.values:
        steady = isinstance(value, (str, bytes, float, bool, type(None)))
        if isinstance(value, Expr) and symbols.isdisjoint(value.free()):
            steady = True
        if not steady:
            vm.unfollowed("a `Counter` of an unknown number of items", span)
            return
        vm.fork(
            some(segment.count),
            lambda value=value: _add(vm, ref, value, segment.count, op, span),  # type: ignore[misc]
            lambda: None,
        )


def _add_counts(vm: VM, ref: Ref, counts: Ref, op: str, span: Span) -> None:
    box = dict_box(vm, counts)
    entries = contents(vm, ref)
    if op == "+" and not dict_box(vm, entries).items:  # whatever the counts are
        merged(vm, entries, counts, span)
        return
    for key, count in list(box.items.items()):
        vm.fork(
            present(vm, count),
            lambda key=key, count=count: _add(  # type: ignore[misc]
                vm, ref, keys.value_of(key), vm.settled(count), op, span
            ),
            lambda: None,
        )


def _add(vm: VM, ref: Ref, name: object, count: object, op: str, span: Span) -> None:
    def one(element: object) -> None:
        old = vm.item(ref, element, span)
        pair = (count, old) if op == "+" else (old, count)
        vm.set_item(ref, element, vm.binary(op, *pair, span), span)

    apart(vm, name, one)


@COUNTER.add("update")
def _update(vm: VM, span: Span, self: Ref, iterable: object = None, /, **more: object) -> object:
    _add_all(vm, self, iterable, more, "+", span)
    return None


@COUNTER.add("subtract")
def _subtract(vm: VM, span: Span, self: Ref, iterable: object = None, /, **more: object) -> object:
    _add_all(vm, self, iterable, more, "-", span)
    return None


@COUNTER.add("elements")
def _elements(vm: VM, span: Span, self: Ref, /) -> object:
    out: list[object] = []
    for pair in values_in(listed(vm, dict_box(vm, contents(vm, self)), element_of("items"))) or ():
        assert isinstance(pair, tuple)
        name, count = pair
        if not isinstance(count, Expr) or not count.is_const:
            return vm.unfollowed("the elements of a `Counter` of unknown counts", span)
        out.extend([name] * max(count.const, 0))
    return vm.call(vm.language.builtins["iter"], (tuple(out),), span=span)


@COUNTER.add("most_common")
def _most_common(vm: VM, span: Span, self: Ref, /, n: object = None) -> object:
    box = dict_box(vm, contents(vm, self))
    pairs = values_in(listed(vm, box, element_of("items")))
    if pairs is None or box.shuffled:
        return vm.unfollowed("the most common elements are not followed", span)
    counts = [pair[1] for pair in pairs if isinstance(pair, tuple)]
    numbers = [E.const(k) for k in range(len(counts))]
    get = Builtin.of("count", lambda vm, span, k, /: counts[k.const])
    order = sort_values(vm, numbers, span, key=get, reverse=True)
    if order is None:
        return vm.unfollowed("the most common elements depend on the inputs", span)
    ranked = tuple(pairs[k.const] for k in order if isinstance(k, Expr))
    made = vm.call(HostType(list), (ranked,), span=span)
    if n is None:
        return made
    cut = vm.settled(n)
    if not isinstance(cut, Expr) or not cut.is_const:
        return vm.unfollowed("how many elements are asked for is not followed", span)
    return vm.call(HostType(list), (ranked[: max(cut.const, 0)],), span=span)


@COUNTER.add("total")
def _total(vm: VM, span: Span, self: Ref, /) -> object:
    view = vm.call(vm.attribute(contents(vm, self), "values", span), (), span=span)
    return vm.call(vm.language.builtins["sum"], (view,), span=span)


@COUNTER.add("copy", "__copy__")
def _copy(vm: VM, span: Span, self: Ref, /) -> object:
    return COUNTER_KIND.made(vm, self, copied(vm, contents(vm, self)))


@COUNTER.add("fromkeys")
def _fromkeys(vm: VM, span: Span, self: object, iterable: object, v: object = None, /) -> object:
    message = "Counter.fromkeys() is undefined.  Use Counter(iterable) instead."
    raises(vm, NotImplementedError, message, span)
    return Opaque(message)


CONSTRUCTORS: Final[dict[type, Builtin]] = {
    collections.Counter: Builtin.of("Counter", _counter),
}
METHODS: Final = {"Counter": COUNTER}
NAMES: Final[dict[str, object]] = {"Counter": HostType(collections.Counter)}
