"""Parts that a loop loads for what comes behind it: each is taken, whatever form the loops have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.okk.support import status_of
from verifier.cli.main import main

HEAD = """
import okk


# tilelint: contract (x: fp32[6, 21, 70], y: fp32[{made}, 21, 70])
@okk.kernel
def k(x: okk.SystemAddr, y: okk.SystemAddr):
    okk.initialize()
    shape, step = okk.dim4(1, 21, 1, 70), 21 * 70 * 4
    places = [i * 384 for i in range(6)]
"""
LOADS = {
    "a loop": """
    for i in range(6):
        okk.gdma_32bit_cpy_S2L(i * 384, x + i * step, shape, None, None)
""",
    "a loop over a list": """
    for i, place in enumerate(places):
        okk.gdma_32bit_cpy_S2L(place, x + i * step, shape, None, None)
""",
    "a loop in a loop": """
    for a in range(2):
        for b in range(3):
            okk.gdma_32bit_cpy_S2L((a * 3 + b) * 384, x + (a * 3 + b) * step, shape, None, None)
""",
    "a loop that counts down": """
    for i in range(5, -1, -1):
        okk.gdma_32bit_cpy_S2L(i * 384, x + i * step, shape, None, None)
""",
}
NEGATED = """
        okk.bdc_neg(8192, {place}, shape, None, None)
        okk.gdma_32bit_cpy_L2S(y + {number} * step, 8192, shape, None, None)
"""
USES = {
    "a loop": "    for i in range({many}):" + NEGATED.format(place="i * 384", number="i"),
    "a loop over a list": (
        "    for i, place in enumerate(places[:{many}]):"
        + NEGATED.format(place="place", number="i")
    ),
    "a loop for each remainder": (
        "    for b in range(2):\n      for i in range(b, {many}, 2):"
        + NEGATED.format(place="i * 384", number="i")
    ),
    "a sum": """
    okk.bdc_32bit_set_C(8192, okk.x32.fp32(0.0), shape, None)
    for i in range({many}):
        okk.bdc_add(8192, 8192, i * 384, shape, None, None, None)
    okk.gdma_32bit_cpy_L2S(y, 8192, shape, None, None)
""",
}
#: two of six parts: that others are loaded beside them may be meant
SOME = """
    okk.bdc_mul(8192, 384, 768, shape, None, None, None)
    okk.gdma_32bit_cpy_L2S(y, 8192, shape, None, None)
"""


@pytest.mark.parametrize("loads", LOADS)
@pytest.mark.parametrize("uses", USES)
def test_each_part_is_taken(
    tmp_path: Path, loads: str, uses: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = HEAD + LOADS[loads] + USES[uses] + "    okk.poll()\n"
    made = 1 if uses == "a sum" else 6
    assert status_of(tmp_path, text.format(many=6, made=made)) == "verified"
    given = [f"--arg={name}=fp32[{parts},21,70]" for name, parts in (("x", 6), ("y", made))]
    assert main(["run", f"{tmp_path / 'kernel.py'}::k", *given]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("loads", LOADS)
@pytest.mark.parametrize("uses", ["a loop", "a sum"])
def test_the_last_part_is_not_taken(tmp_path: Path, loads: str, uses: str) -> None:
    text = HEAD + LOADS[loads] + USES[uses] + "    okk.poll()\n"
    made = 1 if uses == "a sum" else 5
    assert status_of(tmp_path, text.format(many=5, made=made)) == "violated"


@pytest.mark.parametrize("loads", ["a loop", "a loop over a list"])
def test_some_parts_may_be_enough(tmp_path: Path, loads: str) -> None:
    text = HEAD + LOADS[loads] + SOME + "    okk.poll()\n"
    assert status_of(tmp_path, text.format(made=1)) == "verified"
