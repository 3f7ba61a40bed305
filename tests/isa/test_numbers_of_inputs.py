"""A number that the caller gives is held to the limits of the instruction that takes it."""

from __future__ import annotations

from verifier.engine import analyze_source

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def gather(data, index, width, valid):
    assert data.shape == (32, 96) and index.shape == (32, 5)
    assert data.dtype == nl.float32 and index.dtype == nl.uint16
    out = nl.ndarray((32, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    rows = nl.ndarray((32, 96), dtype=nl.float32, buffer=nl.sbuf)
    picks = nl.ndarray((32, 5), dtype=nl.uint16, buffer=nl.sbuf)
    found = nl.ndarray((32, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=rows, src=data)
    nisa.dma_copy(dst=picks, src=index)
    nisa.memset(dst=found, value=0.0)
    nisa.local_gather(
        dst=found, src_buffer=rows, index=picks, num_elem_per_idx=width, num_valid_indices=valid
    )
    nisa.dma_copy(dst=out, src=found)
    return out
"""


def test_the_rules_see_them() -> None:
    (kernel,) = analyze_source(KERNEL, target="trn2").kernels
    condition = kernel.precondition
    assert kernel.status == "conditional" and condition is not None and condition.exact
    texts = {conjunct.text for conjunct in condition.conjuncts}
    assert any("width == 32" in text for text in texts)
    assert any("valid" in text for text in texts)
