"""What a text states: statements that are not compiled, and element types of results."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ppl.support import check, one, rules

_LOOP = """\
# tilelint: contract (out_ptr: fp32[30, 90], x_ptr: fp32[30, 90])
@ppl.jit
def k(out_ptr, x_ptr, mode):
    x = pl.make_tensor([1, 30, 1, 90], pl.float32)
    x_all = pl.gtensor([1, 30, 1, 90], pl.GLOBAL, x_ptr)
    out_all = pl.gtensor([1, 30, 1, 90], pl.GLOBAL, out_ptr)
    pl.dma.load(x, x_all)
    for i in range(mode):
        pl.tiu.fmul(x, x, 2.0)
        @@
    pl.dma.store(out_all, x)
"""


@pytest.mark.parametrize("test", ["i > 3", "mode > 3", "i < 0"])
def test_a_break_is_not_compiled_whether_it_is_come_to_or_not(test: str, tmp_path: Path) -> None:
    result = check(tmp_path, _LOOP.replace("@@", f"if {test}:\n            break"))
    found = one(result, "ppl-statement")
    assert (found.severity, found.verdict) == ("error", "always")
    assert rules(check(tmp_path, _LOOP.replace("@@", "pl.tiu.fadd(x, x, 1.0)"))) == {}


_SUM = """\
# tilelint: contract (out_ptr: {dst}[40, 48], a_ptr: fp16[40, 70], b_ptr: fp16[70, 48])
@ppl.jit
def k(out_ptr, a_ptr, b_ptr):
    a = pl.make_tensor([1, 40, 1, 70], pl.float16)
    b = pl.make_tensor([1, 70, 1, 48], pl.float16)
    o = pl.make_tensor([1, 40, 1, 48], pl.{dst})
    a_all = pl.gtensor([1, 40, 1, 70], pl.GLOBAL, a_ptr)
    b_all = pl.gtensor([1, 70, 1, 48], pl.GLOBAL, b_ptr)
    out_all = pl.gtensor([1, 40, 1, 48], pl.GLOBAL, out_ptr)
    pl.dma.load(a, a_all)
    pl.dma.load(b, b_all)
    pl.tiu.zero(o)
    pl.tiu.fmm2(o, a, b, result_add={adds}, out_dtype=pl.{stated})
    pl.dma.store(out_all, o)
"""


@pytest.mark.parametrize(
    ("adds", "dst", "stated", "wanted"),
    [
        (True, "float32", "float32", {}),
        (True, "float32", "float16", {"ppl-matmul-form": "error", "ppl-matmul-dtypes": "warning"}),
        (False, "float16", "float16", {}),
        (False, "float16", "float32", {"ppl-matmul-dtypes": "warning"}),
        (False, "float32", "float16", {"ppl-matmul-dtypes": "warning"}),
    ],
)
def test_the_type_of_results_that_a_call_states(
    adds: bool, dst: str, stated: str, wanted: dict[str, str], tmp_path: Path
) -> None:
    result = check(tmp_path, _SUM.format(adds=adds, dst=dst, stated=stated), "bm1684x")
    found = {d.rule: d.severity for d in result.diagnostics if d.severity != "note"}
    assert found == wanted
