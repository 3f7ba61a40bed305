"""Strides of a tensor, used for some of its channels, which start in another lane (ADR-04)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.okk.support import check

_PART = """\
# tilelint: contract (x: fp32[2, {all}, 3, 11], y: fp32[2, {some}, 3, 11])
@okk.kernel
def k(x: okk.SystemAddr, y: okk.SystemAddr):
    okk.initialize()
    shape = okk.dim4(2, {all}, 3, 11)
    stride = okk.aligned_stride_32bit(0, shape)
    okk.gdma_32bit_cpy_S2L(0, x, shape, stride, None)
    place = {first} * okk.local_mem_size_per_npu()
    okk.gdma_32bit_cpy_L2S(y, place, okk.dim4(2, {some}, 3, 11), None, stride)
    okk.poll()
"""


@pytest.mark.parametrize(
    ("channels", "first", "some"), [(128, 1, 127), (126, 3, 20), (70, 5, 65), (60, 10, 50)]
)
def test_channels_of_a_tensor_have_its_strides(
    channels: int, first: int, some: int, tmp_path: Path
) -> None:
    text = _PART.format(all=channels, first=first, some=some)
    assert check(tmp_path, text).kernels[0].status == "verified"


_WHOLE = """\
# tilelint: contract (x: fp32[2, {all}, 3, 11], y: fp32[2, {some}, 3, 11])
@okk.kernel
def k(x: okk.SystemAddr, y: okk.SystemAddr):
    okk.initialize()
    stride = okk.aligned_stride_32bit(0, okk.dim4(2, {all}, 3, 11))
    place = {first} * okk.local_mem_size_per_npu()
    part = okk.dim4(2, {some}, 3, 11)
    pitch = okk.dim4({all} * 33, 33, 11, 1)
    okk.gdma_32bit_cpy_S2L(place, x, part, stride, pitch)
    okk.gdma_32bit_cpy_L2S(y, place, part, None, stride)
    okk.poll()
"""


@pytest.mark.parametrize(("channels", "first", "some"), [(126, 3, 126), (60, 10, 58), (60, 10, 60)])
def test_channels_that_take_more_slots_do_not(
    channels: int, first: int, some: int, tmp_path: Path
) -> None:
    result = check(tmp_path, _WHOLE.format(all=channels, first=first, some=some))
    assert "okk-stride-lane" in {d.rule for d in result.diagnostics}
