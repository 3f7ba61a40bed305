"""What cores share in L2 memory fits there: in checks, runs and replay."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.apart import mark
from tests.ppl.support import HEADER, check
from verifier.cli.main import main

KERNEL = """\
# tilelint: contract (out_ptr: fp16[1, 32, 1, 48], src_ptr: fp16[1, 32, 1, 48], rows: {rows})
@ppl.jit
def handed(out_ptr, src_ptr, rows: pl.constexpr):
    source = pl.gtensor([1, 32, 1, 48], pl.GLOBAL, src_ptr)
    target = pl.gtensor([1, 32, 1, 48], pl.GLOBAL, out_ptr)
    for turn in pl.static_range(2):
        shared = pl.gtensor([1, 32, rows, 96], pl.L2, dtype=pl.float16)
        a = pl.make_tensor([1, 32, 1, 48], pl.float16)
        pl.dma.load(a, source)
        if pl.get_core_index() == 0:
            pl.dma.store(shared.sub_view([1, 32, 1, 48], [0, 0, 0, 0]), a)
        pl.sync()
        b = pl.make_tensor([1, 32, 1, 48], pl.float16)
        pl.dma.load(b, shared.sub_view([1, 32, 1, 48], [0, 0, 0, 0]))
        if pl.get_core_index() == 0:
            pl.dma.store(target, b)
        pl.sync()
"""
RULE = "ppl-shared-capacity"


@pytest.mark.parametrize(("rows", "fits"), [(2730, True), (2731, False)])
@pytest.mark.parametrize("target", ["sg2260e"])
def test_the_limit(
    rows: int, fits: bool, target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = KERNEL.format(rows=rows)
    (result,) = mark([check(tmp_path, text, target)], jobs=1)
    found = [d.replay for d in result.diagnostics if d.rule == RULE]
    assert found == ([] if fits else ["confirmed"])
    path = tmp_path / "kernel.py"
    assert path.read_text(encoding="utf-8") == HEADER + text
    given = [f"--arg={name}_ptr=fp16[1,32,1,48]" for name in ("out", "src")]
    options = [f"--arg=rows={rows}", f"--target={target}", "--shapes-only"]
    ended = main(["run", f"{path}::handed", *given, *options])
    said = capsys.readouterr().out
    assert (RULE in said) is not fits, said
    assert ended == (0 if fits else 1)
