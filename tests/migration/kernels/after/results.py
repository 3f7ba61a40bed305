"""Beta 1: what an instruction returned goes into tiles of another dtype or memory, or is a column."""

import nki
import nki.isa as nisa
import nki.language as nl

SIZE = 96


@nki.jit
def scaled(x, w):
    rows, columns = x.shape
    assert rows == 200 and columns == SIZE and w.shape == (200, 3)
    assert x.dtype == nl.bfloat16 and w.dtype == nl.float32
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    kept = nl.ndarray((100, 2, columns), dtype=nl.float32, buffer=nl.sbuf)
    sums = nl.ndarray((100, 2, 1), dtype=nl.float32, buffer=nl.sbuf)
    for i in range(2):
        tile = nl.load(x[i * 100 : (i + 1) * 100, :])
        weight = nl.load(w[i * 100 : (i + 1) * 100, i + 1:(i + 1) + 1])
        # rounded to bfloat16 first: the tile that it goes to holds float32
        kept_new = nl.ndarray(tile.shape, dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=kept_new, data=tile, op0=nl.multiply, operand0=weight)
        nisa.tensor_copy(dst=kept[:, i, :], src=kept_new)
        nisa.tensor_reduce(dst=sums[:, i], op=nl.add, data=kept[:, i], axis=1)
        half: nl.float32 = nl.ndarray(kept[:, i, :].shape, dtype=kept.dtype, buffer=nl.sbuf)
        nisa.activation(dst=half, op=nl.copy, data=kept[:, i, :], scale=0.5)
        half_new = nl.ndarray(half.shape, dtype=half.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=half_new, data=half, op0=nl.add, operand0=sums[:, i])
        half = half_new
        nl.store(out[i * 100 : (i + 1) * 100], nl.subtract(nl.add(half, half), half))
    return out


@nki.jit
def ranked(x):
    assert x.shape == (72, SIZE) and x.dtype == nl.float32
    out = nl.ndarray((72, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    bias = nl.ndarray((72, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=bias, value=0.25)
    moved = nl.ndarray(tile.shape, dtype=tile.dtype, buffer=nl.sbuf)
    nisa.activation(dst=moved, op=nl.copy, data=tile, bias=bias)
    most = nl.ndarray((moved.shape[0], 8), dtype=moved.dtype, buffer=nl.sbuf)
    nisa.max8(dst=most, src=moved)
    where = nl.ndarray((moved.shape[0], 8), dtype=nl.uint32, buffer=nl.sbuf)
    nisa.nc_find_index8(dst=where, data=moved, vals=most)
    nl.store(out, nl.copy(where, dtype=nl.float32))
    return out
