"""Lanes that a write leaves out, sums of nothing, shapes of parameters and indices."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.okk.support import check as check_okk
from tests.ppl.support import check, rules

ROUND = """\
@okk.kernel
def kernel(x: okk.SystemAddr, y: okk.SystemAddr):
    okk.initialize()
    okk.gdma_32bit_cpy_S2L(0, x, okk.dim4({batches}, {channels}, 1, 100), None, None)
    shape = okk.dim4({batches}, 130, 1, 100)
    okk.bdc_neg(65536, 0, shape, None, None)
    okk.gdma_32bit_cpy_L2S(y, 65536, shape, None, None)
    okk.poll()
"""


@pytest.mark.parametrize("batches", [1, 5])
@pytest.mark.parametrize("channels, fine", [(129, False), (128, False), (130, True)])
def test_the_last_round_of_a_write_leaves_lanes_out(
    tmp_path: Path, batches: int, channels: int, fine: bool
) -> None:
    found = check_okk(tmp_path, ROUND.format(batches=batches, channels=channels)).diagnostics
    assert {d.rule for d in found} == (set() if fine else {"okk-uninitialised-read"})


ADDED = """\
@ppl.jit
def kernel(x_ptr, w_ptr, y_ptr):
    left = pl.make_tensor([1, 12, 1, 20], pl.float16)
    right = pl.make_tensor([1, 20, 1, 28], pl.float16)
    pl.dma.load(left, pl.gtensor([1, 12, 1, 20], pl.GLOBAL, x_ptr).view())
    pl.dma.load(right, pl.gtensor([1, 20, 1, 28], pl.GLOBAL, w_ptr).view())
    lost = pl.make_tensor([1, 12, 1, 28], pl.float32)
    {before}
    pl.tiu.fmm2(lost, left, right, result_add=True, out_dtype=pl.float32)
    pl.dma.store(pl.gtensor([1, 12, 1, 20], pl.GLOBAL, y_ptr).view(), left)
"""


def test_what_a_product_is_added_to_has_to_be_there_even_if_the_sum_is_not_used(
    tmp_path: Path,
) -> None:
    unused = {"ppl-lost-result": "always"}
    assert rules(check(tmp_path, ADDED.format(before="pl.tiu.zero(lost)"))) == unused
    found = rules(check(tmp_path, ADDED.format(before="pass")))
    assert found == {**unused, "uninitialised-read": "always"}


SCALED = """\
@ppl.jit
def kernel(x_ptr, y_ptr):
    a = pl.make_tensor([2, 12, 5, 7], pl.{dtype})
    b = pl.make_tensor([2, 12, 5, 7], pl.{made})
    pl.dma.load(a, pl.gtensor([2, 12, 5, 7], pl.GLOBAL, x_ptr).view())
    p = pl.make_tensor({shape}, pl.{of}, align_mode=pl.TPU_COMPACT)
    pl.tiu.fill(p, 1)
    {statement}
    pl.dma.store(pl.gtensor([2, 12, 5, 7], pl.GLOBAL, y_ptr).view(), b)
"""
FLOAT = ("float32", "float32", "float32", "pl.tiu.fscale(b, a, scale=p, bias=0.0)")
PAIRS = ("int32", "int8", "float32", "pl.tiu.rq0(b, a, pl.RM_DOWN, pl.RM_DOWN, quant=p)")
TRIPLES = ("int32", "int8", "int32", "pl.tiu.rq1(b, a, pl.RM_HALF_TO_EVEN, quant=p)")


@pytest.mark.parametrize(
    "what, shape, fine",
    [
        (FLOAT, "[1, 12, 1, 1]", True),
        (FLOAT, "[2, 12, 1, 1]", False),
        (FLOAT, "[1, 12, 1, 3]", False),
        (PAIRS, "[1, 12, 1, 2]", True),
        (PAIRS, "[1, 12, 1, 3]", False),
        (TRIPLES, "[1, 12, 1, 3]", True),
        (TRIPLES, "[1, 11, 1, 3]", False),
    ],
)
def test_there_is_a_parameter_for_each_channel(
    tmp_path: Path, what: tuple[str, str, str, str], shape: str, fine: bool
) -> None:
    dtype, made, of, statement = what
    text = SCALED.format(dtype=dtype, made=made, of=of, statement=statement, shape=shape)
    assert set(rules(check(tmp_path, text, "bm1684x"))) == (
        set() if fine else {"ppl-operand-shape"}
    )


PICKED = """\
@ppl.jit
def kernel(x_ptr, i_ptr, y_ptr):
    table = pl.make_tensor([2, 12, 1, 40], pl.float16)
    picked = pl.make_tensor([2, 12, 1, 9], pl.float16)
    pl.dma.load(table, pl.gtensor([2, 12, 1, 40], pl.GLOBAL, x_ptr).view())
    index = pl.make_tensor({shape}, pl.uint16)
    pl.tiu.fill(index, 3)
    pl.tiu.gather_w(picked, table, index)
    pl.dma.store(pl.gtensor([2, 12, 1, 9], pl.GLOBAL, y_ptr).view(), picked)
"""


@pytest.mark.parametrize(
    "shape, fine",
    [
        ("[1, 9, 1, 1]", True),
        ("[2, 12, 1, 9]", True),
        ("[1, 12, 1, 9]", True),
        ("[1, 9, 1, 2]", False),
        ("[1, 11, 1, 9]", False),
        ("[1, 12, 1, 8]", False),
    ],
)
def test_indices_of_columns_go_with_the_result(tmp_path: Path, shape: str, fine: bool) -> None:
    found = set(rules(check(tmp_path, PICKED.format(shape=shape))))
    assert found == (set() if fine else {"ppl-gather"})
