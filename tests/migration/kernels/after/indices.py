"""Beta 1: arrays of indices, which are slices where they index one axis each, in order."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def moved(x):
    assert x.shape == (88, 384) and x.dtype == nl.float32
    out = nl.ndarray((88, 384), dtype=nl.float32, buffer=nl.shared_hbm)
    kept = nl.ndarray((88, 3, 64), dtype=nl.float32, buffer=nl.sbuf)
    for i in range(3):
        tile = nl.load(x[0:88, i * 128:i * 128 + 128])
        nisa.reciprocal(dst=kept[0:88, i, 0:64], data=tile[0:88, 64:64 + 64])
        nl.store(out[0:88, i * 128:i * 128 + 128], tile)
        nl.store(out[0:88, i * 128:i * 128 + 64], value=kept[0:88, i, 0:64])
    return out


def part(x, start):
    columns = start + nl.arange(32)[None, :]
    start = start + 32
    return x[nl.arange(88)[:, None], columns]


def turned(x):
    rows, columns = nl.mgrid[0:88, 0:64]
    return x[rows, 63 - columns]
