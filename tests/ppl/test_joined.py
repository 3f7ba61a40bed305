"""Junctions, identity and choices of what only a run knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine.analysis import analyze_file
from verifier.report.model import FileRequest

_KERNEL = """\
import ppl
import ppl.language as pl


# tilelint: contract (out_ptr: fp32[30, 90], x_ptr: fp32[30, 90]{more})
@ppl.jit
def kernel(out_ptr, x_ptr, {parameters}):
    x_all = pl.gtensor([1, 30, 1, 90], pl.GLOBAL, x_ptr)
    out_all = pl.gtensor([1, 30, 1, 90], pl.GLOBAL, out_ptr)
    x = pl.make_tensor([1, 30, 1, 90], pl.float32)
    pl.dma.load(x, x_all)
    {statement}
    pl.dma.store(out_all, x)
"""
_LOOP = "for i in range({}): pl.tiu.fmul(x, x, 2.0)"
_IF = "if {}: pl.tiu.fmul(x, x, 2.0)"
_FACTOR = "pl.tiu.fmul(x, x, {})"


@pytest.mark.parametrize(
    ("parameters", "more", "statement", "status"),
    [
        # values of the run are joined if they are truth values, and a number that is 1 is none
        ("n", ", n: 2..9", _LOOP.format("n or 5"), "violated"),
        ("n", ", n: 0..9", _LOOP.format("n and 5"), "conditional"),
        ("n", ", n: 2..9", _FACTOR.format("n or 5"), "violated"),
        ("n: pl.constexpr", "", _LOOP.format("n or 5"), "verified"),
        ("n", "", _LOOP.format("3 or 5"), "verified"),
        ("n, m", ", n: 2..9, m: 2..9", _IF.format("n and m"), "violated"),
        ("n, m", ", n: 2..9, m: 2..9", _IF.format("not (n or m > 3)"), "violated"),
        ("n, m", ", n: 2..9, m: 2..9", _IF.format("not (n > 1 or m > 3)"), "verified"),
        ("n, m", ", n: 0..9, m: 0..9", _IF.format("(n > 2 and m < 3) or m == 5"), "verified"),
        # an object that stands for a value of the run is not True
        ("flag", ", flag: bool", _IF.format("flag is True"), "violated"),
        ("flag", ", flag: bool", _FACTOR.format("2.0 if flag is not False else 3.0"), "violated"),
        ("flag: pl.constexpr", ", flag: bool", _IF.format("flag is True"), "verified"),
        ("n=None", "", _FACTOR.format("2.0 if n is None else 3.0"), "verified"),
        # which of two that are the same is taken does not matter
        ("n", ", n: 0..9", _FACTOR.format("2.0 if n > 3 else 2.0"), "verified"),
        ("n, m", ", n: 0..9, m: 0..9", _LOOP.format("n + n if m else 2 * n"), "verified"),
        ("n", ", n: 0..9", _FACTOR.format("2.0 if n > 3 else 2.5"), "violated"),
        ("n", ", n: 0..9", _FACTOR.format("0.0 if n > 3 else -0.0"), "violated"),
        ("n", "", _LOOP.format("n if n < 9 else 9"), "violated"),
    ],
)
def test_what_the_compiler_makes_of_it(
    parameters: str, more: str, statement: str, status: str, tmp_path: Path
) -> None:
    path = tmp_path / "kernel.py"
    text = _KERNEL.format(parameters=parameters, more=more, statement=statement)
    path.write_text(text, encoding="utf-8")
    result = analyze_file(FileRequest(path=str(path), targets=("bm1684x",)))
    assert [kernel.status for kernel in result.kernels] == [status], result.diagnostics
