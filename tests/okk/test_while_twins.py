"""A ``while`` loop that counts is the ``for`` loop of as many rounds: what is lost in one is lost
in the other, also where a contract says that there is a first round."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine.analysis import analyze_file
from verifier.report.model import FileRequest

HEADS = {
    "for": ("for i in range(n):", ""),
    "while": ("i = 0\n    while i < n:", "        i += 1\n"),
    "down": ("i, left = 0, n\n    while left > 0:", "        i, left = i + 1, left - 1\n"),
    "break": (
        "i = 0\n    while True:\n        if i >= n:\n            break",
        "        i += 1\n",
    ),
}
FRAME = """
import okk


# tilelint: contract (n: N, x: fp32[N, 48, 70], y: fp32[N, 48, 70]) where N >= 1, N <= {most}
@okk.kernel
def k(n: int, x: okk.SystemAddr, y: okk.SystemAddr):
    okk.initialize()
    shape, step = okk.dim4(1, 48, 1, 70), 48 * 70 * 4
    {head}
{body}{end}    {after}
    okk.poll()
"""
LOAD = "        okk.gdma_32bit_cpy_S2L({slot}, x + i * step, shape, None, None)\n"
NEGATE = "        okk.bdc_neg({slot} + 32768, {slot}, shape, None, None)\n"
STORE = (
    "        if i >= 1:\n            okk.gdma_32bit_cpy_L2S("
    "y + (i - 1) * step, {slot} + 32768, shape, None, None)\n"
)
REST = "okk.gdma_32bit_cpy_L2S(y + (n - 1) * step, {slot} + 32768, shape, None, None)"
SLOT, BEFORE, LAST = "i % 2 * 65536", "(i - 1) % 2 * 65536", "(n - 1) % 2 * 65536"


def swapped(slot: str) -> str:
    return (LOAD + NEGATE).format(slot=SLOT) + STORE.format(slot=slot)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("most", [5, 40])
@pytest.mark.parametrize(
    ("body", "after", "status"),
    [
        (swapped(BEFORE), REST.format(slot=LAST), "verified"),
        (swapped(SLOT), REST.format(slot=LAST), "conditional"),
        (LOAD.format(slot=0) + NEGATE.format(slot=0), REST.format(slot=0), "conditional"),
    ],
    ids=["stored from the slot before", "stored from its own slot", "the last one alone stored"],
)
def test_what_is_lost(
    tmp_path: Path, head: str, most: int, body: str, after: str, status: str
) -> None:
    begin, end = HEADS[head]
    path = tmp_path / "k.py"
    path.write_text(
        FRAME.format(most=most, head=begin, body=body, end=end, after=after), encoding="utf-8"
    )
    (kernel,) = analyze_file(FileRequest(str(path))).kernels
    condition = "" if kernel.precondition is None else kernel.precondition.text
    alone = " and ".join(f"n != {rounds}" for rounds in range(2, most + 1))
    wanted = ("True",) if status == "verified" else ("n == 1", alone)
    assert (kernel.status, condition in wanted) == (status, True), condition
