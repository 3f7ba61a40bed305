"""Ranges and slices."""

from __future__ import annotations

import sys
from typing import Any, Final

from msgspec.structs import replace

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.pretty import pretty
from verifier.symbolic.python import concrete, keys
from verifier.symbolic.python.builtin import Table, method
from verifier.symbolic.python.heap import UNBOUND
from verifier.symbolic.python.iteration import Iteration, Trips
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.segments import (
    MAX_LENGTH,
    bounds_of,
    checked,
    count_of,
    index_of,
    inert,
    needs_index,
    raises,
)
from verifier.symbolic.python.model import HostType
from verifier.symbolic.python.terms import as_formula
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import LoopKind
from verifier.symbolic.values import Guarded, Opaque, Range, SliceValue, unsure

RANGE: Final = Table("range")
SLICE: Final = Table("slice")
METHODS: Final = {"range": RANGE, "slice": SLICE}


def value_at(rng: Range, position: Expr) -> Expr:
    return rng.start + rng.step * position


class RangeKind(Kind[VM]):
    """``range(...)``, and the ranges of kernel APIs, of which only the loop is known."""

    name = "range"
    complete = True

    def type_of(self, vm: VM, value: Any) -> object:
        if value.kind is LoopKind.RANGE:
            return HostType(range)
        return Opaque(f"the type of a range of kind `{value.kind.value}`")

    def describe(self, vm: VM, value: Any) -> str:
        return "a range"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name in ("start", "stop", "step"):
            return getattr(value, name)
        if value.kind is not LoopKind.RANGE:
            return vm.unfollowed(f"`.{name}` of a range of a kernel API", span)
        found = method(METHODS, "range", name, value)
        if found is not UNBOUND:
            return found
        return concrete.host_attribute(vm, value, range, name, span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        if isinstance(index, SliceValue):
            bounds = bounds_of(vm, index, count_of(vm, value), span)
            if bounds is None:
                return unsure("a slice of a range")
            low, high, step = bounds
            start, stop = value_at(value, low), value_at(value, high)
            return replace(value, start=start, stop=stop, step=value.step * step)
        number = index_of(vm, index, span)
        if number is None:
            return needs_index(vm, index, "range indices", span)
        position = checked(vm, number, count_of(vm, value), "range object index", span)
        return value_at(value, position)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op not in ("==", "!=") or not isinstance(right, Range):
            return NotImplemented
        mine, other = count_of(vm, left), count_of(vm, right)
        same = E.and_(
            E.eq(mine, other),
            E.or_(
                E.eq(mine, 0),
                E.and_(
                    E.eq(left.start, right.start),
                    E.or_(E.eq(mine, 1), E.eq(left.step, right.step)),
                ),
            ),
        )
        return same if op == "==" else E.not_(same)

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        number = _integer(item)
        if number is None:
            if isinstance(item, Guarded):
                return vm.each(item, lambda v: self.contains(vm, value, v, span))
            if isinstance(item, (str, bytes, tuple, type(None))):
                return E.FALSE
            return _unknown_member(vm, item, span)
        low, high, step = value.start, value.stop, value.step
        down = E.and_(E.lt(step, 0), E.le(number, low), E.gt(number, high))
        up = E.and_(E.gt(step, 0), E.ge(number, low), E.lt(number, high))
        return E.and_(E.or_(down, up), E.eq((number - low) % step, 0))

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return E.gt(count_of(vm, value), 0)

    def length(self, vm: VM, value: Any, span: Span) -> object:
        count = count_of(vm, value)
        if count.is_const and count.const > sys.maxsize:
            vm.fault(OverflowError, "the length of a range is too large", span)
        return count

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        return Trips(value)

    def as_items(self, vm: VM, value: Any, span: Span) -> tuple[object, ...] | None:
        count = count_of(vm, value)
        if not count.is_const or count.const > MAX_LENGTH:
            return None
        return tuple(value_at(value, E.const(k)) for k in range(count.const))

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return keys.key_of(vm, value, span)


def _integer(item: object) -> Expr | None:
    """The integer that a value is equal to, if it is a number."""
    if isinstance(item, Expr):
        return item
    formula = as_formula(item)
    if formula is not None:
        return E.ite(formula, 1, 0)
    if isinstance(item, float) and item.is_integer():
        return E.const(int(item))
    return None


def _unknown_member(vm: VM, item: object, span: Span) -> object:
    if isinstance(item, float):
        return E.FALSE
    if isinstance(item, Opaque):
        return item
    return vm.unfollowed("whether an object is in a range is not followed", span)


@RANGE.add("index")
def _index(vm: VM, span: Span, self: Range, value: object, /) -> object:
    return vm.each(value, lambda v: _position(vm, self, v, span))


def _position(vm: VM, rng: Range, value: object, span: Span) -> object:
    inside = vm.truth(vm.compare("in", value, rng, span), span)
    number = _integer(value)
    said = pretty(number) if number is not None else "sequence.index(x): x"
    what = f"{said} is not in range" if number is not None else f"{said} not in sequence"
    vm.fault(ValueError, what, span, when=E.not_(inside))
    if number is None or not rng.step.is_const:
        return vm.unfollowed("the position in a range is not followed", span)
    return (number - rng.start) // rng.step


@RANGE.add("count")
def _count(vm: VM, span: Span, self: Range, value: object, /) -> object:
    inside = vm.truth(vm.compare("in", value, self, span), span)
    return E.ite(inside, 1, 0)


@RANGE.add("__reversed__")
def _reversed(vm: VM, span: Span, self: Range, /) -> object:
    return vm.call(vm.language.builtins["reversed"], (self,), span=span)


# ------------------------------------------------------------------------ slices


class SliceKind(Kind[VM]):
    name = "slice"
    complete = True

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(slice)

    def describe(self, vm: VM, value: Any) -> str:
        return "a slice"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        if name in ("start", "stop", "step"):
            return getattr(value, name)
        found = method(METHODS, "slice", name, value)
        if found is not UNBOUND:
            return found
        return concrete.host_attribute(vm, value, slice, name, span)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if not isinstance(right, SliceValue):
            return NotImplemented
        if left is right:
            return op in ("==", "<=", ">=")
        a = (left.start, left.stop, left.step)
        return vm.compare(op, a, (right.start, right.stop, right.step), span)


@SLICE.add("indices")
def _indices(vm: VM, span: Span, self: SliceValue, length: object, /) -> object:
    number = index_of(vm, vm.settled(length), span)
    if number is None:
        return needs_index(vm, length, "lengths of sequences", span)
    raises(vm, ValueError, "length should not be negative", span, E.lt(number, 0))
    bounds = bounds_of(vm, self, number, span)
    if bounds is None:
        return vm.unfollowed("the bounds of a slice are not followed", span)
    low, high, step = bounds
    return (low, high, E.const(step))


KINDS: Final[dict[type, Kind[VM]]] = {Range: RangeKind(), SliceValue: SliceKind()}

__all__ = ["KINDS", "METHODS", "inert", "value_at"]
