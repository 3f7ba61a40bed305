"""Outputs that are stored with steps given by hand: what the steps leave out is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.apart import mark
from tests.ppl.support import check, rules, status

_KERNEL = """\
# tilelint: contract (out_ptr: fp32[{whole}], x_ptr: fp32[20, 2, 25])
@ppl.jit
def stored(out_ptr, x_ptr):
    source = pl.gtensor([1, 20, 2, 25], pl.GLOBAL, x_ptr)
    target = pl.gtensor([1, {whole}], pl.GLOBAL, out_ptr)
    x = pl.make_tensor([1, 20, 2, 25], pl.float32)
    pl.dma.load(x, source)
"""
_STORE = "    pl.dma.store(target.{}, x)\n"
_EVEN = "sub_view([1, 20, 2, 25], [0, 0, 0, 0], [{}, 50, 1])"
_ODD = "sub_view([1, 20, 2, 25], [0, 0, {}, 0], [{}, 50, 1])"


@pytest.mark.parametrize(
    ("whole", "parts", "found"),
    [
        ("20, 4, 25", (_EVEN.format("2000, 100"), _ODD.format(1, "2000, 100")), "verified"),
        ("20, 4, 25", (_EVEN.format("2000, 100"), _ODD.format(0, "2000, 100")), "violated"),
        ("20, 4, 25", (_EVEN.format("2000, 100"),), "violated"),
        ("20, 3, 25", (_EVEN.format("1500, 75"),), "violated"),
        ("20, 3, 25", ("view(shape=[1, 20, 2, 25], stride=[1500, 75, 50, 1])",), "violated"),
        ("20, 2, 25", (_EVEN.format("1000, 50").replace("50, 50", "50, 25"),), "verified"),
    ],
)
def test_what_steps_leave_out(
    whole: str, parts: tuple[str, ...], found: str, tmp_path: Path
) -> None:
    text = _KERNEL.format(whole=whole) + "".join(_STORE.format(part) for part in parts)
    result = check(tmp_path, text)
    assert status(result) == [("stored", found)]
    assert rules(result) == ({"output-not-written": "always"} if found == "violated" else {})
    (marked,) = mark([result], jobs=1)
    assert {d.replay for d in marked.diagnostics} <= {"confirmed"}


_TILES = """\
# tilelint: contract (out_ptr: fp32[40, 50], x_ptr: fp32[40, 50])
@ppl.jit
def tiled(out_ptr, x_ptr):
    source = pl.gtensor([1, 40, 1, 50], pl.GLOBAL, x_ptr)
    target = pl.gtensor([1, 40, 1, 50], pl.GLOBAL, out_ptr)
    for i in range({tiles}):
        x = pl.make_tensor([1, 10, 1, {width}], pl.float32)
        at = [0, 10 * (i // 2), 0, 25 * (i % 2)]
        pl.dma.load(x, source.sub_view([1, 10, 1, {width}], at))
        pl.dma.store(target.sub_view([1, 10, 1, {width}], at), x)
"""
_BLOCKS = """\
# tilelint: contract (out_ptr: fp32[40, 50], x_ptr: fp32[40, 50])
@ppl.jit
def tiled(out_ptr, x_ptr):
    source = pl.gtensor([1, 40, 1, 50], pl.GLOBAL, x_ptr)
    target = pl.gtensor([1, 40, 1, 50], pl.GLOBAL, out_ptr).view(shape=[1, 4, 10, 50])
    for i in range({tiles}):
        x = pl.make_tensor([1, 10, 1, 50], pl.float32)
        pl.dma.load(x, source.sub_view([1, 10, 1, 50], [0, 10 * i, 0, 0]))
        block = target.sub_view([1, 1, 10, 50], [0, i, 0, 0])
        pl.dma.store(block.view(shape=[1, 10, 1, 50]), x)
"""


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (_TILES.format(tiles=8, width=25), True),
        (_TILES.format(tiles=7, width=25), False),
        (_TILES.format(tiles=8, width=24), False),
        (_BLOCKS.format(tiles=4), True),
        (_BLOCKS.format(tiles=3), False),
    ],
)
def test_tiles_that_come_about_otherwise(text: str, right: bool, tmp_path: Path) -> None:
    result = check(tmp_path, text)
    assert status(result) == [("tiled", "verified" if right else "violated")]
    assert rules(result) == ({} if right else {"output-not-written": "always"})
    (marked,) = mark([result], jobs=1)
    assert {d.replay for d in marked.diagnostics} <= {"confirmed"}
