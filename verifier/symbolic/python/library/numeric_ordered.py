"""The ``bisect`` and ``heapq`` modules, where the order of the items is known."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.concrete import payload
from verifier.symbolic.python.heap import UNBOUND, ListBox
from verifier.symbolic.python.kinds.numbers import as_expr, is_integer
from verifier.symbolic.python.terms import as_formula
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Ref

BISECT: Final = Table("bisect")
HEAPQ: Final = Table("heapq")

#: items among which a symbolic value's place is looked for
_MAX_SEARCHED: Final = 64


# ------------------------------------------------------------------------ bisect


def _place(
    vm: VM,
    a: object,
    x: object,
    lo: object,
    hi: object,
    key: object,
    right: bool,
    span: Span,
) -> object:
    """The place of a value among ordered ones: a search by halves, as CPython makes it."""
    items = vm.as_items(a, span)
    lo = E.const(0) if lo is UNBOUND else lo
    ends = [as_expr(v).const for v in (lo, hi) if is_integer(v) and as_expr(v).is_const]
    if items is None or len(ends) != 2 - (hi is None) or len(items) > _MAX_SEARCHED * 64:
        return vm.unfollowed("a search by halves is not followed", span)
    first, last = ends[0], len(items) if hi is None else ends[1]
    if first < 0:
        vm.fault(ValueError, "lo must be non-negative", span)
    if last > len(items):
        return vm.unfollowed("a search by halves behind the end of a list", span)
    forks = [0]

    def search(low: int, high: int) -> Expr:
        if low >= high:
            return E.const(low)
        middle = (low + high) // 2
        item = items[middle] if key is None else vm.call(key, (items[middle],), span=span)
        less = vm.compare("<", x, item, span) if right else vm.compare("<", item, x, span)
        test = vm.truth(less, span)
        known = vm.decide(test)
        if known is None:
            forks[0] += 1
            if forks[0] > _MAX_SEARCHED:
                return vm.unknown_int("a search by halves", span)
        before, behind = lambda: search(low, middle), lambda: search(middle + 1, high)
        return vm.fork(test, *((before, behind) if right else (behind, before)))

    return search(first, last)


def _search(names: tuple[str, ...], right: bool) -> None:
    @BISECT.add(*names)
    def found(
        vm: VM,
        span: Span,
        a: object,
        x: object,
        lo: object = UNBOUND,
        hi: object = None,
        *,
        key: object = None,
    ) -> object:
        return vm.each(a, lambda v: _place(vm, v, x, lo, hi, key, right, span))


def _insertion(names: tuple[str, ...], right: bool) -> None:
    @BISECT.add(*names)
    def inserted(
        vm: VM,
        span: Span,
        a: object,
        x: object,
        lo: object = UNBOUND,
        hi: object = None,
        *,
        key: object = None,
    ) -> object:
        def one(target: object) -> object:
            wanted = x if key is None else vm.call(key, (x,), span=span)
            place = _place(vm, target, wanted, lo, hi, key, right, span)
            insert = vm.attribute(target, "insert", span)
            return vm.call(insert, (place, x), span=span)

        return vm.each(a, one)


_search(("bisect_left",), False)
_search(("bisect_right",), True)
_insertion(("insort_left",), False)
_insertion(("insort_right",), True)
BISECT["bisect"] = BISECT["bisect_right"]
BISECT["insort"] = BISECT["insort_right"]


# ------------------------------------------------------------------------ heapq


class _Undecided(Exception):  # noqa: N818  (no error of the program's)
    """The inputs decide which of two items is less, or asking has changed the heap."""


#: called before an item is compared; what it gives says whether that has changed the heap
_Before: TypeAlias = Callable[[], Callable[[], bool]]


class _Ordered:
    """An item of the program's in a heap of the host's, which asks the machine what is less."""

    __slots__ = ("before", "rank", "span", "value", "vm")

    def __init__(
        self,
        vm: VM,
        value: object,
        rank: object,
        span: Span,
        before: _Before = lambda: lambda: False,
    ) -> None:
        self.vm = vm
        self.before = before
        self.value = value
        self.rank = rank
        self.span = span

    def _holds(self, op: str, other: Any) -> bool:
        changed = self.before()
        test = as_formula(self.vm.compare(op, self.rank, other.rank, self.span))
        known = None if test is None else self.vm.decide(test)
        if known is None or changed():
            raise _Undecided
        return known

    def __lt__(self, other: Any) -> bool:
        return self._holds("<", other)

    def __eq__(self, other: object) -> bool:
        return self._holds("==", other)

    __hash__ = None  # type: ignore[assignment]


def _on_heap(
    vm: VM, heap: object, action: Callable[[list[_Ordered], _Before], object], span: Span
) -> object:
    """Do something to a list that is a heap."""

    def one(given: object) -> object:
        held = payload(vm, given)
        box = vm.box(held)
        if not isinstance(box, ListBox):
            if vm.kind(held).complete:
                vm.fault(TypeError, "heap argument must be a list", span)
            return vm.unfollowed("a heap that is not followed", span)
        items = box.concrete
        if items is None:
            return vm.unfollowed("a heap of symbolic length is not followed", span)

        assert isinstance(held, Ref)

        def store() -> tuple[object, ...]:
            target = vm.write(held, span)
            assert isinstance(target, ListBox)
            now = tuple(item.value for item in inside)
            target.segments = ListBox.of(now).segments
            return now

        def before() -> Callable[[], bool]:
            """What is asked sees the heap as it is by now, also if it raises an error."""
            now = store()

            def changed() -> bool:
                box = vm.box(held)
                return not isinstance(box, ListBox) or box.concrete != now

            return changed

        inside = [_Ordered(vm, item, item, span, before) for item in items]
        try:
            result = action(inside, before)
        except _Undecided:
            reason = "the order of a heap depends on the inputs, or changes as it is asked for"
            return vm.unfollowed(reason, span)
        except IndexError:
            vm.fault(IndexError, "index out of range: the heap is empty", span)
        store()
        return result.value if isinstance(result, _Ordered) else result

    return vm.each(heap, one)


@HEAPQ.add("heapify")
def _heapify(vm: VM, span: Span, heap: object, /) -> object:
    return _on_heap(vm, heap, lambda inside, before: heapq.heapify(inside), span)


@HEAPQ.add("heappop")
def _heappop(vm: VM, span: Span, heap: object, /) -> object:
    return _on_heap(vm, heap, lambda inside, before: heapq.heappop(inside), span)


def _with_item(name: str) -> None:
    function: Callable[[Any, Any], Any] = getattr(heapq, name)

    @HEAPQ.add(name)
    def changed(vm: VM, span: Span, heap: object, item: object, /) -> object:
        def put(inside: list[_Ordered], before: _Before) -> object:
            return function(inside, _Ordered(vm, item, item, span, before))

        return _on_heap(vm, heap, put, span)


for _name in ("heappush", "heappushpop", "heapreplace"):
    _with_item(_name)


def _selection(name: str) -> None:
    function: Callable[..., Sequence[_Ordered]] = getattr(heapq, name)

    @HEAPQ.add(name)
    def selected(vm: VM, span: Span, n: object, iterable: object, key: object = None) -> object:
        count = vm.as_int(n, span)
        items = vm.items_of(vm.settled(iterable), span)
        if count is None or not count.is_const or items is None:
            return vm.unfollowed(f"`heapq.{name}()` of these is not followed", span)
        ranks = [i if key is None else vm.call(key, (i,), span=span) for i in items]
        inside = [_Ordered(vm, i, r, span) for i, r in zip(items, ranks, strict=True)]
        try:
            chosen = function(count.const, inside)
        except _Undecided:
            return vm.unfollowed("the order of a heap depends on the inputs", span)
        return vm.heap.new(ListBox.of([item.value for item in chosen]))


_selection("nlargest")
_selection("nsmallest")


@HEAPQ.add("merge")
def _merge(vm: VM, span: Span, /, *iterables: object, **keywords: object) -> object:
    return vm.unfollowed("`heapq.merge()` is not followed", span)
