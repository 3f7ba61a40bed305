"""The coverage table accounts for every catalogue row, and for nothing else."""

from __future__ import annotations

from rules.coverage import coverage, facts
from verifier.rulebase import all_rules


def test_every_row_has_a_rule_or_a_reason() -> None:
    rows = coverage()
    assert len(rows) == 1004
    assert len({row.fact for row in rows}) == len(rows)
    assert all(row.rule is not None or row.why for row in rows)


def test_rules_name_rows_that_exist() -> None:
    known = {f"NKI-{fact}" for fact, _ in facts()}
    for rule in all_rules():
        if "nki" in rule.dialects:
            assert {f"NKI-{fact.removeprefix('NKI-')}" for fact in rule.facts} <= known, rule.id


def test_ids_and_codes_are_unique_and_documented() -> None:
    rules = all_rules()
    assert len({rule.id for rule in rules}) == len({rule.code for rule in rules}) == len(rules)
    for rule in rules:
        assert rule.summary and rule.reason and rule.failing and rule.passing, rule.id
