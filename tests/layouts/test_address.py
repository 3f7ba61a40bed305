"""Addresses and scatter: the worked tests of catalogue section b (S0 and S3, S4 are the manuals'
layout chapters), with four lanes of 1024 bytes where nothing else is said."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from verifier.hardware.chips import CHIPS, Chip
from verifier.layouts import strides as layouts
from verifier.layouts.address import (
    Four,
    byte_of,
    channels_per_lane,
    extent_bytes,
    free_strides,
    lane_of,
    lane_of_channel,
    place,
    slot_of_channel,
    steps,
    system_extent_bytes,
)

BM1684 = CHIPS["bm1684"]
SMALL = replace(BM1684, lanes=4, local_bytes=1024)
Index = tuple[int, int, int, int]


def scattered(lanes: int, start: int, channels: int) -> list[tuple[int, int]]:
    return [
        (lane_of_channel(lanes, start, c), slot_of_channel(lanes, start, c))
        for c in range(channels)
    ]


def at(chip: Chip, lane: int, byte: int, strides: Four[int], index: Index) -> tuple[int, int]:
    return place(chip, lane * chip.local_bytes + byte, strides, 4, index)


@pytest.mark.parametrize(
    ("address", "lane", "byte"), [(340, 0, 340), (1472, 1, 448), (2300, 2, 252), (3088, 3, 16)]
)
def test_t_adr_1_address(address: int, lane: int, byte: int) -> None:
    assert (lane_of(SMALL, address), byte_of(SMALL, address)) == (lane, byte)


def test_chip_22_the_last_byte_of_a_lane_and_the_first_of_the_next() -> None:
    assert [lane_of(BM1684, a) for a in (524287, 524288)] == [0, 1]


def test_chip_21_banks_inc_11() -> None:
    """S4 gives a bank of the BM1684X as 1 MB, which is its part of all lanes: a lane has 16 KB."""
    chip = CHIPS["bm1684x"]
    assert chip.bank_bytes == 16384


def test_t_sct_1_one_lane_is_left_over() -> None:
    """With X - 1 channels lane 3 stays empty; feature (1, 0) is in lane 0, not in lane 3."""
    assert channels_per_lane(4, 0, 3) == 1
    assert scattered(4, 0, 3) == [(0, 0), (1, 0), (2, 0)]
    strides = layouts.compact(4, 0, (2, 3, 1, 1))
    assert at(SMALL, 0, 0, strides, (1, 0, 0, 0)) == (0, 4)


def test_t_sct_2_the_empty_lane_is_the_first() -> None:
    assert channels_per_lane(4, 1, 3) == 1
    assert scattered(4, 1, 3) == [(1, 0), (2, 0), (3, 0)]


def test_t_sct_3_channels_share_lanes() -> None:
    assert channels_per_lane(4, 0, 6) == 2
    assert scattered(4, 0, 6) == [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1), (1, 1)]
    assert 4 * 2 - 6 == 2  # empty slots of a batch


def test_t_sct_4_three_slots_for_six_channels() -> None:
    assert channels_per_lane(4, 3, 6) == 3
    found = scattered(4, 3, 6)
    assert found == [(3, 0), (0, 1), (1, 1), (2, 1), (3, 1), (0, 2)]
    taken = [sum(slot == row for _, slot in found) for row in range(3)]
    assert [4 - number for number in taken] == [3, 0, 3]


def test_adr_05_channels_share_a_lane_iff_congruent() -> None:
    for start in range(4):
        lanes = [lane for lane, _ in scattered(4, start, 9)]
        for a in range(9):
            for b in range(9):
                assert (lanes[a] == lanes[b]) == (a % 4 == b % 4)


def test_t_str_1_explicit_strides() -> None:
    shape, strides = (2, 5, 3, 4), (120, 56, 16, 2)
    assert at(SMALL, 0, 0, strides, (1, 4, 2, 3)) == (0, 856)
    assert at(SMALL, 0, 0, strides, (0, 3, 0, 0)) == (3, 0)
    assert extent_bytes(SMALL, 0, shape, strides, 4) == 860
    assert free_strides(steps(4, 0, shape)) == (False, False, False, False)


@pytest.mark.parametrize("unused", [0, 1, 77, 10**9])
def test_t_str_2_strides_that_make_no_sense(unused: int) -> None:
    shape, strides = (2, 3, 1, 10), (120, unused, unused, 2)
    places = steps(4, 1, shape)
    assert places == (2, 1, 1, 10)
    assert free_strides(places) == (False, True, True, False)
    assert at(SMALL, 1, 0, strides, (1, 2, 0, 9)) == (3, 552)
    assert extent_bytes(SMALL, 1, shape, strides, 4) == 556


def test_t_str_3_the_examples_are_of_system_memory_inc_05() -> None:
    """S4 defines the C stride as local memory does, from c to c + X; but its two examples step
    from c to c + 1: they are system memory, where the places are the shape itself."""
    shape = (4, 3, 2, 2)
    assert layouts.continuous(shape) == (12, 4, 2, 1)
    assert system_extent_bytes(shape, (12, 4, 2, 1), 1) == 48
    assert system_extent_bytes(shape, (24, 8, 4, 2), 1) == 95
    assert free_strides(shape) == (False, False, False, False)
    # in local memory the same C stride would not be used at all
    assert free_strides(steps(64, 0, shape)) == (False, True, False, False)


def test_t_str_4_a_free_layout_inc_06() -> None:
    """S4's strides (9, 9, 3, 1) for (2, 3, 2, 3) are of no named layout: compact has 6, not 9."""
    shape, strides = (2, 3, 2, 3), (9, 9, 3, 1)
    chip = CHIPS["bm1684x"]
    places = steps(chip.lanes, 0, shape)
    assert free_strides(places) == (False, True, False, False)
    for named in (
        layouts.compact(chip.lanes, 0, shape),
        layouts.aligned(chip.lanes, chip.eu_bytes, 0, shape, 4),
        layouts.row_aligned(chip.lanes, chip.eu_bytes, 0, shape, 4),
    ):
        assert not layouts.agree(strides, named, places)
    assert layouts.compact(chip.lanes, 0, shape) == (6, 6, 3, 1)
    assert place(chip, 0, strides, 4, (0, 1, 1, 2)) == (1, 5 * 4)  # a feature spans 6 elements
    assert place(chip, 0, strides, 4, (1, 1, 0, 0)) == (1, 9 * 4)  # 3 are unused


@pytest.mark.parametrize(
    ("lane", "expected"),
    [
        (62, [(62, 128, 384), (63, 128, 384), (0, 256, 512)]),  # T-LANE64-1
        (63, [(63, 128, 384), (0, 256, 512), (1, 256, 512)]),  # T-LANE64-2
    ],
)
def test_t_lane64_1_2_the_last_lanes(lane: int, expected: list[tuple[int, int, int]]) -> None:
    strides = layouts.aligned(64, 128, lane, (2, 3, 2, 3), 4)
    found = []
    for c in range(3):
        first = at(BM1684, lane, 128, strides, (0, c, 0, 0))
        second = at(BM1684, lane, 128, strides, (1, c, 0, 0))
        assert first[0] == second[0]
        found.append((*first, second[1]))
    assert found == expected


def test_t_lane64_3_three_slots() -> None:
    shape = (1, 66, 1, 1)
    strides = layouts.aligned(64, 128, 63, shape, 4)
    assert channels_per_lane(64, 63, 66) == 3
    found = {c: at(BM1684, 63, 0, strides, (0, c, 0, 0)) for c in (0, 1, 64, 65)}
    assert found == {0: (63, 0), 1: (0, 128), 64: (63, 128), 65: (0, 256)}


def test_adr_06_lanes_before_the_start_begin_at_slot_1() -> None:
    strides = layouts.aligned(64, 128, 63, (1, 2, 1, 1), 4)
    assert at(BM1684, 63, 0, strides, (0, 1, 0, 0)) == (0, 4 * strides[1])


def test_adr_13_a_tensor_is_moved_to_a_lane_by_whole_lanes() -> None:
    for lane in range(64):
        address = 256 + lane * BM1684.local_bytes
        assert (lane_of(BM1684, address), byte_of(BM1684, address)) == (lane, 256)


@pytest.mark.parametrize(("start", "slots"), [(0, 1), (1, 1), (2, 2), (3, 2)])
def test_adr_22_the_start_decides_whether_the_c_stride_is_free(start: int, slots: int) -> None:
    places = steps(4, start, (1, 3, 5, 5))
    assert places[1] == slots
    assert free_strides(places)[1] == (slots == 1)
