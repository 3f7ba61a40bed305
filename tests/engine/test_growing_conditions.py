"""Conditions whose parts are in them many times: read once each, whatever the whole comes to."""

from __future__ import annotations

import time

from verifier.engine import analyze_source
from verifier.engine.forms import size_of, weight
from verifier.symbolic import expr as E

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, n: int):
    assert x.shape == (8, {columns}) and x.dtype == nl.float32
    assert 0 <= n and n <= {most}
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x)
    count, rest = 1, n
    while rest:
        rest &= rest - 1
        count += 1
    nisa.dma_copy(dst=out[:, 0:count], src=x[:, 0:count])
    return out
"""


def test_what_a_term_weighs_is_counted_in_its_parts_once() -> None:
    term = E.symbol("n")
    for _ in range(200):
        term = E.ite(E.le(term, 7), term + 1, E.maximum(term, 3) - 1)
    started = time.process_time()
    assert size_of(term) > 1 << 200
    assert weight(E.eq(term, 0)) > 1 << 200
    assert time.process_time() - started < 5


def test_bits_that_a_loop_counts_are_a_precondition() -> None:
    (kernel,) = analyze_source(KERNEL.format(columns=3, most=7)).kernels
    assert kernel.status == "conditional"  # 7 has three bits: four columns
    (kernel,) = analyze_source(KERNEL.format(columns=4, most=7)).kernels
    assert kernel.status in ("verified", "unknown")
