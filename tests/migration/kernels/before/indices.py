"""Beta 1: arrays of indices, which are slices where they index one axis each, in order."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def moved(x):
    assert x.shape == (88, 384) and x.dtype == nl.float32
    out = nl.ndarray((88, 384), dtype=nl.float32, buffer=nl.shared_hbm)
    rows = nl.arange(88)[:, None]  # all of them
    some, columns = nl.mgrid[0:88, 0:64]
    kept = nl.ndarray((88, 3, 64), dtype=nl.float32, buffer=nl.sbuf)
    for i in nl.affine_range(3):
        place = i * 128 + nl.arange(128)[None, :]
        tile = nl.load(x[rows, place])
        kept[some, i, columns] = nisa.reciprocal(tile[some, 64 + columns])
        nl.store(out[rows, place], tile)
        nl.store(out[some, i * 128 + columns], value=kept[some, i, columns])
    return out


def part(x, start):
    columns = start + nl.arange(32)[None, :]
    start = start + 32
    return x[nl.arange(88)[:, None], columns]


def turned(x):
    rows, columns = nl.mgrid[0:88, 0:64]
    return x[rows, 63 - columns]
