"""Tuples, and ``x.shape`` of a parameter whose rank is not settled yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python import concrete, keys, ranks
from verifier.symbolic.python.builtin import Table, method
from verifier.symbolic.python.heap import UNBOUND, Item, ListBox, ObjectBox, Segment
from verifier.symbolic.python.inputs import InputKind, LazyShape
from verifier.symbolic.python.iteration import Items, Iteration
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.segments import (
    as_tuple,
    backwards,
    bounds_of,
    checked,
    index_of,
    lost,
    multiplied,
    needs_index,
    pick,
    sliced,
    times_apart,
    too_often,
)
from verifier.symbolic.python.model import HostType
from verifier.symbolic.python.terms import as_formula, join
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque, SliceValue

TUPLE: Final = Table("tuple")
METHODS: Final = {"tuple": TUPLE}

_ORDER: Final[dict[str, Callable[[int, int], bool]]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def items_of(segments: Sequence[object]) -> tuple[Segment, ...]:
    return tuple(Item(value) for value in segments)


# ------------------------------------------------------------------------ comparison


def equal_items(vm: VM, left: Sequence[object], right: Sequence[object], span: Span) -> Bool:
    """Whether the items of two sequences are equal, one by one."""
    if len(left) != len(right):
        return E.FALSE
    result = E.TRUE
    for a, b in zip(left, right, strict=True):
        if vm.decide(result) is False:
            return E.FALSE
        result = E.and_(result, _equal_where(vm, result, a, b, span))
    return result


def _equal_where(vm: VM, so_far: Bool, a: object, b: object, span: Span) -> Bool:
    """Whether two items are equal, asked only where the items before are."""
    if so_far is E.TRUE or not any(_runs_code(vm, value) for value in (a, b)):
        return vm.equal(a, b, span)
    same = vm.fork(so_far, lambda: vm.equal(a, b, span), lambda: E.FALSE)
    formula = as_formula(same)
    assert formula is not None
    return formula


def _runs_code(vm: VM, value: object) -> bool:
    """Whether a comparison with a value may run code of the project."""
    if isinstance(value, tuple):
        return any(_runs_code(vm, item) for item in value)
    return isinstance(vm.box(value), (ObjectBox, ListBox)) or not vm.kind(value).pure


def ordered(vm: VM, op: str, left: Sequence[object], right: Sequence[object], span: Span) -> object:
    """``left < right`` and kin, as the first items that differ decide."""

    def at(position: int) -> object:
        if position == min(len(left), len(right)):
            return _ORDER[op](len(left), len(right))
        a, b = left[position], right[position]
        same = vm.equal(a, b, span)
        known = vm.decide(same)
        if known is True:
            return at(position + 1)
        if known is False:
            return vm.compare(op, a, b, span)
        return vm.fork(same, lambda: at(position + 1), lambda: vm.compare(op, a, b, span))

    return at(0)


def contains(vm: VM, items: Sequence[object], wanted: object, span: Span) -> Bool:
    """Whether one of the items is equal to a value; asked until one certainly is."""
    result = E.FALSE
    for item in items:
        here = vm.equal(item, wanted, span)
        if vm.decide(here) is True:
            return E.TRUE
        result = E.or_(result, here)
    return result


# ------------------------------------------------------------------------ the kind


class TupleKind(Kind[VM]):
    name = "tuple"
    complete = True

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(tuple)

    def describe(self, vm: VM, value: Any) -> str:
        return "a tuple"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        found = method(METHODS, "tuple", name, value)
        if found is not UNBOUND:
            return found
        return concrete.host_attribute(vm, value, tuple, name, span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        if isinstance(index, SliceValue):
            return self._slice(vm, value, index, span)
        number = index_of(vm, index, span)
        if number is None:
            return needs_index(vm, index, "tuple indices", span)
        position = checked(vm, number, E.const(len(value)), "tuple index", span)
        if position.is_const and 0 <= position.const < len(value):
            return value[position.const]
        return pick(vm, items_of(value), position)

    def _slice(self, vm: VM, value: tuple[object, ...], index: SliceValue, span: Span) -> object:
        known = bounds_of(vm, index, E.const(len(value)), span)
        if known is not None:
            piece = sliced(vm, items_of(value), *known)
            if piece is not None:
                return as_tuple(vm, piece)
        return lost(vm, "a slice of a tuple", all(map(_inert, value)), span)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op == "+":
            if isinstance(right, LazyShape):
                right = settled_shape(vm, right, span)
            return left + right if isinstance(right, tuple) else NotImplemented
        if op == "*":
            return repeated(vm, left, right, span)
        return NotImplemented

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        return repeated(vm, right, left, span) if op == "*" else NotImplemented

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if isinstance(right, LazyShape):
            return NotImplemented  # it knows how to compare itself
        if not isinstance(right, tuple):
            return NotImplemented
        if op in ("==", "!="):
            same = equal_items(vm, left, right, span)
            return same if op == "==" else E.not_(same)
        return ordered(vm, op, left, right, span)

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        return contains(vm, value, item, span)

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return E.truth(bool(value))

    def length(self, vm: VM, value: Any, span: Span) -> object:
        return E.const(len(value))

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        return Items(value)

    def as_items(self, vm: VM, value: Any, span: Span) -> tuple[object, ...] | None:
        items: tuple[object, ...] = value
        return items

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return keys.key_of(vm, value, span)


def _inert(value: object) -> bool:
    return isinstance(value, (Expr, Bool, bool, str, float, type(None)))


def repeated(vm: VM, value: tuple[object, ...], times: object, span: Span) -> object:
    """``value * times``."""
    number = None if isinstance(times, tuple) else index_of(vm, times, span)
    if number is None:
        return NotImplemented

    def one(count: Expr) -> object:
        if too_often(count):
            return vm.unfollowed("a tuple is repeated more often than there is memory", span)
        many = multiplied(vm, items_of(value), count)
        if many is None:
            return lost(vm, "a tuple of unknown length", all(map(_inert, value)), span)
        return as_tuple(vm, many)

    return vm.each(times_apart(number), one)


# ------------------------------------------------------------------------ methods


def position_of(
    vm: VM,
    items: Sequence[object],
    wanted: object,
    start: object,
    stop: object,
    what: str,
    span: Span,
) -> object:
    """``items.index(wanted, start, stop)``."""
    bounds = bounds_of(vm, SliceValue(start, stop, None), E.const(len(items)), span)
    if bounds is None or not (bounds[0].is_const and bounds[1].is_const):
        return vm.unfollowed(f"`{what}.index()` with unknown bounds", span)
    found: list[tuple[Bool, int]] = []
    missing = E.TRUE
    for position in range(bounds[0].const, bounds[1].const):
        here = vm.equal(items[position], wanted, span)
        if vm.decide(here) is False:
            continue
        found.append((here, position))
        missing = E.and_(missing, E.not_(here))
        if vm.decide(here) is True:
            missing = E.FALSE
            break
    message = f"{what}.index(x): x not in {what}"
    vm.fault(ValueError, message, span, when=missing)
    result: object = E.const(found[-1][1])
    for here, position in reversed(found[:-1]):
        result = join(here, E.const(position), result)
    return result


def counted(vm: VM, items: Sequence[object], wanted: object, span: Span) -> Expr:
    """``items.count(wanted)``."""
    total = E.const(0)
    for item in items:
        total = total + E.ite(vm.equal(item, wanted, span), 1, 0)
    return total


@TUPLE.add("index")
def _index(
    vm: VM,
    span: Span,
    self: tuple[object, ...],
    value: object,
    start: object = None,
    stop: object = None,
    /,
) -> object:
    items = vm.as_items(self, span) or ()
    return position_of(vm, items, value, start, stop, "tuple", span)


@TUPLE.add("count")
def _count(vm: VM, span: Span, self: object, value: object, /) -> object:
    return counted(vm, vm.as_items(self, span) or (), value, span)


# ------------------------------------------------------------------------ shapes


def settled_shape(vm: VM, value: LazyShape, span: Span, least: int = 1) -> tuple[Expr, ...]:
    """The sizes of a shape on this path."""
    p = value.parameter
    p.kind = p.kind or InputKind.TENSOR
    return vm.inputs.shape(p, ranks.settle(vm, p, span, least))


class ShapeKind(TupleKind):
    """``x.shape``: a tuple whose length is the rank of a parameter."""

    pure = True

    def _items(self, vm: VM, value: LazyShape, span: Span, least: int = 1) -> tuple[Expr, ...]:
        return settled_shape(vm, value, span, least)

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        return super().attribute(vm, value, name, span)

    def item(self, vm: VM, value: Any, index: object, span: Span) -> object:
        number = None if isinstance(index, SliceValue) else index_of(vm, index, span)
        if number is not None and number.is_const and number.const >= 0:
            p, position = value.parameter, number.const
            if ranks.at_least(vm, p, position + 1, span):
                return vm.inputs.extent(p, position)
            return super().item(vm, self._items(vm, value, span), number, span)
        least = -number.const if number is not None and number.is_const else 1
        return super().item(vm, self._items(vm, value, span, least), index, span)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        return super().binary(vm, op, self._items(vm, left, span), right, span)

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        return super().reflected(vm, op, self._items(vm, right, span), left, span)

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op in ("==", "!=") and isinstance(right, (tuple, LazyShape)):
            same = self._equal(vm, left, right, span)
            return same if op == "==" else E.not_(same)
        if isinstance(right, LazyShape):
            right = self._items(vm, right, span)
        return super().compare(vm, op, self._items(vm, left, span), right, span)

    def _equal(
        self, vm: VM, left: LazyShape, right: tuple[object, ...] | LazyShape, span: Span
    ) -> Bool:
        if isinstance(right, LazyShape):
            if left == right:
                return E.TRUE
            right = self._items(vm, right, span)
        fits = E.eq(ranks.count(vm, left.parameter), len(right))
        if fits is E.FALSE:
            return E.FALSE
        if vm.decide(fits) is False:
            return fits  # a demand that it holds is one on the rank
        sizes = vm.inputs.shape(left.parameter, len(right))
        with vm.guarded(fits):
            return E.and_(fits, equal_items(vm, sizes, right, span))

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        return contains(vm, self._items(vm, value, span), item, span)

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return E.gt(ranks.count(vm, value.parameter), 0)

    def length(self, vm: VM, value: Any, span: Span) -> object:
        return ranks.count(vm, value.parameter)

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        return Items(self._items(vm, value, span))

    def as_items(self, vm: VM, value: Any, span: Span) -> tuple[object, ...] | None:
        return self._items(vm, value, span)

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return keys.key_of(vm, self._items(vm, value, span), span)


KINDS: Final[dict[type, Kind[VM]]] = {tuple: TupleKind(), LazyShape: ShapeKind()}

__all__ = [
    "KINDS",
    "METHODS",
    "Opaque",
    "backwards",
    "contains",
    "counted",
    "equal_items",
    "items_of",
    "ordered",
    "position_of",
    "repeated",
    "settled_shape",
]
