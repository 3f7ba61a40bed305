"""Kernels on which check and run disagreed: both say the same of them, and what is right."""

from __future__ import annotations

import pytest

from tests.differential.judging import judge
from tests.differential.kernels import Kernel
from verifier.dialects.names import PPL
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


_TWO_REASONS = """
a = nl.ndarray((64, 8), dtype=nl.float32, buffer=nl.sbuf)
b = nl.ndarray((64, 11), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_copy(dst=b[0:64, 0:8], src=a)
c = nl.ndarray((64, 11), dtype=nl.float32, buffer=nl.sbuf)
nisa.tensor_copy(dst=c, src=b)
out = nl.ndarray((64, 11), dtype=nl.float32, buffer=nl.shared_hbm)
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
        pytest.param(_TWO_REASONS, {"x": ("float32", (1, 1))}, id="two reasons, moved on"),
    ],
)
def test_nki(text: str, tensors: Tensors) -> None:
    found = judge(_kernel("0.4", "trn2", text, tensors))
    assert (found.kind, found.problems) == ("violated", ())


_BEYOND = """
a = pl.make_tensor([3, 16, 5, 1], pl.float16)
pl.dma.load(a, pl.gtensor([3, 16, 5, 1], pl.GLOBAL, x))
pl.dma.store(pl.gtensor([3, 16, 5, 9], pl.GLOBAL, y), a.sub_view([3, 16, 5, 9], [0, 0, 0, 0]))
"""
_BEFORE = """
a = pl.make_tensor([3, 16, 5, 2], pl.float16)
pl.dma.load(a.sub_view([3, 16, 5, 1], [0, 0, 0, 0]), pl.gtensor([3, 16, 5, 1], pl.GLOBAL, x))
pl.dma.store(pl.gtensor([3, 16, 5, 2], pl.GLOBAL, y), a.sub_view([3, 16, 5, 2], [0, 0, 0, 1]))
"""


@pytest.mark.parametrize(("text", "width"), [(_BEYOND, 9), (_BEFORE, 2)])
def test_a_view_beyond_its_tensor(text: str, width: int) -> None:
    """What lies beyond is the fault of the view; what is in the tensor counts as ever."""
    tensors: Tensors = {"x": ("float16", (3, 16, 5, 1)), "y": ("float16", (3, 16, 5, width))}
    found = judge(_kernel(PPL, "bm1688", text, tensors))
    assert (found.kind, found.problems) == ("violated", ())


def test_what_no_input_meets_proves_nothing_that_comes_later() -> None:
    """The view needs two rows, with which the tensors do not fit: the last call is judged still."""
    text = """
a = pl.make_tensor([n, 16, 1, n], pl.float32)
b = pl.make_tensor([1026, 17, n, 5], pl.float32)
pl.tiu.zero(b)
c = pl.make_tensor([n, 64, 1, 16], pl.float32)
pl.tiu.zero(c)
pl.tiu.fmm(dst=a, left=c, right=b.sub_view([1024, 16, 1, n], [2, 1, 1, 0]), bias=1.0)
pl.dma.store(pl.gtensor([n, 16, 1, n], pl.GLOBAL, y), a)
"""
    inputs = (("n", 3), ("y", Shaped("float32", (3, 16, 1, 3))))
    found = judge(Kernel(PPL, "sg2262", tuple(text.strip().splitlines()), inputs, symbolic=True))
    assert (found.kind, found.problems) == ("violated", ())


def test_elements_of_half_a_byte_take_half_a_byte() -> None:
    """They fit: for a run of shapes each has a byte."""
    text = "a = pl.make_tensor([1, 5, 7, 60000], pl.int4)\npl.tiu.zero(a)"
    text += "\npl.dma.store(pl.gtensor([1, 5, 7, 60000], pl.GLOBAL, y, pl.int4), a)"
    found = judge(_kernel(PPL, "bm1690", text, {"y": ("int8", (1, 5, 7, 60000))}))
    assert found.problems == ()
