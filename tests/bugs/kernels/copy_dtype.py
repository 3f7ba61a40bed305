"""An argument that instructions lost, and a staging tile of another type than the result."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def half_product(a, b):
    assert a.shape == (96, 48) and b.shape == (96, 320)
    assert a.dtype == b.dtype and a.dtype == nl.bfloat16
    y = nl.ndarray((48, 320), dtype=a.dtype, buffer=nl.shared_hbm)
    u = nl.ndarray((96, 48), dtype=a.dtype, buffer=nl.sbuf)
    v = nl.ndarray((96, 320), dtype=b.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=u, src=a)
    nisa.dma_copy(dst=v, src=b)
    acc = nl.ndarray((48, 320), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=acc, stationary=u, moving=v)
    staged = nl.ndarray((48, 320), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=staged, src=acc, dtype=y.dtype)
    nisa.dma_copy(dst=y, src=staged)
    return y
