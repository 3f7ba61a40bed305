"""What each rule of the migration says of itself is so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.migration.test_texts import found
from tests.rules.test_examples import MIGRATION, analyze, told
from verifier.report.model import FileResult
from verifier.rulebase import Rule, all_rules

RULES = [rule for rule in all_rules() if rule.family == MIGRATION]


def of(folder: Path, text: str) -> FileResult:
    path = folder / "kernel.py"
    path.write_text(text, encoding="utf-8")
    return found(path)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_failing_example_is_reported(rule: Rule, tmp_path: Path) -> None:
    result = of(tmp_path, rule.failing)
    assert not result.errors
    assert rule.id in {d.rule for d in result.diagnostics}, told(result)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_passing_example_is_not(rule: Rule, tmp_path: Path) -> None:
    result = of(tmp_path, rule.passing)
    assert rule.id not in {d.rule for d in result.diagnostics}, told(result)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_check_without_the_option_says_nothing_of_it(rule: Rule) -> None:
    assert rule.id not in {d.rule for d in analyze(rule.failing).diagnostics}
