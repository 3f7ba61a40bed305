"""How often the front end visits a loop's body, and what lists it changes have then (PPL-C03)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ppl.support import check

_KERNEL = """\
import ppl
import ppl.language as pl


# tilelint: contract (out_ptr: fp32[3, 50, 70])
@ppl.jit
def kernel(out_ptr):
    every = pl.gtensor([3, 50, 1, 70], pl.GLOBAL, out_ptr)
    tiles = []
    for i in {loop}(3):
        {begin}
        for k in {inner}(1):
            tile = pl.make_tensor([1, 50, 1, 70], pl.float32)
            pl.tiu.zero(tile)
            tiles.append(tile)
            pl.dma.store(every.sub_view([1, 50, 1, 70], [i, 0, 0, 0]), tile)
"""


@pytest.mark.parametrize(
    ("loop", "begin", "inner", "told"),
    [
        ("pl.static_range", "pass", "pl.static_range", False),
        ("range", "pass", "pl.static_range", True),
        ("pl.static_range", "pass", "range", True),
        ("range", "tiles = []", "pl.static_range", False),
        ("pl.static_range", "tiles = []", "range", True),
    ],
)
def test_a_list_that_grows_in_a_loop(
    tmp_path: Path, loop: str, begin: str, inner: str, told: bool
) -> None:
    text = _KERNEL.format(loop=loop, begin=begin, inner=inner)
    result = check(tmp_path, text, "bm1684x")
    assert not result.errors
    assert ("ppl-loop-side-effect" in {d.rule for d in result.diagnostics}) is told
