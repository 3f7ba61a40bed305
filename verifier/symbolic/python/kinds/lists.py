"""Lists: concrete items and symbolic runs, in order."""

from __future__ import annotations

from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python import concrete
from verifier.symbolic.python.alike import alike_segments
from verifier.symbolic.python.builtin import method
from verifier.symbolic.python.choices import spelt
from verifier.symbolic.python.heap import UNBOUND, Item, ListBox, Many, Segment
from verifier.symbolic.python.integers import range_of
from verifier.symbolic.python.iteration import Iteration, Live, Runs
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.list_methods import (
    LIST,
    METHODS,
    assigned,
    extended,
    list_box,
    store,
    without,
)
from verifier.symbolic.python.kinds.segments import (
    MAX_CASES,
    as_list,
    bounds_of,
    checked,
    index_of,
    inert_segments,
    is_list,
    lost,
    multiplied,
    needs_index,
    pick,
    segments_of,
    sliced,
    times_apart,
    too_often,
    watch,
)
from verifier.symbolic.python.kinds.tuples import contains, equal_items, ordered
from verifier.symbolic.python.model import HostType
from verifier.symbolic.python.parts import mentions
from verifier.symbolic.python.terms import some
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Ref, SliceValue


class ListKind(Kind[VM]):
    name = "list"
    complete = True

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(list)

    def describe(self, vm: VM, value: Any) -> str:
        return "a list"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        found = method(METHODS, "list", name, value)
        if found is not UNBOUND:
            return found
        return concrete.host_attribute(vm, value, list, name, span)

    # -- items -----------------------------------------------------------------------------

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        box = list_box(vm, value)
        if isinstance(index, SliceValue):
            return self._slice(vm, box, index, span)
        number = index_of(vm, index, span)
        if number is None:
            return needs_index(vm, index, "list indices", span)
        return pick(vm, box.segments, checked(vm, number, box.length, "list index", span))

    def _slice(self, vm: VM, box: ListBox, index: SliceValue, span: Span) -> object:
        bounds = bounds_of(vm, index, box.length, span)
        piece = None if bounds is None else sliced(vm, box.segments, *bounds)
        if piece is None:
            return lost(vm, "a slice of a list", inert_segments(box.segments), span)
        return as_list(vm, piece)

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        if isinstance(index, SliceValue):
            assigned(vm, value, index, new, span)
            return
        number = index_of(vm, index, span)
        if number is None:
            needs_index(vm, index, "list indices", span)
            vm.unfollowed("an item of a list is stored at an unknown place", span)
            return
        box = list_box(vm, value)
        position = checked(vm, number, box.length, "list assignment index", span)
        if new is UNBOUND:
            segments = without(vm, box.segments, position)
        else:
            segments = stored(box.segments, position, new)
        store(vm, value, segments, "an item of a list with runs is deleted", span)

    # -- operators ---------------------------------------------------------------------------

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op == "+":
            if not is_list(vm, right):
                return NotImplemented
            both = (*list_box(vm, left).segments, *list_box(vm, right).segments)
            return as_list(vm, both)
        return self._times(vm, left, right, span) if op == "*" else NotImplemented

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        return self._times(vm, right, left, span) if op == "*" else NotImplemented

    def _times(self, vm: VM, value: Ref, times: object, span: Span) -> object:
        number = None if isinstance(vm.box(times), ListBox) else index_of(vm, times, span)
        if number is None:
            return NotImplemented
        return vm.apart(times_apart(number), lambda count: self._repeated(vm, value, count, span))

    def _repeated(self, vm: VM, value: Ref, number: Expr, span: Span) -> object:
        box = list_box(vm, value)
        if too_often(number):
            return vm.unfollowed("a list is repeated more often than there is memory", span)
        many = multiplied(vm, box.segments, number)
        if many is None:
            what = "a list of unknown length"
            return lost(vm, what, inert_segments(box.segments), span)
        return as_list(vm, many)

    def inplace(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op == "+":
            extended(vm, left, right, span)
            return left
        if op == "*":
            number = None if isinstance(vm.box(right), ListBox) else index_of(vm, right, span)
            if number is None:
                return NotImplemented
            if too_often(number):
                return vm.unfollowed("a list is repeated more often than there is memory", span)
            many = multiplied(vm, list_box(vm, left).segments, number)
            store(vm, left, many, "a list is repeated an unknown number of times", span)
            return left
        return NotImplemented

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if not is_list(vm, right):
            return NotImplemented
        return compared(vm, op, list_box(vm, left), list_box(vm, right), span)

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        return has(vm, list_box(vm, value), item, span)

    # -- protocols ---------------------------------------------------------------------------

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return some(list_box(vm, value).length)

    def length(self, vm: VM, value: Any, span: Span) -> object:
        return list_box(vm, value).length

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        box = list_box(vm, value)
        if box.concrete is None:
            return Runs(ListBox(box.segments), watch(vm, (value,), span))
        return Live(lambda position: self._live(vm, value, position, span))

    def _live(self, vm: VM, ref: Ref, position: int, span: Span) -> object:
        """Item ``position`` of the list as it is now."""
        segments = list_box(vm, ref).segments
        for segment in segments[: position + 1]:
            if isinstance(segment, Many):
                vm.unfollowed("a list changes under the loop that runs through it", span)
                return UNBOUND
        if position >= len(segments):
            return UNBOUND
        segment = segments[position]
        assert isinstance(segment, Item)
        return segment.value

    def as_items(self, vm: VM, value: Any, span: Span) -> tuple[object, ...] | None:
        box = list_box(vm, value)
        if box.concrete is not None:
            return box.concrete
        known = range_of(vm, box.length, MAX_CASES)
        if known is None or vm.decide(E.ge(box.length, known[-1])) is not True:
            return None
        return tuple(pick(vm, box.segments, E.const(k)) for k in range(known[-1]))


def compared(vm: VM, op: str, a: ListBox, b: ListBox, span: Span) -> object:
    """A comparison of two lists, or of two tuples."""
    mine, theirs = a.concrete, b.concrete
    if op in ("==", "!="):
        if mine is None or theirs is None:
            same = _same_runs(vm, a, b, span)
        else:
            same = equal_items(vm, mine, theirs, span)
        return same if op == "==" else E.not_(same)
    if mine is None or theirs is None:
        return vm.unfollowed("the order of lists with runs is not followed", span)
    return ordered(vm, op, mine, theirs, span)


def _same_runs(vm: VM, a: ListBox, b: ListBox, span: Span) -> Bool:
    if len(a.segments) == len(b.segments) and all(
        alike_segments(vm.heap, s, vm.heap, t) for s, t in zip(a.segments, b.segments, strict=True)
    ):
        return E.TRUE
    fits = E.eq(a.length, b.length)
    if vm.decide(fits) is False:
        return E.FALSE
    if not (inert_segments(a.segments) and inert_segments(b.segments)):
        vm.unfollowed("whether two lists with runs are equal is not followed", span)
        return E.and_(fits, vm.unknown_bool("whether two lists with runs are equal", span))
    known = a.concrete if b.concrete is None else b.concrete
    if known is None or len(known) > MAX_CASES:
        return E.and_(fits, vm.unknown_bool("whether two lists with runs are equal", span))
    with vm.guarded(fits):
        places = [E.const(k) for k in range(len(known))]
        pairs = ((pick(vm, a.segments, k), pick(vm, b.segments, k)) for k in places)
        return E.and_(fits, *(vm.equal(x, y, span) for x, y in pairs))


def has(vm: VM, box: ListBox, item: object, span: Span) -> object:
    """``item in value`` for what is in a list or a tuple."""
    items = box.concrete
    if items is not None:
        return contains(vm, items, item, span)
    if not inert_segments(box.segments):
        vm.unfollowed("whether a list with runs has an item is not followed", span)
    told = spelt(vm, box.segments)
    if told is not None:
        return vm.apart(told, lambda v: contains(vm, v, item, span))
    return E.or_(*(_in_segment(vm, segment, item, span) for segment in box.segments))


def _in_segment(vm: VM, segment: Segment, item: object, span: Span) -> Bool:
    if isinstance(segment, Item):
        return vm.equal(segment.value, item, span)
    symbols = frozenset({segment.index})
    if any(mentions(value, symbols, vm.heap) for value in segment.values):
        same = vm.unknown_bool("whether a list with runs has an item", span)
    else:
        same = E.or_(*(vm.equal(value, item, span) for value in segment.values))
    return E.and_(some(segment.count), same)


def stored(segments: tuple[Segment, ...], position: Expr, new: object) -> tuple[Segment, ...]:
    """The segments with a value at a position that is inside."""
    if position.is_const and all(
        isinstance(segment, Item) for segment in segments[: position.const + 1]
    ):
        k = position.const
        if not 0 <= k < len(segments):
            return segments  # no path gets here: it is outside
        return (*segments[:k], Item(new), *segments[k + 1 :])
    out: list[Segment] = []
    start = E.const(0)
    for segment in segments:
        if isinstance(segment, Item):
            out.append(Item(_chosen(E.eq(position, start), new, segment.value)))
            start = start + 1
            continue
        width = len(segment.values)
        first = start + E.from_atom(segment.index) * width
        values = tuple(
            _chosen(E.eq(position, first + k), new, old) for k, old in enumerate(segment.values)
        )
        out.append(Many(segment.count, segment.index, values, segment.fresh))
        start = start + segment.length
    return tuple(out)


def _chosen(here: Bool, new: object, old: object) -> object:
    return concrete.selected([(here, new), (E.TRUE, old)])


KINDS: Final[dict[type, Kind[VM]]] = {ListBox: ListKind()}

__all__ = [
    "KINDS",
    "LIST",
    "METHODS",
    "ListKind",
    "compared",
    "has",
    "multiplied",
    "segments_of",
    "stored",
]
