"""Shares of cores that are no multiples of one size, and tasks that are dealt out in turn."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.ppl.support import check, rules, status
from verifier.cli.run import command

_SHARED = """\
# tilelint: contract (out_ptr: fp16[R, 40], x_ptr: fp16[R, 40], rows: R)
@ppl.jit
def kernel(out_ptr, x_ptr, rows):
    core, cores = pl.get_core_index(), pl.get_core_num()
    x_all = pl.gtensor([1, rows, 1, 40], pl.GLOBAL, x_ptr)
    out_all = pl.gtensor([1, rows, 1, 40], pl.GLOBAL, out_ptr)
    base = rows // cores
    rest = rows % cores
    {share}
    for row in range(first, first + count, 64):
        n = min(64, first + count - row)
        part, place = [1, n, 1, 40], [0, row, 0, 0]
        x = pl.make_tensor([1, 64, 1, 40], pl.float16, part)
        pl.dma.load(x, x_all.sub_view(part, place))
        pl.dma.store(out_all.sub_view(part, place), x)
"""
_FIRST = "first = core * base + min(core, rest)\n    "
_DEALT = """\
# tilelint: contract (out_ptr: fp16[B, H, 40], x_ptr: fp16[B, H, 40], b: B, h: H)
@ppl.jit
def kernel(out_ptr, x_ptr, b, h):
    x_all = pl.gtensor([b, h, 1, 40], pl.GLOBAL, x_ptr)
    out_all = pl.gtensor([b, h, 1, 40], pl.GLOBAL, out_ptr)
    x = pl.make_tensor([1, 1, 1, 40], pl.float16)
    for i in range({trips}):
        place = {place}
        pl.dma.load(x, x_all.sub_view([1, 1, 1, 40], place))
        pl.dma.store(out_all.sub_view([1, 1, 1, 40], place), x)
"""
_TILES = """\
# tilelint: contract (out_ptr: fp16[R, W], x_ptr: fp16[R, W], rows: R, width: W)
@ppl.jit
def kernel(out_ptr, x_ptr, rows, width):
    x_all = pl.gtensor([1, rows, 1, width], pl.GLOBAL, x_ptr)
    out_all = pl.gtensor([1, rows, 1, width], pl.GLOBAL, out_ptr)
    across = pl.cdiv(width, 512)
    for task in range(pl.get_core_index(), pl.cdiv(rows, 64) * across, pl.get_core_num()):
        row = task // {by} * 64
        column = task % {by} * 512
        part, place = [1, min(64, rows - row), 1, min(512, width - column)], [0, row, 0, column]
        x = pl.make_tensor([1, 64, 1, 512], pl.float16, part)
        pl.dma.load(x, x_all.sub_view(part, place))
        pl.dma.store(out_all.sub_view(part, place), x)
"""
_TURNS = "pl.get_core_index(), {}, pl.get_core_num()"


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (_SHARED.format(share=_FIRST + "count = min(base + 1, base + max(rest - core, 0))"), True),
        (_SHARED.format(share=_FIRST + "count = (core + 1) * base - first + rest"), False),
        (_SHARED.format(share=_FIRST + "count = base"), False),
        (_DEALT.format(trips=_TURNS.format("b * h"), place="[i // h, i % h, 0, 0]"), True),
        (_DEALT.format(trips=_TURNS.format("b * h"), place="[i // b, i % b, 0, 0]"), False),
        (_TILES.format(by="across"), True),
        (_TILES.format(by="(across + 1)"), False),
        (_DEALT.format(trips=_TURNS.format("b * h - 1"), place="[i // h, i % h, 0, 0]"), False),
    ],
)
def test_all_is_written_by_some_core(text: str, right: bool, tmp_path: Path) -> None:
    result = check(tmp_path, text)
    # (that a launch of one core would be right makes it a warning)
    found = [d.rule for d in result.diagnostics if d.severity in ("error", "warning")]
    assert (found == []) == right
    if right:
        assert rules(result) == {}
        assert status(result) == [("kernel", "verified")]


_IN_PLACE = """\
# tilelint: contract [1, 8](x_ptr: fp32[{rows}, 90])
@ppl.jit
def kernel(x_ptr):
    x_all = pl.gtensor([1, {rows}, 1, 90], pl.GLOBAL, x_ptr)
    part, place = [1, 10, 1, 90], [0, pl.get_core_index() * 10, 0, 0]
    x = pl.make_tensor(part, pl.float32)
    pl.dma.load(x, x_all.sub_view(part, place))
    pl.tiu.fmul(x, x, 2.0)
    pl.dma.store(x_all.sub_view(part, place), x)
"""


@pytest.mark.parametrize(("rows", "found"), [(80, set()), (81, {"input-tail-dropped"})])
def test_shares_that_are_changed_in_place(rows: int, found: set[str], tmp_path: Path) -> None:
    """A row that no core has is left out in place as it is beside an output, in a run, too."""
    result = check(tmp_path, _IN_PLACE.format(rows=rows), target="bm1690")
    assert set(rules(result)) == found
    given = ["--arg", f"x_ptr=fp32[{rows},90]", "--grid", "1,8", "--target", "bm1690"]
    ran = CliRunner().invoke(command, [f"{tmp_path / 'kernel.py'}::kernel", *given])
    assert ran.exit_code == bool(found), ran.output
    assert ("is never read" in ran.output) == bool(found)
