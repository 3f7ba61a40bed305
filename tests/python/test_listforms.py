"""Closed forms of whole lists, against trips that are taken one by one."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from tests.python.support import at
from tests.python.test_forms import context
from verifier.symbolic import expr as E
from verifier.symbolic.python.carried import WHOLE, Context, Form, Place, put, read
from verifier.symbolic.python.heap import UNBOUND, Heap, Item, ListBox, Many, Scope, Segment
from verifier.symbolic.python.listforms import Append, Runs, Slots, slots

Segments = tuple[Segment, ...]


def items(loop: Context, segments: object, **env: int) -> list[object]:
    assert isinstance(segments, tuple)
    found = at(loop.vm, loop.vm.heap.new(ListBox(segments)), env)
    assert isinstance(found, list)
    return found


def stepped(loop: Context, form: Form, trip: Callable[[Segments], Segments], **env: int) -> None:
    """Assert that a form holds of a trip, and what it says of each trip."""
    index = loop.loop.index
    start = form.at(loop, index)
    assert isinstance(start, tuple)
    assert form.holds(loop, trip(start), loop.vm.heap)
    held = items(loop, form.at(loop, E.const(0)), **env)
    for k in range(5):
        assert items(loop, form.at(loop, E.const(k)), **env) == held
        left = trip(form.at(loop, E.const(k)))  # type: ignore[arg-type]
        held = items(loop, left, **env, i=k)
        assert items(loop, form.after(loop), **env, n=k + 1) == held


@given(st.integers(0, 3), st.integers(1, 3), st.integers(-2, 2))
def test_appended_items(before: int, count: int, factor: int) -> None:
    loop = context()
    index = loop.loop.index
    start = tuple(Item(f"start {k}") for k in range(before))
    added = tuple(index * factor + k for k in range(count))
    form = Append(start, added)
    stepped(loop, form, lambda was: (*was, *(Item(v) for v in added)))
    assert items(loop, form.after(loop), n=0) == [item.value for item in start]
    now = form.at(loop, index)
    assert isinstance(now, tuple)
    heap = loop.vm.heap
    assert not form.holds(loop, now, heap)
    assert not form.holds(loop, (*now, *(Item(v + 1) for v in added)), heap)
    assert not form.holds(loop, (Item("more"), *now, *(Item(v) for v in added)), heap)
    assert not form.holds(loop, (*now, *(Item(v) for v in added), Item("more")), heap)


@given(st.integers(0, 2), st.integers(0, 3))
def test_appended_runs(before: int, length: int) -> None:
    loop = context()
    index, count = loop.loop.index, E.symbol("m", 0)
    symbol = loop.vm.loop_symbol("j")
    start = tuple(Item(f"start {k}") for k in range(before))
    run = Many(count, symbol, (index * 10 + E.from_atom(symbol),))
    form = Runs(start, run)
    expected = [item.value for item in start]
    for trip in range(4):
        if length:
            assert items(loop, form.at(loop, E.const(trip)), m=length) == expected
            assert items(loop, form.after(loop), m=length, n=trip) == expected
        expected += [trip * 10 + k for k in range(length)]
    now = form.at(loop, index)
    assert isinstance(now, tuple)
    assert form.holds(loop, (*now, run), loop.vm.heap)
    assert not form.holds(loop, now, loop.vm.heap)
    assert not form.holds(loop, (*now, run, run), loop.vm.heap)
    other = Many(count, symbol, (index * 10 + E.from_atom(symbol) + 1,))
    assert not form.holds(loop, (*now, other), loop.vm.heap)


@given(st.integers(-2, 2))
def test_items_of_a_list(factor: int) -> None:
    loop = context()
    index = loop.loop.index
    kept = Item("kept")
    start: Segments = (Item(E.const(7)), kept)
    step: Segments = (Item(index * factor), kept)
    form = Slots(start, step)
    for trip in range(4):
        first = 7 if trip == 0 else (trip - 1) * factor
        assert items(loop, form.at(loop, E.const(trip))) == [first, "kept"]
        assert items(loop, form.after(loop), n=trip) == [first, "kept"]
    assert form.holds(loop, step, loop.vm.heap)
    assert not form.holds(loop, (Item(index * factor + 1), kept), loop.vm.heap)
    assert not form.holds(loop, step[:1], loop.vm.heap)


def test_the_items_of_a_list_of_known_length() -> None:
    assert slots((Item("a"), Item("b"))) == ("a", "b")
    loop = context()
    assert slots((Many(E.const(2), loop.index, ("a",)),)) is None
    assert slots("text") is None


def test_places() -> None:
    heap = Heap()
    scope, ref = heap.new(Scope({"a": 1})), heap.new(ListBox((Item("x"),)))
    assert read(heap, Place(scope.id, "a")) == 1
    assert read(heap, Place(scope.id, "b")) is UNBOUND
    assert read(heap, Place(ref.id, WHOLE)) == (Item("x"),)
    put(heap, Place(scope.id, "b"), 2)
    put(heap, Place(ref.id, WHOLE), ())
    assert read(heap, Place(scope.id, "b")) == 2
    assert read(heap, Place(ref.id, WHOLE)) == ()


def test_what_the_last_trip_leaves() -> None:
    loop = context()
    found = loop.last(loop.loop.index * 2)
    assert E.evaluate(found, {"n": 4}) == 6  # type: ignore[arg-type]
    assert E.evaluate(loop.trips, {"n": 4}) == 4
