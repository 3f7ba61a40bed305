"""Runs agree with preconditions, on both sides of them, and it would show if they did not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.oracles import preconditions
from tests.oracles.admitted import Totals
from verifier.engine import analyze_file
from verifier.report.model import FileRequest, FileResult
from verifier.rulebase import find

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
    real = preconditions._side

    def swapped(*given: object) -> preconditions.Side:
        side = real(*given)  # type: ignore[arg-type]
        return replace(side, inside=not side.inside)

    monkeypatch.setattr(preconditions, "_side", swapped)
    totals = _totals(tmp_path, 24)
    assert totals.counts["wrong"] == len(totals.wrong)
    assert any(f"{place} of `" in problem for problem in totals.wrong)


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
