"""``static_assert`` in runs: asked of what the compiler knows, of nothing else (PPL-C02)."""

from __future__ import annotations

from pathlib import Path

import pytest

from verifier.cli.main import main

KERNEL = """\
import ppl
import ppl.language as pl


@ppl.jit
def copied(out_ptr, x_ptr, rows, block: pl.constexpr):
    half = block // 2
    count = rows + half
    last = 0
    if rows > 3:
        last = 7
    pl.core.static_assert({asserted})
    shape = [1, 20, 1, 40]
    source = pl.gtensor(shape, pl.GLOBAL, x_ptr)
    result = pl.gtensor(shape, pl.GLOBAL, out_ptr)
    tile = pl.make_tensor([1, 64, 1, 40], pl.float32, shape)
    pl.dma.load(tile, source)
    pl.dma.store(result, tile)
"""


@pytest.mark.parametrize(
    ("asserted", "refused"),
    [
        ("block <= 50", True),
        ("block // 2 <= 25", True),
        # a number that is assigned, and what a function returns, is a value of the run: there is
        # nothing that the compiler can ask, and it takes no such kernel
        ("half <= 25", False),
        ("half <= 40", False),
        ("rows <= 50", False),
        ("count <= 50", False),
        ("last < 7", False),
        ("pl.get_core_index() > 3", False),
        ("pl.cdiv(block, 4) < 15", False),
    ],
)
def test_a_run_asks_what_the_compiler_asks(tmp_path: Path, asserted: str, refused: bool) -> None:
    file = tmp_path / "k.py"
    file.write_text(KERNEL.format(asserted=asserted), encoding="utf-8")
    tensors = [f"--arg={name}_ptr=fp32[20,40]" for name in ("out", "x")]
    ended = main(["run", f"{file}::copied", *tensors, "--arg=rows=70", "--arg=block=60"])
    assert ended == (2 if refused else 1)
