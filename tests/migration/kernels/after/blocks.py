"""Beta 1: blocks of partitions, sums in PSUM, results of instructions."""

import numpy as np
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def product(a, b):
    rows, inner = a.shape
    _, columns = b.shape
    assert rows == 64 and inner == 384 and columns == 320
    assert a.dtype == nl.float32 and b.dtype == nl.float32
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    turned = nl.ndarray((128, 3, 64), dtype=nl.float32, buffer=nl.sbuf)
    left = nl.load(a)
    for k in range(3):
        part = nl.ndarray((left[:, nl.ds(k * 128, 128)].shape[1], left[:, nl.ds(k * 128, 128)].shape[0]), dtype=left.dtype, buffer=nl.psum)
        nisa.nc_transpose(dst=part, data=left[:, nl.ds(k * 128, 128)])  # Tensor Engine
        nisa.tensor_copy(dst=turned[:, k], src=part)
    summed = nl.ndarray((64, 320), dtype=nl.float32, buffer=nl.psum)
    for k in range(3):
        right = nl.load(b[k * 128 : (k + 1) * 128, :])
        nisa.nc_matmul(dst=summed, stationary=turned[:, k, 0:64], moving=right)
    kept = nl.ndarray(summed.shape, dtype=summed.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=kept, src=summed)
    largest = nl.ndarray((64, 2), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=largest[:, 0], op=nl.max, data=kept, axis=1)
    nisa.tensor_reduce(dst=largest[:, 1], op=nl.add, data=kept, axis=1)
    kept_new = nl.ndarray(kept.shape, dtype=kept.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(
        dst=kept_new, data=kept,  # what was kept
        op0=nl.subtract,
        operand0=largest[:, 0:1],
    )
    kept = kept_new
    nisa.tensor_copy(dst=kept[...], src=nl.exp(kept))
    nisa.tensor_scalar(dst=kept, data=kept, op0=nl.multiply, operand0=0.5)
    nl.store(out, kept)
    return out
