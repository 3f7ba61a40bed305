"""Coverage formulas against brute force."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sweeps import examples
from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic import views
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.regions import coverage, exists, point, same_frame
from verifier.symbolic.tensors import DType, View
from verifier.symbolic.units import parts, unit_of
from verifier.symbolic.values import DynamicSlice, IndexMask, SliceValue

from .views_support import SPAN, Recorder


@pytest.fixture(autouse=True)
def _context() -> None:
    E.fresh_context()


def loop(name: str) -> tuple[Sym, Expr]:
    index = E.symbol(name, 0, None, E.Origin.LOOP)
    atom = index.as_atom()
    assert isinstance(atom, Sym)
    return atom, index


def sl(start: Expr | int, stop: Expr | int, step: int | None = None) -> SliceValue:
    return SliceValue(E.lift(start), E.lift(stop), E.const(step) if step else None)


def brute(
    view: View,
    private: Sequence[tuple[Sym, Expr]],
    constraints: Sequence[Bool],
    env: Mapping[str, int],
) -> set[tuple[int, ...]]:
    """Every covered point, by enumeration."""
    found: set[tuple[int, ...]] = set()
    symbols = [*private, *((axis.symbol, axis.size) for axis in view.axes)]

    def go(k: int, values: dict[str, int]) -> None:
        if k == len(symbols):
            if all(E.evaluate(part, values) for part in (*constraints, view.mask)):
                found.add(tuple(int(E.evaluate(coord, values)) for coord in view.coords))
            return
        symbol, size = symbols[k]
        for value in range(int(E.evaluate(size, values))):
            go(k + 1, {**values, symbol.name: value})

    go(0, dict(env))
    return found


def compare(
    view: View,
    private: Sequence[tuple[Sym, Expr]],
    constraints: Sequence[Bool],
    envs: Sequence[Mapping[str, int]],
    *,
    exact: bool | None = True,
) -> Bool:
    x, _ = point(view.frame)
    formula, is_exact = coverage(view, x, private, constraints)
    gone = {symbol for symbol, _ in private} | {axis.symbol for axis in view.axes}
    assert not gone & set(formula.free())
    if exact is not None:
        assert is_exact is exact
    for env in envs:
        want = brute(view, private, constraints, env)
        sizes = [int(E.evaluate(size, env)) for size in view.frame]
        for place in itertools.product(*(range(size + 2) for size in sizes)):
            values = dict(env)
            for coord, value in zip(x, place, strict=True):
                values[repr(coord)] = value
            claimed = E.evaluate(formula, values)
            if is_exact:
                assert claimed == (place in want), (place, env, formula)
            else:
                assert not claimed or place in want, (place, env, formula)
    return formula


def sub(machine: Recorder, view: View, *items: object) -> View:
    return views.subscript(machine, view, tuple(items), SPAN, generation="0.6")


def test_tiles_of_a_loop_cover_a_tensor_without_division() -> None:
    machine = Recorder()
    n = E.symbol("n", 1)
    i, index = loop("i")
    a = machine.allocate("a", (n, 3), "float32", Buffer.HBM)
    tile = sub(machine, a, sl(index * 4, index * 4 + 4))
    formula = compare(tile, [(i, n // 4)], [], [{"n": size} for size in range(1, 14)])
    x, _ = point(tile.frame)
    direct, _ = coverage(tile, x, [(i, n // 4)])
    assert (
        direct is E.and_(E.ge(x[0], 0), E.lt(x[0], n // 4 * 4), E.lt(x[1], 3), E.ge(n // 4, 1))
        or E.lt(x[0], n // 4 * 4) in direct.args
    )
    assert formula.kind is E.BoolKind.AND


def test_clamped_tail_tiles() -> None:
    machine = Recorder()
    n = E.symbol("n", 1)
    i, index = loop("i")
    a = machine.allocate("a", (n,), "float32", Buffer.HBM)
    tile = sub(machine, a, sl(index * 4, E.minimum(index * 4 + 4, n)))
    compare(tile, [(i, E.ceildiv(n, 4))], [], [{"n": size} for size in range(1, 14)])


def test_gaps_and_strides() -> None:
    machine = Recorder()
    i, index = loop("i")
    a = machine.allocate("a", (30,), "float32", Buffer.HBM)
    compare(sub(machine, a, sl(index * 5 + 1, index * 5 + 4)), [(i, E.const(5))], [], [{}])
    compare(sub(machine, a, sl(index, 30, 7)), [(i, E.const(3))], [], [{}])
    compare(sub(machine, a, sl(3, 29, 3)), [], [], [{}])


def test_overlapping_windows() -> None:
    machine = Recorder()
    i, index = loop("i")
    w = E.symbol("w", 1)
    a = machine.allocate("a", (20,), "float32", Buffer.HBM)
    tile = sub(machine, a, sl(2 * index, 2 * index + w + 1))
    compare(tile, [(i, E.const(4))], [], [{"w": size} for size in (1, 2, 5)])


def test_masks_restrict() -> None:
    machine = Recorder("beta1")
    n = E.symbol("n", 1)
    i, index = loop("i")
    a = machine.allocate("a", (n, 2), "float32", Buffer.HBM)
    everything = SliceValue(None, None, None)
    p = views.index_subscript(machine, views.arange(machine, E.const(4)), (everything, None), SPAN)
    f = views.index_subscript(machine, views.arange(machine, E.const(2)), (None, everything), SPAN)
    rows = views.index_binop(machine, "+", index * 4, p, SPAN)
    mask = views.index_binop(machine, "<", rows, n, SPAN)
    assert isinstance(mask, IndexMask)
    view = views.subscript(machine, a, (rows, f), SPAN, generation="beta1")
    view = views.use(machine, view, mask, SPAN)
    compare(view, [(i, E.ceildiv(n, 4))], [], [{"n": size} for size in range(1, 11)])


def test_equalities_and_guards() -> None:
    machine = Recorder()
    i, index = loop("i")
    j, other = loop("j")
    k = E.symbol("k", 0)
    a = machine.allocate("a", (6, 12), "float32", Buffer.HBM)
    tile = sub(machine, a, index, sl(other * 3, other * 3 + 3))
    private = [(i, E.const(5)), (j, E.const(4))]
    compare(tile, private, [E.eq(index, k)], [{"k": v} for v in range(7)])
    compare(tile, private, [E.eq(index, 0)], [{}])
    compare(tile, private, [E.ne(index, k)], [{"k": 2}])
    compare(tile, private, [E.lt(other, index)], [{}])
    compare(tile, private, [E.or_(E.eq(index, 1), E.eq(other, 2))], [{}])
    compare(tile, private, [E.eq(index, other)], [{}])


def test_the_last_part_takes_the_remainder() -> None:
    machine = Recorder()
    n, parts, size = E.symbol("n", 1), E.symbol("parts", 1), E.symbol("size", 1)
    p, part = loop("p")
    i, index = loop("i")
    each = n // parts
    own = E.ite(E.eq(part, parts - 1), n - part * each, each)
    a = machine.allocate("a", (n,), "float32", Buffer.HBM)
    begin = part * each + index * size
    tile = sub(machine, a, sl(begin, begin + E.minimum(size, own - index * size)))
    # a part that is empty is an error of its own
    envs = [
        {"n": n, "parts": parts, "size": size}
        for n, parts, size in itertools.product((3, 7, 8), (1, 2, 3), (1, 2, 5))
    ]
    x, _ = point(tile.frame)
    each_is_there = E.ge(each, 1)
    private = [(p, parts), (i, E.ceildiv(own, size))]
    formula, exact = coverage(
        tile, x, private, decide=lambda c: True if c is each_is_there else None
    )
    assert exact
    for env in envs:
        want = brute(tile, private, (), env)
        assert want == {
            (k,) for k in range(env["n"] + 2) if E.evaluate(formula, {**env, repr(x[0]): k})
        }


def test_multiples_of_sizes_have_bounds() -> None:
    machine = Recorder()
    n, size = E.symbol("n", 1), E.symbol("size", 1)
    i, index = loop("i")
    a = machine.allocate("a", (size,), "float32", Buffer.HBM)
    tile = sub(machine, a, DynamicSlice(E.const(0), E.minimum(size, n - index * size)))
    sizes = itertools.product(range(1, 9), range(1, 5))
    envs = [{"n": n, "size": size} for n, size in sizes]
    for trips in (E.ceildiv(n, size), n // size, n):
        compare(tile, [(i, trips)], [], envs)
    for guard in (E.ge(index * size, n - 3), E.lt(index * size + 1, n), E.ge(size * index, 2)):
        compare(tile, [(i, E.ceildiv(n, size))], [guard], envs)


def test_sizes_that_may_be_zero_are_strides_all_the_same() -> None:
    machine = Recorder()
    n, heads = E.symbol("n", 1), E.symbol("heads", 1)
    i, index = loop("i")
    j, other = loop("j")
    each = n // 3
    a = machine.allocate("a", (2 * heads * each + 2,), "float32", Buffer.HBM)
    begin = index * heads * each + other * each
    sizes = itertools.product((1, 2, 3, 6, 7), (1, 2, 3))
    envs = [{"n": n, "heads": heads} for n, heads in sizes]
    rows = [(i, E.const(2)), (j, heads)]
    compare(sub(machine, a, sl(begin, begin + each)), rows, [], envs)
    # one row in between is left out
    gap = [E.or_(E.ne(index, 1), E.ne(other, 0))]
    compare(sub(machine, a, sl(begin, begin + each)), rows, gap, envs, exact=None)


def test_a_loop_that_the_view_does_not_use_must_run() -> None:
    machine = Recorder()
    i, _ = loop("i")
    trips = E.symbol("trips", 0)
    a = machine.allocate("a", (5,), "float32", Buffer.HBM)
    compare(a, [(i, trips)], [], [{"trips": 0}, {"trips": 2}])


def test_nested_loops_over_a_flat_frame() -> None:
    machine = Recorder()
    n, m = E.symbol("n", 1), E.symbol("m", 1)
    i, index = loop("i")
    a = machine.allocate("a", (n, m), "float32", Buffer.HBM)
    flat = views.reshape(machine, a, (n * m,), SPAN)
    tile = sub(machine, a, sl(index * 2, E.minimum(index * 2 + 2, n)), sl(0, E.minimum(m, 3)))
    one, two = same_frame(tile, flat)
    assert one.frame == two.frame == (n * m,)
    envs = [{"n": x, "m": y} for x in range(1, 6) for y in range(1, 6)]
    compare(one, [(i, E.ceildiv(n, 2))], [], envs)


def test_different_element_sizes_meet_in_what_divides_both() -> None:
    machine = Recorder()
    t = machine.allocate("t", (4, 6), "float32", Buffer.SBUF)
    half = views.view_dtype(machine, t, DType.named("bfloat16"), SPAN)
    part = sub(machine, half, SliceValue(None, None, None), sl(2, 5))
    one, two = same_frame(t, part)
    assert one.frame == two.frame == (E.const(4), E.const(12))
    compare(one, [], [], [{}])
    compare(two, [], [], [{}])


def test_parts_of_elements_lie_in_the_frame_of_the_narrower_view() -> None:
    machine = Recorder()
    n = E.symbol("n", 1)
    t = machine.allocate("t", (4, n), "float32", Buffer.SBUF)
    half = views.view_dtype(machine, t, DType.named("bfloat16"), SPAN)
    unit = unit_of(t, (t, half))
    assert unit == 2
    for part in parts(t, unit):
        assert part.frame == half.frame and part.axes == t.axes
        assert same_frame(part, half) == (part, half)
        compare(part, [], [], [{"n": x} for x in (1, 2, 5)])
    assert unit_of(half, (t, half)) is None and [*parts(half, None)] == [half]
    # as a wider type, the frame is that of the tensor again
    narrow = machine.allocate("u", (4, n), "bfloat16", Buffer.SBUF)
    wide = views.view_dtype(machine, narrow, DType.named("float32"), SPAN)
    assert [part.frame for part in parts(wide, 2)] == [narrow.frame] * 2


@pytest.mark.parametrize("total", ["b*h", "b*h - 1", "n"])
def test_tasks_that_are_dealt_out_to_cores(total: str) -> None:
    """Each core has every task that is as many on as there are cores; each a row and a column."""
    machine = Recorder()
    b, h, n, cores = E.symbol("b", 1), E.symbol("h", 1), E.symbol("n", 1), E.symbol("cores", 1, 3)
    (core, core_index), (i, index) = loop("core"), loop("i")
    a = machine.allocate("a", (b, h), "float32", Buffer.HBM)
    count = {"b*h": b * h, "b*h - 1": b * h - 1, "n": n}[total]
    task = core_index + cores * index
    row, column = E.floordiv(task, h), E.mod(task, h)
    tile = sub(machine, a, sl(row, row + 1), sl(column, column + 1))
    names = ("b", "h", "n", "cores")
    values = itertools.product((1, 2, 3), (1, 2, 4), (1, 3, 7), (1, 2, 3))
    envs = [dict(zip(names, each, strict=True)) for each in values]
    private = [(core, cores), (i, E.ceildiv(count - core_index, cores))]
    compare(tile, private, [], envs)


def test_inexact_views_claim_nothing() -> None:
    machine = Recorder()
    t = machine.allocate("t", (4, 6), "float32", Buffer.SBUF)
    lost = views.inexact(t, t.axes, "lost")
    assert coverage(lost, point(lost.frame)[0]) == (E.FALSE, False)


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_random_views_agree_with_enumeration(data: st.DataObject) -> None:
    E.fresh_context()
    machine = Recorder()
    draw = data.draw
    n = E.symbol("n", 1)
    i, index = loop("i")
    j, other = loop("j")
    numbers = st.integers(0, 5)
    dims: list[Expr] = []
    for _ in range(draw(st.integers(1, 2))):
        coef = [draw(st.sampled_from([0, 0, 1, 2, 3, 4, 6, -1])) for _ in range(2)]
        dims.append(index * coef[0] + other * coef[1] + draw(numbers))
    a = machine.allocate("a", [40] * len(dims), "float32", Buffer.HBM)
    items = []
    for start in dims:
        width = draw(st.sampled_from([1, 2, 3, 4, 6]))
        stop = start + width
        if draw(st.booleans()):
            stop = E.minimum(stop, n * draw(st.sampled_from([1, 2, 4])))
        items.append(SliceValue(start, stop, E.const(draw(st.sampled_from([1, 1, 2, 3])))))
    view = sub(machine, a, *items)
    trips = [draw(st.sampled_from([E.const(2), E.const(5), n, n // 2, E.ceildiv(n, 3)]))] * 2
    guards = draw(
        st.lists(
            st.sampled_from(
                [
                    E.eq(index, 1),
                    E.lt(index, other),
                    E.ne(other, 2),
                    E.le(index + other, n),
                    E.eq(index % 2, 0),
                    E.or_(E.eq(index, 0), E.eq(other, n - 1)),
                ]
            ),
            max_size=2,
        )
    )
    private = [(i, trips[0]), (j, trips[1])]
    env = {"n": draw(st.integers(1, 7))}
    x, _ = point(view.frame)
    formula, exact = coverage(view, x, private, guards)
    want = brute(view, private, guards, env)
    for place in itertools.product(range(45), repeat=len(dims)):
        values: dict[str, int | bool] = dict(env)
        for coord, value in zip(x, place, strict=True):
            values[repr(coord)] = value
        claimed = E.evaluate(formula, values)
        assert claimed == (place in want) if exact else (not claimed or place in want)


def test_bounds_that_a_symbol_has_of_its_own_are_kept() -> None:
    """Rows of a slot that alternates: the last row is in none of them, whatever the bounds of the
    symbols say already."""
    i, row = E.fresh("i", 0, 4), E.fresh("row", 0, 3)
    j, h, w = E.fresh("j", 0, 4), E.fresh("h", 0, 2), E.fresh("w", 0, 7)
    start = 32 * E.mod(i, 2) + 8 * row
    byte = 32 * E.mod(j + 1, 2) + 8 * h + w
    private = [(j, i), (h, E.const(3)), (w, E.const(8))]
    sized = [(atom, size) for index, size in private if isinstance(atom := index.as_atom(), Sym)]
    formula, exact = exists(sized, [E.eq(byte, start)])
    assert exact
    for a, b in itertools.product(range(5), range(4)):
        want = any(
            32 * ((c + 1) % 2) + 8 * d + e == 32 * (a % 2) + 8 * b
            for c, d, e in itertools.product(range(a), range(3), range(8))
        )
        env = {str(i): a, str(row): b}
        assert E.evaluate(formula, env) == want, env


def test_an_index_that_is_divided_within_what_is_divided() -> None:
    """``(a - 2*s + 4*(s // 2)) // 5``: the inner quotient is taken apart first, the outer one would
    be again and again."""
    a, most, s = E.symbol("a", 0), E.symbol("most", 1), E.fresh("s", 0)
    atom = s.as_atom()
    assert isinstance(atom, Sym)
    row = E.floordiv(a - 2 * s + 4 * E.floordiv(s, 2), 5)
    formula, exact = exists([(atom, most)], [E.eq(row, 1), E.ge(2 * s, a - 7)])
    for one, limit in itertools.product(range(14), range(1, 9)):
        env = {"a": one, "most": limit}
        want = any(
            (one - 2 * k + 4 * (k // 2)) // 5 == 1 and 2 * k >= one - 7 for k in range(limit)
        )
        found = E.evaluate(formula, env)
        assert found == want if exact else (want or not found), env
