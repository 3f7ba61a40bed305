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
    ("start", "verdicts", "taken"),
    [
        ("0", set(), True),  # both take part with the same
        ("nl.program_id(0) * 96", {"always"}, False),
        ("0 if whole else nl.program_id(0) * 96", {"sometimes"}, True),
    ],
)
def test_instances_that_take_part_with_the_same_gather_the_same_where_ranks_are_alike(
    start: str, verdicts: set[str], taken: bool
) -> None:
    """What the other ranks give is not in the text: the report says what it rests on."""
    report = analyze_source(KERNEL.format(start=start))
    found = [d for d in report.diagnostics if d.rule == "loop-carried-dependence"]
    assert {d.verdict for d in found} == verdicts, found
    (kernel,) = report.kernels
    assert kernel.reasons == ()
    said = "`all_gather` gives each program instance the same: taken to be so"
    assert (said in kernel.assumptions) == taken
