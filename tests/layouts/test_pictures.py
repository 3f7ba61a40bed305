"""Pictures show what placing says, block for block, and stay small."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from time import process_time
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sweeps import examples
from verifier.hardware.chips import CHIPS
from verifier.layouts import svg, text
from verifier.layouts.address import ceildiv
from verifier.layouts.arrangement import NAMES, Arrangement, Index, LayoutError, arrange
from verifier.layouts.document import document
from verifier.layouts.picture import BLOCK, Gap, Row, draw

from .figures import FIGURES, chip

#: drawing is slow next to what hypothesis expects of one example, and slower to shrink
FEW = settings(deadline=None, max_examples=examples(50), phases=set(Phase) - {Phase.shrink})
SIZES = st.integers(1, 4)
SHAPES = st.tuples(st.integers(1, 3), st.integers(1, 7), SIZES, SIZES)


def shown(arrangement: Arrangement, width: int = 100) -> str:
    lines = text.render(arrangement, width=width, unicode=True)
    return "".join("".join(part for part, _ in line).rstrip() + "\n" for line in lines)


@pytest.mark.parametrize("name", FIGURES)
def test_svg(name: str, snapshot: Callable[[str, str], None]) -> None:
    snapshot(f"{name}.svg", svg.render(FIGURES[name]))


@pytest.mark.parametrize("name", FIGURES)
def test_text(name: str, snapshot: Callable[[str, str], None]) -> None:
    snapshot(f"{name}.txt", shown(FIGURES[name]))


@pytest.mark.parametrize("name", FIGURES)
def test_svg_is_self_contained_and_small(name: str) -> None:
    drawn = svg.render(FIGURES[name])
    assert len(drawn) < 60_000
    root = ET.fromstring(drawn)
    assert root.tag.endswith("svg")
    assert "href" not in drawn
    assert "prefers-color-scheme" in drawn
    assert float(root.attrib["width"]) <= 1600


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_text_fits_the_terminal(name: str, width: int) -> None:
    lines = shown(FIGURES[name], width).splitlines()
    picture = [line for line in lines if "│" in line]
    assert len(picture) <= 66
    assert max(map(len, lines)) <= width


def test_ascii_without_unicode() -> None:
    lines = text.render(FIGURES["align_fp32_start_2"], width=100, unicode=False)
    assert "".join(part for line in lines for part, _ in line).isascii()


def arrangements() -> st.SearchStrategy[Arrangement]:
    """Any layout of small tensors, at any start lane and address."""

    @st.composite
    def build(choose: st.DrawFn) -> Arrangement:
        name = choose(st.sampled_from(NAMES))
        where = replace(CHIPS[choose(st.sampled_from(sorted(CHIPS)))], lanes=choose(SIZES))
        n, c, h, w = shape = choose(SHAPES)
        dtype = choose(st.sampled_from(("fp32", "fp16", "int16", "int8")))
        more: dict[str, Any] = {}
        sizes: tuple[int, ...] = shape
        if name in ("matrix", "vector"):
            columns = c * h * w
            sizes = (n, columns) if name == "matrix" else (columns,)
            more["width"] = choose(st.integers(1, columns))
        if name == "free":
            more["strides"] = choose(st.tuples(*[st.integers(0, 40)] * 4))
        if name != "continuous":
            lane = choose(st.integers(0, where.lanes - 1))
            offset = where.eu_bytes * choose(st.integers(0, 3))
            if name == "free":
                offset += {"fp32": 4, "fp16": 2, "int16": 2, "int8": 1}[dtype]
            more["address"] = lane * where.local_bytes + offset
        try:
            return arrange(where, name, sizes, dtype, **more)
        except LayoutError:  # no such groups or modes: the plain layout of the same
            return arrange(where, "compact", shape, "fp32")

    return build()


def blocks(of: Arrangement) -> dict[tuple[int, int], set[Index]]:
    """``(lane, byte of the block)`` -> the elements that lie in it."""
    found: dict[tuple[int, int], set[Index]] = defaultdict(set)
    for index in of.indices():
        lane, byte = of.place(index)
        found[lane, byte // BLOCK * BLOCK].add(index)
    return found


@FEW
@given(arrangements(), st.integers(1, 8))
def test_blocks_are_where_elements_are_placed(of: Arrangement, across: int) -> None:
    """Brute force: every element of every block of a picture without elision."""
    picture = draw(of, across=across, lanes=of.chip.lanes, lines=10**6, fold=3)
    truth = blocks(of)
    seen = set()
    for line in picture.lines:
        if isinstance(line, Gap):
            assert line.kind == "padding"
            assert not any(line.byte <= at < line.byte + line.size for _, at in truth)
            continue
        for lane, row in zip(picture.lanes, line.blocks, strict=True):
            for number, block in enumerate(row):
                place = (lane, line.byte + number * BLOCK)
                elements = {part for part in block.parts if part is not None}
                assert (block.kind == "data") == bool(truth.get(place))
                assert elements <= truth.get(place, set())
                assert block.shared or elements == truth.get(place, set())
                seen.add(place)
    assert set(truth) <= seen


@FEW
@given(arrangements(), st.integers(1, 8), st.integers(4, 20))
def test_what_is_elided_is_said(of: Arrangement, across: int, lines: int) -> None:
    """Lines are in order and without holes; gaps that are called empty are."""
    picture = draw(of, across=across, lanes=2, lines=lines, fold=2)
    at = of.offset // BLOCK * BLOCK
    truth = blocks(of)
    for line in picture.lines:
        assert line.byte == at
        at += line.size if isinstance(line, Gap) else across * BLOCK
        if isinstance(line, Gap):
            inside = any(
                line.byte <= byte < line.byte + line.size and lane in picture.lanes
                for lane, byte in truth
            )
            # a narrow last channel of a matrix counts as wide as the others, dummies as elements
            assert (line.kind == "elided") == inside or of.columns or of.group
    assert at >= of.offset + of.extent


@FEW
@given(arrangements())
def test_waste_against_counting(of: Arrangement) -> None:
    waste = of.waste
    assert waste is not None
    places = {of.place(index) for index in of.indices()}
    assert of.distinct == len(places)
    assert waste.allocated == of.bytes_per_lane * of.chip.lanes
    assert waste.total == waste.allocated - len(places) * of.itemsize
    if waste.unused is not None and waste.padding is not None:
        assert waste.total == waste.padding + waste.unused
        assert waste.padding >= 0
        lanes = range(of.chip.lanes)
        taken = sum(len(of.slots(lane)) for lane in lanes)
        assert taken == of.cells[1]
        assert (waste.unused == 0) == (of.channels_per_lane * of.chip.lanes == taken)


@FEW
@given(arrangements())
def test_every_way_of_drawing_works(of: Arrangement) -> None:
    assert shown(of)
    ET.fromstring(svg.render(of))
    data = document(of)
    assert data["strides"] == list(of.strides)
    assert len(data["elements"]) == of.elements


@FEW
@given(st.tuples(*[st.integers(1, 10**5)] * 4), st.tuples(*[st.integers(0, 60)] * 4))
def test_large_tensors_are_elided(shape: Index, strides: Index) -> None:
    try:
        of = arrange(chip("bm1684"), "free", shape, "int8", strides=strides)
    except LayoutError:
        of = arrange(chip("bm1684"), "free", shape, "int8", strides=(0, 0, 0, 0))
    picture = draw(of, across=1, lanes=8, lines=48, fold=2)
    assert len(picture.lines) <= 64
    assert len(picture.lanes) <= 8


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((2, 65535, 6532, 610), (19, 31, 31, 36)),  # equal strides
        ((5016, 522, 58, 417), (19, 29, 19, 19)),
        ((180, 11520, 180, 180), (700, 699, 698, 697)),  # holes in whatever the shorter ones fill
        ((10**5, 10**5, 10**5, 10**5), (0, 1, 2, 1)),
    ],
)
def test_overlapping_strides_are_drawn_at_once(shape: Index, strides: Index) -> None:
    of = arrange(chip("bm1684"), "free", shape, "int8", strides=strides)
    began = process_time()
    picture = draw(of, across=1, lanes=8, lines=48, fold=2)
    assert process_time() - began < 5
    for line in picture.rows():
        for lane, (block,) in zip(picture.lanes, line.blocks, strict=True):
            for number, part in enumerate(block.parts):
                assert part is None or of.place(part) == (lane, line.byte + number)


def test_the_third_channel_of_the_figure_is_in_npu_0() -> None:
    """align_fp32_start_2: slot 1 of NPU 0, behind 32 unused blocks; 12 blocks of padding."""
    of = FIGURES["align_fp32_start_2"]
    picture = draw(of, across=8, lanes=4, lines=100, fold=100)
    column = [block for row in picture.rows() for block in row.blocks[0]]
    assert [block.kind for block in column] == 2 * (
        ["unused"] * 32 + ["data"] * 20 + ["padding"] * 12
    )
    assert column[32].label == "0,2,0,0"
    assert column[32 + 19].label == "0,2,3,4"
    assert column[96].label == "1,2,0,0"
    idle = [block for row in picture.rows() for block in row.blocks[1]]
    assert {block.kind for block in idle} == {"unused"}


def test_words_with_dummies() -> None:
    """aligned_4N: the words of n = 4 and 5 have two dummy bytes."""
    picture = draw(FIGURES["aligned_4N"], across=8, lanes=4, lines=100, fold=100)
    column = [block for row in picture.rows() for block in row.blocks[0]]
    assert (column[0].label, column[0].dummies) == ("0-3,0,0,0", 0)
    assert (column[64].label, column[64].dummies) == ("4-5,0,0,0 ~~", 2)
    assert column[64].parts == ((4, 0, 0, 0), (5, 0, 0, 0), None, None)


def test_pairs_with_dummies() -> None:
    """T-LAY-16: the words of a lane are input channels 0, 1, 2 and a dummy."""
    of = arrange(chip("bm1684", 4), "2ic", (3, 2, 1, 1), "fp32")
    picture = draw(of, across=4, lanes=4, lines=9, fold=9)
    first, second, third, _ = next(picture.rows()).blocks
    assert [block.label for block in first] == ["0,0,0,0", "1,0,0,0", "2,0,0,0", "~"]
    assert [block.kind for block in second] == ["data", "data", "data", "dummy"]
    assert {block.kind for block in third} == {"unused"}


def test_narrow_last_channel_is_padded() -> None:
    """matrix_w_15: the third channel has 10 columns (T-LAY-11)."""
    row = next(draw(FIGURES["matrix_w_15"], across=32, lanes=4, lines=9, fold=9).rows())
    assert [sum(block.kind == "data" for block in lane) for lane in row.blocks] == [15, 15, 10, 0]


def test_neighbours_of_a_block_are_a_range() -> None:
    of = FIGURES["align_int8_start_0"]
    row = next(draw(of, across=8, lanes=4, lines=99, fold=99).rows())
    assert isinstance(row, Row)
    assert [block.label for block in row.blocks[1][:3]] == [
        "0,1,0,0-3",
        "0,1,0,4 0,1,1,0-2",
        "0,1,1,3-4 0,1,2,0-1",
    ]


def test_the_lanes_that_matter_are_shown() -> None:
    of = arrange(chip("bm1684"), "aligned", (2, 3, 4, 5), "fp32", start_lane=62)
    assert draw(of, across=8, lanes=6, lines=40, fold=4).lanes == (0, 62, 63)
    assert ceildiv(64, 8) == len(draw(FIGURES["large"], across=4, lanes=8, lines=9, fold=2).lanes)
