"""Contracts that give an input by a type alone, beside what the kernel says that it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine import analyze_file
from verifier.report.model import FileRequest, FileResult

#: right where `{test}` holds
OKK = """\
import okk


@okk.kernel
def tried({params}):
    okk.initialize()
    okk.gdma_32bit_cpy_S2S(y, x, okk.dim4(1, 3, 1, 64), None, None)
    if {test}:
        okk.poll()
"""
ADDRESSES = "x: okk.SystemAddr, y: okk.SystemAddr"
#: right where ``whole`` holds
PPL = """\
import ppl
import ppl.language as pl


@ppl.jit
def tried(y_ptr, {param}):
    y = pl.gtensor([1, 16, 1, 24], pl.GLOBAL, y_ptr)
    a = pl.make_tensor([1, 16, 1, 24], pl.float16)
    pl.dma.fill(a, 1.5)
    if whole:
        pl.dma.store(y, a)
"""
NKI = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def tried({params}):
    out = nl.ndarray((128, 24), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((128 if small else 129, 24), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=0.0)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


def _check(folder: Path, text: str, contract: str) -> FileResult:
    path = folder / "kernel.py"
    path.write_text(text, encoding="utf-8")
    return analyze_file(FileRequest(path=str(path), contracts=(f"tried{contract}",)))


def _conditions(found: FileResult) -> list[str]:
    assert not found.errors
    (kernel,) = found.kernels[:1]
    assert kernel.precondition is not None
    return [conjunct.text for conjunct in kernel.precondition.conjuncts]


@pytest.mark.parametrize(
    ("param", "test", "contract", "condition"),
    [
        ("fast: bool, ", "fast", "(fast: bool)", ["fast"]),
        ("fast: int, ", "fast", "(fast: bool)", ["fast"]),
        ("fast, ", "fast", "(fast: bool)", ["bool(fast)"]),
        ("fast, ", "fast", "(fast: bool) where fast", []),
        ("n: int, ", "n", "(n: int32)", ["n >= 1"]),
        ("n, ", "n", "(n: int32)", ["bool(n)"]),
        ("n: int, ", "n", "(n: int)", ["n >= 1"]),
        ("n, ", "n", "(n: int)", ["n >= 1"]),
        ("n, ", "n", "(n: int) where n >= 1", []),
        # two types of one name are no two equal numbers
        ("n: int, m: int, ", "n == m", "(n: int, m: int)", ["n == m"]),
    ],
)
def test_any_value_of_a_type(
    param: str, test: str, contract: str, condition: list[str], tmp_path: Path
) -> None:
    text = OKK.format(params=f"{param}{ADDRESSES}", test=test)
    assert _conditions(_check(tmp_path, text, contract)) == condition


@pytest.mark.parametrize(
    ("param", "contract", "condition"),
    [
        ("fast=True", "(fast: bool)", ["fast"]),
        ("fast: bool | None = None", "(fast: {None, bool})", None),
        ("n=3", "(n: int32)", ["n >= 1"]),
    ],
)
def test_what_a_default_says(
    param: str, contract: str, condition: list[str] | None, tmp_path: Path
) -> None:
    text = OKK.format(params=f"{ADDRESSES}, {param}", test=param.partition("=")[0].split(":")[0])
    found = _conditions(_check(tmp_path, text, contract))
    assert found == condition if condition is not None else found


@pytest.mark.parametrize("contract", ["(s: float)", "(s: float32)"])
@pytest.mark.parametrize("test", ["s > 0.5", "s * 2 == 7"])
def test_any_float(contract: str, test: str, tmp_path: Path) -> None:
    """Nothing is known of it, which no proof may rest on."""
    found = _check(tmp_path, OKK.format(params=f"s: float, {ADDRESSES}", test=test), contract)
    assert [kernel.status for kernel in found.kernels] == ["unknown"]


@pytest.mark.parametrize(
    ("param", "contract"),
    [
        ("n: bool, ", "(n: fp32[2, 3])"),
        ("n: int, ", "(n: fp32[2, 3])"),
        ("n: int, ", "(n: int32[7])"),
        ("n: int, ", "(n: fp32)"),
        ("n: int, ", "(n: {int32, uint8})"),
        ("n: bool, ", "(n: int8)"),
        ("n: float, ", "(n: {None, bf16[3]})"),
        ("n: str, ", "(n: bf16)"),
        ("n, ", "(x: 3..7)"),
        ("n, ", "(x: int)"),
    ],
)
def test_contradictions(param: str, contract: str, tmp_path: Path) -> None:
    found = _check(tmp_path, OKK.format(params=f"{param}{ADDRESSES}", test="n"), contract)
    (error,) = found.errors
    assert "is annotated as" in error.message
    assert [kernel.status for kernel in found.kernels] == ["error"]


@pytest.mark.parametrize("param", ["n", "n=3"])
def test_numbers_are_no_dtypes(param: str, tmp_path: Path) -> None:
    """That it is one of the dtypes does not say that it is not zero."""
    text = OKK.format(params=f"{ADDRESSES}, {param}", test="n > 0")
    (error,) = _check(tmp_path, text, "(n: {int32, uint8})").errors
    assert "`n` is used as a number" in error.message


@pytest.mark.parametrize(
    "param", ["whole: 'bool'", "whole: int", "whole: pl.constexpr", "whole", "whole=True"]
)
def test_ppl(param: str, tmp_path: Path) -> None:
    text = PPL.format(param=param)
    found = _check(tmp_path, text, "(y_ptr: fp16[1, 16, 1, 24], whole: bool)")
    assert not found.errors
    assert {d.rule for d in found.diagnostics if d.severity == "error"} == {"output-not-written"}
    right = "(y_ptr: fp16[1, 16, 1, 24], whole: bool) where whole"
    assert {kernel.status for kernel in _check(tmp_path, text, right).kernels} == {"verified"}


def test_ppl_sizes_are_no_tensors(tmp_path: Path) -> None:
    text = PPL.format(param="whole: pl.constexpr")
    found = _check(tmp_path, text, "(whole: fp16[3])")
    assert "is annotated as `pl.constexpr`" in found.errors[0].message


@pytest.mark.parametrize("params", ["small: bool", "small", "small=True"])
def test_nki(params: str, tmp_path: Path) -> None:
    text = NKI.format(params=params)
    found = _check(tmp_path, text, "(small: bool)")
    assert [kernel.status for kernel in found.kernels] == ["conditional"]
    right = _check(tmp_path, text, "(small: bool) where small")
    assert [kernel.status for kernel in right.kernels] == ["verified"]


@pytest.mark.parametrize("contract", ["(mask: bool[128, 24])", "(mask: bool)"])
def test_tensors_of_truth_values(contract: str, tmp_path: Path) -> None:
    text = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def tried(mask):
    rows, columns = mask.shape
    out = nl.ndarray((rows, columns), dtype=mask.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((min(rows, 128), min(columns, 24)), dtype=mask.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=mask[: min(rows, 128), : min(columns, 24)])
    nisa.dma_copy(dst=out[: min(rows, 128), : min(columns, 24)], src=tile)
    return out
"""
    found = _check(tmp_path, text, contract)
    assert not found.errors
    whole = "conditional" if contract == "(mask: bool)" else "verified"
    assert found.kernels[0].status == whole


def test_tensors_are_no_numbers(tmp_path: Path) -> None:
    found = _check(tmp_path, NKI.format(params="small: nl.tensor"), "(small: 1..7)")
    assert "is annotated as `nl.tensor`" in found.errors[0].message
