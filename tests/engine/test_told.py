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


PRODUCT = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def product(x, w, step):
    K, M = x.shape
    N = w.shape[1]
    assert w.shape[0] == K
    assert M <= 64 * (M // step)
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((K, M), dtype=x.dtype, buffer=nl.sbuf)
    b = nl.ndarray((K, N), dtype=w.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=x)
    nisa.dma_copy(dst=b, src=w)
    sums = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=sums, stationary=a, moving=b)
    rows = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=rows, src=sums)
    nisa.dma_copy(dst=out, src=rows)
    return out
"""


def test_types_that_go_together_are_one_condition() -> None:
    condition = _condition(PRODUCT)
    *_, together = condition.dtypes
    floats = "(float32, tfloat32)"
    assert together.text == f"(x.dtype in {floats}) == (w.dtype in {floats})"
    assert "they are x.dtype and w.dtype" in together.what
    divisor = next(c for c in condition.sizes if c.text == "step >= 1")
    assert divisor.what == "the divisor step != 0"


def test_findings_use_the_names_of_the_kernel_and_advise_what_can_hold() -> None:
    found = {d.rule: d for d in analyze_source(PRODUCT).diagnostics}
    assert all("shape[" not in line for d in found.values() for line in (d.assertion, *d.help))
    assert found["matmul-moving-size"].assertion == "N <= 512"
    # that N is too large for one tile is no way out: the rest of the kernel needs N <= 512
    bytes_ = "M*x.dtype.itemsize + N*w.dtype.itemsize <= 212992"
    assert found["sbuf-capacity"].assertion == bytes_
    assert any(
        "N*w.dtype.itemsize" in note or "N*sizeof" in note for note in found["sbuf-capacity"].notes
    )


def test_what_contradicts_the_rest_is_not_advised() -> None:
    source = PRODUCT.replace("M <= 64 * (M // step)", "N >= 513")
    assert not any(d.assertion == "N <= 512" for d in analyze_source(source).diagnostics)


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
