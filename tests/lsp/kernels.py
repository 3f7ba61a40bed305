"""Kernels that the editor's tests open."""

from __future__ import annotations

#: too many rows for a partition, unless somebody says how many there are
HALVE = """\
import nki.isa as nisa
import nki.language as nl
import nki


@nki.jit
def halve(x):
    rows, cols = x.shape
    assert cols == 512
    out = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    half = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=half, data=t, op0=nl.multiply, operand0=0.5)
    nisa.dma_copy(dst=out, src=half)
    return out
"""

#: a helper that loads all rows into one tile
HELPER = """\
import nki.isa as nisa
import nki.language as nl


def load(x, rows, cols):
    t = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    return t
"""

USER = """\
import nki
import nki.isa as nisa
import nki.language as nl
from helper import load


@nki.jit
def copy(x):
    rows, cols = x.shape
    assert cols == 512
    out = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=load(x, rows, cols))
    return out
"""

#: a second kernel, which is fine
DOUBLE = """\


@nki.jit
def double(x):
    rows, cols = x.shape
    assert rows <= 128 and cols <= 2048
    out = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.shared_hbm)
    s = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=s, src=x)
    twice = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=twice, data=s, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out, src=twice)
    return out
"""
