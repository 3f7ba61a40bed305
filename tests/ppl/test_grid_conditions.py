"""Cores that are laid out in rows and columns: what that asks is a condition on the launch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ppl.support import check

KERNEL = """\
{contract}
@ppl.jit
def blocks(out_ptr, in_ptr, M, N, bn: pl.constexpr):
    core = pl.get_core_index()
    src = pl.gtensor([1, M, 1, N], pl.GLOBAL, in_ptr)
    dst = pl.gtensor([1, M, 1, N], pl.GLOBAL, out_ptr)
    r = {row}
    c = {column}
    rows = pl.cdiv(M, 2)
    cols = pl.cdiv(N, {columns})
    m = min(rows, M - r * rows)
    ncols = min(cols, N - c * cols)
    if m > 0:
        for j in range(0, ncols, bn):
            n = min(bn, ncols - j)
            x = pl.make_tensor([1, 64, 1, bn], pl.float16, [1, m, 1, n])
            pl.dma.load(x, src.sub_view([1, m, 1, n], [0, r * rows, 0, c * cols + j]))
            pl.dma.store(dst.sub_view([1, m, 1, n], [0, r * rows, 0, c * cols + j]), x)
"""
CONTRACT = (
    "# tilelint: contract{grid} (in_ptr: fp16[1, M, 1, N], out_ptr: fp16[1, M, 1, N], "
    "M: 1..128, N: 1..3000, bn: 100)"
)


@pytest.mark.parametrize(
    ("row", "column", "columns", "least"),
    [
        ("core // 4", "core % 4", 4, 8),
        ("core >> 2", "core & 3", 4, 8),
        ("core // 2", "core % 2", 2, 4),
    ],
)
def test_the_launch_has_the_cores(
    row: str, column: str, columns: int, least: int, tmp_path: Path
) -> None:
    text = KERNEL.format(contract=CONTRACT.format(grid=""), row=row, column=column, columns=columns)
    result = check(tmp_path, text)
    (kernel,) = result.kernels
    assert kernel.status == "conditional"
    assert kernel.precondition is not None
    assert kernel.precondition.text == f"get_core_num() >= {least}"
    assert "error" not in {d.severity for d in result.diagnostics}


@pytest.mark.parametrize(("cores", "status"), [(8, "verified"), (4, "conditional")])
def test_a_launch_that_is_given(cores: int, status: str, tmp_path: Path) -> None:
    contract = CONTRACT.format(grid=f" [1, {cores}]")
    text = KERNEL.format(contract=contract, row="core // 4", column="core % 4", columns=4)
    assert [k.status for k in check(tmp_path, text).kernels] == [status]


def test_what_no_launch_mends_is_an_error(tmp_path: Path) -> None:
    """Rows that no core takes are left whatever their number is."""
    text = KERNEL.format(
        contract=CONTRACT.format(grid=""), row="core // 4 + 1", column="core % 4", columns=4
    )
    assert [k.status for k in check(tmp_path, text).kernels] == ["violated"]
