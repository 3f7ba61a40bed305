"""What is known at a point of a run, in the order in which it was learnt."""

from __future__ import annotations

import pytest

from verifier.engine.analysis import analyze_source
from verifier.solver import Solver
from verifier.symbolic.expr import Bool

TEXT = """\
import nki
import nki.language as nl

@nki.jit
def kernel(x, deep, wide):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(x.shape[0]):
        if deep > i:
            if wide > 3 * i:
                tile = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)
    return out
"""


def test_what_a_path_adds_in_a_loop_stands_behind_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[tuple[Bool, ...], None] = {}
    decide = Solver.decide

    def noted(solver: Solver, facts: tuple[Bool, ...], condition: Bool) -> bool | None:
        asked[facts] = None
        return decide(solver, facts, condition)

    monkeypatch.setattr(Solver, "decide", noted)
    analyze_source(TEXT)
    trips = [facts for facts in asked if any("deep" in repr(fact) for fact in facts)]
    assert trips
    for facts in trips:
        shorter = [facts[:length] for length in range(1, len(facts)) if facts[:length] in asked]
        assert any("x.shape[0]" in repr(known[-1]) for known in shorter)
