"""The hoisted column of weights is allocated as wide as the other operand's tiles."""

from neuronxcc import nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

ROWS, HEIGHT, WIDTH = 128, 64, 256


@nki.jit
def weighted(w, x):
    depth, height = w.shape
    assert x.shape[0] == depth
    width = x.shape[1]
    assert depth % ROWS == 0 and depth <= 4096
    assert height % HEIGHT == 0 and width % WIDTH == 0
    y = nl.ndarray((height, width), dtype=nl.float32, buffer=nl.shared_hbm)
    narrow = nl.mgrid[0:ROWS, 0:HEIGHT]
    wide = nl.mgrid[0:ROWS, 0:WIDTH]
    tile = nl.mgrid[0:HEIGHT, 0:WIDTH]
    for i in nl.affine_range(height // HEIGHT):
        column = nl.ndarray((depth // ROWS, nl.par_dim(ROWS), WIDTH), dtype=w.dtype, buffer=nl.sbuf)
        for k in nl.affine_range(depth // ROWS):
            column[k, narrow.p, narrow.x] = nl.load(w[k * ROWS + narrow.p, i * HEIGHT + narrow.x])
        for j in nl.affine_range(width // WIDTH):
            acc = nl.zeros((HEIGHT, WIDTH), dtype=nl.float32, buffer=nl.psum)
            for k in nl.affine_range(depth // ROWS):
                right = nl.load(x[k * ROWS + wide.p, j * WIDTH + wide.x])
                acc += nisa.nc_matmul(column[k, narrow.p, narrow.x], right)
            nl.store(y[i * HEIGHT + tile.p, j * WIDTH + tile.x], value=nl.copy(acc))
    return y
