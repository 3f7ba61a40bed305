"""How wide a tile is used that is gone through in steps, or takes whole banks."""

from __future__ import annotations

import pytest

from verifier.engine import analyze_source

_KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def taken(x):
    assert x.shape == (72, 40) and x.dtype == nl.float32
    y = nl.ndarray((72, 20), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.ndarray((72, {width}), dtype=nl.float32, buffer=nl.{buffer})
    u = nl.ndarray((72, 20), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=u, src=x[:, 0:20])
    nisa.tensor_copy(dst={part}, src=u)
    s = nl.ndarray((72, 20), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=s, src={part})
    nisa.dma_copy(dst=y, src=s)
    return y
"""


@pytest.mark.parametrize(
    ("width", "part", "buffer", "told"),
    [
        (40, "t[:, 0::2]", "sbuf", False),  # the last column belongs to the last step
        (60, "t[:, 0::3]", "sbuf", False),
        (61, "t[:, 0:60:3]", "sbuf", True),
        (40, "t[:, 1::2]", "sbuf", False),
        (41, "t[:, 0:20]", "sbuf", True),
        (512, "t[:, 0:20]", "psum", False),  # a bank
        (500, "t[:, 0:20]", "psum", True),
    ],
)
def test_how_wide_a_tile_is_used(width: int, part: str, buffer: str, told: bool) -> None:
    text = _KERNEL.format(width=width, part=part, buffer=buffer)
    found = analyze_source(text).diagnostics
    assert [each.rule for each in found] == ["oversized-tile"] * told
