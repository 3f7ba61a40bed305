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
