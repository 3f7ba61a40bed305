"""What sets hold: put in, run through, compared and combined, by any key."""

from __future__ import annotations

from typing import Any

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.python import hierarchy, keys
from verifier.symbolic.python.choices import choices, spelt
from verifier.symbolic.python.heap import UNBOUND, Item, ObjectBox, Segment, SetBox
from verifier.symbolic.python.kinds.entries import present, put
from verifier.symbolic.python.kinds.list_methods import apart
from verifier.symbolic.python.kinds.segments import optional, segments_of
from verifier.symbolic.python.terms import join, some
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque, Ref


def set_box(vm: VM, ref: object) -> SetBox:
    """The set that a value is, to read."""
    box = vm.box(ref)
    assert isinstance(box, SetBox)
    return box


def writable(vm: VM, ref: Ref, span: Span) -> SetBox:
    box = vm.write(ref, span)
    assert isinstance(box, SetBox)
    return box


def sought(vm: VM, item: object) -> object:
    """What a set is searched for: CPython looks for the frozen twin of a set that has no hash."""
    box = vm.box(item)
    inside = box
    if isinstance(box, ObjectBox):
        if hierarchy.lookup(vm, box.cls, "__hash__") is not None:
            return item
        inside = vm.box(box.payload)
    if not isinstance(inside, SetBox) or inside.frozen:
        return item
    return vm.heap.new(SetBox(dict(inside.items), True))


# ------------------------------------------------------------------------ making


def entered(vm: VM, ref: Ref, item: object, there: Bool, span: Span) -> None:
    """Add an item to a set where a condition holds."""

    def one(value: object) -> None:
        key = keys.key_of(vm, value, span)
        if key is UNBOUND:
            _unknown_item(vm, ref, value, there, span)
            return
        put(writable(vm, ref, span), key, _there(there))

    apart(vm, item, one)


def _there(condition: Bool) -> object:
    return join(condition, True, UNBOUND)


def _unknown_item(vm: VM, ref: Ref, value: object, there: Bool, span: Span) -> None:
    """Add a value that depends on the inputs: nothing changes if it is there already."""
    box = set_box(vm, ref)
    found = keys.matches(vm, box.items, value, span)
    if found is not None and vm.decide(E.or_(*(same for same, _ in found))) is True:
        box = writable(vm, ref, span)
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
    box = writable(vm, ref, span)
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
    result = SetBox(combination(vm, op, box, right), box.frozen)
    return vm.heap.new(result)


def combination(vm: VM, op: str, left: SetBox, right: SetBox) -> dict[object, object]:
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
    items = combination(vm, op, set_box(vm, ref), right)
    writable(vm, ref, span).items = items
