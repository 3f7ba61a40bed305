"""A default of 0 that an assertion lets pass beside a division by it."""

from __future__ import annotations

import pytest

from verifier.engine import analyze_source

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def parts(x, width: int = 0):
    assert x.shape == (96, 60)
    assert width <= 60 and ({said})
    out = nl.ndarray((96, 60), dtype=nl.float32, buffer=nl.shared_hbm)
    for i in range(60 // width):
        t = nl.ndarray((96, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x[:, i * width : (i + 1) * width])
        nisa.dma_copy(dst=out[:, i * width : (i + 1) * width], src=t)
    return out
"""


@pytest.mark.parametrize(
    ("said", "lines"),
    [
        ("width == 0 or 60 % width == 0", [11]),
        # Python divides before it looks at the other case
        ("60 % width == 0 or width == 0", [9]),
    ],
)
def test_the_default_breaks_a_division(said: str, lines: list[int]) -> None:
    (kernel,) = analyze_source(KERNEL.format(said=said), target="trn2").kernels
    assert kernel.precondition is not None
    assert [part.text for part in kernel.precondition.conjuncts] == ["width >= 1"]
    assert [part.span.line for part in kernel.precondition.conjuncts] == lines
