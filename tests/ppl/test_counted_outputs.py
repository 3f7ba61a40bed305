"""Outputs whose tiles are counted one behind the other: all elements are gone through."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ppl.support import check

_FLAT = """\
# tilelint: contract (out_ptr: fp16[130, 1100], x_ptr: fp16[130, 1100])
@ppl.jit
def flat(out_ptr, x_ptr):
    core, cores = pl.get_core_index(), pl.get_core_num()
    x_all = pl.gtensor([1, 130, 1, 1100], pl.GLOBAL, x_ptr)
    out_all = pl.gtensor([1, 130, 1, 1100], pl.GLOBAL, out_ptr)
    high, wide = pl.cdiv(130, 64), pl.cdiv(1100, 512)
    for tile in range({first}, {last}, cores):
        r = tile // wide * 64
        c = tile % wide * 512
        h, w = min(64, 130 - r), min({width}, 1100 - c)
        x = pl.make_tensor([1, 64, 1, 512], pl.float16, [1, h, 1, w])
        pl.dma.load(x, x_all.sub_view([1, h, 1, w], [0, r, 0, c]))
        pl.tiu.abs(x, x)
        pl.dma.store(out_all.sub_view([1, h, 1, w], [0, r, 0, c]), x)
"""


@pytest.mark.parametrize(
    ("first", "last", "width", "status"),
    [
        ("core", "high * wide", "512", "verified"),
        ("core", "high * wide - 1", "512", "violated"),
        ("core", "high * wide", "511", "violated"),
        ("core + 1", "high * wide", "512", "violated"),
    ],
)
def test_tiles_of_cores(first: str, last: str, width: str, status: str, tmp_path: Path) -> None:
    result = check(tmp_path, _FLAT.format(first=first, last=last, width=width))
    assert result.kernels[0].status == status
    wanted = {"output-not-written"} if status == "violated" else set()
    assert {d.rule for d in result.diagnostics} == wanted
