"""Access patterns of tensors in HBM are told apart by dimensions, where none carries over."""

from __future__ import annotations

import pytest

from verifier.engine.analysis import analyze_source

#: even rows first, then odd ones, on any number of cores
_INTERLEAVE = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def interleave(x, shared: bool):
    d, b, s = x.shape
    assert d == 64 or d == 96
    cores = nl.num_programs(0) if shared else 1
    me = nl.program_id(0) if shared else 0
    assert s % cores == 0 and x.dtype == nl.float32 and b * s <= 9000
    part = s // cores
    first = me * part
    there = min(first + part, s) - first
    out = nl.ndarray((d, b, s), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((d, b, part), dtype=x.dtype, buffer=nl.sbuf)
    half = d // 2
    for odd in range(2):
        pattern = [[2 * b * s, half], [s, b], [1, there]]
        start = odd * b * s + first
        rows = tile[odd * half : odd * half + half, :, 0:there]
        nisa.dma_copy(dst=rows, src=x.ap(pattern, offset=start))
        nisa.dma_copy(dst=out.ap(pattern, offset=start), src=rows)
    return out
"""
_LOADED = "        nisa.dma_copy(dst=rows, src=x.ap(pattern, offset=start))\n"


def test_rows_that_interleave_are_apart() -> None:
    (kernel,) = analyze_source(_INTERLEAVE).kernels
    assert (kernel.status, kernel.obligations.unknown) == ("verified", 0)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        # what each core writes is its own
        (
            _LOADED,
            _LOADED
            + "        nisa.tensor_scalar(dst=rows, data=rows, op0=nl.add, "
            + "operand0=nl.program_id(0))\n",
        ),
        # all rows but the last odd one
        ("half], [s, b]", "half - odd], [s, b]"),
        # each core leaves out its last column
        ("first + part, s) - first", "first + part, s) - first - shared"),
        # a column of one core is one of the next, and of another row
        ("start = odd * b * s + first", "start = odd * b * s + first + me"),
    ],
)
def test_what_they_leave_or_share_is_found(right: str, wrong: str) -> None:
    assert right in _INTERLEAVE
    (kernel,) = analyze_source(_INTERLEAVE.replace(right, wrong)).kernels
    assert kernel.status != "verified"
