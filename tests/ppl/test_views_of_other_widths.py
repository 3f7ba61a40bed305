"""Views with elements of another width: what is left over of a row is not part of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.engine import analyze_file
from verifier.report.model import FileRequest

MODULE = """\
import ppl
import ppl.language as pl


# tilelint: contract (out_ptr: fp16[40, W], w: W) where W >= 8, {where}
@ppl.jit
def filled(out_ptr, w: pl.constexpr):
    y = pl.make_tensor([1, 40, 1, w], pl.float16)
    pl.tiu.fill(y.view(shape=[1, 40, 1, {wide}], dtype={dtype}), 7)
    pl.dma.store(pl.gtensor([1, 40, 1, w], pl.GLOBAL, out_ptr).view(), y)
"""


@pytest.mark.parametrize(
    ("where", "wide", "dtype", "right"),
    [
        ("W <= 3000", "w // 2", "pl.int32", False),
        ("W % 2 == 0, W <= 3000", "w // 2", "pl.int32", True),
        ("W <= 3000", "w", "pl.int16", True),
        ("W <= 3000", "w * 2", "pl.int8", True),
        ("W <= 3000", "w * 2 - 1", "pl.int8", False),
    ],
)
def test_what_is_left_over(where: str, wide: str, dtype: str, right: bool, tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(MODULE.format(where=where, wide=wide, dtype=dtype))
    (found,) = analyze_file(FileRequest(str(file), targets=("bm1684x",), timeout=60)).kernels
    assert (found.status == "verified") == right, found
