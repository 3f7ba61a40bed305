"""What a loop of a PPL kernel leaves out of what it adds up, in checks and in runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ppl.support import check, rules
from tests.tpu_executor.test_command import run

_KERNEL = """\
# tilelint: contract (out_ptr: fp16[4, 40], x_ptr: fp16[4 * count, 40], count: 3..50)
@ppl.jit
def total(out_ptr, x_ptr, count):
    x_all = pl.gtensor([1, 4 * count, 1, 40], pl.GLOBAL, x_ptr)
    out_all = pl.gtensor([1, 4, 1, 40], pl.GLOBAL, out_ptr)
    block = [1, 4, 1, 40]
    x = pl.make_tensor(block, pl.float16)
    sums = pl.make_tensor(block, pl.float16)
    {start}
    for b in range({trips}):
        pl.dma.load(x, x_all.sub_view(block, [0, 4 * b, 0, 0]))
        pl.tiu.fadd(sums, sums, x)
    pl.dma.store(out_all, sums)
"""
_ZERO = "pl.tiu.zero(sums)"
_FIRST = "pl.dma.load(sums, x_all.sub_view(block, [0, 0, 0, 0]))"


@pytest.mark.parametrize(
    ("start", "trips", "right"),
    [
        (_ZERO, "count", True),
        (_ZERO, "1, count", False),
        (_FIRST, "1, count", True),
        (_ZERO, "count - 1", False),
        (_ZERO, "0, count, 2", False),
    ],
)
def test_a_sum_is_of_all_that_is_there(start: str, trips: str, right: bool, tmp_path: Path) -> None:
    found = rules(check(tmp_path, _KERNEL.format(start=start, trips=trips)))
    assert found == ({} if right else {"input-part-skipped": "always"})
    path = f"{tmp_path / 'kernel.py'}::total"
    inputs = ("out_ptr=fp16[4, 40]", "x_ptr=fp16[28, 40]", "count=7")
    arguments = [word for each in inputs for word in ("--arg", each)]
    for options in ((), ("--shapes-only",)):
        found_in_run = run(path, "--target", "bm1690", *arguments, *options)
        assert found_in_run.exit_code == (0 if right else 1), found_in_run.output


_BLOCKS = """\
# tilelint: contract (out_ptr: fp32[40, 70], a_ptr: fp16[40, d], b_ptr: fp16[d, 70], d: 400..3000)
@ppl.jit
def product(out_ptr, a_ptr, b_ptr, d):
    a_all = pl.gtensor([1, 40, 1, d], pl.GLOBAL, a_ptr)
    b_all = pl.gtensor([1, d, 1, 70], pl.GLOBAL, b_ptr)
    out_all = pl.gtensor([1, 40, 1, 70], pl.GLOBAL, out_ptr)
    out = pl.make_tensor([1, 40, 1, 70], pl.float32)
    pl.tiu.zero(out)
    for k in range(0, d, {step}):
        {inner}
            n = min(64, {end} - i)
            a = pl.make_tensor([1, 40, 1, 64], pl.float16, [1, 40, 1, n])
            b = pl.make_tensor([1, 64, 1, 70], pl.float16, [1, n, 1, 70])
            pl.dma.load(a, a_all.sub_view([1, 40, 1, n], [0, 0, 0, i]))
            pl.dma.load(b, b_all.sub_view([1, n, 1, 70], [0, {at}, 0, 0]))
            pl.tiu.fmm2(out, a, b, result_add=True, out_dtype=pl.float32)
    pl.dma.store(out_all, out)
"""
_ONE = {"step": "64", "inner": "for i in range(k, k + 64, 64):", "end": "d"}


@pytest.mark.parametrize(
    ("parts", "right"),
    [
        ({**_ONE, "at": "i"}, True),
        # the first rows in each round
        ({**_ONE, "at": "0"}, False),
        # all groups of blocks, and all but the last block of each
        (
            {
                "step": "192",
                "inner": "for i in range(k, min(k + 192, d), 64):",
                "end": "d",
                "at": "i",
            },
            True,
        ),
        (
            {
                "step": "192",
                "inner": "for i in range(k, min(k + 128, d), 64):",
                "end": "min(k + 128, d)",
                "at": "i",
            },
            False,
        ),
    ],
)
def test_what_a_product_is_summed_over(parts: dict[str, str], right: bool, tmp_path: Path) -> None:
    found = rules(check(tmp_path, _BLOCKS.format(**parts), "bm1690"))
    if right:
        assert found == {}
    else:
        assert found["input-part-skipped"] == "always"


_EARLIER = """\
# tilelint: contract (out_ptr: fp16[4 * n, 40], x_ptr: fp16[4 * n, 40], n: 3..30)
@ppl.jit
def sums_of_others(out_ptr, x_ptr, n):
    x_all = pl.gtensor([n, 4, 1, 40], pl.GLOBAL, x_ptr)
    out_all = pl.gtensor([n, 4, 1, 40], pl.GLOBAL, out_ptr)
    block = [1, 4, 1, 40]
    x = pl.make_tensor(block, pl.float16)
    sums = pl.make_tensor(block, pl.float16)
    for i in range(n):
        pl.tiu.zero(sums)
        for k in range({others}):
            pl.dma.load(x, x_all.sub_view(block, [k, 0, 0, 0]))
            pl.tiu.fadd(sums, sums, x)
        pl.dma.store(out_all.sub_view(block, [i, 0, 0, 0]), sums)
"""


@pytest.mark.parametrize("others", ["i", "i + 1, n"])
def test_a_sum_of_all_that_came_before_leaves_out_the_last(others: str, tmp_path: Path) -> None:
    assert rules(check(tmp_path, _EARLIER.format(others=others))) == {}
