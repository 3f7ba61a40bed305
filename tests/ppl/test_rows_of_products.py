"""Rows and columns of matrices that nothing was written to, in products of PPL."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ppl.support import check, rules
from tests.tpu_executor.test_command import run

_KERNEL = """\
# tilelint: contract (out_ptr: fp32[{stored}], a_ptr: fp16[{a_there}], b_ptr: fp16[{b_there}])
@ppl.jit
def product(out_ptr, a_ptr, b_ptr):
    a_all = pl.gtensor([{a_there}], pl.GLOBAL, a_ptr)
    b_all = pl.gtensor([{b_there}], pl.GLOBAL, b_ptr)
    a = pl.make_tensor([{a}], pl.float16)
    b = pl.make_tensor([{b}], pl.float16)
    c = pl.make_tensor([1, 24, 1, 40], pl.float32)
    pl.dma.load(a.sub_view([{a_there}], [0, 0, 0, 0]), a_all)
    pl.dma.load(b.sub_view([{b_there}], [0, 0, 0, 0]), b_all)
    {call}
    target = pl.gtensor([{stored}], pl.GLOBAL, out_ptr)
    pl.dma.store(target, c.sub_view([{stored}], [0, 0, 0, 0]))
"""
_PLAIN = "pl.tiu.fmm2(c, a, b)"
_RIGHT = "pl.tiu.fmm2(c, a, b, rtrans=True)"
_BOTH = "pl.tiu.fmm2(c, a, b, ltrans=True, rtrans=True)"
_SUMS = "pl.tiu.zero(c)\n    pl.tiu.fmm2(c, a, b, result_add=True)"
_A, _B, _ALL = "1, 24, 1, 16", "1, 16, 1, 40", "1, 24, 1, 40"
_A_ROWS, _B_COLUMNS = "1, 20, 1, 16", "1, 16, 1, 36"
_TURNED = "1, 40, 1, 16"


@pytest.mark.parametrize(
    ("call", "a", "a_there", "b", "b_there", "stored", "right"),
    [
        (_PLAIN, _A, _A_ROWS, _B, _B, "1, 20, 1, 40", True),
        (_PLAIN, _A, _A_ROWS, _B, _B, "1, 21, 1, 40", False),
        (_PLAIN, _A, _A, _B, _B_COLUMNS, "1, 24, 1, 36", True),
        (_PLAIN, _A, _A, _B, _B_COLUMNS, "1, 24, 1, 37", False),
        (_SUMS, _A, _A_ROWS, _B, _B_COLUMNS, "1, 20, 1, 36", True),
        (_SUMS, _A, _A_ROWS, _B, _B_COLUMNS, _ALL, False),
        (_RIGHT, _A, _A, _TURNED, "1, 36, 1, 16", "1, 24, 1, 36", True),
        (_RIGHT, _A, _A, _TURNED, "1, 36, 1, 16", _ALL, False),
        # what is added up is mixed, whatever is stored
        (_PLAIN, _A, "1, 24, 1, 12", _B, _B, "1, 20, 1, 36", False),
        (_RIGHT, _A, _A, _TURNED, "1, 40, 1, 12", "1, 20, 1, 36", False),
        # rows of the result are columns of the product
        (_BOTH, "1, 16, 1, 40", "1, 16, 1, 36", _A, _A_ROWS, "1, 20, 1, 36", True),
        (_BOTH, "1, 16, 1, 40", "1, 16, 1, 36", _A, _A_ROWS, "1, 20, 1, 40", False),
    ],
)
def test_what_is_not_stored_may_be_undefined(
    call: str, a: str, a_there: str, b: str, b_there: str, stored: str, right: bool, tmp_path: Path
) -> None:
    sizes = {"a": a, "a_there": a_there, "b": b, "b_there": b_there, "stored": stored}
    found = check(tmp_path, _KERNEL.format(call=call, **sizes))
    assert rules(found) == ({} if right else {"uninitialised-read": "always"})
    inputs = (f"out_ptr=fp32[{stored}]", f"a_ptr=fp16[{a_there}]", f"b_ptr=fp16[{b_there}]")
    arguments = [word for each in inputs for word in ("--arg", each)]
    path = f"{tmp_path / 'kernel.py'}::product"
    found_in_run = run(path, "--target", "bm1690", *arguments, "--shapes-only")
    assert found_in_run.exit_code == (0 if right else 1), found_in_run.output
