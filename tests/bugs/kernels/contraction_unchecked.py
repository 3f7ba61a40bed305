"""Two of three sizes are checked; the contraction loses its tail."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def blocks(w, x):
    K, M = w.shape
    K_x, N = x.shape
    assert K == K_x
    assert M % 64 == 0 and N % 384 == 0
    assert w.dtype == nl.bfloat16 and x.dtype == nl.bfloat16
    y = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in range(M // 64):
        for n in range(N // 384):
            acc = nl.ndarray((64, 384), dtype=nl.float32, buffer=nl.psum)
            for k in range(K // 128):
                a = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf)
                b = nl.ndarray((128, 384), dtype=nl.bfloat16, buffer=nl.sbuf)
                nisa.dma_copy(dst=a, src=w[k * 128 : (k + 1) * 128, m * 64 : (m + 1) * 64])
                nisa.dma_copy(dst=b, src=x[k * 128 : (k + 1) * 128, n * 384 : (n + 1) * 384])
                nisa.nc_matmul(dst=acc, stationary=a, moving=b)
            held = nl.ndarray((64, 384), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(dst=held, src=acc)
            nisa.dma_copy(dst=y[m * 64 : (m + 1) * 64, n * 384 : (n + 1) * 384], src=held)
    return y
