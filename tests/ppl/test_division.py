"""What only a run knows is divided on the device, which rounds towards zero."""

from __future__ import annotations

import pytest

from verifier.engine import analyze_source

KERNEL = """\
import ppl
import ppl.language as pl


# tilelint: contract [1, 8](out_ptr: fp32[9, 24, 60])
@ppl.jit
def kernel(out_ptr{more}):
    every = pl.gtensor([9, 24, 1, 60], pl.GLOBAL, out_ptr)
    tile = pl.make_tensor([1, 24, 1, 60], pl.float32)
    pl.tiu.zero(tile)
    core = pl.get_core_index()
    {place}
    pl.dma.store(every.sub_view([1, 24, 1, 60], [place, 0, 0, 0]), tile)
    if core == 0:
        pl.dma.store(every.sub_view([1, 24, 1, 60], [8, 0, 0, 0]), tile)
"""


def _found(place: str, more: str = "") -> tuple[str, set[str]]:
    text = KERNEL.format(place=place, more=more)
    if more:
        text = text.replace("fp32[9, 24, 60])", "fp32[9, 24, 60], back: 1)")
    result = analyze_source(text, target="bm1690")
    (kernel,) = result.kernels
    return kernel.status, {d.rule for d in result.diagnostics}


@pytest.mark.parametrize(
    "place",
    ["place = (core - 1) % 8", "place = core - 1\n    place %= 8", "place = -(-core // 2) % 8",
     "place = (core - 9) // 2 + 4"],
)  # fmt: skip
def test_what_may_be_negative_is_rounded_otherwise(place: str) -> None:
    status, found = _found(place)
    assert status == "violated" and "ppl-division" in found


@pytest.mark.parametrize(
    "place",
    ["place = (core + 7) % 8", "place = core + 7\n    place %= 8", "place = -(core * 2 - 14) // 2",
     "place = (core * 4 - 4) // 4 + 1", "place = core + (3 - 8) // 8 + 1"],
)  # fmt: skip
def test_what_comes_to_the_same_is_right(place: str) -> None:
    assert _found(place) == ("verified", set())


def test_what_the_front_end_knows_it_computes_as_python_does() -> None:
    place = "place = core + (3 - 8 * back) // 8 + 1"
    assert _found(place, ", back: pl.constexpr") == ("verified", set())
