"""Beta 1: zeros in PSUM that products are added to, of the whole tile and of its parts."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def product(a, b):
    assert a.shape == (256, 64) and b.shape == (256, 384)
    assert a.dtype == nl.float32 and b.dtype == nl.float32
    out = nl.ndarray((3, 64, 384), dtype=nl.float32, buffer=nl.shared_hbm)
    parts = nl.ndarray((64, 384), dtype=nl.float32, buffer=nl.psum)
    filled = nl.ndarray((64, 384), dtype=nl.float32, buffer=nl.psum)
    blocks = nl.ndarray((64, 3, 128), dtype=nl.float32, buffer=nl.psum)
    for k in range(2):
        left = nl.load(a[k * 128 : (k + 1) * 128, :])
        right = nl.load(b[k * 128 : (k + 1) * 128, :])
        for h in range(3):
            moving = right[:, nl.ds(h * 128, 128)]
            nisa.nc_matmul(dst=parts[:, h * 128 : (h + 1) * 128], stationary=left, moving=moving)
            nisa.nc_matmul(dst=blocks[:, h], stationary=left, moving=moving)
        nisa.nc_matmul(dst=filled[0:32], stationary=left[:, 0:32], moving=right)
        nisa.nc_matmul(dst=filled[32:64], stationary=left[:, 32:64], moving=right)
    tensor_copy_out = nl.ndarray(parts.shape, dtype=parts.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=tensor_copy_out, src=parts)
    nl.store(out[0], tensor_copy_out)
    filled_new = nl.ndarray(filled.shape, dtype=filled.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=filled_new, src=filled)
    nl.store(out[1], filled_new)
    for h in range(3):
        nl.store(out[2, :, h * 128 : (h + 1) * 128], nl.copy(blocks[:, h]))
    return out
