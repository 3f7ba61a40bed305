"""Beta 1: whether ``+=`` of a product keeps data that is in PSUM is not documented (NKI-M136)."""

from __future__ import annotations

import pytest

from verifier.engine import analyze_source

KERNEL = """\
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc import nki


@nki.jit
def kernel(a, b, x):
    assert a.shape == (24, 70) and b.shape == (24, 40) and x.shape == (70, 40)
    out = nl.ndarray((70, 40), dtype=nl.float32, buffer=nl.shared_hbm)
    acc = nl.zeros((70, 40), dtype=nl.float32, buffer={memory})
    left, right = nl.load(a), nl.load(b)
{body}
    nl.store(out, value=acc)
    return out
"""

SUM = "acc += nisa.nc_matmul(left, right)\n"
DATA = "acc[...] = nl.load(x)\n"


@pytest.mark.parametrize(
    ("body", "memory", "status"),
    [
        (SUM, "nl.psum", "verified"),
        (DATA + SUM, "nl.psum", "unknown"),
        ("acc[32:64, 30:40] = nl.load(x[32:64, 30:40])\n" + SUM, "nl.psum", "unknown"),
        (DATA + "acc[...] = 0.0\n" + SUM, "nl.psum", "verified"),
        (DATA + "acc[...] = nisa.nc_matmul(left, right)\n" + SUM, "nl.psum", "verified"),
        (SUM + "acc[...] = nl.multiply(acc, 0.5)\n" + SUM, "nl.psum", "unknown"),
        (DATA + SUM, "nl.sbuf", "verified"),
    ],
)
def test_what_a_product_is_added_to(body: str, memory: str, status: str) -> None:
    text = KERNEL.format(body="".join(f"    {line}\n" for line in body.splitlines()), memory=memory)
    result = analyze_source(text)
    (kernel,) = result.kernels
    assert kernel.status == status, result.diagnostics
    if status == "unknown":
        (found,) = [each for each in result.diagnostics if each.rule == "psum-accumulation"]
        assert found.severity == "note"


SUMS = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(a, b):
    assert a.shape[1] == 70 and b.shape == (a.shape[0], 40) and a.shape[0] % 32 == 0
    out = nl.ndarray((70, 40), dtype=nl.float32, buffer=nl.shared_hbm)
    for copy in range(a.shape[0] // 64):
        acc = nl.zeros((70, 40), dtype=nl.float32, buffer=nl.psum)
        for k in range(a.shape[0] // 32):
            left = nl.load(a[32 * k : 32 * k + 32])
            right = nl.load(b[32 * k : 32 * k + 32])
            nisa.nc_matmul(dst=acc, stationary=left, moving=right, accumulate={how})
        tile = nl.ndarray((70, 40), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=tile, src=acc)
        nl.store(out, value=tile)
    return out
"""


@pytest.mark.parametrize(("how", "found"), [("True", 1), ("k > 0", 0)])
def test_no_input_is_asked_for_that_leaves_the_sum_out(how: str, found: int) -> None:
    result = analyze_source(SUMS.format(how=how))
    (kernel,) = result.kernels
    assert kernel.precondition is not None
    assert not any(c.rule == "psum-accumulation" for c in kernel.precondition.conjuncts)
    assert sum(d.rule == "psum-accumulation" for d in result.diagnostics) == found
