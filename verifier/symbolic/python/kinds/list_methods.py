"""The methods of lists, and what assignments to slices do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.python import concrete, hierarchy
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.choices import spelt
from verifier.symbolic.python.heap import UNBOUND, Item, ListBox, Many, ObjectBox, Segment
from verifier.symbolic.python.kinds.foretold import collected, foretold
from verifier.symbolic.python.kinds.segments import (
    MAX_CASES,
    as_list,
    backwards,
    bounds_of,
    checked,
    index_of,
    inert_segments,
    maximum,
    needs_index,
    pick,
    raises,
    segments_of,
    sliced,
)
from verifier.symbolic.python.kinds.tuples import (
    counted,
    items_of,
    position_of,
)
from verifier.symbolic.python.library.sorting import sort_values
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Guarded, Ref, SliceValue

LIST: Final = Table("list")
METHODS: Final = {"list": LIST}


def list_box(vm: VM, ref: object) -> ListBox:
    """The list that a value is, to read."""
    box = vm.box(ref)
    assert isinstance(box, ListBox)
    return box


def store(vm: VM, ref: Ref, segments: tuple[Segment, ...] | None, unknown: str, span: Span) -> None:
    """Give a list its new contents; None: they are not known."""
    if segments is None:
        vm.unfollowed(f"{unknown}, which is not followed", span)
        return
    box = vm.write(ref, span)
    assert isinstance(box, ListBox)
    box.segments = segments


def apart(vm: VM, value: object, action: object) -> object:
    """Run an action that changes something for each case of a value, each on its own path."""
    assert callable(action)
    if not isinstance(value, Guarded):
        return action(value)
    return concrete.forked(vm, vm.cases(value), action)


# ------------------------------------------------------------------------ pieces


def extended(vm: VM, ref: Ref, other: object, span: Span) -> None:
    """``list.extend(other)`` and ``list += other``."""

    def one(value: object) -> None:
        more = foretold(vm, value, span)
        if more is None:
            vm.unfollowed("a list is extended by something that is not followed", span)
        elif isinstance(more, tuple):
            store(vm, ref, (*list_box(vm, ref).segments, *more), "", span)
        else:  # what comes next sees what has come before, also if there is an error
            vm.iterate(more, add, span)

    def add(item: object) -> None:
        store(vm, ref, (*list_box(vm, ref).segments, Item(item)), "", span)

    apart(vm, other, one)


def without(vm: VM, segments: tuple[Segment, ...], position: Expr) -> tuple[Segment, ...] | None:
    """The segments without the item at a position; None: there is no form."""
    place = _place(segments, position)
    if place is not None:
        return (*segments[:place], *segments[place + 1 :])
    values = ListBox(segments).concrete
    if values is None or len(values) > MAX_CASES:
        return None
    return tuple(
        Item(concrete.selected([(E.lt(k, position), values[k]), (E.TRUE, values[k + 1])]))
        for k in range(len(values) - 1)
    )


def _place(segments: tuple[Segment, ...], position: Expr) -> int | None:
    """Which segment, an item, a position is certainly at."""
    start = E.const(0)
    for k, segment in enumerate(segments):
        if isinstance(segment, Item):
            if start is position:
                return k
            start = start + 1
        else:
            start = start + segment.length
    return None


def inserted(
    vm: VM, segments: tuple[Segment, ...], index: Expr, value: object
) -> tuple[Segment, ...] | None:
    """The segments with a value before an index; None: there is no form."""
    length = ListBox(segments).length
    bounds = bounds_of(vm, SliceValue(index, None, None), length, vm.trace.span)
    assert bounds is not None
    position = bounds[0]
    if position is length:
        return (*segments, Item(value))
    place = _place(segments, position)
    if place is not None:
        return (*segments[:place], Item(value), *segments[place:])
    if position.is_const and position.const == 0:
        return (Item(value), *segments)
    values = ListBox(segments).concrete
    if values is None or len(values) > MAX_CASES:
        return None
    out = []
    for k in range(len(values) + 1):
        cases: list[tuple[E.Bool, object]] = [(E.eq(position, k), value)]
        if k < len(values):
            cases.append((E.gt(position, k), values[k]))
        if k:
            cases.append((E.TRUE, values[k - 1]))
        out.append(Item(concrete.selected(cases)))
    return tuple(out)


def assigned(vm: VM, ref: Ref, index: SliceValue, new: object, span: Span) -> None:
    """``list[index] = new``, or ``del list[index]`` where ``new`` is UNBOUND."""

    def one(value: object) -> None:
        box = list_box(vm, ref)
        bounds = bounds_of(vm, index, box.length, span)
        more: tuple[Segment, ...] | None = ()
        if value is not UNBOUND:
            more = _right_side(vm, value, span)
        segments = None
        if bounds is not None and more is not None:
            # the right side may have run code of the project
            deleted = value is UNBOUND
            segments = _replaced(vm, list_box(vm, ref), bounds, deleted, more, span)
        store(vm, ref, segments, "a slice of a list is assigned to", span)

    apart(vm, new, one)


def _right_side(vm: VM, value: object, span: Span) -> tuple[Segment, ...] | None:
    kind = vm.kind(value)
    if kind.complete and vm.language.kinds.get(type(value)) is kind and _no_iterable(value):
        raises(vm, TypeError, "can only assign an iterable", span)
    box = vm.box(value)
    if isinstance(box, ObjectBox) and hierarchy.overrides(vm, box.cls, "__next__"):
        return collected(vm, value, span)  # it is the iterator that is asked how many
    return segments_of(vm, value, span)


def _no_iterable(value: object) -> bool:
    return isinstance(value, (Expr, bool, float, complex, type(None), type(...)))


def _replaced(
    vm: VM,
    box: ListBox,
    bounds: tuple[Expr, Expr, int],
    deleted: bool,
    more: tuple[Segment, ...],
    span: Span,
) -> tuple[Segment, ...] | None:
    low, high, step = bounds
    segments = box.segments
    if step == 1:
        before = sliced(vm, segments, E.const(0), low, 1)
        after = sliced(vm, segments, maximum(vm, low, high), box.length, 1)
        return None if before is None or after is None else (*before, *more, *after)
    values = box.concrete
    if values is None or not (low.is_const and high.is_const):
        return None
    chosen = range(low.const, high.const, step)
    if deleted:
        gone = set(chosen)
        return tuple(Item(v) for k, v in enumerate(values) if k not in gone)
    length = ListBox(more).length
    message = (
        f"attempt to assign sequence of size {length!r} to extended slice of size {len(chosen)}"
    )
    raises(vm, ValueError, message, span, E.ne(length, len(chosen)))
    if ListBox(more).concrete is None:
        return None
    out = list(segments)
    for position, segment in zip(chosen, more, strict=True):
        out[position] = segment
    return tuple(out)


# ------------------------------------------------------------------------ methods


@LIST.add("append")
def _append(vm: VM, span: Span, self: Ref, item: object, /) -> object:
    store(vm, self, (*list_box(vm, self).segments, Item(item)), "", span)
    return None


@LIST.add("extend")
def _extend(vm: VM, span: Span, self: Ref, iterable: object, /) -> object:
    extended(vm, self, iterable, span)
    return None


@LIST.add("insert")
def _insert(vm: VM, span: Span, self: Ref, index: object, item: object, /) -> object:
    def one(place: object) -> None:
        number = index_of(vm, place, span)
        if number is None:
            needs_index(vm, place, "list indices", span)
            vm.unfollowed("an item is inserted at an unknown place", span)
            return
        segments = inserted(vm, list_box(vm, self).segments, number, item)
        store(vm, self, segments, "an item is inserted into a list with runs", span)

    apart(vm, index, one)
    return None


@LIST.add("pop")
def _pop(vm: VM, span: Span, self: Ref, index: object = None, /) -> object:
    return apart(vm, index, lambda place: popped(vm, self, place, span))


def popped(vm: VM, ref: Ref, place: object, span: Span) -> object:
    """``list.pop(place)``; None: the last item."""
    box = list_box(vm, ref)
    number = E.const(-1) if place is None else index_of(vm, place, span)
    if number is None:
        return needs_index(vm, place, "list indices", span)
    raises(vm, IndexError, "pop from empty list", span, E.le(box.length, 0))
    position = checked(vm, number, box.length, "pop index", span)
    segments = box.segments
    if number.is_const and number.const == -1 and isinstance(segments[-1], Many):
        return _pop_from_run(vm, ref, segments, position, span)
    rest = without(vm, segments, position)
    if rest is None and box.concrete is None:
        told = spelt(vm, segments)
        if told is not None:
            vm.apart(told, lambda items: store(vm, ref, items_of(items), "", span))
            return popped(vm, ref, place, span)
    value = pick(vm, segments, position)
    store(vm, ref, rest, "an item of a list with runs is taken out", span)
    return value


def _pop_from_run(
    vm: VM, ref: Ref, segments: tuple[Segment, ...], position: Expr, span: Span
) -> object:
    """Take the last item of a list that ends in a run."""
    run = segments[-1]
    assert isinstance(run, Many)
    some = vm.decide(E.gt(run.count, 0))
    if some is not True:
        return vm.unfollowed("the last item of a list with runs is taken out", span)
    value = pick(vm, segments, position)
    rest: tuple[Segment, ...] = (Many(run.count - 1, run.index, run.values, run.fresh),)
    if len(run.values) > 1:
        last = pick_all(vm, run)
        rest = (*rest, *items_of(last[:-1]))
    store(vm, ref, (*segments[:-1], *rest), "", span)
    return value


def pick_all(vm: VM, run: Many) -> tuple[object, ...]:
    """The values of the last trip of a run."""
    width = len(run.values)
    length = run.length
    return tuple(pick(vm, (run,), length - (width - k)) for k in range(width))


@LIST.add("remove")
def _remove(vm: VM, span: Span, self: Ref, value: object, /) -> object:
    items = list_box(vm, self).concrete
    if items is None and _spelt_out(vm, self, lambda: _remove(vm, span, self, value), span):
        return None
    if items is None:
        return vm.unfollowed("`list.remove()` from a list with runs", span)

    def from_(position: int) -> None:
        now = list_box(vm, self).segments
        if position >= len(now):
            raises(vm, ValueError, "list.remove(x): x not in list", span)
            return
        segment = now[position]
        assert isinstance(segment, Item)
        here = vm.equal(segment.value, value, span)

        def take() -> None:
            store(vm, self, (*now[:position], *now[position + 1 :]), "", span)

        vm.fork(here, take, lambda: from_(position + 1))

    from_(0)
    return None


@LIST.add("clear")
def _clear(vm: VM, span: Span, self: Ref, /) -> object:
    store(vm, self, (), "", span)
    return None


@LIST.add("copy")
def _copy(vm: VM, span: Span, self: Ref, /) -> object:
    return as_list(vm, list_box(vm, self).segments)


@LIST.add("reverse")
def _reverse(vm: VM, span: Span, self: Ref, /) -> object:
    store(vm, self, backwards(vm, list_box(vm, self).segments), "", span)
    return None


@LIST.add("index")
def _index(
    vm: VM,
    span: Span,
    self: Ref,
    value: object,
    start: object = None,
    stop: object = None,
    /,
) -> object:
    box = list_box(vm, self)
    items = box.concrete
    told = spelt(vm, box.segments) if items is None else None
    if told is not None:
        return vm.apart(told, lambda v: position_of(vm, v, value, start, stop, "list", span))
    if items is None:
        return vm.unfollowed("`list.index()` in a list with runs", span)
    return position_of(vm, items, value, start, stop, "list", span)


@LIST.add("count")
def _count(vm: VM, span: Span, self: Ref, value: object, /) -> object:
    box = list_box(vm, self)
    items = box.concrete
    if items is not None:
        number = counted(vm, items, value, span)
        if list_box(vm, self).concrete != items:
            return vm.unfollowed("a list that is changed while it is counted", span)
        return number
    if not inert_segments(box.segments):
        return vm.unfollowed("`list.count()` in a list with runs", span)
    told = spelt(vm, box.segments)
    if told is not None:
        return vm.apart(told, lambda v: counted(vm, v, value, span))
    return vm.unknown_int("`list.count()` in a list with runs", span)


def _spelt_out(vm: VM, ref: Ref, action: Callable[[], object], span: Span) -> bool:
    """Change a list with few items on each path apart, where it has no runs; False: not done."""
    told = spelt(vm, list_box(vm, ref).segments)
    if told is None:
        return False

    def one(items: tuple[object, ...]) -> None:
        store(vm, ref, items_of(items), "", span)
        action()

    vm.apart(told, one)
    return True


@LIST.add("sort")
def _sort(
    vm: VM, span: Span, self: Ref, /, *, key: object = None, reverse: object = False
) -> object:
    items = list_box(vm, self).concrete
    if items is None:
        again = lambda: _sort(vm, span, self, key=key, reverse=reverse)  # noqa: E731
        if _spelt_out(vm, self, again, span):
            return None
        return vm.unfollowed("a list with runs is sorted", span)
    result = sort_values(vm, items, span, key=key, reverse=reverse)
    if list_box(vm, self).concrete != items:
        return vm.unfollowed("a list that is changed while it is sorted", span)
    segments = None if result is None else items_of(result)
    store(vm, self, segments, "a list is sorted by what depends on the inputs", span)
    return None


@LIST.add("__reversed__")
def _reversed(vm: VM, span: Span, self: Ref, /) -> object:
    return vm.call(vm.language.builtins["reversed"], (self,), span=span)
