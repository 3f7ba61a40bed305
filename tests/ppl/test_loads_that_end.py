"""Loads ahead in a loop of a plain number of rounds: they end with the last part of the input, not
before."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.told import told

HEAD = """
import ppl
import ppl.language as pl


# tilelint: contract (y_ptr: fp32[{made}, 9, 7, 11], x_ptr: fp32[{given}, 9, 7, 11])
@ppl.jit
def k(y_ptr, x_ptr):
    s = [1, 9, 7, 11]
    x = pl.gtensor([{given}, 9, 7, 11], pl.GLOBAL, x_ptr)
    y = pl.gtensor([{made}, 9, 7, 11], pl.GLOBAL, y_ptr)
    r = pl.make_tensor(s, pl.float32)
"""
SWAPPED = """
    cur = pl.make_tensor(s, pl.float32)
    nxt = pl.make_tensor(s, pl.float32)
    pl.dma.load(cur, x.sub_view(s, [0, 0, 0, 0]))
    for i in pl.static_range(6):
        if {more}:
            pl.dma.load(nxt, x.sub_view(s, [i + 1, 0, 0, 0]))
        pl.tiu.fmul({to}, cur, 2.0)
        pl.dma.store(y.sub_view(s, [i, 0, 0, 0]), {to})
        cur, nxt = nxt, cur
"""
IN_TURN = """
    b = pl.make_tensor([2, 9, 7, 11], pl.float32)
    pl.dma.load(b.sub_view(s, [0, 0, 0, 0]), x.sub_view(s, [0, 0, 0, 0]))
    for i in range(6):
        if {more}:
            pl.dma.load(b.sub_view(s, [(i + 1) % 2, 0, 0, 0]), x.sub_view(s, [i + 1, 0, 0, 0]))
        cur = b.sub_view(s, [i % 2, 0, 0, 0])
        pl.tiu.fmul({to}, cur, 2.0)
        pl.dma.store(y.sub_view(s, [i, 0, 0, 0]), {to})
"""
LATER = """
    cur = pl.make_tensor(s, pl.float32)
    for i in range({made}):
        if {more}:
            pl.dma.load(cur, x.sub_view(s, [{part}, 0, 0, 0]))
        pl.tiu.fmul(r, cur, 2.0)
        pl.dma.store(y.sub_view(s, [i, 0, 0, 0]), r)
"""


def status_of(folder: Path, text: str) -> str:
    return told(folder, text, "bm1684x").status


@pytest.mark.parametrize("loop", [SWAPPED, IN_TURN], ids=["swapped", "in turn"])
@pytest.mark.parametrize("to", ["r", "cur"])
@pytest.mark.parametrize(
    ("more", "status"),
    [
        ("i + 1 < 6", "verified"),
        ("i < 5", "verified"),
        ("i + 2 < 6", "violated"),
        ("i < 3", "violated"),
    ],
)
def test_loads_ahead(tmp_path: Path, loop: str, to: str, more: str, status: str) -> None:
    text = HEAD.format(given=6, made=6) + loop.format(more=more, to=to)
    assert status_of(tmp_path, text) == status


@pytest.mark.parametrize(
    ("given", "made", "more", "part", "status"),
    [
        (6, 12, "i % 2 == 0", "i // 2", "verified"),
        (6, 8, "i < 6", "i", "verified"),
        (8, 8, "i < 6", "i", "violated"),
    ],
    ids=["each part twice", "the last part of all goes on", "the last two parts left out"],
)
def test_parts_that_are_taken_again(
    tmp_path: Path, given: int, made: int, more: str, part: str, status: str
) -> None:
    text = HEAD.format(given=given, made=made) + LATER.format(made=made, more=more, part=part)
    assert status_of(tmp_path, text) == status


SUMMED = """
    cur = pl.make_tensor(s, pl.float32)
    nxt = pl.make_tensor(s, pl.float32)
    pl.tiu.zero(r)
    pl.dma.load(cur, x.sub_view(s, [0, 0, 0, 0]))
    for i in pl.static_range({given}):
        if {more}:
            pl.dma.load(nxt, x.sub_view(s, [i + 1, 0, 0, 0]))
        pl.tiu.fadd(r, r, cur)
        cur, nxt = nxt, cur
    pl.dma.store(y, r)
"""
FEW = """
    b = pl.make_tensor([3, 9, 7, 11], pl.float32)
    for j in range(2):
        pl.dma.load(b.sub_view(s, [j, 0, 0, 0]), x.sub_view(s, [j, 0, 0, 0]))
    for i in range({given}):
        if {more}:
            pl.dma.load(b.sub_view(s, [(i + 2) % 3, 0, 0, 0]), x.sub_view(s, [i + 2, 0, 0, 0]))
        pl.tiu.fmul(r, b.sub_view(s, [i % 3, 0, 0, 0]), 3.0)
        pl.dma.store(y.sub_view(s, [i, 0, 0, 0]), r)
"""


@pytest.mark.parametrize(
    ("loop", "given", "made", "more", "status"),
    [
        (SUMMED, 7, 1, "i + 1 < 7", "verified"),
        (SUMMED, 7, 1, "i + 2 < 7", "violated"),
        (SUMMED, 4, 1, "i + 2 < 4", "violated"),
        (FEW, 4, 4, "i + 2 < 4", "verified"),
        (FEW, 4, 4, "i + 3 < 4", "violated"),
        (FEW, 9, 9, "i < 7", "verified"),
        (FEW, 9, 9, "i < 6", "violated"),
    ],
)
def test_what_is_added_up_or_loaded_two_ahead(
    tmp_path: Path, loop: str, given: int, made: int, more: str, status: str
) -> None:
    text = HEAD.format(given=given, made=made) + loop.format(given=given, more=more)
    assert status_of(tmp_path, text) == status


BESIDE = """
    cur = pl.make_tensor(s, pl.float32)
    w = pl.make_tensor([4, 9, 7, 11], pl.float32)
    for i in range({made}):
        part = w.sub_view(s, [i % 4, 0, 0, 0])
        if i < 4:
            pl.dma.load(part, x.sub_view(s, [i, 0, 0, 0]))
        pl.tiu.fmul(r, part, 2.0)
        pl.dma.store(y.sub_view(s, [i, 0, 0, 0]), r)
"""


@pytest.mark.parametrize(("given", "made"), [(4, 6), (4, 8), (8, 8)])
def test_parts_that_come_in_turn_again(tmp_path: Path, given: int, made: int) -> None:
    text = HEAD.format(given=given, made=made) + BESIDE.format(made=made)
    assert status_of(tmp_path, text) == "verified"


CLAMPED = """
    t = pl.make_tensor(s, pl.float32)
    for i in range({made}):
        part = {part}
        pl.dma.load(t, x.sub_view(s, [part, 0, 0, 0]))
        pl.tiu.fmul(r, t, 2.0)
        pl.dma.store(y.sub_view(s, [i, 0, 0, 0]), r)
"""


@pytest.mark.parametrize(
    ("made", "part", "status"),
    [
        (8, "min(i, 5)", "verified"),
        (8, "max(i - 2, 0)", "verified"),
        (8, "min(i, 4)", "violated"),
        (6, "min(i, 4)", "violated"),
        (7, "i if i < 3 else i - 1", "violated"),
    ],
)
def test_borders_that_come_again(tmp_path: Path, made: int, part: str, status: str) -> None:
    text = HEAD.format(given=6, made=made) + CLAMPED.format(made=made, part=part)
    assert status_of(tmp_path, text) == status
