"""What an earlier iteration wrote counts as far as it wrote: channels, rows and words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures.support import check

_RULE = "okk-uninitialised-read"

#: loaded in one iteration, used in the next; places by the index, or alternating
_LATER = """import okk


@okk.kernel
def later(n: int, y: okk.SystemAddr, x: okk.SystemAddr):
    assert 2 <= n <= 9
    okk.initialize()
    part, shape = okk.dim4({part}), okk.dim4(1, 48, 4, 24)
    for i in range(n):
        okk.gdma_32bit_cpy_S2L({write} * 384, x, part, None, None)
        if i > 0:
            okk.gdma_32bit_cpy_L2S(y + i * 18432, {read} * 384, shape, None, None)
    okk.poll()
"""

#: loaded ahead, into the place of which the first iteration's is loaded before the loop
_AHEAD = """import okk


@okk.kernel
def ahead(n: int, y: okk.SystemAddr, x: okk.SystemAddr):
    assert 3 <= n <= 5
    okk.initialize()
    part, shape = okk.dim4({part}), okk.dim4(1, 48, 4, 24)
    okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
    for i in range(n):
        if i + 1 < n:
            okk.gdma_32bit_cpy_S2L({write} * 384, x, part, None, None)
        okk.gdma_32bit_cpy_L2S(y + i * 18432, {read} * 384, shape, None, None)
    okk.poll()
"""

_PLACES = [
    (_LATER, "i", "(i - 1)"),
    (_LATER, "i % 2", "(i - 1) % 2"),
    (_AHEAD, "(i + 1)", "i"),
    (_AHEAD, "(i + 1) % 2", "i % 2"),
]
_PARTS = ["1, 47, 4, 24", "1, 48, 3, 24", "1, 48, 4, 24"]


@pytest.mark.parametrize("part", _PARTS)
@pytest.mark.parametrize(("kernel", "write", "read"), _PLACES)
def test_a_part_that_an_earlier_iteration_left_out(
    kernel: str, write: str, read: str, part: str, tmp_path: Path
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(kernel.format(part=part, write=write, read=read), encoding="utf-8")
    result = check(path)
    told = {(d.rule, d.severity, d.verdict) for d in result.diagnostics}
    if part == _PARTS[-1]:
        assert not told
        assert [kernel.status for kernel in result.kernels] == ["verified"]
    else:
        assert told == {(_RULE, "error", "always")}


_COMPUTED = """import okk


@okk.kernel
def computed(n: int, y: okk.SystemAddr, x: okk.SystemAddr):
    assert 2 <= n <= 9
    okk.initialize()
    shape = okk.dim4(1, 48, 4, 24)
    for i in range(n):
        okk.gdma_32bit_cpy_S2L(i * 384, x, okk.dim4(1, {channels}, 4, 24), None, None)
        if i > 0:
            okk.bdc_neg(65536, (i - 1) * 384, shape, None, None)
            okk.gdma_32bit_cpy_L2S(y + i * 18432, 65536, shape, None, None)
    okk.poll()
"""


@pytest.mark.parametrize(("channels", "verified"), [(47, False), (48, True)])
def test_what_is_made_of_it_is_not_taken_to_be_right(
    channels: int, verified: bool, tmp_path: Path
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(_COMPUTED.format(channels=channels), encoding="utf-8")
    (kernel,) = check(path).kernels
    assert (kernel.status == "verified") is verified
    assert verified or kernel.reasons or kernel.status == "violated"
