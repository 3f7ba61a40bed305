"""Rows of the catalogue at their limits: what breaks one is reported, what keeps it is verified.

Where both can be run, a run says the same. Every row that a rule claims is shown by some example.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from rules import rows
from rules.rows.frames import Row
from verifier.engine import analyze_source
from verifier.executor import simulate
from verifier.rulebase import Shown, find

from .test_examples import told


def collected() -> list[Row]:
    """All rows, in the order of their files."""
    names = sorted(info.name for info in pkgutil.iter_modules(rows.__path__))
    modules = [importlib.import_module(f"rules.rows.{name}") for name in names]
    return [row for module in modules for row in getattr(module, "ROWS", ())]


ROWS = collected()
NAMES = [f"{row.fact}-{row.rule}-{number}" for number, row in enumerate(ROWS)]
CERTAIN = ("always", "sometimes")

#: what ends a run that has no meaning for what it came to, or meets an error of Python's
UNSUPPORTED, RAISED = "unsupported", "raised"


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_a_row_is_reported_at_its_limit_and_not_before(row: Row) -> None:
    twin = row.twin()
    rule = find(row.rule)
    assert rule is not None and f"NKI-{row.fact}" in {_full(fact) for fact in rule.facts}
    wrong = analyze_source(twin.failing, target=twin.target, api_version=twin.api)
    found = [d.verdict for d in wrong.diagnostics if d.rule == row.rule]
    assert any(verdict in (("unknown",) if row.open else CERTAIN) for verdict in found), told(wrong)
    right = analyze_source(twin.passing, target=twin.target, api_version=twin.api)
    assert not right.errors and not right.diagnostics, told(right)
    assert {kernel.status for kernel in right.kernels} == {"verified"}, told(right)


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if (rule := find(row.rule)) and rule.replayed.shown is not Shown.NEVER],
    ids=lambda row: f"{row.fact}-{row.rule}",
)
def test_a_run_says_the_same(row: Row, tmp_path: Path) -> None:
    if row.fact == "L71":
        pytest.skip("a keyword of the decorator, which no run sees")
    twin = row.twin()
    for place, text in ((1, twin.failing), (2, twin.passing)):
        file = tmp_path / f"kernel_{place}.py"
        file.write_text(text, encoding="utf-8")
        arguments = {name: data(dtype, shape) for name, dtype, shape in row.tensors(place)}
        if any(value is None for value in arguments.values()):
            pytest.skip("inputs of a type that NumPy does not have")
        made = simulate(f"{file}::kernel", twin.target, twin.api)
        outcome = (made[row.cores] if row.cores > 1 else made).outcome(**arguments)
        ended = outcome.ended[0] if outcome.ended is not None else ""
        if place == 1:
            assert outcome.diagnostics or ended == RAISED
        else:
            assert not outcome.diagnostics and ended in ("", UNSUPPORTED), outcome.ended


def data(dtype: str, shape: tuple[int, ...]) -> Any:
    """Small numbers of an element type, from 0 where they may be indices; None: there are none."""
    if dtype.endswith("_x4") or dtype == "tfloat32":
        return None
    if "int" in dtype:
        return np.zeros(shape, dtype)
    rng = np.random.default_rng(3)
    numbers = rng.standard_normal(shape, np.float32)
    return numbers.astype(getattr(ml_dtypes, dtype, dtype))


def _full(fact: str) -> str:
    return fact if fact.startswith("NKI-") else f"NKI-{fact}"
