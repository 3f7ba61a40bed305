"""The good TPU fixtures compute what they say they do, and break no rule."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.tpu_executor.cases import GOOD, Case
from verifier.executor import simulate
from verifier.executor.running import Outcome

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


def performed(case: Case, arguments: dict[str, object]) -> Outcome:
    path = FIXTURES / case.dialect / "good" / f"{case.file}.py"
    simulation = simulate(f"{path}::{case.kernel}", case.target)
    return (simulation[case.grid] if case.grid else simulation).outcome(**arguments)


@pytest.mark.parametrize("case", GOOD, ids=[f"{c.file}-{k}" for k, c in enumerate(GOOD)])
def test_result(case: Case) -> None:
    arguments = case.make()
    copies = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
    outcome = performed(case, arguments)
    assert outcome.ended is None and outcome.diagnostics == []
    expected = case.expect(copies)
    several = expected if isinstance(expected, tuple) else (expected,)
    for got, wanted in zip(outcome.outputs, map(np.asarray, several), strict=True):
        assert got.shape == wanted.shape
        if case.tolerance == 0.0:
            assert np.array_equal(got, wanted)
            continue
        error = np.abs(got.astype(np.float64) - wanted).max() / np.abs(wanted).max()
        assert error <= case.tolerance, error


def test_every_good_fixture_has_a_case() -> None:
    known = {(case.dialect, case.file) for case in GOOD}
    for dialect in ("okk", "ppl"):
        for path in (FIXTURES / dialect / "good").glob("*.py"):
            assert (dialect, path.stem) in known, path
