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
