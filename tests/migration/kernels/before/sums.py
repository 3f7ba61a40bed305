"""Beta 1: zeros in PSUM that products are added to, of the whole tile and of its parts."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def product(a, b):
    assert a.shape == (256, 64) and b.shape == (256, 384)
    assert a.dtype == nl.float32 and b.dtype == nl.float32
    out = nl.ndarray((3, 64, 384), dtype=nl.float32, buffer=nl.shared_hbm)
    parts = nl.zeros((64, 384), dtype=nl.float32, buffer=nl.psum)
    filled = nl.ndarray((64, 384), dtype=nl.float32, buffer=nl.psum)
    filled[...] = 0.0
    blocks = nl.zeros((3, nl.par_dim(64), 128), dtype=nl.float32, buffer=nl.psum)
    for k in nl.affine_range(2):
        left = nl.load(a[k * 128 : (k + 1) * 128, :])
        right = nl.load(b[k * 128 : (k + 1) * 128, :])
        for h in nl.affine_range(3):
            moving = right[:, nl.ds(h * 128, 128)]
            parts[:, h * 128 : (h + 1) * 128] += nisa.nc_matmul(left, moving)
            blocks[h] += nisa.nc_matmul(left, moving)
        filled[0:32] += nisa.nc_matmul(left[:, 0:32], right)
        filled[32:64] += nisa.nc_matmul(left[:, 32:64], right)
    nl.store(out[0], nisa.tensor_copy(parts))
    nl.store(out[1], filled)
    for h in nl.affine_range(3):
        nl.store(out[2, :, h * 128 : (h + 1) * 128], nl.copy(blocks[h]))
    return out
