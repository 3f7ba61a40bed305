"""What holds of every layout: symbolic and plain integers agree, no two elements share a place, the
extent is exact, and storage modes hold each element once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from verifier.hardware.chips import CHIPS, Chip
from verifier.layouts import address as A
from verifier.layouts import strides as S
from verifier.layouts.address import Four
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr

Index = tuple[int, int, int, int]
SIZES = st.integers(1, 5)
SHAPES = st.tuples(st.integers(1, 3), st.integers(1, 9), SIZES, SIZES)
LANES = st.integers(1, 6)
ITEMS = st.sampled_from((1, 2, 4))
CHIP = st.sampled_from(sorted(CHIPS)).map(CHIPS.__getitem__)
NAMED: dict[str, Callable[[Chip, int, Index, int], Index]] = {
    "aligned": lambda chip, q, shape, es: S.aligned(chip.lanes, chip.eu_bytes, q, shape, es),
    "compact": lambda chip, q, shape, es: S.compact(chip.lanes, q, shape),
    "row-aligned": lambda chip, q, shape, es: S.row_aligned(
        chip.lanes, chip.eu_bytes, q, shape, es
    ),
}


def indices(shape: Index) -> Iterator[Index]:
    n, c, h, w = shape
    yield from itertools.product(range(n), range(c), range(h), range(w))


def quad(values: tuple[int, ...], name: str, env: dict[str, int | bool]) -> Four[Expr]:
    """A symbol for each value."""
    env.update({f"{name}{i}": value for i, value in enumerate(values)})
    a, b, c, d = (E.symbol(f"{name}{i}", 0) for i in range(4))
    return a, b, c, d


def values(terms: tuple[Expr, ...], env: dict[str, int | bool]) -> tuple[int, ...]:
    return tuple(int(E.evaluate(term, env)) for term in terms)


@given(CHIP, SHAPES, ITEMS, st.integers(0, 63), st.integers(1, 12))
def test_symbolic_and_plain_agree(
    chip: Chip, shape: Index, itemsize: int, start: int, width: int
) -> None:
    E.fresh_context()
    env: dict[str, int | bool] = {"q": start, "e": itemsize, "k": width}
    q, e, k = (E.symbol(name, 0) for name in "qek")
    dims = quad(shape, "d", env)
    x, unit = chip.lanes, chip.eu_bytes
    pairs: list[tuple[tuple[Expr, ...], tuple[int, ...]]] = [
        (S.aligned(x, unit, q, dims, e), S.aligned(x, unit, start, shape, itemsize)),
        (S.aligned(x, unit, start, dims, itemsize), S.aligned(x, unit, start, shape, itemsize)),
        (S.compact(x, q, dims), S.compact(x, start, shape)),
        (S.row_aligned(x, unit, q, dims, e), S.row_aligned(x, unit, start, shape, itemsize)),
        (S.continuous(dims), S.continuous(shape)),
        (S.matrix_shape(dims[0], dims[1], k), S.matrix_shape(shape[0], shape[1], width)),
        (S.four_n(dims), S.four_n(shape)),
        (S.two_n(dims), S.two_n(shape)),
        (S.two_ic(dims), S.two_ic(shape)),
        (S.grouped_ic(k, dims), S.grouped_ic(width, shape)),
        (S.grouped_ic_strides(k, dims), S.grouped_ic_strides(width, shape)),
        (S.grouped_ic_index(k, dims, dims), S.grouped_ic_index(width, shape, shape)),
        ((S.grouped_ic_distance(k, dims),), (S.grouped_ic_distance(width, shape),)),
        ((S.dummies(dims[0], 4),), (S.dummies(shape[0], 4),)),
        (A.steps(x, q, dims), A.steps(x, start, shape)),
    ]
    for symbolic, plain in pairs:
        assert values(symbolic, env) == plain
    for term, holds in zip(
        A.free_strides(A.steps(x, q, dims)),
        A.free_strides(A.steps(x, start, shape)),
        strict=True,
    ):
        assert E.evaluate(term, env) == holds


@given(
    CHIP,
    SHAPES,
    ITEMS,
    st.tuples(*[st.integers(0, 80)] * 4),
    st.tuples(*[st.integers(0, 80)] * 4),
    st.integers(0, 2**25),
)
def test_addresses_symbolic_and_plain_agree(
    chip: Chip, shape: Index, itemsize: int, strides: Index, others: Index, address: int
) -> None:
    E.fresh_context()
    env: dict[str, int | bool] = {"a": address}
    a = E.symbol("a", 0)
    dims, symbols, more = quad(shape, "d", env), quad(strides, "s", env), quad(others, "o", env)
    assert values(A.place(chip, a, symbols, itemsize, dims), env) == A.place(
        chip, address, strides, itemsize, shape
    )
    start = A.lane_of(chip, address)
    extent = A.extent_bytes(chip, A.lane_of(chip, a), dims, symbols, itemsize)
    assert E.evaluate(extent, env) == A.extent_bytes(chip, start, shape, strides, itemsize)
    system = A.system_extent_bytes(dims, symbols, itemsize)
    assert E.evaluate(system, env) == A.system_extent_bytes(shape, strides, itemsize)
    assert E.evaluate(S.agree(symbols, more, dims), env) == S.agree(strides, others, shape)
    assert E.evaluate(S.agree(symbols, symbols, dims), env) is True


@pytest.mark.parametrize("name", NAMED)
@given(lanes=LANES, shape=SHAPES, itemsize=ITEMS, start=st.integers(0, 5), unit=st.integers(0, 9))
def test_no_two_elements_share_a_place(
    name: str, lanes: int, shape: Index, itemsize: int, start: int, unit: int
) -> None:
    chip = replace(CHIPS["bm1688"], lanes=lanes)
    start %= lanes
    byte = unit * chip.eu_bytes
    strides = NAMED[name](chip, start, shape, itemsize)
    address = start * chip.local_bytes + byte
    taken: set[tuple[int, int]] = set()
    ends = []
    for index in indices(shape):
        lane, at = A.place(chip, address, strides, itemsize, index)
        assert 0 <= lane < lanes
        assert at >= byte
        assert at % itemsize == 0
        taken.add((lane, at))
        ends.append(at + itemsize)
    n, c, h, w = shape
    assert len(taken) == n * c * h * w
    # the extent reaches exactly to the last element (ADR-08), and stays in what is allocated
    extent = A.extent_bytes(chip, start, shape, strides, itemsize)
    assert byte + extent == max(ends)
    assert extent <= n * strides[0] * itemsize


@pytest.mark.parametrize("name", NAMED)
@given(chip=CHIP, shape=SHAPES, itemsize=ITEMS, start=st.integers(0, 15), free=st.integers(0, 3000))
def test_both_views_of_capacity_agree(
    name: str, chip: Chip, shape: Index, itemsize: int, start: int, free: int
) -> None:
    """ADR-08 and ADR-09: the exact extent fits iff all of the allocation fits, at an address that
    the layout admits."""
    unit = S.COMPACT_ALIGNMENT if name == "compact" else chip.eu_bytes
    byte = (chip.local_bytes - free) // unit * unit
    strides = NAMED[name](chip, start, shape, itemsize)
    allocated = shape[0] * strides[0] * itemsize
    extent = A.extent_bytes(chip, start, shape, strides, itemsize)
    assert (byte + extent <= chip.local_bytes) == (byte + allocated <= chip.local_bytes)


@given(LANES, SHAPES, st.tuples(*[st.integers(0, 90)] * 4), st.integers(0, 5), ITEMS)
def test_place_against_walking(
    lanes: int, shape: Index, strides: Index, start: int, itemsize: int
) -> None:
    """Channels are dealt to lanes one by one, slot after slot."""
    chip = replace(CHIPS["bm1684"], lanes=lanes)
    start %= lanes
    lane, slot, furthest = start, 0, 0
    for c in range(shape[1]):
        for n, h, w in itertools.product(range(shape[0]), range(shape[2]), range(shape[3])):
            byte = itemsize * sum(
                place * stride for place, stride in zip((n, slot, h, w), strides, strict=True)
            )
            address = start * chip.local_bytes + 12
            expected = (lane, 12 + byte)
            assert A.place(chip, address, strides, itemsize, (n, c, h, w)) == expected
            furthest = max(furthest, byte + itemsize)
        lane += 1
        if lane == lanes:
            lane, slot = 0, slot + 1
    assert A.extent_bytes(chip, start, shape, strides, itemsize) == furthest


@given(SHAPES, st.sampled_from((2, 4, 8)), st.integers(0, 3))
def test_groups_hold_every_weight_once(shape: Index, group: int, start: int) -> None:
    chip = replace(CHIPS["bm1684x"], lanes=4)
    tensor = S.grouped_ic(group, shape)
    strides = S.compact(4, start, tensor)
    taken = set()
    for index in indices(shape):
        inner = S.grouped_ic_index(group, shape, index)
        assert all(0 <= at < size for at, size in zip(inner, tensor, strict=True))
        where = A.place(chip, start * chip.local_bytes, strides, 1, inner)
        taken.add(where)
        # the strides of the manuals lead to the same places
        _, cs, hs, ws = S.grouped_ic_strides(group, shape)
        i, o, h, w = index
        offset = i // group * S.grouped_ic_distance(group, shape) + i % group + h * hs + w * ws
        assert where == ((start + o) % 4, (start + o) // 4 * cs + offset)
    assert len(taken) == shape[0] * shape[1] * shape[2] * shape[3]


@pytest.mark.parametrize(("pack", "group"), [(S.four_n, 4), (S.two_n, 2), (S.two_ic, 2)])
@given(shape=SHAPES)
def test_packed_elements_and_dummies_fill_the_words(
    pack: Callable[[Index], Index], group: int, shape: Index
) -> None:
    words = pack(shape)
    assert words[0] * group == shape[0] + S.dummies(shape[0], group)
    assert words[1:] == shape[1:]


@given(st.integers(1, 60), st.integers(1, 60))
def test_columns_of_a_matrix_are_dealt_once(columns: int, width: int) -> None:
    width = min(width, columns)
    _, channels, _, across = S.matrix_shape(1, columns, width)
    assert across == width
    assert (channels - 1) * width + S.last_channel_columns(columns, width) == columns
