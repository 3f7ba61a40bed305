"""Layouts: the worked tests of catalogue section c, and what the manuals have wrong (INC-xx).

Four lanes where nothing else is said; S0 and S3, S4 are the manuals' layout chapters.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from verifier.hardware.chips import CHIPS
from verifier.layouts import strides as layouts
from verifier.layouts.address import Four, align, ceildiv, channels_per_lane, place, steps

LANES = 4
FIGURE = (2, 3, 4, 5)
BM1684 = CHIPS["bm1684"]
FOUR = replace(BM1684, lanes=LANES)


@pytest.mark.parametrize(
    ("start", "strides", "slots", "used"),
    [
        (0, (32, 32, 5, 1), 1, 256),  # T-LAY-1: align_fp32_start_0
        (2, (64, 32, 5, 1), 2, 512),  # T-LAY-2: align_fp32_start_2
    ],
)
def test_t_lay_1_2_aligned(start: int, strides: Four[int], slots: int, used: int) -> None:
    found = layouts.aligned(LANES, 128, start, FIGURE, 4)
    assert found == strides
    assert found[1] - 4 * 5 == 12  # the padding of a feature
    assert channels_per_lane(LANES, start, 3) == slots
    assert 2 * found[0] * 4 == used


def test_t_lay_2_the_third_channel_is_in_lane_0_slot_1() -> None:
    strides = layouts.aligned(LANES, 128, 2, FIGURE, 4)
    assert place(FOUR, 2 * FOUR.local_bytes, strides, 4, (0, 2, 0, 0)) == (0, 32 * 4)


@pytest.mark.parametrize(
    ("unit", "itemsize", "strides"),
    [
        (128, 2, (64, 64, 5, 1)),  # T-LAY-3
        (128, 1, (128, 128, 5, 1)),
        (64, 4, (32, 32, 5, 1)),  # T-LAY-4
        (64, 2, (32, 32, 5, 1)),
        (64, 1, (64, 64, 5, 1)),
    ],
)
def test_t_lay_3_4_aligned_by_unit(unit: int, itemsize: int, strides: Four[int]) -> None:
    assert layouts.aligned(LANES, unit, 0, FIGURE, itemsize) == strides
    assert layouts.aligned(LANES, unit, 2, FIGURE, itemsize) == (2 * strides[0], *strides[1:])


@pytest.mark.parametrize(("start", "strides"), [(0, (20, 20, 5, 1)), (2, (40, 20, 5, 1))])
def test_t_lay_5_compact(start: int, strides: Four[int]) -> None:
    """INC-01: S4 shows these figures for float16 at 64 bytes; compact does not depend on it."""
    assert layouts.compact(LANES, start, FIGURE) == strides


def test_inc_01_the_figures_are_of_fp32_at_128_bytes() -> None:
    """S4 calls its examples float16 at 64 bytes and shows the figures of fp32 at 128 bytes: equal
    numbers, for both have 32 elements to a unit. fp32 at 64 bytes has 16: 48, not 64, in a row."""
    assert layouts.aligned(LANES, 64, 0, FIGURE, 2) == layouts.aligned(LANES, 128, 0, FIGURE, 4)
    shape = layouts.matrix_shape(2, 40, 40)
    assert layouts.aligned(LANES, 64, 0, shape, 2)[1] == 64
    assert layouts.aligned(LANES, 128, 0, shape, 4)[1] == 64
    assert layouts.aligned(LANES, 64, 0, shape, 4)[1] == 48


@pytest.mark.parametrize(
    ("itemsize", "strides"), [(4, (64, 64, 16, 1)), (2, (128, 128, 32, 1)), (1, (256, 256, 64, 1))]
)
def test_t_lay_6_row_aligned(itemsize: int, strides: Four[int]) -> None:
    assert layouts.row_aligned(LANES, 64, 0, FIGURE, itemsize) == strides
    assert layouts.row_aligned(LANES, 64, 2, FIGURE, itemsize) == (2 * strides[0], *strides[1:])


@pytest.mark.parametrize(
    ("width", "shape", "feature", "batch", "slots", "lanes", "last"),
    [
        (40, (2, 1, 1, 40), 64, 64, 1, [0], 40),  # T-LAY-7
        (20, (2, 2, 1, 20), 32, 32, 1, [0, 1], 20),  # T-LAY-8
        (10, (2, 4, 1, 10), 32, 32, 1, [0, 1, 2, 3], 10),  # T-LAY-9
        (8, (2, 5, 1, 8), 32, 64, 2, [0, 1, 2, 3, 0], 8),  # T-LAY-10
        (15, (2, 3, 1, 15), 32, 32, 1, [0, 1, 2], 10),  # T-LAY-11
        (6, (2, 7, 1, 6), 32, 64, 2, [0, 1, 2, 3, 0, 1, 2], 4),  # T-LAY-12
    ],
)
def test_t_lay_7_to_12_matrix(
    width: int,
    shape: Four[int],
    feature: int,
    batch: int,
    slots: int,
    lanes: list[int],
    last: int,
) -> None:
    """Figures matrix_w_40, 20, 10, 8, 15 and 6: a 2-by-40 fp32 matrix, aligned to 128 bytes."""
    assert layouts.matrix_shape(2, 40, width) == shape
    strides = layouts.aligned(LANES, 128, 0, shape, 4)
    assert strides[:2] == (batch, feature)
    assert steps(LANES, 0, shape)[1] == slots
    assert [place(FOUR, 0, strides, 4, (0, c, 0, 0))[0] for c in range(shape[1])] == lanes
    assert layouts.last_channel_columns(40, width) == last
    assert 2 * strides[0] * 4 == {64: 512, 32: 256}[batch]


def test_inc_10_columns_of_the_last_channel() -> None:
    """S0 and S3: M - W * floor(M / W), which is 0 when W divides M; it is W then."""
    assert 40 - 10 * (40 // 10) == 0
    assert layouts.last_channel_columns(40, 10) == 10
    for columns in range(1, 50):
        for width in range(1, columns + 1):
            last = layouts.last_channel_columns(columns, width)
            assert 1 <= last <= width
            assert (ceildiv(columns, width) - 1) * width + last == columns


def test_inc_02_rounding_of_the_matrix_examples() -> None:
    """S4 writes ceil(40, 32) * 2 and ceil(20, 32) * 2; it means ceil(a / 32) * 32."""
    assert (align(40, 32), align(20, 32)) == (64, 32)


def test_inc_03_the_width_of_the_first_example_is_40() -> None:
    """S4 comments W = 40 of matrix_w_40 with "4 columns"; a channel has 40."""
    assert layouts.matrix_shape(2, 40, 40)[3] == 40


def test_inc_04_width_is_from_1_to_m_inclusive() -> None:
    """S4 writes (1, m) in one place and [1, m] in another; both ends are widths."""
    assert layouts.matrix_shape(2, 40, 1) == (2, 40, 1, 1)
    assert layouts.matrix_shape(2, 40, 40) == (2, 1, 1, 40)


@pytest.mark.parametrize(("width", "half", "single"), [(40, 64, 48), (20, 32, 32)])
def test_t_lay_13_matrix_at_64_bytes(width: int, half: int, single: int) -> None:
    shape = layouts.matrix_shape(2, 40, width)
    assert layouts.aligned(LANES, 64, 0, shape, 2)[1] == half
    assert layouts.aligned(LANES, 64, 0, shape, 4)[1] == single


def test_a_vector_is_a_matrix_of_one_row() -> None:
    assert layouts.matrix_shape(1, 40, 15) == (1, 3, 1, 15)


def test_t_lay_14_aligned_4n() -> None:
    words = layouts.four_n((6, 5, 4, 5))
    assert words == (2, 5, 4, 5)
    assert layouts.aligned(LANES, 128, 0, words, layouts.WORD_BYTES) == (64, 32, 5, 1)
    assert channels_per_lane(LANES, 0, 5) == 2
    assert layouts.dummies(6, 4) == 2


def test_inc_09_no_dummies_when_four_divides_n() -> None:
    """S0 and S3: 4 - (N mod 4) dummies, which is 4 when there are none."""
    assert [layouts.dummies(n, 4) for n in range(1, 9)] == [3, 2, 1, 0, 3, 2, 1, 0]


def test_t_lay_15_aligned_2n_inc_08() -> None:
    """S0 and S3 call element (2, 0, 0, 0) of this int16 tensor an int8; a word holds two int16."""
    words = layouts.two_n((3, 5, 4, 5))
    assert words == (2, 5, 4, 5)
    assert layouts.aligned(LANES, 128, 0, words, layouts.WORD_BYTES) == (64, 32, 5, 1)
    assert layouts.dummies(3, 2) == 1
    assert layouts.WORD_BYTES // 2 == 2  # bytes of an element


def test_t_lay_16_2ic() -> None:
    pairs = layouts.two_ic((3, 2, 1, 1))
    assert pairs == (2, 2, 1, 1)
    strides = layouts.compact(LANES, 0, pairs)
    assert strides == (channels_per_lane(LANES, 0, 2) * 1, 1, 1, 1)
    words = []
    for i in range(4):  # the fourth is the dummy
        lane, byte = place(FOUR, 0, strides, layouts.PAIR_BYTES, (i // 2, 0, 0, 0))
        assert lane == 0
        words.append((byte + i % 2 * 4) // 4)
    assert words == [0, 1, 2, 3]
    assert layouts.dummies(3, 2) == 1


@pytest.mark.parametrize(
    ("dtype", "group", "strides", "distance", "used"),
    [
        ("int8", 64, (1152, 1152, 192, 64), 576, 1152),
        ("float16", 32, (864, 864, 96, 32), 288, 1728),
    ],
)
def test_t_lay_17_groups_of_input_channels(
    dtype: str, group: int, strides: Four[int], distance: int, used: int
) -> None:
    """The N stride repeats the C stride and makes no sense (INC-07): the place of an input channel
    is its group's distance plus its number in the group, the innermost axis."""
    weights = (65, 64, 3, 3)
    assert CHIPS["bm1684x"].groups[dtype] == group
    assert layouts.grouped_ic_strides(group, weights) == strides
    assert layouts.grouped_ic_distance(group, weights) == distance
    itemsize = 1 if dtype == "int8" else 2
    tensor = layouts.grouped_ic(group, weights)
    assert tensor == (1, 64, 9 * ceildiv(65, group), group)
    compact = layouts.compact(64, 0, tensor)
    assert compact[1] == strides[1]
    assert compact[0] * itemsize == used  # LAY-08
    chip = CHIPS["bm1684x"]
    for index in [(0, 0, 0, 0), (64, 5, 2, 1), (33, 63, 1, 2), (group, 1, 0, 0)]:
        i, o, h, w = index
        inner = layouts.grouped_ic_index(group, weights, index)
        offset = (i // group) * distance + h * strides[2] + w * strides[3] + i % group
        assert place(chip, 0, compact, itemsize, inner) == (o, offset * itemsize)


def test_inc_12_groups_of_a_multiple() -> None:
    """A profiler counts (c + 32) div 32 groups: one too many when 32 divides c."""
    assert (64 + 32) // 32 == 3
    assert layouts.grouped_ic(32, (64, 1, 1, 1))[2] == 2
    assert layouts.grouped_ic(32, (65, 1, 1, 1))[2] == 3


def test_inc_13_elements_of_a_unit() -> None:
    """The manual calls 32 twice the number of execution units; the helper answers 32."""
    assert BM1684.eu_bytes // 4 == 32


@pytest.mark.parametrize(
    ("start", "word", "half", "byte", "compact"),
    [
        (0, (32, 32, 5, 1), 64, 128, (20, 20, 5, 1)),
        (2, (32, 32, 5, 1), 64, 128, (20, 20, 5, 1)),
        (62, (64, 32, 5, 1), 128, 256, (40, 20, 5, 1)),
        (63, (64, 32, 5, 1), 128, 256, (40, 20, 5, 1)),
    ],
)
def test_t_lay_18_sixty_four_lanes(
    start: int, word: Four[int], half: int, byte: int, compact: Four[int]
) -> None:
    assert layouts.aligned(64, 128, start, FIGURE, 4) == word
    assert layouts.aligned(64, 128, start, FIGURE, 2) == (half, 64, 5, 1)
    assert layouts.aligned(64, 128, start, FIGURE, 1) == (byte, 128, 5, 1)
    assert layouts.compact(64, start, FIGURE) == compact


def test_t_lay_19_all_lanes_from_lane_2() -> None:
    assert layouts.aligned(64, 128, 2, (2, 64, 4, 5), 4) == (64, 32, 5, 1)
    assert channels_per_lane(64, 2, 64) == 2


@pytest.mark.parametrize(("itemsize", "feature"), [(4, 64), (2, 64), (1, 128)])
def test_t_lay_20_a_row_of_forty(itemsize: int, feature: int) -> None:
    assert layouts.aligned(64, 128, 0, (2, 1, 1, 40), itemsize)[1] == feature


def test_t_lay_21_compact_with_one_channel_more_than_lanes() -> None:
    assert channels_per_lane(64, 0, 65) == 2
    assert layouts.compact(64, 0, (2, 65, 1, 3)) == (6, 3, 3, 1)


def test_t_lay_22_a_matrix_round_the_last_lane_inc_25() -> None:
    """The functional model's matrix transfer puts row 1 only 128 bytes behind row 0, as if the
    matrix began in lane 0; its matmul, and the layout, have 256."""
    shape = layouts.matrix_shape(2, 8, 3)
    assert shape == (2, 3, 1, 3)
    strides = layouts.aligned(64, 128, 62, shape, 4)
    start = 62 * BM1684.local_bytes
    where = [place(BM1684, start, strides, 4, (0, c, 0, 0)) for c in range(3)]
    assert where == [(62, 0), (63, 0), (0, 128)]
    assert layouts.last_channel_columns(8, 3) == 2
    assert place(BM1684, start, strides, 4, (1, 0, 0, 0)) == (62, 256)
    assert layouts.aligned(64, 128, 0, shape, 4)[0] * 4 == 128


def test_lay_01_strides_that_make_no_sense_are_not_compared() -> None:
    places = steps(LANES, 0, (2, 3, 1, 5))
    assert layouts.agree((32, 7, 9, 1), (32, 32, 5, 1), places)
    assert not layouts.agree((33, 7, 9, 1), (32, 32, 5, 1), places)


@pytest.mark.parametrize("itemsize", [1, 2, 4])
def test_lay_02_when_layouts_coincide(itemsize: int) -> None:
    unit = 128 // itemsize
    for height in (1, 2, 4):
        for width in (3, 32, 64, 128):
            shape = (2, 5, height, width)
            places = steps(LANES, 1, shape)
            aligned = layouts.aligned(LANES, 128, 1, shape, itemsize)
            assert layouts.agree(aligned, layouts.compact(LANES, 1, shape), places) == (
                height * width % unit == 0
            )
            rows = layouts.row_aligned(LANES, 128, 1, shape, itemsize)
            assert layouts.agree(aligned, rows, places) == (height == 1 or width % unit == 0)


def test_lay_05_bytes_of_a_matrix() -> None:
    for start in range(LANES):
        for width in range(1, 41):
            shape = layouts.matrix_shape(2, 40, width)
            batch = layouts.aligned(LANES, 128, start, shape, 4)[0]
            assert 2 * batch == 2 * ceildiv(start + ceildiv(40, width), LANES) * align(width, 32)


def test_lay_06_strides_of_another_start_are_wrong() -> None:
    """The N stride changes with the start lane as soon as the slots do."""
    assert [layouts.compact(LANES, q, FIGURE)[0] for q in range(4)] == [20, 20, 40, 40]


def test_chip_26_the_unit_is_the_chips() -> None:
    chip = CHIPS["bm1688"]
    shape = (1, 3, 1, 5)
    granules = [layouts.aligned(chip.lanes, chip.eu_bytes, 0, shape, e)[1] for e in (4, 2, 1)]
    assert granules == [8, 8, 16]
