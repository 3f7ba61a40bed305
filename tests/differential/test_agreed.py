"""Kernels on which check and run disagreed: both say the same of them, and what is right."""

from __future__ import annotations

import pytest

from tests.differential.judging import judge
from tests.differential.kernels import Kernel
from verifier.executor.running import Shaped

Tensors = dict[str, tuple[str, tuple[int, ...]]]


def _kernel(api: str, target: str, text: str, tensors: Tensors) -> Kernel:
    inputs = tuple((name, Shaped(dtype, shape)) for name, (dtype, shape) in tensors.items())
    return Kernel(api, target, tuple(text.strip().splitlines()), inputs)


_TOO_MANY = """
a = nl.ndarray((128, 5), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_copy(dst=a[0:128, 0:1], src=x)
out = nl.ndarray((128, 5), dtype=nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=a[0:127, 0:5])
return out
"""
_SCALES = """
a = nl.ndarray((8, 64), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_compute(dst=a, srcs=[x, z], reduce_op=nl.add, scales=(1.0,))
out = nl.ndarray((8, 64), dtype=nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=a)
return out
"""
_MASK = "[0, 255, 4, 255, 0, 255, 0, 255, 255, 26, 0, 255, 255, 20, 6, 255, 0, 6, 255, 0, 28]"
_LEFT_ALONE = f"""
a = nl.ndarray((64, 8), dtype=nl.float32, buffer=nl.psum)
nisa.dma_copy(dst=a[0:64, 0:1], src=x)
b = nl.ndarray((64, 8), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_copy(dst=b[0:64, 0:7], src=z)
nisa.nc_stream_shuffle(dst=a, src=b, shuffle_mask={_MASK} + [255] * 11)
c = nl.ndarray((64, 8), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_copy(dst=c, src=a)
out = nl.ndarray((64, 8), dtype=nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=out, src=c)
return out
"""


@pytest.mark.parametrize(
    ("text", "tensors"),
    [
        pytest.param(_TOO_MANY, {"x": ("float32", (128, 1))}, id="more elements than room"),
        pytest.param(
            _SCALES,
            {"x": ("float32", (8, 64)), "z": ("float32", (8, 64))},
            id="a scale too few",
        ),
        pytest.param(
            _LEFT_ALONE,
            {"x": ("float32", (64, 1)), "z": ("float32", (64, 7))},
            id="two reasons why one read is undefined",
        ),
    ],
)
def test_nki(text: str, tensors: Tensors) -> None:
    found = judge(_kernel("0.4", "trn2", text, tensors))
    assert (found.kind, found.problems) == ("violated", ())
