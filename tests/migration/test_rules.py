"""What each rule of the migration says of itself is so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.migration.test_texts import TO, found
from tests.rules.test_examples import MIGRATION, analyze, told
from verifier.report.model import FileResult
from verifier.rulebase import Rule, Twin, all_rules

RULES = [rule for rule in all_rules() if rule.family == MIGRATION]


#: rows that another row of the same rule repeats, or a later text of it
WITHOUT: frozenset[str] = frozenset()
TWINS = [(rule, twin) for rule in RULES for twin in rule.twins]


def of(folder: Path, text: str, api: str | None = None, to: str = TO) -> FileResult:
    path = folder / "kernel.py"
    path.write_text(text, encoding="utf-8")
    return found(path, api=api, to=to)


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


@pytest.mark.parametrize(
    ("rule", "twin"), TWINS, ids=lambda each: getattr(each, "fact", None) or each.id
)
def test_a_row_is_reported_where_it_is_broken(rule: Rule, twin: Twin, tmp_path: Path) -> None:
    fact = twin.fact.removeprefix("NKI-")
    wrong = of(tmp_path, twin.failing, twin.api, twin.to)
    assert not wrong.errors
    assert any(d.rule == rule.id and fact in d.facts for d in wrong.diagnostics), told(wrong)
    right = of(tmp_path, twin.passing, twin.api, twin.to)
    assert not right.errors
    assert not [d for d in right.diagnostics if fact in d.facts or d.severity == "error"], told(
        right
    )


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_row_of_a_difference_has_its_twins(rule: Rule) -> None:
    missing = set(rule.facts) - {twin.fact for twin in rule.twins}
    assert missing <= WITHOUT
