"""Offsets in registers that a check cannot compare, or can only path by path."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures.support import check

_KERNEL = """import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def picked(x, rows, far=False):
    assert x.shape == (6, 16, 24) and x.dtype == nl.float32
    assert rows.shape == (1, 1) and rows.dtype == nl.int32
    out = nl.ndarray((16, 24), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((16, 24), dtype=nl.float32, buffer=nl.sbuf)
    row = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=row, src=rows)
    where = nisa.register_alloc({first})
    if far:
        {then}
    nisa.dma_copy(dst=tile, src=x.{view})
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
_LOAD = "nisa.register_load(dst=where, src=row)"
_PATTERN = "ap([[24, 16], [1, 24]], scalar_offset={}, indirect_dim=0)"


@pytest.mark.parametrize(
    ("first", "then", "view", "status"),
    [
        (5, "nisa.register_move(dst=where, src=2)", "select(0, where)", "verified"),
        (2, "nisa.register_move(dst=where, src=6)", "select(0, where)", "conditional"),
        (2, "nisa.register_move(dst=where, src=6)", _PATTERN.format("where"), "conditional"),
        (6, _LOAD, _PATTERN.format("where"), "unknown"),
        (6, _LOAD, "select(0, where)", "unknown"),
        (5, "pass", _PATTERN.format("where + 1"), "unknown"),
    ],
)
def test_what_is_not_loaded_is_not_taken_to_stay_inside(
    first: int, then: str, view: str, status: str, tmp_path: Path
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(_KERNEL.format(first=first, then=then, view=view), encoding="utf-8")
    (kernel,) = check(path).kernels
    assert kernel.status == status, kernel.reasons
    assert not [text for text in kernel.assumptions if "taken to stay inside" in text]


def test_one_of_several_that_is_set_in_a_loop_is_not_the_one_of_before(tmp_path: Path) -> None:
    text = """import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def picked(x, n):
    assert x.shape == (6, 16, 24) and x.dtype == nl.float32 and n > 1
    out = nl.ndarray((n, 16, 24), dtype=nl.float32, buffer=nl.shared_hbm)
    places = []
    for i in range(n):
        places.append(nisa.register_alloc(0))
    for i in range(n):
        nisa.register_move(dst=places[i], src=9)
    for i in range(n):
        tile = nl.ndarray((16, 24), dtype=nl.float32, buffer=nl.sbuf)
        where = places[i]
        nisa.dma_copy(dst=tile, src=x.ap([[24, 16], [1, 24]], scalar_offset=where, indirect_dim=0))
        nisa.dma_copy(dst=out[i], src=tile)
    return out
"""
    path = tmp_path / "kernel.py"
    path.write_text(text, encoding="utf-8")
    (kernel,) = check(path).kernels
    assert kernel.status != "verified"
