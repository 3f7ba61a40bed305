"""What several cores do to one element: which deeds need an order, in the text and in a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rules.memory.order import disordered
from verifier.engine import analyze_file
from verifier.executor import simulate
from verifier.executor.machine import Options
from verifier.executor.running import Shaped
from verifier.report.model import FileRequest
from verifier.source.ir import Span
from verifier.symbolic.memory.events import Deed, Met, Visit

READ, PLAIN, ADD, MAX = Deed(False), Deed(True), Deed(True, "add"), Deed(True, "max")


@pytest.mark.parametrize(
    ("first", "second", "needs"),
    [
        (READ, READ, False),
        (READ, PLAIN, True),
        (READ, ADD, True),
        (PLAIN, PLAIN, True),
        (PLAIN, ADD, True),
        (ADD, ADD, False),
        (ADD, MAX, True),
        (Deed(True, value=3), Deed(True, value=3), False),
        (Deed(True, value=3), Deed(True, value=5), True),
        (Deed(True, made=4), Deed(True, made=4), False),
        (Deed(True, value=3), READ, True),
    ],
)
def test_which_deeds_need_an_order(first: Deed, second: Deed, needs: bool) -> None:
    assert first.needs_order(second) is second.needs_order(first) is needs
    span = Span("k.py", 1, 1, 1, 2)
    for instance, waited, wrong in (((1,), 2, needs), ((1,), 3, False), ((0,), 2, False)):
        visits = Visit(span, (0,), 2, first), Visit(span, instance, waited, second)
        assert disordered(Met("o", *visits)) is wrong


NKI = """\
import nki
import nki.isa as nisa
import nki.language as nl


# tilelint: contract [2](x: bf16[128, 64])
@nki.jit
def kernel(x):
    pid = nl.program_id(0)
    o = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    if pid == 0:
        nisa.dma_copy(dst=o, src=t)
    {wait}
    nisa.dma_copy(dst=o, src=t, dst_rmw_op=nl.add)
    {then}
    return o
"""
BARRIER = "nisa.core_barrier(o, (0, 1))"


@pytest.mark.parametrize(
    ("wait", "then", "line"),
    [
        (BARRIER, "pass", 0),
        (BARRIER, "nisa.dma_copy(dst=o, src=t, dst_rmw_op=nl.add)", 0),
        ("pass", "pass", 16),
        (BARRIER, "if pid == 0: nisa.dma_copy(dst=o, src=t)", 16),
    ],
)
def test_sums_that_several_cores_make(tmp_path: Path, wait: str, then: str, line: int) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(NKI.format(wait=wait, then=then), encoding="utf-8")
    expected = {("loop-carried-dependence", line)} if line else set()
    report = analyze_file(FileRequest(str(path)))
    assert {(d.rule, d.span.line) for d in report.diagnostics} == expected
    made = simulate(f"{path}::kernel", "trn2", None)
    run = type(made)(made.kernel, made.target, made.api_version, Options(keep_going=True), (2,))
    outcome = run.outcome(x=Shaped("bfloat16", (128, 64)))
    assert outcome.ended is None
    assert {(d.rule, d.span.line) for d in outcome.diagnostics} == expected


PPL = """\
import ppl
import ppl.language as pl


@ppl.jit
def kernel(out_ptr, src_ptr):
    core = pl.get_core_index()
    l2 = pl.gtensor([1, 16, 1, 64], pl.L2, dtype=pl.float16)
    source = pl.gtensor([8, 16, 1, 64], pl.GLOBAL, src_ptr)
    a = pl.make_tensor([1, 16, 1, 64], pl.float16)
    pl.dma.load(a, source.sub_view([1, 16, 1, 64], [core, 0, 0, 0]))
    pl.dma.zero(l2.view())
    pl.sync()
    {first}
    {second}
    pl.sync()
    if core == 0:
        pl.sdma.move(pl.gtensor([1, 16, 1, 64], pl.GLOBAL, out_ptr).view(), l2.view())
"""
WHOLE = "pl.dma.reduce(l2.view(), a, pl.ALL_REDUCE_PSUM_WR, pl.ALL_REDUCE_ADD)"
MOST = WHOLE.replace("ADD", "MAX")
OVER = WHOLE.replace("WR", "WO").replace("ADD", "NOP")
TWICE, EARLY = "loop-carried-dependence", "ppl-missing-sync"


@pytest.mark.parametrize(
    ("first", "second", "rule"),
    [
        (WHOLE, WHOLE, ""),
        (WHOLE, MOST, EARLY),
        (OVER, "pass", TWICE),
        ("pl.dma.fill(l2.view(), 2.0)", "pl.dma.fill(l2.view(), 2.0)", ""),
        ("pl.dma.fill(l2.view(), 1.0)", "pl.dma.zero(l2.view())", TWICE),
        ("pl.dma.fill(l2.view(), core)", "pass", TWICE),
    ],
)
def test_what_several_cores_of_a_tpu_write(
    tmp_path: Path, first: str, second: str, rule: str
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(PPL.format(first=first, second=second), encoding="utf-8")
    made = simulate(f"{path}::kernel", "bm1690", None)
    run = type(made)(made.kernel, made.target, made.api_version, Options(keep_going=True), (1, 3))
    source = np.arange(8 * 16 * 64, dtype=np.float16).reshape(8, 16, 1, 64)
    outcome = run.outcome(np.zeros((1, 16, 1, 64), np.float16), source)
    assert outcome.ended is None
    assert {d.rule for d in outcome.diagnostics} == ({rule} if rule else set())
    found = {d.rule for d in analyze_file(FileRequest(str(path), targets=("bm1690",))).diagnostics}
    assert found & {TWICE, EARLY} == ({rule} if rule else set())
