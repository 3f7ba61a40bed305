"""The coverage table accounts for every catalogue row, and for nothing else."""

from __future__ import annotations

from rules.coverage import PARTLY, coverage, decided, facts, tpu_facts
from verifier.rulebase import all_rules


def test_every_row_has_a_rule_or_a_reason() -> None:
    rows = coverage()
    assert len(list(facts())) == 1004 and len(list(tpu_facts())) == 497
    assert len({row.fact for row in rows}) == len(rows) == 1501
    assert all(row.rule is not None or row.why for row in rows)


def test_rules_name_rows_that_exist() -> None:
    nki = {f"NKI-{fact}" for fact, _ in facts()}
    tpu = {fact for fact, _ in tpu_facts()}
    for rule in all_rules():
        named = {fact if "-" in fact else f"NKI-{fact}" for fact in rule.facts}
        assert named <= nki | tpu, rule.id
        assert rule.dialects != ("nki",) or named <= nki, rule.id


def test_every_fact_is_enforced_or_says_why_not() -> None:
    assert [row.fact for row in coverage() if row.why == "not enforced yet"] == []


def test_what_is_enforced_in_part_says_of_what_not() -> None:
    rows = {row.fact: row for row in coverage()}
    assert all(
        rows[fact].rule is not None and rows[fact].why == why for fact, why in PARTLY.items()
    )
    assert "NKI-G35" in PARTLY  # kernels that call kernels are judged in 0.2 only


def test_what_is_rejected_or_undefined_is_enforced() -> None:
    shares = {means: enforced / number for means, number, enforced in decided(coverage())}
    assert shares.pop("from order and state") >= 0.95
    assert set(shares.values()) == {1.0}


def test_ids_and_codes_are_unique_and_documented() -> None:
    rules = all_rules()
    assert len({rule.id for rule in rules}) == len({rule.code for rule in rules}) == len(rules)
    for rule in rules:
        assert rule.summary and rule.reason and rule.failing and rule.passing, rule.id
