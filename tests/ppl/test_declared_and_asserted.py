"""What a caller passes and the kernel declares, and which assertions keep inputs out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.apart import mark
from tests.fixtures.support import check

_KERNEL = """import ppl
import ppl.language as pl


# tilelint: contract (out_ptr: fp32[{out}, 40], x_ptr: fp32[{given}, 40], rows: R) where R <= 100
@ppl.jit
def copied(out_ptr, x_ptr, rows{annotation}):
    {before}
    shape = [1, {declared}, 1, 40]
    source = pl.gtensor(shape, pl.GLOBAL, x_ptr)
    result = pl.gtensor(shape, pl.GLOBAL, out_ptr)
    block = pl.make_tensor([1, 64, 1, 40], pl.float32, shape)
    pl.dma.load(block, source)
    pl.dma.store(result, block)
"""
_PLAIN = {"out": "20", "given": "20", "declared": "20", "annotation": "", "before": "pass"}
_ROWS = {**_PLAIN, "out": "R", "given": "R", "declared": "rows"}
_STATIC = {"before": "pl.core.static_assert(rows <= 64)"}


@pytest.mark.parametrize(
    ("changes", "faulty"),
    [
        (_PLAIN, ""),
        ({**_PLAIN, "given": "21"}, ""),
        # nobody else writes the last row
        ({**_PLAIN, "out": "21"}, "error"),
        ({**_ROWS, "declared": "rows - 1"}, "error"),
        # the compiler asks it before there is a kernel, of what it knows, and ends with the rest
        ({**_ROWS, **_STATIC, "annotation": ": pl.constexpr"}, ""),
        ({**_ROWS, **_STATIC}, "warning"),
        ({**_ROWS, "before": "pl.core.device_assert(rows <= 64)"}, "error"),
    ],
)
def test_check_and_replay(changes: dict[str, str], faulty: str, tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(_KERNEL.format(**changes), encoding="utf-8")
    result = mark([check(path)], jobs=1)[0]
    assert not faulty or faulty in {d.severity for d in result.diagnostics}
    assert faulty == "error" or "error" not in {d.severity for d in result.diagnostics}
    assert "diverged" not in {d.replay for d in result.diagnostics}
    assert all((kernel.status == "verified") is not bool(faulty) for kernel in result.kernels)
