"""What stages of a pipelined loop hand over exists twice, computed with or not (PPL-B06)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ppl.support import HEADER, check
from verifier.cli.main import main

_KERNEL = """\
# tilelint: contract (out_ptr: fp32[4, 40, 1, 400], x_ptr: fp32[4, 40, 1, 400])
@ppl.jit
def kernel(out_ptr, x_ptr):
    source = pl.gtensor([4, 40, 1, 400], pl.GLOBAL, x_ptr)
    target = pl.gtensor([4, 40, 1, 400], pl.GLOBAL, out_ptr)
    for i in range(4):
        {pipeline}
        x = pl.make_tensor([1, 40, 1, {block}], pl.float32, [1, 40, 1, 100])
        for start in range(0, 400, 100):
            pl.dma.load(x, source.sub_view([1, 40, 1, 100], [i, 0, 0, start]))
            {compute}
            pl.dma.store(target.sub_view([1, 40, 1, 100], [i, 0, 0, start]), x)
"""
_PIPELINE = "pl.enable_pipeline()"


@pytest.mark.parametrize(
    ("block", "pipeline", "compute", "fits"),
    [
        # 256 KiB a lane: 65,536 elements of four bytes
        (32768, _PIPELINE, "pass", True),
        (32769, _PIPELINE, "pass", False),
        (32769, _PIPELINE, "pl.tiu.fadd(x, x, 1.0)", False),
        (32768, _PIPELINE, "pl.tiu.fadd(x, x, 1.0)", True),
        (65535, "pass", "pass", True),
    ],
)
def test_what_is_handed_on_exists_twice(
    tmp_path: Path, block: int, pipeline: str, compute: str, fits: bool
) -> None:
    text = _KERNEL.format(block=block, pipeline=pipeline, compute=compute)
    result = check(tmp_path, text, "bm1684x")
    assert not result.errors
    rules = {d.rule for d in result.diagnostics if d.severity == "error"}
    assert ("ppl-local-capacity" in rules) is not fits
    assert fits == (result.kernels[0].status == "verified")
    file = tmp_path / "run.py"
    file.write_text(HEADER + text, encoding="utf-8")
    tensors = [f"--arg={name}_ptr=fp32[4,40,1,400]" for name in ("out", "x")]
    ended = main(["run", f"{file}::kernel", "--shapes-only", "--target=bm1684x", *tensors])
    assert ended == (0 if fits else 1)
