"""Rows of scores are computed 512 columns at a time, of a length that is only bounded below."""

import nki
import nki.isa as nisa
import nki.language as nl

STRIDE = 512


@nki.jit
def exp_rows(q, k):
    d, n = q.shape
    assert k.shape == (d, n)
    assert d == 128
    assert n >= 512
    assert n <= 4096
    assert q.dtype == nl.bfloat16 and k.dtype == nl.bfloat16
    peaks = nl.ndarray((128, n), dtype=nl.float32, buffer=nl.shared_hbm)
    keys = nl.ndarray((d, n), dtype=nl.bfloat16, buffer=nl.sbuf)
    first = nl.ndarray((d, 128), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=keys, src=k)
    nisa.dma_copy(dst=first, src=q[:, 0:128])
    row = nl.ndarray((128, n), dtype=nl.float32, buffer=nl.sbuf)
    for j in range(n // STRIDE):
        acc = nl.ndarray((128, STRIDE), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=acc, stationary=first, moving=keys[:, j * STRIDE : (j + 1) * STRIDE])
        nisa.tensor_copy(dst=row[:, j * STRIDE : (j + 1) * STRIDE], src=acc)
    nisa.activation(dst=row, op=nl.exp, data=row)
    nisa.dma_copy(dst=peaks, src=row)
    return peaks
