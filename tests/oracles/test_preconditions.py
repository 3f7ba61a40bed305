"""Runs agree with preconditions, on both sides of them, and it would show if they did not."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.oracles import preconditions
from tests.oracles.admitted import Totals
from verifier.engine import analyze_file
from verifier.report.model import FileRequest, FileResult
from verifier.rulebase import find
from verifier.solver.query import Model
from verifier.symbolic import expr as E

FIXTURES = Path(__file__).parents[2] / "fixtures"
RULE = find("precondition")
assert RULE is not None
#: nothing is said of the columns
OPEN = RULE.failing.replace("    assert f <= 2000\n", "")


def _totals(folder: Path, runs: int) -> Totals:
    file = folder / "kernel.py"
    file.write_text(OPEN, encoding="utf-8")
    totals = Totals()
    preconditions.disagreements(file, folder, runs, 0, totals)
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
    real = preconditions.Bounds.of

    def swapped(bounds: preconditions.Bounds, model: Model) -> preconditions.Side | None:
        side = real(bounds, model)
        return side and dataclasses.replace(side, inside=not side.inside)

    monkeypatch.setattr(preconditions.Bounds, "of", swapped)
    totals = _totals(tmp_path, 24)
    assert totals.counts["wrong"] == len(totals.wrong)
    assert any(f"{place} of `" in problem for problem in totals.wrong)


def test_most_inputs_are_beside_a_bound() -> None:
    """Of a bound and of a multiple, the last numbers that meet them and the first that do not."""
    size = E.symbol("n", lo=1)
    (number,) = size.free()
    for condition, last, step in ((E.le(size, 1000), 1000, 1), (E.eq(E.mod(size, 128), 0), 128, 1)):
        bounds = preconditions.Bounds((), (), (condition,), frozenset())
        drawn = list(bounds.near([{"n": 640}], [number], random.Random(0), 200))
        found = {int(model["n"]) for model in drawn}
        assert {last, last + step} <= found or {639, 640, 641} <= found
        sides = {bool(side and side.inside) for side in map(bounds.of, drawn)}
        assert sides == {True, False}


def test_kernels_of_every_dialect_are_run() -> None:
    totals = Totals()
    for name, runs in (("okk/bad/silent_return.py", 24), ("ppl/bad/wide_rows.py", 12)):
        before = totals.counts["kernels"]
        preconditions.disagreements(FIXTURES / name, FIXTURES, runs, 0, totals)
        assert totals.counts["kernels"] > before
    assert totals.wrong == []
    assert totals.counts["inside clean"] >= 10
    assert totals.counts["outside broken"] >= 10


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
