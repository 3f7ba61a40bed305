"""Rows of the catalogue at their limits: what breaks one is reported, what keeps it is verified.

Where both can be run, a run says the same. Every row that a rule claims is shown by some example.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from rules import rows
from rules.rows.frames import Row
from tests.sweeps import part
from verifier.engine import analyze_source
from verifier.executor import simulate
from verifier.rulebase import Rule, Shown, Twin, find

from .test_examples import TWINS, told


def collected() -> list[Row]:
    """All rows, in the order of their files."""
    names = sorted(info.name for info in pkgutil.iter_modules(rows.__path__))
    modules = [importlib.import_module(f"rules.rows.{name}") for name in names]
    return [row for module in modules for row in getattr(module, "ROWS", ())]


ROWS = collected()
NAMES = {id(row): f"{row.fact}-{row.rule}-{number}" for number, row in enumerate(ROWS)}
#: of each rule, generation and target one at least
CHECKED: list[Row] = part(ROWS, 3, lambda row: [row.rule, (row.api, row.target)])
RUN = [row for row in ROWS if (rule := find(row.rule)) and rule.replayed.shown is not Shown.NEVER]
#: of each rule, generation and target one at least
SOME: list[Row] = part(RUN, 3, lambda row: [row.rule, (row.api, row.target)])
RUN_TWINS = [
    (rule, twin)
    for rule, twin in TWINS
    if "nki" in rule.dialects and rule.replayed.shown is not Shown.NEVER
]
SOME_TWINS: list[tuple[Rule, Twin]] = part(
    RUN_TWINS, 1, lambda each: [each[0].id, (each[1].api, each[1].target)]
)
CERTAIN = ("always", "sometimes")
#: names, dtypes and shapes of a kernel's inputs
Inputs = list[tuple[str, str, tuple[int, ...]]]
#: what a kernel asserts of an input
SHAPE = re.compile(r"\b(\w+)\.shape == \(([\d, ]*)\)")
DTYPE = re.compile(r"\b(\w+)\.dtype == nl\.(\w+)")

#: what ends a run that has no meaning for what it came to, or meets an error of Python's
UNSUPPORTED, RAISED = "unsupported", "raised"


def test_a_row_is_one_that_its_rule_enforces() -> None:
    for row in ROWS:
        rule = find(row.rule)
        assert rule is not None and f"NKI-{row.fact}" in {_full(fact) for fact in rule.facts}, row


@pytest.mark.parametrize("row", CHECKED, ids=[NAMES[id(row)] for row in CHECKED])
def test_a_row_is_reported_at_its_limit_and_not_before(row: Row) -> None:
    twin = row.twin()
    wrong = analyze_source(twin.failing, target=twin.target, api_version=twin.api)
    found = [d.verdict for d in wrong.diagnostics if d.rule == row.rule]
    assert any(verdict in CERTAIN for verdict in found), told(wrong)
    right = analyze_source(twin.passing, target=twin.target, api_version=twin.api)
    assert not right.errors and not right.diagnostics, told(right)
    assert {kernel.status for kernel in right.kernels} == {"verified"}, told(right)


@pytest.mark.parametrize(
    "row",
    SOME,
    ids=lambda row: f"{row.fact}-{row.rule}",
)
def test_a_run_says_the_same(row: Row, tmp_path: Path) -> None:
    if row.fact == "L71":
        pytest.skip("a keyword of the decorator, which no run sees")
    twin = row.twin()
    for place, text in ((1, twin.failing), (2, twin.passing)):
        file = tmp_path / f"kernel_{place}.py"
        file.write_text(text, encoding="utf-8")
        run_of_twin(file, twin, "kernel", row.tensors(place), row.cores, breaks=place == 1)


@pytest.mark.parametrize(
    ("rule", "twin"),
    SOME_TWINS,
    ids=lambda each: getattr(each, "fact", None) or each.id,
)
def test_a_run_says_the_same_of_a_twin(rule: Rule, twin: Twin, tmp_path: Path) -> None:
    for place, text in ((1, twin.failing), (2, twin.passing)):
        file = tmp_path / f"kernel_{place}.py"
        file.write_text(text, encoding="utf-8")
        name, inputs = demanded(text)
        run_of_twin(file, twin, name, inputs, 1, breaks=place == 1)


def run_of_twin(
    file: Path, twin: Twin, kernel: str, inputs: Inputs, cores: int, *, breaks: bool
) -> None:
    """Of the kernel that breaks a row a run says so, of the one that keeps it nothing."""
    arguments = {name: data(dtype, shape) for name, dtype, shape in inputs}
    if any(value is None for value in arguments.values()):
        pytest.skip("inputs of a type that NumPy does not have")
    made = simulate(f"{file}::{kernel}", twin.target, twin.api)
    outcome = (made[cores] if cores > 1 else made).outcome(**arguments)
    ended = outcome.ended[0] if outcome.ended is not None else ""
    if breaks:
        assert outcome.diagnostics or ended == RAISED
    else:
        assert not outcome.diagnostics and ended in ("", UNSUPPORTED), outcome.ended


def demanded(text: str) -> tuple[str, Inputs]:
    """The kernel of a text, and the tensors that it needs as its assertions say they are."""
    kernel = [
        each
        for each in ast.parse(text).body
        if isinstance(each, ast.FunctionDef) and each.decorator_list
    ][-1]
    required = len(kernel.args.args) - len(kernel.args.defaults)
    sizes, dtypes = dict(SHAPE.findall(text)), dict(DTYPE.findall(text))
    inputs: Inputs = []
    for name in (each.arg for each in kernel.args.args[:required]):
        shape = tuple(int(size) for size in sizes[name].split(",") if size.strip())
        inputs.append((name, dtypes.get(name, "float32"), shape))
    return kernel.name, inputs


def data(dtype: str, shape: tuple[int, ...]) -> Any:
    """Small numbers of an element type, None: NumPy has none.

    What may be indices are zeros, a column of them all different.
    """
    if dtype.endswith("_x4") or dtype == "tfloat32":
        return None
    if "int" in dtype:
        rows = np.arange(shape[0] if shape[1:] == (1,) else 1).reshape(-1, *[1] * (len(shape) - 1))
        return np.broadcast_to(rows, shape).astype(dtype)
    rng = np.random.default_rng(3)
    numbers = rng.standard_normal(shape, np.float32)
    return numbers.astype(getattr(ml_dtypes, dtype, dtype))


def _full(fact: str) -> str:
    return fact if fact.startswith("NKI-") else f"NKI-{fact}"
