"""What several rounds of a loop make of one place: check and run agree on it."""

from __future__ import annotations

import pytest

from tests.differential.judging import judge
from tests.differential.kernels import Kernel
from verifier.dialects.names import OKK, PPL
from verifier.executor.running import Shaped

Tensors = dict[str, tuple[str, tuple[int, ...]]]

#: the first round works on what was never loaded, and a later one overwrites what it makes
_GARBAGE_OF_THE_FIRST = """
okk.initialize()
shape = okk.dim4(1, 33, 1, 96)
for k in range(7):
    okk.parallel_start()
    if k < 5:
        okk.gdma_32bit_cpy_S2L(k % 2 * 4096, x + k * 12672, shape, None, None)
    if k < 6:
        okk.bdc_relu(16384 + (k - 1) % 2 * 4096, (k - 1) % 2 * 4096, shape, None, None)
    if k >= LAG:
        okk.gdma_32bit_cpy_L2S(y + (k - 2) * 12672, 16384 + k % 2 * 4096, shape, None, None)
    okk.parallel_end()
okk.poll()
"""
#: the second core stores rows that the first one stores too, made in the same way of the same rows
_SAME_ROWS = """
x_all = pl.gtensor([1, 10, 1, 3], pl.GLOBAL, x)
y_all = pl.gtensor([1, 10, 1, 3], pl.GLOBAL, y)
for row in range(pl.get_core_index() * SHARE, 10, 5):
    part, place = [1, min(5, 10 - row), 1, 3], [0, row, 0, 0]
    a = pl.make_tensor([1, 5, 1, 3], pl.float16, part)
    pl.dma.load(a, x_all.sub_view(part, place))
    pl.tiu.fmul(a, a, 2.0)
    pl.dma.store(y_all.sub_view(part, place), a)
"""
#: elements that were not loaded are not stored either: they have no place in the result
_BEYOND_THE_RESULT = """
i, j = nl.arange(96)[:, None], nl.arange(32)[None, :]
out = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.shared_hbm)
for k in nl.sequential_range(2):
    a = nl.load(x[i, k * 32 + j], mask=(k * 32 + j < 40))
    nl.store(out[i, k * 32 + j], a)
return out
"""


@pytest.mark.parametrize(
    ("api", "target", "text", "tensors", "grid", "kind"),
    [
        (
            OKK,
            "bm1684",
            _GARBAGE_OF_THE_FIRST.replace("LAG", lag),
            {"x": ("float32", (5, 33, 96)), "y": ("float32", (5, 33, 96))},
            (),
            kind,
        )
        for lag, kind in (("2", "clean"), ("1", "violated"))
    ]
    + [
        (
            PPL,
            "bm1688",
            _SAME_ROWS.replace("SHARE", share),
            {"x": ("float16", (10, 3)), "y": ("float16", (10, 3))},
            (1, 2),
            kind,
        )
        for share, kind in (("5", "clean"), ("4", "violated"))
    ]
    + [("beta1", "trn3", _BEYOND_THE_RESULT, {"x": ("float32", (96, 40))}, (), "violated")],
)
def test_rounds(
    api: str, target: str, text: str, tensors: Tensors, grid: tuple[int, ...], kind: str
) -> None:
    inputs = tuple((name, Shaped(dtype, shape)) for name, (dtype, shape) in tensors.items())
    found = judge(Kernel(api, target, tuple(text.strip().splitlines()), inputs, grid))
    assert (found.kind, found.problems) == (kind, ())


def test_a_load_over_a_sum_is_found_whatever_the_sizes() -> None:
    text = """
okk.initialize()
shape = okk.dim4(1, 48, 1, 64)
okk.bdc_32bit_set_C(0, okk.x32.fp32(0.0), shape, None)
for k in range(count):
    okk.gdma_32bit_cpy_S2L(k % 2 * 4096, x + k * 12288, shape, None, None)
    okk.bdc_add(0, 0, k % 2 * 4096, shape, None, None, None)
okk.gdma_32bit_cpy_L2S(y, 0, shape, None, None)
okk.poll()
"""
    inputs = (
        ("x", Shaped("float32", (3, 48, 64))),
        ("y", Shaped("float32", (48, 64))),
        ("count", 3),
    )
    body = tuple(text.strip().splitlines())
    found = judge(Kernel(OKK, "bm1684", body, inputs, symbolic=True))
    assert (found.kind, found.problems) == ("violated", ())


def test_a_tensor_that_no_stage_takes_in_the_first_round_is_there_twice() -> None:
    """With one block nothing is added: that there are two tensors is known of the text alone."""
    text = """
x_all = pl.gtensor([blocks, 20, 1, width], pl.GLOBAL, x)
y_all = pl.gtensor([1, 20, 1, width], pl.GLOBAL, y)
total = pl.make_tensor([1, 20, 1, width], pl.float32)
pl.tiu.zero(total)
for k in range(blocks):
    pl.enable_pipeline()
    a = pl.make_tensor([1, 20, 1, width], pl.float32)
    pl.dma.load(a, x_all.sub_view([1, 20, 1, width], [k, 0, 0, 0]))
    if k > 0: pl.tiu.fadd(total, total, a)
pl.dma.store(y_all, total)
"""
    inputs = (
        ("x", Shaped("float32", (3, 20, 70))),
        ("y", Shaped("float32", (20, 70))),
        ("blocks", 3),
        ("width", 70),
    )
    body = tuple(text.strip().splitlines())
    found = judge(Kernel(PPL, "sg2260e", body, inputs, symbolic=True))
    assert (found.kind, found.problems) == ("clean", ())
