"""Beginnings and waits that stand under a condition in a loop (OKK-X01, OKK-X02).

A wait in a later round serves what an earlier one has issued, a beginning in an earlier round what
comes later.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.okk.support import check

_MOVE = """\
        okk.gdma_32bit_cpy_S2L(0, x + i * STEP, SHAPE, None, None)
        okk.gdma_32bit_cpy_L2S(y + i * STEP, 0, SHAPE, None, None)
"""
_KERNEL = """\
SHAPE = okk.dim4(1, 45, 1, 50)
STEP = 45 * 50 * 4


# tilelint: contract (n: 1..40, m: 1..9, x: fp32[n, 45, 50], y: fp32[n, 45, 50])
@okk.kernel
def moved(n: int, m: int, x: okk.SystemAddr, y: okk.SystemAddr):
{begin}    for i in range(n):
{before}{move}{after}{end}"""
_BEGIN = "    okk.initialize()\n"
_END = "    okk.poll()\n"
_IF = "        if {}:\n            okk.{}()\n"


@pytest.mark.parametrize(
    ("begin", "before", "after", "end", "needs"),
    [
        (_BEGIN, "", _IF.format("i == n - 1", "poll"), "", None),
        (_BEGIN, "", _IF.format("i >= m", "poll"), _END, None),
        (_BEGIN, _IF.format("i > 0", "poll"), "", _END, None),
        (_BEGIN, "", _IF.format("i % 2 == 1", "poll"), "    if n % 2 == 1:\n    " + _END, None),
        (_BEGIN, "", "", "    for j in range(m):\n        if j == 0:\n        " + _END, None),
        ("", _IF.format("i == 0", "initialize"), "", _END, None),
        # too early, too late, or not at all
        (_BEGIN, "", _IF.format("i == 0", "poll"), "", "n == 1"),
        (_BEGIN, "", _IF.format("i % 2 == 1", "poll"), "", "n % 2 == 0"),
        (_BEGIN, "", "", "    for j in range(m):\n        if j == 3:\n        " + _END, "m >= 4"),
        (_BEGIN, _IF.format("i > 0", "poll"), "", "", ""),
        ("", _IF.format("i == 1", "initialize"), "", _END, ""),
    ],
)
def test_a_wait_in_a_later_round_serves(
    begin: str, before: str, after: str, end: str, needs: str | None, tmp_path: Path
) -> None:
    text = _KERNEL.format(begin=begin, before=before, move=_MOVE, after=after, end=end)
    result = check(tmp_path, text)
    (kernel,) = result.kernels
    if needs is None:
        assert kernel.status == "verified"
        return
    assert {d.rule for d in result.diagnostics} == {"okk-missing-poll"}
    assert kernel.status == ("conditional" if needs else "violated")
    if needs:
        assert kernel.precondition is not None
        assert (kernel.precondition.text, kernel.precondition.exact) == (needs, True)
