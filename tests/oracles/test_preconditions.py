"""Runs agree with preconditions, on both sides of them, and it would show if they did not."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.oracles import preconditions
from tests.oracles.admitted import Totals
from tests.oracles.drawing import Inputs
from tests.oracles.nearby import Bounds, Side, Walk
from verifier.engine import analyze_file
from verifier.report.model import FileRequest, FileResult
from verifier.rulebase import find
from verifier.solver.query import Model
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr

FIXTURES = Path(__file__).parents[2] / "fixtures"
RULE = find("precondition")
assert RULE is not None
#: nothing is said of the columns
OPEN = RULE.failing.replace("    assert f <= 2000\n", "")


def _totals(folder: Path, runs: int) -> Totals:
    file = folder / "kernel.py"
    file.write_text(OPEN, encoding="utf-8")
    totals = Totals()
    for _ in preconditions.disagreements(file, folder, runs, 0, totals):
        pass
    return totals


def test_runs_agree(tmp_path: Path) -> None:
    totals = _totals(tmp_path, 24)
    assert totals.wrong == []
    assert totals.counts["kernels"] == 1
    assert totals.counts["inside clean"] >= 5
    assert totals.counts["outside broken"] >= 5


@pytest.mark.parametrize("place", ["inside", "outside"])
def test_a_wrong_precondition_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """The runs that are drawn on one side are taken for those of the other."""
    real = Bounds.of

    def swapped(bounds: Bounds, model: Model) -> Side | None:
        side = real(bounds, model)
        return side and Side(not side.inside, "its twin" if side.inside else "")

    monkeypatch.setattr(Bounds, "of", swapped)
    totals = _totals(tmp_path, 24)
    assert totals.counts["wrong"] == len(totals.wrong)
    assert {"its text says otherwise" in problem for problem in totals.wrong} == {True, False}
    assert any(problem.startswith(place) for problem in totals.wrong)


class _Free(Inputs):
    """Inputs of which nothing is known but their sizes."""

    def __init__(self, *sizes: Expr) -> None:
        self.constants = ()
        self._symbols, self._flags = [s for size in sizes for s in size.free()], []

    def given(self, model: Model) -> dict[str, Any]:
        return dict(model)


def _walk(bounds: Bounds, model: Model, *sizes: Expr) -> Walk:
    return Walk(_Free(*sizes), bounds, random.Random(0), [model])


def test_most_inputs_are_beside_a_bound() -> None:
    """Of a bound and of a multiple, the last numbers that meet them and the first that do not."""
    size = E.symbol("n", lo=1)
    for condition, last, step in ((E.le(size, 1000), 1000, 1), (E.eq(E.mod(size, 128), 0), 128, 1)):
        walk = _walk(Bounds((), (condition,)), {"n": 640}, size)
        drawn = list(walk.draw({True: 8, False: 16}))
        assert [side.inside for side, _ in drawn].count(False) == 16
        found = {given["n"] for _, given in drawn}
        assert len(found) == len(drawn) == 24
        assert {last, last + step} <= found or {639, 640, 641} <= found


def test_what_belongs_together_is_moved_together() -> None:
    """Two sizes that are to be equal, and a third that the kernel demands to be their product."""
    m, n, k = (E.symbol(name, lo=1) for name in "mnk")
    bounds = Bounds((E.eq(k, m * n),), (E.eq(m, n), E.le(m, 64)))
    drawn = list(_walk(bounds, {"m": 4, "n": 4, "k": 16}, m, n, k).draw({True: 40, False: 40}))
    assert [side.inside for side, _ in drawn].count(True) >= 20
    assert all(given["k"] == given["m"] * given["n"] for _, given in drawn)
    assert {given["m"] for side, given in drawn if side.inside} >= {1, 2, 63, 64}


def test_a_side_that_has_no_more_inputs_leaves_its_share_to_the_other() -> None:
    size = E.symbol("n", lo=1)
    drawn = list(_walk(Bounds((), (E.le(size, 3),)), {"n": 1}, size).draw({True: 10, False: 10}))
    assert [side.inside for side, _ in drawn].count(True) == 3
    assert len(drawn) == 20


def test_kernels_of_every_dialect_are_run() -> None:
    totals = Totals()
    for name, runs in (("okk/bad/silent_return.py", 24), ("ppl/bad/wide_rows.py", 12)):
        before = totals.counts["kernels"]
        found = list(preconditions.disagreements(FIXTURES / name, FIXTURES, runs, 0, totals))
        assert totals.counts["kernels"] == before + len(found) > before
        assert all(told.runs == runs == told.counts["texts read"] for told in found)
    assert totals.wrong == []
    assert totals.counts["inside clean"] >= 10
    assert totals.counts["outside broken"] >= 10


def test_where_one_side_has_few_inputs_the_other_is_tried_more() -> None:
    totals = Totals()
    file = FIXTURES / "ppl/bad/silent_choice.py"  # no run shows what is outside
    told = next(iter(preconditions.disagreements(file, FIXTURES, 16, 0, totals)))
    assert told.runs == told.answers("inside") == 16
    assert totals.wrong == []


def test_what_is_not_known_is_not_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def undecided(request: FileRequest) -> FileResult:
        result = analyze_file(request)
        kernels = (
            replace(k, precondition=k.precondition and replace(k.precondition, sufficient=False))
            for k in result.kernels
        )
        return replace(result, kernels=tuple(kernels))

    monkeypatch.setattr(preconditions, "analyze_file", undecided)
    assert _totals(tmp_path, 2).counts == {}
