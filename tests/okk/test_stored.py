"""Whether outputs are written: by nothing at all, in any order of rows, where all is numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from rules.tpu import kit
from tests.okk.support import check
from verifier.engine.analysis import analyze_file
from verifier.report.model import FileRequest
from verifier.symbolic import expr as E

WHOLE = "okk-output-coverage"
NOTHING = "no-output"

_ROWS = """\
# tilelint: contract (h: H, w: W, x: fp32[3, H, W], y: fp32[3, H, W]) where W <= 700
@okk.kernel
def k(h: int, w: int, x: okk.SystemAddr, y: okk.SystemAddr):
    okk.initialize()
    pitch = okk.dim4(3 * h * w, h * w, w, 1)
    for top in range({rows}):
        part = okk.dim4(1, 3, {height}, w)
        okk.gdma_32bit_cpy_S2L(0, x + {at} * w * 4, part, None, pitch)
        okk.gdma_32bit_cpy_L2S(y + {at} * w * 4, 0, part, pitch, None)
    okk.poll()
"""


@pytest.mark.parametrize(
    ("rows", "at", "height", "whole"),
    [
        ("h", "top", "1", True),
        ("h - 1", "top", "1", False),
        ("h - 1, -1, -1", "top", "1", True),
        ("h - 1, 0, -1", "top", "1", False),
        ("h", "(h - 1 - top)", "1", True),
        ("h - 1", "(h - 1 - top)", "1", False),
        ("(h - 1) // 2 * 2, -1, -2", "top", "min(2, h - top)", True),
        ("(h - 1) // 2 * 2, 0, -2", "top", "min(2, h - top)", False),
    ],
)
def test_rows_of_planes_in_any_order(
    rows: str, at: str, height: str, whole: bool, tmp_path: Path
) -> None:
    result = check(tmp_path, _ROWS.format(rows=rows, at=at, height=height))
    assert result.kernels[0].status == ("verified" if whole else "violated")
    assert {d.rule for d in result.diagnostics} <= {WHOLE}


_NUMBERS = """\
# tilelint: contract (x: fp32[2, 6, 10], y: fp32[2, 6, 10])
@okk.kernel
def k(x: okk.SystemAddr, y: okk.SystemAddr):
    okk.initialize()
    pitch = okk.dim4(120, 60, 10, 1)
    for w in range(0, 10, 4):
        part = okk.dim4(1, 2, {rows}, min(4, 10 - w))
        okk.gdma_32bit_cpy_S2L(0, x + w * 4, part, None, pitch)
        okk.gdma_32bit_cpy_L2S(y + w * {step}, 0, part, pitch, None)
    okk.poll()
"""


@pytest.mark.parametrize(
    ("rows", "step", "status"), [("6", "4", "verified"), ("5", "4", "violated")]
)
def test_numbers_leave_nothing_open(rows: str, step: str, status: str, tmp_path: Path) -> None:
    result = check(tmp_path, _NUMBERS.format(rows=rows, step=step))
    assert result.kernels[0].status == status
    if status == "violated":
        (found,) = result.diagnostics
        assert found.rule == WHOLE and found.verdict == "always"


_PIECES = """\
# tilelint: contract (n: L, y: fp32[60, L], x: fp32[60, L])
@okk.kernel
def k(n: int, y: okk.SystemAddr, x: okk.SystemAddr):
    okk.initialize()
    pitch = okk.dim4(60 * n, n, n, 1)
    shape = okk.dim4(1, 60, 1, 448)
    for piece in range(n // 448):
        okk.gdma_32bit_cpy_S2L(0, x + piece * 1792, shape, None, pitch)
        okk.gdma_32bit_cpy_L2S(y + piece * 1792, 0, shape, pitch, None)
    rest = {rest}
    if rest:
        start = n - rest
        shape = okk.dim4(1, 60, 1, rest)
        okk.gdma_32bit_cpy_S2L(0, x + start * 4, shape, None, pitch)
        okk.gdma_32bit_cpy_L2S(y + start * 4, 0, shape, pitch, None)
    okk.poll()
"""


def test_whole_pieces_of_several_rows_and_the_rest(tmp_path: Path) -> None:
    assert check(tmp_path, _PIECES.format(rest="n % 448")).kernels[0].status == "verified"
    result = check(tmp_path, _PIECES.format(rest="n % 224"))
    assert result.kernels[0].status in ("conditional", "violated")


_STORES = """\
# tilelint: contract (n: L, y: fp32[60, L], x: fp32[60, L]) where L <= 300
@okk.kernel
def k(n: int, y: okk.SystemAddr, x: okk.SystemAddr):
    okk.initialize()
    shape = okk.dim4(1, 60, 1, n)
    okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
    starts = (i for i in range(1))
    total = sum(1 for _ in starts)
    {store}
    okk.poll()
"""
_STORE = "okk.gdma_32bit_cpy_L2S(y, 0, shape, None, None)"


@pytest.mark.parametrize(
    "store",
    [
        "okk.bdc_neg(0, 0, shape, None, None)",
        f"for _ in range(-(n // 50)): {_STORE}",
        f"for _ in range(0): {_STORE}",
        f"for _ in starts: {_STORE}",
        f"if n > 300: {_STORE}",
    ],
)
def test_nothing_is_stored(store: str, tmp_path: Path) -> None:
    result = check(tmp_path, _STORES.format(store=store))
    assert [(d.rule, d.severity) for d in result.diagnostics] == [(NOTHING, "error")]


@pytest.mark.parametrize("store", [_STORE, f"for _ in range(total): {_STORE}"])
def test_something_is_stored(store: str, tmp_path: Path) -> None:
    result = check(tmp_path, _STORES.format(store=store))
    assert result.kernels[0].status == "verified", result.diagnostics


_FUNCTIONS = """\
import ppl
import ppl.language as pl


@ppl.jit
def half(n):
    return n // 2


@ppl.jit
def forgotten(x_ptr):
    x_all = pl.gtensor([1, 30, 1, 90], pl.GLOBAL, x_ptr)
    x = pl.make_tensor([1, 30, 1, 90], pl.float32)
    pl.dma.load(x, x_all)
    pl.tiu.fmul(x, x, 2.0)
"""


def test_a_function_that_does_nothing_on_the_device_loses_no_work(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(_FUNCTIONS, encoding="utf-8")
    result = analyze_file(FileRequest(path=str(path)))
    found = {(d.kernel, d.rule) for d in result.diagnostics if d.severity == "error"}
    assert found == {("forgotten", NOTHING)}


def test_a_step_with_several_terms_goes_into_an_offset() -> None:
    i, a, b, w = (E.symbol(name) for name in ("i", "of one", "of other", "wide"))
    assert kit.divided(i * (a + b) * 70 + a * 70, (a + b) * 70) == (i, a * 70)
    assert kit.divided(w * 2 + 3, w + 2) == (E.const(1), w + 1)
    assert kit.divided((w + 1) * (w + 2), w + 2) == (w + 1, E.const(0))
    assert kit.divided(E.const(35), E.const(12)) == (E.const(2), E.const(11))
    assert kit.divided(i * 15 + 24, E.const(12)) == (E.const(2), i * 15)
