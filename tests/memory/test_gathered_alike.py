"""What program instances compute alike and write to one place."""

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


PLACES = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def placed(x):
    assert x.shape == (128, 20) and nl.num_programs(0) == 2
    own = nl.program_id(0)
    out = nl.ndarray((128, 20), dtype=x.dtype, buffer=nl.shared_hbm)
    acc = nl.zeros((128, 20), dtype=nl.float32)
    for i in nl.sequential_range({trips}):
        tile = nl.load(x[own * i : own * i + 128, :])
        {body}
    return out
"""


@pytest.mark.parametrize(
    ("trips", "body", "verdicts"),
    [
        (1, "nl.store(out[own * i : own * i + 128, :], value=tile)", set()),
        (1, "nl.store(out, value=tile)", set()),
        (1, "nl.store(out, value=tile * own)", {"always"}),
        # what was added in rounds before is the instance's own
        (
            3,
            "acc[...] = acc + nl.load(x) * (own * (2 - i)); nl.store(out, value=acc)",
            {"always"},
        ),
    ],
)
def test_what_is_made_in_a_round_is_alike_where_that_round_is(
    trips: int, body: str, verdicts: set[str]
) -> None:
    report = analyze_source(PLACES.format(trips=trips, body=body), target="trn2")
    found = [d for d in report.diagnostics if d.rule == "loop-carried-dependence"]
    assert {d.verdict for d in found} == verdicts, found
