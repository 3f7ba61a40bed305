"""Renaming loop indices, what values are made of, and equality of values in two heaps."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from verifier.symbolic import expr as E
from verifier.symbolic.python.alike import alike, alike_segments
from verifier.symbolic.python.heap import (
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
)
from verifier.symbolic.python.model import Method, Partial
from verifier.symbolic.python.parts import COMPOUND, box_parts, mentions, parts, reachable
from verifier.symbolic.python.renaming import Renaming
from verifier.symbolic.tensors import DType, LoopKind
from verifier.symbolic.values import Guarded, Range, Ratio, Ref, SliceValue


def index(name: str = "i") -> tuple[E.Expr, E.Sym]:
    found = E.symbol(name, 0)
    atom = found.as_atom()
    assert isinstance(atom, E.Sym)
    return found, atom


#: values that are made of a number
COMPOUNDS: dict[str, Callable[[E.Expr], object]] = {
    "a tuple": lambda x: (1, (x, "a")),
    "a value by path": lambda x: Guarded(((E.eq(x, 5), "a"), (E.ne(x, 5), x))),
    "a range": lambda x: Range(E.const(0), x, E.const(1), LoopKind.RANGE),
    "a quotient": lambda x: Ratio(x, E.const(2)),
    "a slice": lambda x: SliceValue(x, None, None),
    "a method": lambda x: Method("function", x),
    "a partial": lambda x: Partial("function", (1,), (("key", x),)),
    "a type": lambda x: DType(x),
}


@pytest.mark.parametrize("name", COMPOUNDS)
def test_an_index_is_replaced_wherever_it_stands(name: str) -> None:
    E.fresh_context()
    i, atom = index()
    n = E.symbol("n", 0)
    make, heap = COMPOUNDS[name], Heap()
    assert mentions(make(i), frozenset({atom}), heap)
    renamed = Renaming(heap, {atom: n + 1}).value(make(i))
    assert not mentions(renamed, frozenset({atom}), heap)
    assert list(parts(renamed)) == list(parts(make(n + 1)))
    assert list(parts(renamed)) != list(parts(make(n + 2)))
    same = make(n)
    assert Renaming(heap, {atom: E.const(0)}).value(same) is same  # nothing to do


@pytest.mark.parametrize("kind", sorted(COMPOUND, key=lambda kind: str(kind)))
def test_every_compound_value_says_its_parts_and_is_made_of_them(kind: type) -> None:
    take, make = COMPOUND[kind]
    examples = [make_one(E.symbol("x", 0)) for make_one in COMPOUNDS.values()]
    for value in (v for v in examples if type(v) is kind):
        held = list(take(value))
        assert held and list(parts(value)) == held
        again = make(value, iter(held))
        assert type(again) is kind and list(take(again)) == held


def test_the_guards_of_a_renamed_value_are_settled() -> None:
    E.fresh_context()
    i, atom = index()
    value = Guarded(((E.eq(i, 0), "a"), (E.ne(i, 0), "b")))
    assert Renaming(Heap(), {atom: E.const(0)}).value(value) == "a"
    assert Renaming(Heap(), {atom: E.const(3)}).value(value) == "b"


def test_a_list_that_depends_on_the_index_is_copied_and_the_copy_is_a_ghost() -> None:
    E.fresh_context()
    i, atom = index()
    heap = Heap()
    inner = heap.new(ListBox.of([i]))
    outer = heap.new(ListBox.of([inner, inner, "a"]))
    other = heap.new(ListBox.of(["b"]))
    renaming = Renaming(heap, {atom: E.const(5)})
    copy = renaming.value(outer)
    assert isinstance(copy, Ref) and copy != outer
    assert renaming.value(outer) == copy  # one object stays one object
    assert renaming.value(other) == other
    box = heap.get(copy.id)
    assert isinstance(box, ListBox) and box.ghost
    first, second, _ = box.concrete or ()
    assert first == second and isinstance(first, Ref)
    held = heap.get(first.id)
    assert isinstance(held, ListBox) and held.concrete == (E.const(5),)
    original = heap.get(inner.id)
    assert isinstance(original, ListBox) and original.concrete == (i,) and not original.ghost


def test_what_each_trip_makes_anew_is_copied() -> None:
    heap = Heap()
    _, atom = index()
    ref = heap.new(ListBox.of(["a"]))
    assert Renaming(heap, {atom: E.const(1)}).value(ref) == ref
    assert Renaming(heap, {atom: E.const(1)}, frozenset({ref.id})).value(ref) != ref
    i, _ = index()
    mine, other = heap.new(ListBox.of([i])), heap.new(ListBox.of([i]))
    renaming = Renaming(heap, {atom: E.const(1)}, own=frozenset({mine.id}))
    assert renaming.value(mine) != mine
    assert renaming.value(other) == other  # an object of before the loop stays what it is


def test_a_list_that_holds_itself() -> None:
    i, atom = index()
    heap = Heap()
    ref = heap.new(ListBox())
    box = heap.get(ref.id)
    assert isinstance(box, ListBox)
    box.segments = (Item(ref), Item(i))
    copy = Renaming(heap, {atom: E.const(2)}).value(ref)
    assert isinstance(copy, Ref)
    made = heap.get(copy.id)
    assert isinstance(made, ListBox) and made.concrete == (copy, E.const(2))
    assert list(reachable(heap, (ref,))) == [ref.id]


BOXES: dict[str, Callable[[object], Box]] = {
    "list": lambda v: ListBox.of([v]),
    "run": lambda v: ListBox((Many(E.const(2), index("k")[1], (v,)),)),
    "dict": lambda v: DictBox({"a": v}),
    "set": lambda v: SetBox({StandIn(1, v): True}),
    "object": lambda v: ObjectBox("class", {"a": v}),
    "payload": lambda v: ObjectBox("class", {}, v),
    "state": lambda v: StateBox("kind", {"a": v}),
    "scope": lambda v: Scope({"a": v}),
}


@pytest.mark.parametrize("name", BOXES)
def test_what_is_in_a_box(name: str) -> None:
    E.fresh_context()
    i, atom = index()
    heap = Heap()
    inner = heap.new(ListBox.of([i]))
    ref = heap.new(BOXES[name](inner))
    assert inner in list(box_parts(heap.get(ref.id)))
    assert set(reachable(heap, [(ref,)])) == {ref.id, inner.id}
    assert mentions(ref, frozenset({atom}), heap)
    copy = Renaming(heap, {atom: E.const(4)}).value(ref)
    assert isinstance(copy, Ref) and copy != ref
    assert not mentions(copy, frozenset({atom}), heap)


def test_a_scope_leads_to_the_one_around_it() -> None:
    heap = Heap()
    outer = heap.new(Scope())
    assert list(reachable(heap, [heap.new(Scope(parent=outer.id))]))[1:] == [outer.id]


# ------------------------------------------------------------------------ equality


@pytest.mark.parametrize("name", sorted(set(BOXES) - {"set"}))
def test_boxes_with_the_same_contents(name: str) -> None:
    left, right = Heap(), Heap()
    a = left.new(BOXES[name]("x"))
    right.new(Scope())
    b, c = right.new(BOXES[name]("x")), right.new(BOXES[name]("y"))
    assert a != b
    assert alike(left, a, right, b)
    assert not alike(left, a, right, c)


def test_boxes_of_before_are_told_apart() -> None:
    before = Heap()
    a, b = before.new(ListBox()), before.new(ListBox())
    after = before.fork()
    fresh, another = after.new(ListBox()), after.new(ListBox())
    assert alike(after, a, after, b)
    assert not alike(after, a, after, b, before=before)
    assert alike(after, a, after, a, before=before)
    assert alike(after, fresh, after, another, before=before)
    assert not alike(after, a, after, fresh, before=before)
    held, others = after.new(ListBox.of([a])), after.new(ListBox.of([b]))
    assert alike(after, held, after, others)
    assert not alike(after, held, after, others, before=before)
    assert not alike(after, (a, 1), after, (b, 1), before=before)


def test_boxes_of_other_kinds() -> None:
    heap = Heap()
    kinds = [ListBox(), DictBox(), SetBox(), ObjectBox("a"), ObjectBox("b"), StateBox("a")]
    refs = [heap.new(box) for box in kinds]
    for a in refs:
        for b in refs:
            assert alike(heap, a, heap, b) == (a == b)


def test_the_order_of_entries_counts() -> None:
    heap = Heap()
    a, b = heap.new(DictBox({1: 1, 2: 2})), heap.new(DictBox({2: 2, 1: 1}))
    assert not alike(heap, a, heap, b)


def test_runs_are_compared_whatever_their_index_is_called() -> None:
    E.fresh_context()
    heap = Heap()
    i, a = index("i")
    j, b = index("j")
    n = E.symbol("n", 0)
    assert alike_segments(heap, Many(n, a, (i + 1,)), heap, Many(n, b, (j + 1,)))
    assert not alike_segments(heap, Many(n, a, (i + 1,)), heap, Many(n, b, (j + 2,)))
    assert not alike_segments(heap, Many(n, a, (i,)), heap, Many(n + 1, b, (j,)))
    assert not alike_segments(heap, Many(n, a, (i,)), heap, Many(n, b, (j, j)))
    assert not alike_segments(heap, Many(E.const(1), a, ("x",)), heap, Item("x"))
