"""Outputs that are stored with steps given by hand: what the steps leave out is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ppl.support import check, rules, status
from verifier.cli.replay import mark

_KERNEL = """\
# tilelint: contract (out_ptr: fp32[{whole}], x_ptr: fp32[20, 2, 25])
@ppl.jit
def stored(out_ptr, x_ptr):
    source = pl.gtensor([1, 20, 2, 25], pl.GLOBAL, x_ptr)
    target = pl.gtensor([1, {whole}], pl.GLOBAL, out_ptr)
    x = pl.make_tensor([1, 20, 2, 25], pl.float32)
    pl.dma.load(x, source)
"""
_STORE = "    pl.dma.store(target.{}, x)\n"
_EVEN = "sub_view([1, 20, 2, 25], [0, 0, 0, 0], [{}, 50, 1])"
_ODD = "sub_view([1, 20, 2, 25], [0, 0, {}, 0], [{}, 50, 1])"


@pytest.mark.parametrize(
    ("whole", "parts", "found"),
    [
        ("20, 4, 25", (_EVEN.format("2000, 100"), _ODD.format(1, "2000, 100")), "verified"),
        ("20, 4, 25", (_EVEN.format("2000, 100"), _ODD.format(0, "2000, 100")), "violated"),
        ("20, 4, 25", (_EVEN.format("2000, 100"),), "violated"),
        ("20, 3, 25", (_EVEN.format("1500, 75"),), "violated"),
        ("20, 3, 25", ("view(shape=[1, 20, 2, 25], stride=[1500, 75, 50, 1])",), "violated"),
        ("20, 2, 25", (_EVEN.format("1000, 50").replace("50, 50", "50, 25"),), "verified"),
    ],
)
def test_what_steps_leave_out(
    whole: str, parts: tuple[str, ...], found: str, tmp_path: Path
) -> None:
    text = _KERNEL.format(whole=whole) + "".join(_STORE.format(part) for part in parts)
    result = check(tmp_path, text)
    assert status(result) == [("stored", found)]
    assert rules(result) == ({"output-not-written": "always"} if found == "violated" else {})
    (marked,) = mark([result], jobs=1)
    assert {d.replay for d in marked.diagnostics} <= {"confirmed"}
