"""Beta 1: decorators, launches, methods of tiles, identities."""

import numpy as np
import nki
import nki.isa
import nki.language as nl


def doubled(tile):
    return nl.add(tile, tile)


@nki.jit
def spread(x, scale, mode):
    assert x.shape == (1, 200) and x.dtype == nl.float32
    out = nl.ndarray((48, 200), dtype=nl.float32, buffer=nl.shared_hbm)
    row = nl.load(x)
    wide = nl.broadcast_to(row, (48, 200))
    if scale is not None and mode == True:
        wide = nl.multiply(wide, scale)
    more = nl.ndarray(wide.shape, dtype=wide.dtype, buffer=nl.sbuf)
    nki.isa.activation(dst=more, op=nl.exp, data=wide)
    nl.store(out, doubled(nl.subtract(wide, more)))
    return out


def run(x):
    return spread[2](x)
