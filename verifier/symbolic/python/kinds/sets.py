"""Sets. The order in which CPython runs through one is its own affair, but for small integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.python import concrete, keys
from verifier.symbolic.python.builtin import Handler, Table, method
from verifier.symbolic.python.choices import choices, spelt
from verifier.symbolic.python.heap import UNBOUND, Item, ListBox, Segment, SetBox
from verifier.symbolic.python.kinds.entries import at, has, has_any, present, put, size, take
from verifier.symbolic.python.kinds.list_methods import apart
from verifier.symbolic.python.kinds.segments import optional, segments_of, watch
from verifier.symbolic.python.kinds.tuples import add_arithmetic, add_protocol
from verifier.symbolic.python.model import DictView, HostType
from verifier.symbolic.python.terms import join, presence, some
from verifier.symbolic.python.vm import VM, Iteration, Kind, Live, Runs, Unknown
from verifier.symbolic.values import Guarded, Opaque, Ref

SET: Final = Table("set")
FROZENSET: Final = Table("frozenset")
METHODS: Final = {"set": SET, "frozenset": FROZENSET}

_OPERATORS: Final = {"and": "&", "or": "|", "sub": "-", "xor": "^"}


def set_box(vm: VM, ref: object) -> SetBox:
    """The set that a value is, to read."""
    box = vm.box(ref)
    assert isinstance(box, SetBox)
    return box


def _writable(vm: VM, ref: Ref, span: Span) -> SetBox:
    box = vm.write(ref, span)
    assert isinstance(box, SetBox)
    return box


# ------------------------------------------------------------------------ making


def entered(vm: VM, ref: Ref, item: object, there: Bool, span: Span) -> None:
    """Add an item to a set where a condition holds."""

    def one(value: object) -> None:
        key = keys.key_of(vm, value, span)
        if key is UNBOUND:
            _unknown_item(vm, ref, value, there, span)
            return
        put(_writable(vm, ref, span), key, _there(there))

    apart(vm, item, one)


def _there(condition: Bool) -> object:
    return join(condition, True, UNBOUND)


def _unknown_item(vm: VM, ref: Ref, value: object, there: Bool, span: Span) -> None:
    """Add a value that depends on the inputs: nothing changes if it is there already."""
    box = set_box(vm, ref)
    found = keys.matches(vm, box.items, value, span)
    if found is not None and vm.decide(E.or_(*(same for same, _ in found))) is True:
        box = _writable(vm, ref, span)
        for same, other in found:
            put(box, other, _there(E.and_(same, there)))
        return
    told = choices(vm, value)
    if told is not None:
        entered(vm, ref, told, there, span)
        return
    if isinstance(value, Opaque):
        vm.unfollowed(f"a set gets an element that is not followed: {value.reason}", span)
    else:
        vm.unfollowed("a set gets a symbolic element", span)


def made(vm: VM, iterable: object, span: Span, frozen: bool = False) -> Ref:
    """``set(iterable)``."""
    ref = vm.heap.new(SetBox())

    def all_of(items: tuple[object, ...]) -> None:
        for item in items:
            entered(vm, ref, item, E.TRUE, span)

    def one(value: object) -> None:
        segments = unordered(vm, value, span)
        if segments is None:
            vm.unfollowed("a set of items that are not followed", span)
            return
        told = spelt(vm, segments)
        if told is not None:
            vm.apart(told, all_of)
            return
        for segment in segments:
            if isinstance(segment, Item):
                entered(vm, ref, segment.value, E.TRUE, span)
            else:
                _entered_run(vm, ref, segment, span)

    apart(vm, iterable, one)
    box = _writable(vm, ref, span)
    box.frozen = frozen
    return ref


def _entered_run(vm: VM, ref: Ref, run: Any, span: Span) -> None:
    """Add the items of a run: those of one of length one or zero, or the same one many times."""
    lo, hi = E.bounds(run.count)
    alone = lo is not None and lo >= 0 and hi is not None and hi <= 1
    symbols = frozenset({run.index})
    for value in run.values:
        steady = isinstance(value, (str, bytes, float, bool, type(None)))
        free = getattr(value, "free", None)
        steady = steady or (free is not None and symbols.isdisjoint(free()))
        if not (alone or steady):
            vm.unfollowed("a set of a number of items that is not known", span)
            return
        entered(vm, ref, value, some(run.count), span)


# ------------------------------------------------------------------------ running through


def unordered(vm: VM, value: object, span: Span) -> tuple[Segment, ...] | None:
    """The items of an iterable for whoever does not mind their order; None: not followed."""
    value = vm.settled(value)
    box = vm.box(value)
    if isinstance(box, SetBox):
        return listed(vm, box)
    return segments_of(vm, value, span)


def unordered_items(vm: VM, value: object, span: Span) -> tuple[object, ...] | None:
    """As :func:`unordered`, if all of the items are certainly there."""
    segments = unordered(vm, value, span)
    if segments is None or not all(isinstance(segment, Item) for segment in segments):
        return None
    return tuple(segment.value for segment in segments if isinstance(segment, Item))


def listed(vm: VM, box: SetBox) -> tuple[Segment, ...]:
    """The items of a set in some order."""
    out: list[Segment] = []
    order = order_of(vm, box) or list(box.items)
    for key in order:
        out.extend(optional(vm, present(vm, box.items[key]), keys.value_of(key)))
    return tuple(out)


def order_of(vm: VM, box: SetBox) -> list[object] | None:
    """The keys in CPython's order, if it can be told.

    A natural number that is less than the size of the table is at its own place in it, whatever
    happened to the set before. The table has at least the size that its items need.
    """
    there = [key for key, value in box.items.items() if present(vm, value) is not E.FALSE]
    if len(there) < 2:
        return there
    certain = sum(1 for key in there if present(vm, box.items[key]) is E.TRUE)
    table = 8
    while certain * 5 >= (table - 1) * 3:
        table *= 2
    numbers = [int(key) for key in there if isinstance(key, int)]
    if len(numbers) != len(there) or not all(0 <= n < table for n in numbers):
        return None
    return sorted(there, key=lambda key: int(key) if isinstance(key, int) else 0)


def element(key: object, value: object) -> object:
    """What an iterator over a set shows of an entry."""
    return keys.value_of(key)


# ------------------------------------------------------------------------ comparing, combining


def subset(vm: VM, left: SetBox, right: SetBox) -> Bool:
    """``left <= right``."""
    return E.and_(
        *(
            E.implies(present(vm, value), present(vm, right.items.get(key, UNBOUND)))
            for key, value in left.items.items()
        )
    )


def compared(vm: VM, op: str, left: object, right: object, span: Span) -> object:
    """A comparison of two sets."""
    a, b = set_box(vm, left), set_box(vm, right)
    down, up = subset(vm, a, b), subset(vm, b, a)
    if op in ("==", "!="):
        same = E.and_(down, up)
        return same if op == "==" else E.not_(same)
    return {
        "<=": down,
        ">=": up,
        "<": E.and_(down, E.not_(up)),
        ">": E.and_(up, E.not_(down)),
    }[op]


def combined(vm: VM, op: str, left: Ref, other: object, span: Span) -> object:
    """``left op other`` for a set and any iterable; the result is of the left one's type."""
    right = set_box(vm, made(vm, other, span))
    box = set_box(vm, left)
    result = SetBox(_combination(vm, op, box, right), box.frozen)
    return vm.heap.new(result)


def _combination(vm: VM, op: str, left: SetBox, right: SetBox) -> dict[object, object]:
    out: dict[object, object] = {}
    first, second = left, right
    if op == "&" and len(right.items) <= len(left.items):
        first, second = right, left  # CPython runs through the smaller one
    for key in dict.fromkeys([*first.items, *second.items]):
        mine = present(vm, left.items.get(key, UNBOUND))
        other = present(vm, right.items.get(key, UNBOUND))
        there = {
            "|": E.or_(mine, other),
            "&": E.and_(mine, other),
            "-": E.and_(mine, E.not_(other)),
            "^": E.or_(E.and_(mine, E.not_(other)), E.and_(other, E.not_(mine))),
        }[op]
        if there is not E.FALSE:
            out[key] = _there(there)
    return out


def update(vm: VM, op: str, ref: Ref, other: object, span: Span) -> None:
    """``ref op= other`` for any iterable."""
    right = set_box(vm, made(vm, other, span))
    items = _combination(vm, op, set_box(vm, ref), right)
    _writable(vm, ref, span).items = items


# ------------------------------------------------------------------------ the kind


class SetKind(Kind):
    name = "set"
    complete = True

    def type_of(self, vm: VM, value: Any) -> object:
        return HostType(frozenset if set_box(vm, value).frozen else set)

    def describe(self, vm: VM, value: Any) -> str:
        return "a set"

    def attribute(self, vm: VM, value: Any, name: str, span: Span) -> object:
        host = frozenset if set_box(vm, value).frozen else set
        found = method(METHODS, host.__name__, name, value)
        if found is not UNBOUND:
            return found
        return concrete.host_attribute(vm, value, host, name, span)

    def _is_set(self, vm: VM, value: object) -> bool:
        if isinstance(value, DictView):
            return value.which != "values"
        return isinstance(vm.box(value), SetBox)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op not in ("&", "|", "-", "^") or not self._is_set(vm, right):
            return NotImplemented
        return combined(vm, op, left, right, span)

    def inplace(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op not in ("&", "|", "-", "^") or not self._is_set(vm, right):
            return NotImplemented
        if set_box(vm, left).frozen:
            return NotImplemented
        update(vm, op, left, right, span)
        return left

    def compare(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if not isinstance(vm.box(right), SetBox):
            return NotImplemented
        return compared(vm, op, left, right, span)

    def contains(self, vm: VM, value: Any, item: object, span: Span) -> object:
        return vm.each(item, lambda one: self._has(vm, value, one, span))

    def _has(self, vm: VM, value: Ref, item: object, span: Span) -> object:
        wanted = vm.box(item)
        if isinstance(wanted, SetBox) and not wanted.frozen:  # CPython looks for its frozen twin
            item = vm.heap.new(SetBox(dict(wanted.items), True))
        return has(vm, set_box(vm, value), item, span)

    def truth(self, vm: VM, value: Any, span: Span) -> Bool:
        return has_any(vm, set_box(vm, value))

    def length(self, vm: VM, value: Any, span: Span) -> object:
        return size(vm, set_box(vm, value))

    def iterate(self, vm: VM, value: Any, span: Span) -> Iteration:
        box = set_box(vm, value)
        order = order_of(vm, box)
        if order is None:
            vm.unfollowed("the order of the items of a set is not followed", span)
            return Unknown("a set")
        start = tuple(order)
        if any(present(vm, box.items[key]) is not E.TRUE for key in start):
            return Runs(ListBox(listed(vm, box)), watch(vm, (value,), span))
        return Live(lambda position: at(vm, value, start, position, element, span))

    def key(self, vm: VM, value: Any, span: Span) -> object:
        return keys.key_of(vm, value, span)


# ------------------------------------------------------------------------ methods


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
    _writable(vm, result, span).frozen = box.frozen
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
    common = _combination(vm, "&", set_box(vm, self), set_box(vm, made(vm, other, span)))
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
    key = keys.key_of(vm, item, span)
    if key is UNBOUND and keys.matches(vm, box.items, item, span) is None:
        vm.unfollowed("a set loses a symbolic element", span)
        return None
    there = has(vm, box, item, span)
    take(vm, _writable(vm, ref, span), item, span)
    return there


@SET.add("pop")
def _pop(vm: VM, span: Span, self: Ref, /) -> object:
    box = set_box(vm, self)
    empty = "pop from an empty set"
    vm.fault(KeyError, empty, span, when=E.not_(has_any(vm, box)), args=(empty,))
    there = [key for key, value in box.items.items() if present(vm, value) is not E.FALSE]
    if len(there) != 1 or present(vm, box.items[there[0]]) is not E.TRUE:
        return vm.unfollowed("which item a set gives up is not followed", span)
    _writable(vm, self, span).items = {}
    return keys.value_of(there[0])


@SET.add("clear")
def _clear(vm: VM, span: Span, self: Ref, /) -> object:
    _writable(vm, self, span).items = {}
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


for _table in (SET, FROZENSET):
    add_protocol(_table, mutable=False)
    del _table["__getitem__"]
    add_arithmetic(_table, _OPERATORS, inplace=_table is SET)

KINDS: Final[dict[type, Kind]] = {SetBox: SetKind()}

__all__ = [
    "KINDS",
    "METHODS",
    "Guarded",
    "combined",
    "compared",
    "entered",
    "made",
    "unordered",
    "unordered_items",
]
