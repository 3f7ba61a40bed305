"""Suggestions take no more than any other choice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from verifier.hardware.chips import CHIPS
from verifier.layouts.address import align, ceildiv, channels_per_lane
from verifier.layouts.arrangement import LayoutError, arrange
from verifier.layouts.suggestion import best_width, last_start, suggest

from .figures import chip


@given(
    st.sampled_from(sorted(CHIPS)),
    st.integers(1, 9),
    st.integers(1, 300),
    st.sampled_from((1, 2, 4)),
)
def test_no_width_takes_less(name: str, lanes: int, columns: int, itemsize: int) -> None:
    where = replace(CHIPS[name], lanes=lanes)
    unit = where.eu_bytes // itemsize

    def taken(width: int) -> int:
        return ceildiv(ceildiv(columns, width), lanes) * align(width, unit)

    best = best_width(where, columns, itemsize)
    assert 1 <= best <= columns
    assert taken(best) == min(taken(width) for width in range(1, columns + 1))


def test_the_figures_best_width() -> None:
    """Of the widths that the manual draws, 20, 10 and 15 take least; 10 uses all NPUs."""
    found = suggest(chip("bm1684", 4), "matrix", (2, 40), "fp32", width=8)
    assert found.width == 10
    assert found.asked is not None
    assert (found.asked.bytes_per_lane, found.best.bytes_per_lane) == (512, 256)
    assert found.text == "width 10, start NPU 0: 256 bytes per NPU instead of 512"


@given(st.integers(1, 9), st.integers(1, 40))
def test_last_start_is_the_last(lanes: int, channels: int) -> None:
    where = replace(CHIPS["bm1684"], lanes=lanes)
    slots = channels_per_lane(lanes, 0, channels)
    good = [q for q in range(lanes) if channels_per_lane(lanes, q, channels) == slots]
    assert good == list(range(last_start(where, channels) + 1))


def test_a_start_that_is_as_good_stays() -> None:
    found = suggest(chip("bm1684", 4), "aligned", (2, 3, 4, 5), "fp32", start_lane=1)
    assert (found.best.start_lane, found.last_lane) == (1, 1)
    assert found.text.endswith("256 bytes per NPU, no less than what was asked for")


def test_a_better_start_keeps_the_byte() -> None:
    where = chip("bm1684", 4)
    found = suggest(where, "compact", (2, 3, 4, 5), "fp32", address=3 * where.local_bytes + 64)
    assert (found.best.start_lane, found.best.offset) == (0, 64)
    assert found.best.bytes_per_lane == 160


def test_what_does_not_fit_as_asked() -> None:
    where = chip("bm1684", 4)
    with pytest.raises(LayoutError, match="exceeds local memory"):
        arrange(where, "matrix", (4096, 8), "fp32", width=1)
    found = suggest(where, "matrix", (4096, 8), "fp32", width=1)
    assert found.asked is None
    assert found.best.bytes_per_lane == where.local_bytes
    assert found.text == "width 2, start NPU 0: 524288 bytes per NPU"


def test_an_option_out_of_range_is_refused_all_the_same() -> None:
    with pytest.raises(LayoutError, match="width 50 is not in 1 to 40"):
        suggest(chip("bm1684"), "matrix", (2, 40), "fp32", width=50)
