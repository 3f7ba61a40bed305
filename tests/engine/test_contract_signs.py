"""Contracts that admit negative integers: what they say is not overruled."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine import analyze_file
from verifier.report.model import FileRequest, KernelReport

OKK = """\
import okk


# tilelint: contract ({head}y: int32[50, 70], x: int32[50, 70]) where {where}
@okk.kernel
def shifted(s: int, y: okk.SystemAddr, x: okk.SystemAddr, m: int):
    okk.initialize()
    shape = okk.dim4(1, 50, 1, 70)
    okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
    okk.bdc_32bit_arithmetic_shift_C(0, 0, s, shape, None, None)
    okk.gdma_32bit_cpy_L2S(y, 0, shape, None, None)
    okk.poll()
"""

PPL = """\
import ppl
import ppl.language as pl


# tilelint: contract (out_ptr: fp16[40, 90], x_ptr: fp16[60, 90], s: S) where {where}
@ppl.jit
def rows(out_ptr, x_ptr, s):
    x_all = pl.gtensor([1, 60, 1, 90], pl.GLOBAL, x_ptr)
    x = pl.make_tensor([1, 40, 1, 90], pl.float16)
    pl.dma.load(x, x_all.sub_view([1, 40, 1, 90], [0, s, 0, 0]))
    pl.dma.store(pl.gtensor([1, 40, 1, 90], pl.GLOBAL, out_ptr).view(), x)
"""

NKI = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


# tilelint: contract (x: bf16[128, 64], s: S) where {where}
@nki.jit
def slice_of(x, s):
    y = nl.ndarray((64, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(y, nl.load(x[s : s + 64, 0:64]))
    return y
"""


def _checked(folder: Path, text: str, target: str = "bm1684") -> KernelReport:
    file = folder / "kernel.py"
    file.write_text(text)
    (kernel,) = analyze_file(FileRequest(str(file), targets=(target,), timeout=60)).kernels
    return kernel


@pytest.mark.parametrize(
    ("head", "where", "right"),
    [
        ("", "s >= -31, s <= 31", True),
        ("", "s >= -33, s <= 31", False),
        ("s: T, ", "T >= -31, T <= 31", True),
        ("s: T, ", "T > -34, T < 32", False),
        ("s: T, ", "T != 0, T >= -50, T <= 31", False),
        ("s: T, ", "T == -3", True),
        ("s: T, ", "T == -33", False),
        ("", "s == -5 or s == 3", True),
        ("", "s == -35 or s == 3", False),
        ("", "not s < -33, s < 9", False),
        ("", "s + 33 >= 0, s <= 31", False),
        ("", "s != -1, s <= 31", False),
        ("", "s < 0, s > -32", True),
        ("", "s // 2 >= -15, s <= 31", True),
        ("m: M, s: T, ", "T >= -M, T <= 31, M <= 31", True),
        ("m: M, s: T, ", "T >= -M, T <= 31, M <= 33", False),
        ("s: -T..T, m: T, ", "T >= 1, T <= 31", True),
        ("s: -T..T, m: T, ", "T >= 1, T <= 40", False),
        ("s: T - 40, m: T, ", "T >= 1, T <= 60", False),
        # these say nothing of negative numbers
        ("", "s <= 31", True),
        ("s: T, ", "T % 4 == 0, T <= 31", True),
        ("s: T, m: M, ", "T >= M, T <= 31", True),
    ],
)
def test_shifts(head: str, where: str, right: bool, tmp_path: Path) -> None:
    found = _checked(tmp_path, OKK.format(head=head, where=where))
    assert (found.status == "verified") == right, found.status
    assert found.status != "unknown"


def test_what_is_assumed(tmp_path: Path) -> None:
    """Of an input that a contract admits negative numbers for it is not said to be none."""
    found = _checked(tmp_path, OKK.format(head="", where="s >= -31, s <= 31"))
    assert "s >= 0" not in found.assumptions
    silent = _checked(tmp_path, OKK.format(head="", where="s <= 31"))
    assert "s >= 0" in silent.assumptions


@pytest.mark.parametrize(("text", "target"), [(PPL, "bm1684x"), (NKI, "trn2")])
@pytest.mark.parametrize(
    ("where", "right"), [("S >= 0, S <= 20", True), ("S >= -5, S <= 20", False), ("S == 3", True)]
)
def test_other_dialects(text: str, target: str, where: str, right: bool, tmp_path: Path) -> None:
    found = _checked(tmp_path, text.format(where=where), target)
    assert (found.status == "verified") == right, found.status
