"""Tuples whose length depends on the inputs: what ``tuple(...)`` makes of a list with runs."""

from __future__ import annotations

from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.python import concrete
from verifier.symbolic.python.heap import ListBox, Segment, TupleBox
from verifier.symbolic.python.inputs import LazyShape
from verifier.symbolic.python.iteration import Iteration, Runs
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.list_methods import list_box
from verifier.symbolic.python.kinds.lists import compared, has
from verifier.symbolic.python.kinds.segments import (
    as_tuple,
    bounds_of,
    checked,
    index_of,
    inert_segments,
    lost,
    multiplied,
    needs_index,
    pick,
    sliced,
    too_often,
)
from verifier.symbolic.python.kinds.tuples import items_of, settled_shape
from verifier.symbolic.python.model import HostType
from verifier.symbolic.python.terms import some
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import SliceValue


class LongTupleKind(Kind[VM]):
    """A tuple with runs; those of known length are values of their own."""

    name = "tuple"
    complete = True

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(tuple)

    def describe(self, vm: VM, value: Any) -> str:
        return "a tuple"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name in ("index", "count"):
            return vm.unfollowed(f"`.{name}()` of a tuple of unknown length", span)
        return concrete.host_attribute(vm, value, tuple, name, span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        box = list_box(vm, value)
        if isinstance(index, SliceValue):
            bounds = bounds_of(vm, index, box.length, span)
            piece = None if bounds is None else sliced(vm, box.segments, *bounds)
            if piece is None:
                return lost(vm, "a slice of a tuple", inert_segments(box.segments), span)
            return as_tuple(vm, piece)
        number = index_of(vm, index, span)
        if number is None:
            return needs_index(vm, index, "tuple indices", span)
        return pick(vm, box.segments, checked(vm, number, box.length, "tuple index", span))

    # -- operators ---------------------------------------------------------------------------

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op == "*":
            return self._times(vm, left, right, span)
        other = _segments(vm, right, span) if op == "+" else None
        if other is None:
            return NotImplemented
        return as_tuple(vm, (*list_box(vm, left).segments, *other))

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        if op == "*":
            return self._times(vm, right, left, span)
        other = _segments(vm, left, span) if op == "+" else None
        if other is None:
            return NotImplemented
        return as_tuple(vm, (*other, *list_box(vm, right).segments))

    def _times(self, vm: VM, value: Any, times: object, span: Span) -> object:
        number = None if _is_sequence(vm, times) else index_of(vm, times, span)
        if number is None:
            return NotImplemented
        if too_often(number):
            return vm.unfollowed("a tuple is repeated more often than there is memory", span)
        segments = list_box(vm, value).segments
        many = multiplied(vm, segments, number)
        if many is None:
            return lost(vm, "a tuple of unknown length", inert_segments(segments), span)
        return as_tuple(vm, many)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        other = _segments(vm, right, span)
        if other is None:
            return NotImplemented
        return compared(vm, op, list_box(vm, left), ListBox(tuple(other)), span)

    def identical(self, vm: VM, value: Any, other: object, span: Span) -> Bool | None:
        if value == other:
            return E.TRUE
        if _segments(vm, other, span) is None:
            return None
        return vm.unknown_bool("whether two tuples are one, as empty ones are", span)

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        return has(vm, list_box(vm, value), item, span)

    # -- protocols ---------------------------------------------------------------------------

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return some(list_box(vm, value).length)

    def length(self, vm: VM, value: Any, span: Span) -> object:
        return list_box(vm, value).length

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        return Runs(ListBox(list_box(vm, value).segments))


def _segments(vm: VM, value: object, span: Span) -> tuple[Segment, ...] | None:
    """What is in a tuple; None: the value is none."""
    if isinstance(value, LazyShape):
        value = settled_shape(vm, value, span)
    if isinstance(value, tuple):
        return items_of(value)
    box = vm.box(value)
    return box.segments if isinstance(box, TupleBox) else None


def _is_sequence(vm: VM, value: object) -> bool:
    return isinstance(value, (tuple, LazyShape)) or isinstance(vm.box(value), ListBox)


KINDS: Final[dict[type, Kind[VM]]] = {TupleBox: LongTupleKind()}

__all__ = ["KINDS"]
