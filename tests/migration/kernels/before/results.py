"""Beta 1: what an instruction returned goes into tiles of another dtype or memory, or is a column."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

SIZE = 96


@nki.jit
def scaled(x, w):
    rows, columns = x.shape
    assert rows == 200 and columns == SIZE and w.shape == (200, 3)
    assert x.dtype == nl.bfloat16 and w.dtype == nl.float32
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    kept = nl.ndarray((nl.par_dim(100), 2, columns), dtype=nl.float32, buffer=nl.sbuf)
    sums = nl.ndarray((2, nl.par_dim(100), 1), dtype=nl.float32, buffer=nl.sbuf)
    for i in nl.static_range(2):
        tile = nl.load(x[i * 100 : (i + 1) * 100, :])
        weight = nl.load(w[i * 100 : (i + 1) * 100, i + 1])
        # rounded to bfloat16 first: the tile that it goes to holds float32
        kept[:, i, :] = nisa.tensor_scalar(tile, nl.multiply, weight, dtype=nl.bfloat16)
        sums[i] = nisa.tensor_reduce(nl.add, kept[:, i], axis=1, dtype=nl.float32)
        half: nl.float32 = nisa.activation(op=nl.copy, data=kept[:, i, :], scale=0.5)
        half = nisa.tensor_scalar(half, op0=nl.add, operand0=sums[i])
        nl.store(out[i * 100 : (i + 1) * 100], nl.add(half, half) - half)
    return out


@nki.jit
def ranked(x):
    assert x.shape == (72, SIZE) and x.dtype == nl.float32
    out = nl.ndarray((72, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    bias = nisa.memset((72, 1), 0.25, nl.float32)
    moved = nisa.activation(nl.copy, tile, bias=bias)
    most = nisa.max8(src=moved)
    where = nisa.nc_find_index8(data=moved, vals=most)
    nl.store(out, nl.copy(where, dtype=nl.float32))
    return out
