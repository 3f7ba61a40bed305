"""What cores store over one another is found in runs and replays as it is in checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.apart import mark
from tests.tpu_executor.test_command import run
from verifier.engine import analyze_file
from verifier.report.model import FileRequest

KERNEL = """\
import ppl
import ppl.language as pl


# tilelint: contract [1, 8](out_ptr: fp32[{rows}, 50], x_ptr: fp32[{rows}, 50])
@ppl.jit
def stored(out_ptr, x_ptr):
    core = pl.get_core_index()
    x_all = pl.gtensor([1, {rows}, 1, 50], pl.GLOBAL, x_ptr)
    out_all = pl.gtensor([1, {rows}, 1, 50], pl.GLOBAL, out_ptr)
    x = pl.make_tensor([1, {high}, 1, 50], pl.float32)
    {work}
"""
PART = "sub_view([1, {high}, 1, 50], [0, {first}, 0, 0])"
SCALED = (
    f"pl.dma.load(x, x_all.{PART})\n    pl.tiu.fmul(x, x, {{factor}})\n"
    f"    pl.dma.store(out_all.{PART}, x)"
)
FILLED = f"pl.tiu.fill(x, {{factor}})\n    pl.dma.store(out_all.{PART}, x)"
WAITED = (
    "pl.tiu.fill(x, 1.0)\n    pl.dma.store(out_all, x)\n    pl.sync()\n"
    "    if core == 3:\n        y = pl.make_tensor([1, 7, 1, 50], pl.float32)\n"
    "        pl.tiu.fill(y, 2.0)\n        pl.dma.store(out_all, y)"
)


def text(rows: int, high: int, work: str, first: str = "0", factor: str = "1.5") -> str:
    filled = work.format(high=high, first=first, factor=factor)
    made = KERNEL.format(rows=rows, high=high, work=filled)
    lines = made.splitlines(keepends=True)
    unused = made.count("x_all") == 1
    return "".join(line for line in lines if not unused or "x_all =" not in line)


@pytest.mark.parametrize(
    ("kernel", "wrong"),
    [
        (text(9, 2, SCALED, "core", "0.5 * core"), True),  # a row in common with the next core
        (text(9, 2, SCALED, "core"), True),  # the same numbers in it, made each in its own place
        (text(16, 2, SCALED, "core * 2", "0.5 * core"), False),
        (text(20, 20, SCALED, "0", "0.5 * core"), True),
        (text(20, 20, SCALED), False),  # all store the same
        (text(9, 2, FILLED, "core", "1.0 * core"), True),
        (text(7, 7, WAITED), False),
        (text(7, 7, WAITED.replace("pl.sync()", "pass")), True),
    ],
)
def test_stores_of_several_cores(tmp_path: Path, kernel: str, wrong: bool) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(kernel, encoding="utf-8")
    results = mark([analyze_file(FileRequest(str(path), targets=("bm1690",)))], jobs=1)
    (status,) = {result.status for each in results for result in each.kernels}
    said = {
        (d.rule, d.message, d.severity, d.replay)
        for each in results
        for d in each.diagnostics
        if d.rule == "loop-carried-dependence" and d.severity != "note"
    }
    message = "two cores write the same part of `out_ptr`"
    expected = {("loop-carried-dependence", message, "error", "confirmed")} if wrong else set()
    assert (status, said) == ("violated" if wrong else "verified", expected)
    rows = kernel.partition("fp32[")[2].partition(",")[0]
    arguments = [f"--arg={name}=fp32[{rows}, 50]" for name in ("out_ptr", "x_ptr")]
    for more in ((), ("--shapes-only",)):
        found = run(f"{path}::stored", "--target", "bm1690", "--grid", "1,8", *arguments, *more)
        assert found.exit_code == int(wrong), found.output
        assert (message in found.output) == wrong
