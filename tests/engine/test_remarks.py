"""What is told and breaks nothing: no status and no precondition depends on it."""

from __future__ import annotations

import pytest

from verifier.engine import analyze_source

_NKI = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    assert x.shape == (64, 24)
    out = nl.ndarray((64, 24), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((64, WIDTH), dtype=TYPE, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile[:, 0:24], src=xMODE)
    nisa.dma_copy(dst=out, src=tile[:, 0:24])
    return out
"""
_PPL = """\
import ppl
import ppl.language as pl


# tilelint: contract (out_ptr: fp16[1, 48, 2, 33], src_ptr: fp16[1, 48, 2, 33], rows: 0..48)
@ppl.jit
def doubled(out_ptr, src_ptr, rows):
    if rows <= 0:
        pass
    a = pl.make_tensor([1, 48, 2, 33], pl.float16)
    b = pl.make_tensor([1, 48, 2, 33], pl.float16)
    pl.dma.load(a, pl.gtensor([1, 48, 2, 33], pl.GLOBAL, src_ptr).view())
    pl.tiu.fmul(b, a, 2.0)
    pl.dma.store(pl.gtensor([1, 48, 2, 33], pl.GLOBAL, out_ptr).view(), b)
"""


@pytest.mark.parametrize(
    ("width", "dtype", "mode", "rule", "severity"),
    [
        ("48", "x.dtype", "", "oversized-tile", "warning"),
        ("24", "nl.float32", "", "dma-store-conversion", "warning"),
        ("24", "x.dtype", ", oob_mode=nisa.oob_mode.skip", "oob-mode", "note"),
    ],
)
def test_nki(width: str, dtype: str, mode: str, rule: str, severity: str) -> None:
    text = _NKI.replace("WIDTH", width).replace("TYPE", dtype).replace("MODE", mode)
    result = analyze_source(text, target="trn2", api_version="0.6")
    (kernel,) = result.kernels
    assert kernel.status == "verified", result.diagnostics
    assert [(d.rule, d.severity) for d in result.diagnostics] == [(rule, severity)]
    assert kernel.precondition is None or not kernel.precondition.conjuncts


def test_ppl() -> None:
    result = analyze_source(_PPL, target="bm1684x")
    (kernel,) = result.kernels
    assert kernel.status == "verified", result.diagnostics
    assert [(d.rule, d.severity) for d in result.diagnostics] == [("ppl-empty-guard", "warning")]
