"""What a precondition is told with: what breaks it, what is assumed, in the kernel's names."""

from __future__ import annotations

from verifier.engine import analyze_source
from verifier.report.model import Precondition

BLOCKS = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def blocks(x, per_block, extra):
    R, C = x.shape
    assert R == 96
    n = C // (64 * per_block)
    assert extra <= 4
    out = nl.ndarray((R, C), dtype=x.dtype, buffer=nl.shared_hbm)
    whole = nl.ndarray((R, 40 * n + extra + 1), dtype=x.dtype, buffer=nl.sbuf)
    tile = nl.ndarray((R, C), dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(dst=whole, value=0.0)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""

HALVES = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def halves(x):
    R, C = x.shape
    assert R <= 128 and C <= 9600
    out = nl.ndarray((R, C), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(C // 96):
        tile = nl.ndarray((R, 96), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[:, i * 96 : i * 96 + 96])
        nisa.dma_copy(dst=out[:, i * 96 : i * 96 + 96], src=tile)
    return out
"""


def _condition(source: str) -> Precondition:
    (kernel,) = analyze_source(source).kernels
    assert kernel.precondition is not None and kernel.precondition.sufficient
    return kernel.precondition


def test_each_condition_has_what_breaks_it_and_sizes_are_positive() -> None:
    condition = _condition(BLOCKS)
    found = {conjunct.text: conjunct.breach for conjunct in condition.sizes}
    # the others divide by what is zero: they have no value then, and are none that it meets
    assert found["per_block >= 1"] == "per_block = 0"
    assert all(found.values()) and len(found) > 1
    # nothing says so of `extra`, and a negative one is no part of what is proved
    assert condition.assumed == ("extra >= 0",)


def test_what_needs_a_condition_speaks_of_the_sizes_by_their_names() -> None:
    (conjunct,) = _condition(HALVES).sizes
    assert conjunct.text == "C % 96 == 0" and conjunct.silent
    assert "x.shape" not in conjunct.what and "96*(C // 96)" in conjunct.what
