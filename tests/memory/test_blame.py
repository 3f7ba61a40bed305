"""Several operands are written in part: the finding names the one that makes a difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import tilelint
from verifier.engine import analyze_file
from verifier.executor import simulate
from verifier.executor.machine import Options
from verifier.executor.running import Shaped
from verifier.report.model import FileRequest

_KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def product(w, x):
    assert w.shape == (96, 70) and w.dtype == nl.bfloat16
    assert x.shape == (96, 300) and x.dtype == nl.bfloat16
    a = nl.ndarray((96, 80), dtype=nl.bfloat16, buffer=nl.sbuf)
    b = nl.ndarray((96, 400), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=a[:, 0:70], src=w)
    nisa.dma_copy(dst=b[:, 0:300], src=x)
    acc = nl.ndarray((80, 400), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=acc, stationary=a, moving=b)
    t = nl.ndarray((80, 400), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=t, src=acc)
    out = nl.ndarray((ROWS, COLUMNS), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t[0:ROWS, 0:COLUMNS])
    return out
"""

#: rows and columns of the product that are used, and which operand is short of one
CASES = ((70, 300, ""), (71, 300, "a"), (70, 301, "b"))


@pytest.mark.parametrize(("rows", "columns", "short"), CASES)
def test_the_operand_that_is_short_is_named(
    tmp_path: Path, rows: int, columns: int, short: str
) -> None:
    path = tmp_path / "product.py"
    text = _KERNEL.replace("ROWS", str(rows)).replace("COLUMNS", str(columns))
    path.write_text(text, encoding="utf-8")
    said = [f"`{short}` is read before all of it was written"] if short else []

    checked = analyze_file(FileRequest(path=str(path), targets=("trn2",), api_version="0.6"))
    assert [found.message for found in checked.diagnostics] == said

    made = simulate(f"{path}::product")
    options = Options(shapes_only=True, keep_going=True)
    run = type(made)(made.kernel, made.target, made.api_version, options)
    ran = run.outcome(Shaped("bfloat16", (96, 70)), Shaped("bfloat16", (96, 300)))
    assert [found.message for found in ran.violations] == said


_TILES = """\
import ppl
import ppl.language as pl


# tilelint: contract (n: 2..300, y_ptr: fp16[1, 24, 1, n], x_ptr: fp16[1, 24, 1, n])
@ppl.jit
def doubled(y_ptr, x_ptr, n):
    x = pl.gtensor([1, 24, 1, n], pl.GLOBAL, x_ptr)
    y = pl.gtensor([1, 24, 1, n], pl.GLOBAL, y_ptr)
    for i in range(0, n, 10):
        width = min(10, n - i)
        a = pl.make_tensor([1, 24, 1, 10], pl.float16, [1, 24, 1, width])
        b = pl.make_tensor([1, 24, 1, 10], pl.float16, [1, 24, 1, width])
        part = x.sub_view([1, 24, 1, {LOADED}], [0, 0, 0, i])
        pl.dma.load(a.sub_view([1, 24, 1, {LOADED}], [0, 0, 0, 0]), part)
        pl.tiu.fmul(
            b.sub_view([1, 24, 1, {COMPUTED}], [0, 0, 0, 0]),
            a.sub_view([1, 24, 1, {COMPUTED}], [0, 0, 0, 0]),
            2.0,
        )
        pl.dma.store(y.sub_view([1, 24, 1, width], [0, 0, 0, i]), b)
"""
_ROWS = """\
import ppl
import ppl.language as pl


# tilelint: contract (c: 1..24, y_ptr: fp16[1, c, 6, 18], x_ptr: fp16[1, c, 6, 18])
@ppl.jit
def raised(y_ptr, x_ptr, c):
    x = pl.gtensor([1, c, 6, 18], pl.GLOBAL, x_ptr)
    y = pl.gtensor([1, c, 6, 18], pl.GLOBAL, y_ptr)
    a = pl.make_tensor([1, 24, 7, 18], pl.float16, [1, c, 7, 18])
    b = pl.make_tensor([1, 24, 6, 18], pl.float16, [1, c, 6, 18])
    row = [1, c, 1, 18]
    pl.dma.load(a.sub_view(row, [0, 0, 0, 0]), x.sub_view(row, [0, 0, 0, 0]))
    for i in range({COMPUTED}):
        pl.tiu.fadd(b.sub_view(row, [0, 0, i, 0]), a.sub_view(row, [0, 0, i, 0]), 1.0)
        if i < {LOADED}:
            pl.dma.load(a.sub_view(row, [0, 0, i + 1, 0]), x.sub_view(row, [0, 0, i + 1, 0]))
    pl.dma.store(y, b)
"""
#: what is loaded and what is computed of it, and which tensor is short of some
CARRIED = (
    (_TILES, "width", "width", ""),
    (_TILES, "width", "1", "b"),
    (_TILES, "1", "width", "a"),
    (_ROWS, "5", "6", ""),
    (_ROWS, "5", "5", "b"),
    (_ROWS, "4", "6", "a"),
)


@pytest.mark.parametrize(("kernel", "loaded", "computed", "short"), CARRIED)
def test_the_tensor_that_is_short_is_named_where_another_is_carried_to_it(
    tmp_path: Path,
    kernel: str,
    loaded: str,
    computed: str,
    short: str,
) -> None:
    path = tmp_path / "kernel.py"
    text = kernel.replace("{LOADED}", loaded).replace("{COMPUTED}", computed)
    path.write_text(text, encoding="utf-8")
    options = ("--replay", "--no-cache", "--isolated", "--format", "concise")
    said = [
        line for line in tilelint("check", path, *options).stdout.splitlines() if "error[" in line
    ]
    if short:
        (line,) = said
        assert f"`{short}` is read before all of it was written" in line, line
        assert "replay: confirmed" in line, line
    else:
        assert said == []


_SWAPPED = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def summed(x):
    N, C = x.shape
    assert N % 48 == 0 and C <= 500
    out = nl.ndarray((N, C), dtype=nl.float32, buffer=nl.shared_hbm)
    before = nl.ndarray((48, C), dtype=nl.float32, buffer=nl.sbuf)
    now = nl.ndarray((48, C), dtype=nl.float32, buffer=nl.sbuf)
    {FIRST}
    for i in range(N // 48):
        nisa.dma_copy(now, x[i * 48 : (i + 1) * 48])
        nisa.tensor_tensor(now, before, now, op=nl.add)
        nisa.dma_copy(out[i * 48 : (i + 1) * 48], now)
        {LAST}
    return out
"""
_SWAP = "before, now = now, before"
_STORE = "nisa.dma_copy(out[i * 48 : (i + 1) * 48], now)"
#: what is written before the loop, what ends an iteration; the faults, and the condition
SWAPPED: tuple[tuple[str, str, list[str]], ...] = (
    ("nisa.memset(before, 0.0)", _SWAP, []),
    ("", _SWAP, ["`before` is read before all of it was written"]),
    (
        "other = nl.ndarray((48, C), dtype=nl.float32, buffer=nl.sbuf)",
        f"nisa.tensor_tensor(now, other, now, op=nl.add)\n        {_STORE}\n        {_SWAP}",
        ["`before` is read before all of it was written", "`other` is read, but nothing writes it"],
    ),
    ("", "nisa.tensor_copy(before, now)", ["`before` is read before it is written"]),
    ("nisa.memset(before, 0.0)", f"nisa.memset(now, 0.0)\n        {_SWAP}", []),
    (
        "nisa.memset(before, 0.0)",
        "before = nl.ndarray((48, C), dtype=nl.float32, buffer=nl.sbuf)",
        ["`before` is read, but nothing writes it", "N <= 48"],
    ),
)


@pytest.mark.parametrize(("first", "last", "said"), SWAPPED)
def test_what_one_fault_leaves_undefined_in_tiles_that_are_swapped_makes_no_condition(
    tmp_path: Path, first: str, last: str, said: list[str]
) -> None:
    path = tmp_path / "summed.py"
    text = _SWAPPED.replace("{FIRST}", first).replace("{LAST}", last)
    path.write_text(text, encoding="utf-8")
    checked = analyze_file(FileRequest(path=str(path), targets=("trn2",), api_version="0.6"))
    (kernel,) = checked.kernels
    found = [each.message for each in checked.diagnostics if each.severity == "error"]
    conjuncts = kernel.precondition.conjuncts if kernel.precondition is not None else ()
    assert [*found, *(each.text for each in conjuncts)] == said
