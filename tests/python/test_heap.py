"""The heap: what a fork sees, what a write copies, and what two heaps are joined to."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.symbolic import expr as E
from verifier.symbolic.python.heap import (
    MOST_RUNS,
    UNBOUND,
    Box,
    DictBox,
    Heap,
    Item,
    ListBox,
    Many,
    ObjectBox,
    Scope,
    SetBox,
    StandIn,
    StateBox,
    merge,
)
from verifier.symbolic.python.terms import join
from verifier.symbolic.values import Guarded, Ref


def keyed(items: dict[str, object]) -> dict[object, object]:
    return dict(items.items())


#: what makes a box with some entries, and where it keeps them, by type of box
MADE: dict[str, tuple[Callable[[dict[str, object]], Box], str]] = {
    "scope": (lambda items: Scope(items), "names"),
    "dict": (lambda items: DictBox(keyed(items)), "items"),
    "set": (lambda items: SetBox(keyed(items)), "items"),
    "object": (lambda items: ObjectBox(None, items), "attributes"),
    "state": (lambda items: StateBox("state", items), "fields"),
}


def held(heap: Heap, ref: Ref, where: str) -> dict[str, object]:
    found = getattr(heap.get(ref.id), where)
    assert isinstance(found, dict)
    return found


def chosen(value: object, env: dict[str, int]) -> object:
    """What a joined value is on the host."""
    if isinstance(value, Guarded):
        (value,) = [item for guard, item in value.cases if E.evaluate(guard, env)]
    return E.evaluate(value, env) if isinstance(value, (E.Expr, E.Bool)) else value


def crowded() -> Many:
    """The one run of a list that is not followed."""
    index = E.symbol("item", 0).as_atom()
    assert isinstance(index, E.Sym)
    return Many(E.symbol("length", 0), index, ("any",))


@pytest.mark.parametrize("name", MADE)
def test_a_fork_does_not_see_writes_nor_is_it_seen(name: str) -> None:
    make, where = MADE[name]
    heap = Heap()
    ref = heap.new(make({"a": 1}))
    other = heap.fork()
    assert heap.get(ref.id) is other.get(ref.id)  # nothing is copied before it is written
    getattr(heap.write(ref.id), where)["a"] = 2
    getattr(other.write(ref.id), where)["b"] = 3
    third = other.fork()
    getattr(third.write(ref.id), where)["a"] = 4
    assert held(heap, ref, where) == {"a": 2}
    assert held(other, ref, where) == {"a": 1, "b": 3}
    assert held(third, ref, where) == {"a": 4, "b": 3}


def test_a_box_of_ones_own_is_written_in_place() -> None:
    heap = Heap()
    ref = heap.new(Scope({"a": 1}))
    assert heap.write(ref.id) is heap.get(ref.id)
    heap.fork()
    before = heap.get(ref.id)
    assert heap.write(ref.id) is not before  # the fork has it too
    assert heap.write(ref.id) is heap.get(ref.id)


def test_forks_make_boxes_of_different_numbers() -> None:
    heap = Heap()
    other = heap.fork()
    a, b = heap.new(Scope()), other.new(Scope())
    assert a != b
    assert heap.find(b.id) is None and other.find(a.id) is None


def test_what_a_module_made_is_copied_when_it_is_written() -> None:
    base: dict[int, Box] = {7: Scope({"a": 1})}
    heap = Heap(base)
    written = heap.write(7)
    assert isinstance(written, Scope)
    written.names["a"] = 2
    assert held(heap, Ref(7), "names") == {"a": 2}
    assert held(Heap(base), Ref(7), "names") == {"a": 1}


def test_a_heap_takes_over_a_fork() -> None:
    heap = Heap()
    ref = heap.new(Scope({"a": 1}))
    other = heap.fork()
    getattr(other.write(ref.id), "names")["a"] = 2  # noqa: B009
    heap.adopt(other)
    assert held(heap, ref, "names") == {"a": 2}


@pytest.mark.parametrize("name", MADE)
@given(
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 2)),
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 2)),
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 2)),
)
def test_joined_entries(
    name: str, start: dict[str, int], left: dict[str, int], right: dict[str, int]
) -> None:
    E.fresh_context()
    make, where = MADE[name]
    test = E.eq(E.symbol("t", 0, 1), 1)
    heap = Heap()
    ref = heap.new(make({key: E.const(value) for key, value in start.items()}))
    sides = []
    for new in (left, right):
        side = heap.fork()
        items = getattr(side.write(ref.id), where)
        items.clear()
        items.update((key, E.const(value)) for key, value in new.items())
        sides.append(side)
    merge(heap, test, sides[0], sides[1], join, crowded)
    for value, expected in ((1, left), (0, right)):
        found = {k: chosen(v, {"t": value}) for k, v in held(heap, ref, where).items()}
        assert {k: v for k, v in found.items() if v is not UNBOUND} == expected


@given(st.lists(st.integers(0, 2), max_size=4), st.lists(st.integers(0, 2), max_size=4))
def test_joined_lists(left: list[int], right: list[int]) -> None:
    E.fresh_context()
    test = E.eq(E.symbol("t", 0, 1), 1)
    heap = Heap()
    ref = heap.new(ListBox())
    sides = []
    for new in (left, right):
        side = heap.fork()
        box = side.write(ref.id)
        assert isinstance(box, ListBox)
        box.segments = ListBox.of([E.const(value) for value in new]).segments
        sides.append(side)
    merge(heap, test, sides[0], sides[1], join, crowded)
    box = heap.get(ref.id)
    assert isinstance(box, ListBox)
    for value, expected in ((1, left), (0, right)):
        found = []
        for segment in box.segments:
            if isinstance(segment, Item):
                found.append(chosen(segment.value, {"t": value}))
            else:
                count = E.evaluate(segment.count, {"t": value})
                found += [chosen(v, {"t": value}) for _ in range(count) for v in segment.values]
        assert found == expected
        assert E.evaluate(box.length, {"t": value}) == len(expected)


def test_an_order_that_depends_on_the_path_is_told() -> None:
    test = E.eq(E.symbol("t", 0, 1), 1)

    def joined(left: dict[object, object], right: dict[object, object]) -> bool:
        heap = Heap()
        ref = heap.new(DictBox())
        sides = [heap.fork(), heap.fork()]
        for side, items in zip(sides, (left, right), strict=True):
            box = side.write(ref.id)
            assert isinstance(box, DictBox)
            box.items = items
        merge(heap, test, sides[0], sides[1], join, crowded)
        box = heap.get(ref.id)
        assert isinstance(box, DictBox)
        return box.shuffled

    assert joined({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert not joined({"a": 1, "b": 2}, {"a": 2, "b": 2})
    assert not joined({"a": 1}, {"a": 1, "b": 2})


def test_what_one_side_alone_made_stays() -> None:
    heap = Heap()
    left, right = heap.fork(), heap.fork()
    a, b = left.new(Scope({"a": 1})), right.new(Scope({"b": 2}))
    merge(heap, E.eq(E.symbol("t", 0, 1), 1), left, right, join, crowded)
    assert held(heap, a, "names") == {"a": 1} and held(heap, b, "names") == {"b": 2}


def test_neither_side_is_written_after_the_join() -> None:
    heap = Heap()
    ref = heap.new(Scope({"a": 1}))
    left, right = heap.fork(), heap.fork()
    getattr(left.write(ref.id), "names")["a"] = 2  # noqa: B009
    merge(heap, E.eq(E.symbol("t", 0, 1), 1), left, right, join, crowded)
    getattr(heap.write(ref.id), "names")["a"] = 9  # noqa: B009
    assert held(left, ref, "names") == {"a": 2} and held(right, ref, "names") == {"a": 1}


def cleared(heap: Heap, ref: Ref, test: E.Bool) -> None:
    """Clear a list on one of two paths."""
    left, right = heap.fork(), heap.fork()
    box = left.write(ref.id)
    assert isinstance(box, ListBox)
    box.segments = ()
    merge(heap, test, left, right, join, crowded)


def test_what_is_there_on_some_paths_is_one_part_however_often_they_meet() -> None:
    heap = Heap()
    ref = heap.new(ListBox.of(["a", "b"]))
    flags = [E.symbol(f"t{k}", 0, 1) for k in range(6)]
    for flag in flags:
        cleared(heap, ref, E.eq(flag, 1))
    for last in flags:
        left, right = heap.fork(), heap.fork()
        cleared(left, ref, E.eq(last, 1))
        cleared(right, ref, E.eq(last, 0))
        merge(heap, E.eq(flags[0], 1), left, right, join, crowded)
    box = heap.get(ref.id)
    assert isinstance(box, ListBox) and len(box.segments) == box.runs == 2
    env = {f"t{k}": 0 for k in range(6)}
    assert E.evaluate(box.length, env) == 0  # each last flag clears it on one of the sides


def test_a_list_of_too_many_parts_of_some_paths_is_not_followed() -> None:
    heap = Heap()
    ref = heap.new(ListBox())
    for k in range(MOST_RUNS + 1):
        left, right = heap.fork(), heap.fork()
        box = left.write(ref.id)
        assert isinstance(box, ListBox)
        box.segments = (*box.segments, Item(f"item {k}"))
        merge(heap, E.eq(E.symbol(f"t{k}", 0, 1), 1), left, right, join, crowded)
    box = heap.get(ref.id)
    assert isinstance(box, ListBox) and box.segments == (crowded(),)


def test_the_length_of_a_list() -> None:
    count, index = E.symbol("n", 0), E.symbol("i", 0).as_atom()
    assert isinstance(index, E.Sym)
    box = ListBox((Item("a"), Many(count, index, ("b", "c"))))
    assert box.length is count * 2 + 1
    assert box.concrete is None
    assert ListBox.of(["a", "b"]).concrete == ("a", "b")


def test_a_stand_in_is_found_as_its_key() -> None:
    one, other = StandIn(1, "member"), StandIn(1, "another")
    table: dict[object, str] = {one: "found"}
    assert table[other] == "found"
    assert table[1] == "found"
    assert 2 not in table
