"""Offsets that a kernel puts into memory itself: compared, or left open, never taken on trust."""

from __future__ import annotations

_KERNEL = """import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def picked(x, given, far=False):
    assert x.shape == (6, 16, 24) and x.dtype == nl.float32
    assert given.shape == (1, 1) and given.dtype == nl.int32
    out = nl.ndarray((16, 24), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((16, 24), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=0.0)
    row = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    where = nisa.register_alloc()
    {fill}
    nisa.register_load(dst=where, src=row)
    nisa.dma_copy(dst=tile, src={view}{mode})
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
_GIVEN = "nisa.dma_copy(dst=row, src=given)"
_MORE = "nisa.tensor_scalar(dst=row, data=row, op0=nl.add, operand0=1)"
_BRANCH = "nisa.memset(dst=row, value=2)\n    if far:\n        nisa.memset(dst=row, value={})"
_COUNTED = "nisa.iota(dst=row, pattern=[[1, 1]], offset={})"
