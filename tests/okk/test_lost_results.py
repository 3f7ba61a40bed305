"""Results that come to nothing (OKK303), and values that are stored over (OKK404)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.okk.support import check
from verifier.cli.main import main

_KERNEL = """\
@okk.kernel
def k(n: int, w: int, y: okk.SystemAddr, x: okk.SystemAddr, z: okk.SystemAddr):
    assert 2 <= n <= 6
    assert 1 <= w <= 900
    okk.initialize()
    s, half = okk.dim4(1, 9, 3, 14), okk.dim4(1, 9, 1, 14)
    taps = okk.compact_stride(0, okk.dim4(4, 12, 3, 1))
    packed, image = okk.dim4(4, 12, 3, 2), okk.dim4(1, 8, 10, 16)
    okk.gdma_32bit_cpy_S2L(0, x, s, None, None)
{body}
    okk.poll()
"""
_STORE = "okk.gdma_32bit_cpy_L2S(y, {}, {}, None, None)"
_NEG = "okk.bdc_neg({}, {}, {}, None, None)"
_IN = "okk.gdma_32bit_cpy_S2L({}, {}, {}, None, None)"
_CONV = """\
for i in range({}):
    okk.gdma_32bit_cpy_S2L(0, z + i * 1152, packed, okk.compact_stride(0, packed), None)
    okk.bdc_conv2d(131072, 65536, 0, 0, image, 12, 3, 1, None, taps, False, False, None, None, None)
okk.gdma_32bit_cpy_L2S(y, 131072, okk.dim4(1, 12, 8, 16), None, None)"""
_PART = """\
for c in range(0, w, 200):
    part = okk.dim4(1, 20, 1, min(200, w - c))
    okk.gdma_32bit_cpy_S2L(0, z + c * 4, part, None, okk.dim4(20 * w, w, w, 1))
    okk.bdc_neg(8192, 0, part, None, None)
okk.gdma_32bit_cpy_L2S(y, 8192, okk.dim4(1, 20, 1, {}), None, None)"""

_TAILS = """\
for r in range(0, w, 64):
    part = okk.dim4(1, min(64, w - r), 1, 14)
    okk.gdma_32bit_cpy_S2L(0, z + r * 56, part, None, None)
    okk.bdc_add_C(512, 0, 3.0, part, None, None)
    okk.bdc_add_C(256, 512, 1.0, part, None, None)
    okk.gdma_32bit_cpy_L2S(y + r * 56, {}, part, None, None)"""
_SUMS = """\
okk.bdc_32bit_set_C(256, okk.x32.fp32(0.0), s, None)
for i in range(n):
    if {}:
        okk.bdc_32bit_set_C(256, okk.x32.fp32(0.0), s, None)
    okk.gdma_32bit_cpy_S2L(0, z + i * 1512, s, None, None)
    okk.bdc_add(256, 256, 0, s, None, None, None)
    if {}:
        okk.gdma_32bit_cpy_L2S(y + i // 3 * 1512, 256, s, None, None)"""
_ANEW = """\
for i in range(n):
    okk.bdc_32bit_set_C(256, okk.x32.fp32(0.0), s, None)
    okk.gdma_32bit_cpy_S2L(0, z + i * 1512, s, None, None)
    okk.bdc_add(256, 256, 0, s, None, None, None)
    {}
{}okk.gdma_32bit_cpy_L2S(y, 256, s, None, None)"""
_RING = """\
parts = (w + 63) // 64
for i in range(parts + 2):
    if i < parts:
        part = okk.dim4(1, min(64, w - 64 * i), 1, 14)
        okk.gdma_32bit_cpy_S2L(i % {0} * 256, z + i * 3584, part, None, None)
    if 1 <= i <= parts:
        part = okk.dim4(1, min(64, w - 64 * (i - 1)), 1, 14)
        okk.bdc_neg((i - 1) % {0} * 256, (i - 1) % {0} * 256, part, None, None)
    if i >= 2:
        part = okk.dim4(1, min(64, w - 64 * (i - 2)), 1, 14)
        okk.gdma_32bit_cpy_L2S(y + (i - 2) * 3584, (i - 2) % {0} * 256, part, None, None)"""
_PRODUCT = """\
for k in range(4):
    okk.gdma_32bit_matrix_S2L(16384, z + k * 256, 50, 64, 2, 256)
    okk.gdma_32bit_matrix_S2L(65536, x + k * 15360, 64, 60, 20, 60)
    okk.bdc_matmul(131072, 16384, 65536, 0, 50, 64, 60, 2, 20, False, {})
    if k == 3:
        okk.gdma_32bit_matrix_L2S(y, 131072, 50, 60, 20, 60)"""
_TURNS = """\
for k in range({0}):
    okk.bdc_32bit_set_C(1024 + k * 256, okk.x32.fp32(0.0), s, None)
for i in range({0} * n):
    okk.gdma_32bit_cpy_S2L(0, z + i * 1512, s, None, None)
    okk.bdc_add(1024 + i % {0} * 256, 1024 + i % {0} * 256, 0, s, None, None, None)
for k in range({1}):
    okk.gdma_32bit_cpy_L2S(y + k * 1512, 1024 + k * 256, s, None, None)"""
_TO_AND_FRO = """\
okk.bdc_32bit_set_C(1024, okk.x32.fp32(0.0), s, None)
for i in range(n):
    okk.gdma_32bit_cpy_S2L(0, z + i * 1512, s, None, None)
    okk.bdc_add(1024 + (i + 1) % 2 * 256, 1024 + i % 2 * 256, 0, s, None, None, None)
okk.gdma_32bit_cpy_L2S(y, 1024 + {} % 2 * 256, s, None, None)"""
_ROWS = """\
for i in range(2):
    okk.gdma_32bit_cpy_S2L(1024 + i * 256, z + i * 1512, s, None, None)
for i in range(n):
    okk.gdma_32bit_cpy_S2L(1024 + (i + 2) % {0} * 256, z + (i + 2) * 1512, s, None, None)
    okk.bdc_add(0, 1024 + i % {0} * 256, 1024 + (i + 1) % {0} * 256, s, None, None, None)
    okk.bdc_add(0, 0, 1024 + (i + 2) % {0} * 256, s, None, None, None)
    okk.gdma_32bit_cpy_L2S(y + i * 1512, 0, s, None, None)"""
_GROUPS = """\
for i in range(n + 1):
    if i < n:
        okk.bdc_32bit_set_C({0}, okk.x32.fp32(0.0), s, None)
        for k in range(4):
            okk.gdma_32bit_cpy_S2L(0, z + (4 * i + k) * 1512, s, None, None)
            okk.bdc_add({0}, {0}, 0, s, None, None, None)
    if i > 0:
        okk.gdma_32bit_cpy_L2S(y + (i - 1) * 1512, {1}, s, None, None)"""
_BIAS = """\
okk.bdc_32bit_set_C(1024, okk.x32.fp32(0.0), s, None)
for i in range(n):
    okk.gdma_32bit_cpy_S2L(0, z + i * 1512, s, None, None)
    okk.bdc_add(1024, 1024, 0, s, None, None, None)
    if i == n - 1:
        okk.gdma_32bit_cpy_S2L(2048, x, s, None, None)
        {}
        {}"""
_ADD_BIAS = "okk.bdc_add(1024, 1024, 2048, s, None, None, None)"
_DEFAULT = """\
okk.gdma_32bit_cpy_S2L(1024, z, s, None, None)
for i in range(min({} - 2, 1)):
    okk.gdma_32bit_cpy_S2L(1024, x + i * 1512, s, None, None)
okk.gdma_32bit_cpy_L2S(y, 1024, s, None, None)"""
_USED = "okk.gdma_32bit_cpy_L2S(x, 0, s, None, None)"

_LOST, _TWICE = {"okk-lost-result"}, {"okk-written-twice"}


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        # nothing reads it, not even a part of it that is filled again
        ([_NEG.format(1024, 0, "s"), _STORE.format(0, "s")], _LOST),
        ([_STORE.format(0, "s"), _NEG.format(0, 0, "s")], _LOST),
        ([_NEG.format(0, 0, "s"), _STORE.format(0, "s")], set()),
        (
            [
                _NEG.format(1024, 0, "s"),
                _IN.format(0, "z", "half"),
                _NEG.format(1024, 0, "half"),
                _STORE.format(1024, "half"),
            ],
            _LOST,
        ),
        (
            [
                _NEG.format(1024, 0, "s"),
                _IN.format(0, "z", "half"),
                _NEG.format(1024, 0, "half"),
                _STORE.format(1024, "s"),
            ],
            set(),
        ),
        # each round fills it again, with other weights or another width
        ([_IN.format(65536, "x", "image"), _CONV.format("n")], _LOST),
        ([_IN.format(65536, "x", "image"), _CONV.format("2")], _LOST),
        ([_IN.format(65536, "x", "image"), _CONV.format("1")], set()),
        ([_PART.format("1")], _LOST),
        # something may be left there of the round before the last one, not of those before
        ([_USED, _PART.format("min(w, 150)")], _LOST),
        # what is loaded and not used, unless it may be meant for a call that leaves it out
        ([_IN.format(1024, "z", "s"), _STORE.format(0, "s")], _LOST),
        ([_IN.format(1024, "x", "s"), _STORE.format(0, "s")], set()),
        # overwritten in the next round, whatever size that has
        ([_USED, _TAILS.format(512)], _LOST),
        ([_USED, _TAILS.format(256)], set()),
        # a sum that is cleared in each round, in each group, and before the end of a group
        ([_USED, _SUMS.format("i >= 0", "i == n - 1")], _LOST),
        ([_USED, _SUMS.format("i % 3 == 0", "i % 3 == 2 or i == n - 1")], set()),
        ([_USED, _SUMS.format("i % 3 == 1", "i % 3 == 2 or i == n - 1")], _LOST),
        # cleared in each round and never before, whoever takes what the last one has left
        ([_USED, _ANEW.format("pass", "")], _LOST),
        ([_USED, _ANEW.format("if i == n - 1:", "        ")], _LOST),
        ([_USED, _ANEW.format("if i % 2 == 1 or i == n - 1:", "        ")], set()),
        # parts of a sum of products, of which the last one alone is stored
        ([_USED, _PRODUCT.format(False)], _LOST),
        # sums in places that take turns: of one place nothing is stored, of all something is
        ([_USED, _TURNS.format(3, 2)], _LOST),
        ([_USED, _TURNS.format(3, 3)], set()),
        ([_USED, _TO_AND_FRO.format("(n + 1)")], _LOST),
        ([_USED, _TO_AND_FRO.format("n")], set()),
        # a row that is replaced before anything has read it
        ([_USED, _ROWS.format(2)], _LOST),
        ([_USED, _ROWS.format(3)], set()),
        # the sum of a group is cleared for the next one, which is stored twice in the end
        ([_USED, _GROUPS.format(1024, 1024)], _LOST),
        ([_USED, _GROUPS.format("1024 + i % 2 * 256", "1024 + (i - 1) % 2 * 256")], set()),
        # what is added when all is stored
        ([_USED, _BIAS.format(_STORE.format(1024, "s"), _ADD_BIAS)], _LOST),
        ([_USED, _BIAS.format(_ADD_BIAS, _STORE.format(1024, "s"))], set()),
        # what is there if there are no rounds
        ([_USED, _DEFAULT.format("n")], set()),
        # what is made in every round is wanted in the last one
        (
            [
                _USED,
                "for i in range(n):",
                "    " + _IN.format(0, "z + i * 1512", "s"),
                "    " + _NEG.format(1024, 0, "s"),
                "    if i == n - 1:",
                "        " + _STORE.format(1024, "s"),
            ],
            set(),
        ),
        # the last of what is made of parts beside what is stored of each
        (
            [
                _USED,
                "for i in range(n):",
                "    " + _IN.format(0, "z + i * 1512", "s"),
                "    " + _NEG.format(1024, 0, "s"),
                "    " + _STORE.format(0, "s").replace("(y,", "(y + 1512 + i * 1512,"),
                _STORE.format(1024, "s"),
            ],
            set(),
        ),
        # parts that lie in two places in turn, or in three, for three steps
        ([_USED, _RING.format(2)], _LOST),
        ([_USED, _RING.format(3)], set()),
        # stored over by others, by the same, and in one case only
        (
            [_NEG.format(1024, 0, "s"), _STORE.format(0, "s"), _STORE.format(1024, "s")],
            _TWICE,
        ),
        ([_STORE.format(0, "s"), _NEG.format(0, 0, "s"), _STORE.format(0, "s")], _TWICE),
        ([_STORE.format(0, "s"), _NEG.format(0, 0, "half"), _STORE.format(0, "s")], _TWICE),
        ([_STORE.format(0, "s"), _STORE.format(0, "s")], set()),
        (
            [
                _NEG.format(1024, 0, "s"),
                _STORE.format(0, "s"),
                "if n > 3:",
                "    " + _STORE.format(1024, "s"),
            ],
            set(),
        ),
    ],
)
def test_what_comes_to_nothing(lines: list[str], found: set[str], tmp_path: Path) -> None:
    body = "\n".join("    " + line for text in lines for line in text.splitlines())
    result = check(tmp_path, _KERNEL.format(body=body))
    assert {d.rule for d in result.diagnostics if d.severity != "note"} == found


@pytest.mark.parametrize(
    ("body", "lost"),
    [
        (_PRODUCT.format(False), True),
        (_TURNS.format(3, 2), True),
        (_TURNS.format(3, 3), False),
        (_TO_AND_FRO.format("(n + 1)"), True),
        (_ROWS.format(2), True),
        (_GROUPS.format(1024, 1024), True),
        (_ANEW.format("", "").replace("    \n", ""), True),
        (_RING.format(3), False),
    ],
)
def test_a_run_tells_of_it(body: str, lost: bool, tmp_path: Path) -> None:
    lines = f"{_USED}\n{body}".splitlines()
    text = "import okk\n\n" + _KERNEL.format(body="\n".join("    " + line for line in lines))
    file = tmp_path / "kernel.py"
    file.write_text(text, encoding="utf-8")
    sizes = ["--arg=n=3", "--arg=w=150", "--shapes-only"]
    tensors = [f"--arg={name}=fp32[60000]" for name in "yxz"]
    assert main(["run", f"{file}::k", *sizes, *tensors]) == lost
