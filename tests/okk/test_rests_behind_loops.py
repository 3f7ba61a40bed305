"""A rest behind a loop, under a condition: what was loaded for it is computed on, and stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine.analysis import analyze_file
from verifier.report.model import FileRequest

FRAME = """
import okk


# tilelint: contract (n: N, x: fp32[N, 70], y: fp32[N, 70]) where N >= 49, N <= 900
@okk.kernel
def k(n: int, x: okk.SystemAddr, y: okk.SystemAddr):
    okk.initialize()
    full, shape, step = n // 48, okk.dim4(1, 48, 1, 70), 48 * 70 * 4
{loop}
    if {rest} > 0:
        tail = okk.dim4(1, {rest}, 1, 70)
        okk.gdma_32bit_cpy_S2L({to}, x + full * step, tail, None, None)
        {made}
        okk.gdma_32bit_cpy_L2S(y + full * step, 512, tail, None, None)
    okk.poll()
"""
PLAIN = """
    for i in range(full):
        okk.gdma_32bit_cpy_S2L(0, x + i * step, shape, None, None)
        okk.bdc_mul_C(512, 0, 0.25, shape, None, None)
        okk.gdma_32bit_cpy_L2S(y + i * step, 512, shape, None, None)
"""
AHEAD = """
    okk.gdma_32bit_cpy_S2L(0, x, shape, None, None)
    for i in range(full):
        okk.bdc_mul_C(512, i % 2 * 1024, 0.25, shape, None, None)
        if i + 1 < full:
            okk.gdma_32bit_cpy_S2L((i + 1) % 2 * 1024, x + (i + 1) * step, shape, None, None)
        okk.gdma_32bit_cpy_L2S(y + i * step, 512, shape, None, None)
"""
MADE = "okk.bdc_mul_C(512, {0}, 0.25, tail, None, None)"


@pytest.mark.parametrize("loop", [PLAIN, AHEAD], ids=["plain", "loaded ahead"])
@pytest.mark.parametrize("rest", ["n % 48", "(n - full * 48)"])
@pytest.mark.parametrize(
    ("to", "made", "status"),
    [
        (2048, MADE.format(2048), "verified"),
        (0, MADE.format(0), "verified"),
        (2048, MADE.format(0), "conditional"),
        (2048, "pass", "conditional"),
    ],
    ids=["of its own place", "of the place of the loop", "of what the loop left", "not at all"],
)
def test_what_is_made_of_a_rest(
    tmp_path: Path, loop: str, rest: str, to: int, made: str, status: str
) -> None:
    path = tmp_path / "k.py"
    path.write_text(FRAME.format(loop=loop, rest=rest, to=to, made=made))
    (kernel,) = analyze_file(FileRequest(str(path))).kernels
    condition = "" if kernel.precondition is None else kernel.precondition.text
    wanted = "True" if status == "verified" else "n % 48 == 0"
    assert (kernel.status, condition) == (status, wanted)


AGAIN = """
import okk


# tilelint: contract (n: N, x: fp32[N, 48, 70], y: fp32[N, 48, 70]) where N >= 2, N <= 20
@okk.kernel
def k(n: int, x: okk.SystemAddr, y: okk.SystemAddr):
    okk.initialize()
    full, shape, step = n, okk.dim4(1, 48, 1, 70), 48 * 70 * 4
{loop}
    okk.gdma_32bit_cpy_S2L(0, x + (n - 1) * step, shape, None, None)
    okk.poll()
"""


def test_the_last_part_may_be_loaded_once_more(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(AGAIN.format(loop=AHEAD))
    (kernel,) = analyze_file(FileRequest(str(path))).kernels
    assert kernel.status == "verified"


PLAIN_TAIL = """
import okk


# tilelint: contract (x: fp32[{given}, 20, 70], y: fp32[7, 20, 70])
@okk.kernel
def k(x: okk.SystemAddr, y: okk.SystemAddr):
    okk.initialize()
    shape, step = okk.dim4(1, 20, 1, 70), 20 * 70 * 4
    for i in range(6):
        okk.gdma_32bit_cpy_S2L(0, x + i * step, shape, None, None)
        okk.bdc_neg(512, 0, shape, None, None)
        okk.gdma_32bit_cpy_L2S(y + i * step, 512, shape, None, None)
    {load}
    {made}
    okk.gdma_32bit_cpy_L2S(y + 6 * step, 512, shape, None, None)
    okk.poll()
"""
NEXT = "okk.gdma_32bit_cpy_S2L(0, x + 6 * step, shape, None, None)"
NEGATED = "okk.bdc_neg(512, 0, shape, None, None)"


@pytest.mark.parametrize(
    ("given", "load", "made", "status"),
    [
        (7, NEXT, NEGATED, "verified"),
        (7, "pass", NEGATED, "violated"),
        (7, "pass", "pass", "violated"),
        (6, "pass", NEGATED, "verified"),
        (6, "pass", "pass", "verified"),
    ],
    ids=["loaded", "made of the last part", "the last result", "no more", "no more, as it is"],
)
def test_a_last_part_that_nothing_loads(
    tmp_path: Path, given: int, load: str, made: str, status: str
) -> None:
    path = tmp_path / "k.py"
    path.write_text(PLAIN_TAIL.format(given=given, load=load, made=made))
    (kernel,) = analyze_file(FileRequest(str(path))).kernels
    assert kernel.status == status
