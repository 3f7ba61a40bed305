"""What each program instance takes from a collective and writes to one place."""

from __future__ import annotations

import pytest

from verifier.engine.analysis import analyze_source

KERNEL = """
import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl


@nki.jit
def gathered(a, groups: ncc.ReplicaGroup, whole: bool):
    assert a.shape == (192, 40) and nl.num_programs(0) == 2
    start = {start}
    out = nl.ndarray((96, 80), dtype=a.dtype, buffer=nl.shared_hbm)
    sent = nl.ndarray((96, 40), dtype=a.dtype, buffer=nl.sbuf)
    taken = nl.ndarray((96, 80), dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=sent, src=a[start : start + 96, 0:40])
    ncc.all_gather(dsts=[taken], srcs=[sent], replica_group=groups, collective_dim=1)
    nisa.dma_copy(dst=out, src=taken)
    return out
"""


@pytest.mark.parametrize(
    ("start", "verdicts"),
    [
        ("0", {"unknown"}),  # both take part with the same
        ("nl.program_id(0) * 96", {"always"}),
        ("0 if whole else nl.program_id(0) * 96", {"sometimes"}),  # and what is left is not known
    ],
)
def test_instances_that_take_part_with_the_same_may_gather_the_same(
    start: str, verdicts: set[str]
) -> None:
    report = analyze_source(KERNEL.format(start=start))
    found = [d for d in report.diagnostics if d.rule == "loop-carried-dependence"]
    assert {d.verdict for d in found} == verdicts, found
    assert any(kernel.reasons for kernel in report.kernels) == (verdicts != {"always"})
