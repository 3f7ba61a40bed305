"""Closed forms of what a loop carries, against trips that are taken one by one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.python.support import SPAN, machine
from verifier.symbolic import expr as E
from verifier.symbolic.python import draining
from verifier.symbolic.python.carried import WHOLE, Context, Form, Place
from verifier.symbolic.python.forms import (
    LONGEST,
    Cycle,
    Last,
    Linear,
    Once,
    Rest,
    Rotation,
    Share,
    Turning,
    advanced,
    difference,
    proposed,
    rotations,
)
from verifier.symbolic.python.heap import UNBOUND, Heap, Item, ListBox, Scope
from verifier.symbolic.python.listforms import Append, Runs, Slots
from verifier.symbolic.python.terms import join
from verifier.symbolic.tensors import Loop, LoopKind
from verifier.symbolic.values import Guarded, Opaque


def context() -> Context:
    """A loop of ``n`` trips on a fresh machine; its index is ``i``."""
    vm = machine()
    symbol = vm.loop_symbol("i")
    loop = Loop(E.from_atom(symbol), E.symbol("n", 0), LoopKind.RANGE, "i", SPAN)
    return Context(vm, loop)


def value(found: object, **env: int) -> object:
    if isinstance(found, Guarded):
        (found,) = [item for guard, item in found.cases if E.evaluate(guard, env)]
    return E.evaluate(found, env) if isinstance(found, (E.Expr, E.Bool)) else found


def stepped(
    loop: Context, form: Form, now: Callable[[E.Expr], object], start: object, **env: int
) -> None:
    """Assert that a form that holds is what trips leave that ``now`` says the end of."""
    index = loop.loop.index
    assert form.holds(loop, now(index), loop.vm.heap)
    held = start
    for trip in range(6):
        assert value(form.at(loop, E.const(trip)), **env) == held
        assert value(form.at(loop, index), i=trip, **env) == held
        held = value(now(index), i=trip, **env)
        loops = {**env, "n": trip + 1}
        assert value(form.after(loop), **loops) == held


NUMBERS = st.integers(-5, 5)


@given(NUMBERS, NUMBERS)
def test_linear(start: int, step: int) -> None:
    loop = context()
    a, s = E.symbol("a"), E.symbol("s")
    form = Linear(a, s)
    stepped(loop, form, lambda i: a + s * i + s, start, a=start, s=step)


def test_linear_does_not_hold_for_another_step() -> None:
    loop = context()
    a, index = E.symbol("a"), loop.loop.index
    form = Linear(a, E.const(2))
    for now in (a + index * 2, a + index * 2 + 3, a + 2, E.const(0), Opaque("something")):
        assert not form.holds(loop, now, loop.vm.heap)


@given(st.integers(0, 20), st.integers(0, 6))
def test_rest_and_share(start: int, size: int) -> None:
    loop = context()
    r, s, a = E.symbol("r", 0), E.symbol("s", 0), E.symbol("a")
    rest = draining.Rest(r, s)
    stepped(loop, Rest(r, rest), rest.after, start, r=start, s=size)
    share = Share(a, draining.Share(rest, E.const(3)))
    grown: Callable[[E.Expr], object] = lambda i: a + rest.taken(i) * 3 + rest.piece(i) * 3  # noqa: E731
    stepped(loop, share, grown, 7, r=start, s=size, a=7)
    other: object = a + rest.taken(loop.loop.index) * 3 + rest.piece(loop.loop.index)
    assert not share.holds(loop, other, loop.vm.heap)


@given(NUMBERS, NUMBERS)
def test_last(start: int, step: int) -> None:
    loop = context()
    index = loop.loop.index
    left = index * step + 1
    form = Last(E.const(start), left)
    stepped(loop, form, lambda i: i * step + 1, start)
    assert value(form.after(loop), n=0) == start
    assert not form.holds(loop, left + 1, loop.vm.heap)


def test_last_of_what_was_not_there() -> None:
    loop = context()
    form = Last(UNBOUND, loop.loop.index * 2)
    assert value(form.at(loop, E.const(0))) is UNBOUND
    assert value(form.at(loop, E.const(3))) == 4
    assert value(form.after(loop), n=0) is UNBOUND
    assert value(form.after(loop), n=3) == 4


@given(st.integers(2, 4))
def test_rotation(count: int) -> None:
    loop = context()
    values = tuple(f"value {k}" for k in range(count))
    form = Rotation(values)
    for trip in range(9):
        assert value(form.at(loop, E.const(trip))) == values[trip % count]
        assert value(form.after(loop), n=trip) == values[trip % count]
    turned = (*values[1:], values[0])
    assert form.holds(loop, Rotation(turned).at(loop, loop.loop.index), loop.vm.heap)
    assert not form.holds(loop, form.at(loop, loop.loop.index), loop.vm.heap)


def after_two_trips(first: int, trip: Callable[[object], object]) -> Form | None:
    """The form that a place gets when ``trip`` says what it holds after a trip that starts so."""
    loop = context()
    start = first if isinstance(first, bool) else E.const(first)
    place = Place(loop.vm.heap.new(Scope({"a": start})).id, "a")
    now = trip(start)
    form = proposed(loop, place, start, now)
    assert form is not None
    index = loop.loop.index
    form = form.revised(loop, start, trip(form.at(loop, index)), ())
    if isinstance(form, Cycle):
        stepped(loop, form, lambda i: trip(form.at(loop, i)), first)
    return form


def number(held: object) -> E.Expr:
    assert isinstance(held, E.Expr)
    return held


@pytest.mark.parametrize(
    ("start", "trip", "values"),
    [
        (0, lambda a: (a + 1) % 3, (0, 1, 2)),
        (1, lambda a: (a + 1) % 5, (1, 2, 3, 4, 0)),
        (0, lambda a: E.ite(E.eq(a + 1, 4), E.const(0), a + 1), (0, 1, 2, 3)),
        (3, lambda a: E.ite(E.eq(a, 0), E.const(3), a - 1), (3, 2, 1, 0)),
        (1, lambda a: 1 - a, (1, 0)),
        (7, lambda a: 10 - a, (7, 3)),
    ],
)
def test_numbers_that_come_round(
    start: int, trip: Callable[[E.Expr], E.Expr], values: tuple[int, ...]
) -> None:
    form = after_two_trips(start, lambda held: trip(number(held)))
    assert form == Cycle(tuple(map(E.const, values)))


@pytest.mark.parametrize(
    ("length", "trip", "numbers"),
    [
        (2, lambda a, n: 1 - a, lambda a, n: 1 - a),
        (3, lambda a, n: (a + 1) % 3, lambda a, n: (a + 1) % 3),
        (5, lambda a, n: (a + 7) % 5, lambda a, n: (a + 7) % 5),
        (3, lambda a, n: (a + n) % 3, lambda a, n: (a + n) % 3),
    ],
)
def test_numbers_that_come_round_from_any_start(
    length: int,
    trip: Callable[[E.Expr, E.Expr], E.Expr],
    numbers: Callable[[int, int], int],
) -> None:
    loop = context()
    start, by = E.symbol("s", 0, length - 1), E.symbol("by", 0)
    place = Place(loop.vm.heap.new(Scope({"a": start})).id, "a")
    form = proposed(loop, place, start, trip(start, by))
    assert isinstance(form, Turning)
    held = number(form.at(loop, loop.loop.index))
    assert form.holds(loop, trip(held, by), loop.vm.heap)
    assert not form.holds(loop, trip(held, by) + 1, loop.vm.heap)
    start_, by_ = start.as_atom(), by.as_atom()
    assert isinstance(start_, E.Sym) and isinstance(by_, E.Sym)
    for first in range(length):
        now = first
        for index in range(7):
            put = E.Substitution({start_: E.const(first), by_: E.const(4)})
            assert put.expr(number(form.at(loop, E.const(index)))) is E.const(now)
            now = numbers(now, 4)


def test_what_may_be_beyond_its_turns_is_not_taken_to_come_round() -> None:
    kinds: list[tuple[int | None, Callable[[E.Expr], E.Expr]]] = [
        (2, lambda a: 1 - a),
        (3, lambda a: (a + 1) % 3),
        (None, lambda a: 1 - a),
    ]
    for high, trip in kinds:
        loop = context()
        start = E.symbol("s", 0, high)
        place = Place(loop.vm.heap.new(Scope({"a": start})).id, "a")
        assert not isinstance(proposed(loop, place, start, trip(start)), Turning)


def test_a_flag_that_alternates() -> None:
    def trip(held: object) -> object:
        return not held if isinstance(held, bool) else E.not_(held)  # type: ignore[arg-type]

    for start in (True, False):
        assert after_two_trips(start, trip) == Cycle((start, not start))


def test_what_never_comes_back_to_its_start_is_no_cycle() -> None:
    trips: list[Callable[[E.Expr], E.Expr]] = [
        lambda held: (held + 1) % 3 + 1,  # 0, 2, 1, 3, 2: it does not come back to 0
        lambda held: (held + 1) % E.symbol("k", 2),  # nobody knows how long it is
        lambda held: (held + 1) % (LONGEST + 1),
    ]
    for trip in trips:

        def turn(held: object, trip: Callable[[E.Expr], E.Expr] = trip) -> object:
            return trip(number(held))

        assert not isinstance(after_two_trips(0, turn), Cycle)


def test_a_cycle_holds_only_for_its_own_trips() -> None:
    loop = context()
    form = Cycle(tuple(map(E.const, (0, 1, 2))))
    index = loop.loop.index
    for now in (index % 3, (index + 2) % 3, (index + 1) % 4, index, E.const(1), Opaque("x")):
        assert not form.holds(loop, now, loop.vm.heap)


def test_what_the_first_trip_sets() -> None:
    loop = context()
    index = loop.loop.index
    begun = E.eq(index, 0)
    form = Last(None, "set").revised(loop, None, join(begun, "set", "set"), ())
    assert form == Once(None, "set")
    stepped(loop, form, lambda i: "set", None)
    assert value(form.after(loop), n=0) is None
    assert not form.holds(loop, join(begun, "set", "other"), loop.vm.heap)
    assert not form.holds(loop, join(begun, "other", "set"), loop.vm.heap)
    assert not form.holds(loop, join(E.eq(index, 1), "other", "set"), loop.vm.heap)
    assert not form.holds(loop, None, loop.vm.heap)


# ------------------------------------------------------------------------ proposals


def entry(was: object, now: Callable[[E.Expr], object]) -> Form | None:
    loop = context()
    heap = Heap()
    ref = heap.new(Scope({"a": was}))
    return proposed(loop, Place(ref.id, "a"), was, now(loop.loop.index))


def test_what_is_proposed_for_an_entry() -> None:
    E.fresh_context()
    a, s = E.symbol("a", 0), E.symbol("s", 0)
    assert isinstance(entry(a, lambda i: a + s), Linear)
    assert isinstance(entry(a, lambda i: i), Last)
    assert isinstance(entry("x", lambda i: "y"), Last)
    assert isinstance(entry(a, lambda i: a + i), Last)


def test_a_rest_is_proposed_where_it_is_not_negative() -> None:
    loop = context()
    heap = loop.vm.heap
    for low, kind in ((0, Rest), (None, Last)):
        r, s = E.symbol(f"r{low}", low), E.symbol("s", 0)
        ref = heap.new(Scope({"a": r}))
        form = proposed(loop, Place(ref.id, "a"), r, r - E.minimum(r, s))
        assert (type(form) is kind) or (low is None and not isinstance(form, Rest))


def test_what_is_proposed_for_a_list() -> None:
    loop = context()
    heap = loop.vm.heap
    one, two = Item("a"), Item("b")
    ref = heap.new(ListBox((one,)))
    place = Place(ref.id, WHOLE)
    run = ListBox((one,)).segments
    assert isinstance(proposed(loop, place, run, (one, two)), Append)
    assert isinstance(proposed(loop, place, run, (two,)), Slots)
    assert proposed(loop, place, run, ()) is None
    assert not isinstance(proposed(loop, place, run, (two, one)), (Append, Runs))


def test_values_that_are_passed_around() -> None:
    E.fresh_context()
    x, y, z = (E.symbol(name) for name in "xyz")
    places = [Place(1, name) for name in "abc"]
    a, b, c = places
    assert set(rotations({a: (x, y), b: (y, x)})) == {a, b}
    assert set(rotations({a: (x, y), b: (y, z), c: (z, x)})) == {a, b, c}
    assert rotations({a: (x, y), b: (y, z)}) == {}
    assert rotations({a: (x, x)}) == {}
    turned = rotations({a: (x, y), b: (y, x)})[a]
    assert isinstance(turned, Rotation) and turned.values == (x, y)


@pytest.mark.parametrize(("was", "now"), [(1, "a"), ("a", 1), ("a", "b"), (None, None)])
def test_differences_of_what_is_no_number(was: object, now: object) -> None:
    assert difference(was, now) is None


def test_differences_and_sums() -> None:
    a, b = E.symbol("a"), E.symbol("b")
    grown = difference(a, b)
    assert grown is not None and advanced(a, grown) is b


def test_a_joined_value_is_what_its_path_left() -> None:
    loop = context()
    t = E.eq(E.symbol("t", 0, 1), 1)
    form = Last(E.const(0), join(t, loop.loop.index, "x"))
    assert value(form.after(loop), n=3, t=1) == 2
    assert value(form.after(loop), n=3, t=0) == "x"
    assert value(form.after(loop), n=0, t=0) == 0
