"""Views whose elements are known, leave the tensor, or lie where nobody documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ppl.support import check, rules

KERNEL = """\
# tilelint: contract (out_ptr: fp16[1, 18, 1, 30], src_ptr: fp16[1, 18, 1, 30], flag: 0..1)
@ppl.jit
def viewed(out_ptr, src_ptr, flag: pl.constexpr):
    source = pl.gtensor([1, 18, 1, 30], pl.GLOBAL, src_ptr)
    target = pl.gtensor([1, 18, 1, 30], pl.GLOBAL, out_ptr)
    {statement}
"""
WHOLE = "a = pl.make_tensor([1, 18, 1, 30], pl.float16)\n    "
ROWS = "a = pl.make_tensor([1, 1, 18, 30], pl.float16)\n    "
STORED = "\n    pl.dma.store(target, a)"


@pytest.mark.parametrize(
    "statement, expected",
    [
        # the steps of the tensor itself
        (WHOLE + "pl.dma.load(a, source.view(stride=[540, 30, 30, 1]))" + STORED, set()),
        # every row once more
        (
            WHOLE + "pl.dma.load(a, source.view(stride=[540, 60, 30, 1]))" + STORED,
            {"ppl-sub-view"},
        ),
        (
            WHOLE
            + "pl.dma.load(a, source.sub_view([1, 18, 1, 30], [0, 0, 0, 0], [540, 31, 30, 1]))"
            + STORED,
            {"ppl-sub-view"},
        ),
        # one row for all of them
        (WHOLE + "pl.dma.load(a, source.view(stride=[540, 0, 30, 1]))" + STORED, set()),
        # as many elements, at other places: every second row is left out
        (
            WHOLE + "pl.dma.load(a, source)\n    "
            "pl.dma.store(target.view(stride=[540, 60, 30, 1]), a)",
            {"ppl-sub-view", "output-not-written"},
        ),
    ],
)
def test_steps_stay_in_the_tensor(tmp_path: Path, statement: str, expected: set[str]) -> None:
    found = rules(check(tmp_path, KERNEL.format(statement=statement), "bm1684x"))
    assert {rule for rule, verdict in found.items() if verdict != "unknown"} == expected


@pytest.mark.parametrize(
    "made, shape",
    [("[1, 1, 18, 30]", "[1, 18, 1, 30]"), ("[3, 18, 1, 10]", "[1, 18, 1, 30]")],
)
def test_where_elements_of_other_lanes_lie_is_open(tmp_path: Path, made: str, shape: str) -> None:
    statement = (
        f"a = pl.make_tensor({made}, pl.float16)\n    pl.dma.load(a, source)\n    "
        f"pl.dma.store(target, a.view(shape={shape}))"
    )
    found = check(tmp_path, KERNEL.format(statement=statement), "bm1684x")
    assert found.kernels[0].status == "unknown"


def test_a_list_of_offsets_from_a_branch_is_no_error(tmp_path: Path) -> None:
    statement = (
        "place = [0, 0, 0, 0]\n    if flag == 1:\n        place = [0, 9, 0, 0]\n    "
        "a = pl.make_tensor([1, 9, 1, 30], pl.float16)\n    pl.dma.zero(target)\n    "
        "pl.dma.load(a, source.sub_view([1, 9, 1, 30], place))\n    "
        "pl.dma.store(target.sub_view([1, 9, 1, 30], place), a)"
    )
    found = check(tmp_path, KERNEL.format(statement=statement), "bm1684x")
    assert all(d.severity == "note" for d in found.diagnostics)
    assert found.kernels[0].status == "unknown"
