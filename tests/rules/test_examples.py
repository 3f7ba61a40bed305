"""Every rule's failing example is reported by that rule, and its passing example is verified."""

from __future__ import annotations

import re

import pytest

from tests.sweeps import Part, part
from verifier.engine import analyze_source
from verifier.report.model import FileResult
from verifier.rulebase import ADVICE, Rule, Twin, all_rules

#: applied behind the analysis, see tests/suppressions and tests/service
BEHIND = ("precondition", "suppression")
#: of texts on their way to a later generation, see tests/migration
MIGRATION = "migration"
#: all of them, in each run
RULES = Part(rule for rule in all_rules() if rule.family not in (*BEHIND, MIGRATION))


def analyze(text: str, rule: Rule | None = None) -> FileResult:
    """The report of an example, for the target that its ``# target:`` line names.

    Advice is given by the rule that is looked at alone.
    """
    named = re.match(r"# target: (\w+)", text)
    select: tuple[str, ...] = ()
    if rule is not None and rule.family == ADVICE:
        select = (rule.id, *(r.id for r in RULES if r.family != ADVICE))
    return analyze_source(text, target=named.group(1) if named else "trn2", select=select)


def told(result: FileResult) -> str:
    lines = [
        f"{d.rule} {d.severity} {d.verdict} {d.span.line}: {d.message} [{d.predicate}]"
        for d in result.diagnostics
    ]
    lines += [f"error: {error}" for error in result.errors]
    for kernel in result.kernels:
        lines.append(f"{kernel.name}: {kernel.status} {[r.message for r in kernel.reasons]}")
    return "\n".join(lines)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_failing_example_is_reported(rule: Rule) -> None:
    result = analyze(rule.failing, rule)
    assert not result.errors
    found = [d for d in result.diagnostics if d.rule == rule.id]
    assert any(d.verdict in ("always", "sometimes") for d in found), told(result)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_passing_example_is_verified(rule: Rule) -> None:
    result = analyze(rule.passing, rule)
    assert not result.errors and not result.diagnostics, told(result)
    assert {kernel.status for kernel in result.kernels} == {"verified"}, told(result)


TWINS = [(rule, twin) for rule in RULES for twin in rule.twins]
#: of each rule, generation and target one at least
SOME = part(TWINS, 3, lambda each: [each[0].id, (each[1].api, each[1].target)])


@pytest.mark.parametrize(
    ("rule", "twin"), SOME, ids=lambda each: getattr(each, "fact", None) or each.id
)
def test_a_row_is_reported_at_its_limit_and_not_before(rule: Rule, twin: Twin) -> None:
    wrong = analyze_source(twin.failing, target=twin.target, api_version=twin.api)
    found = [d for d in wrong.diagnostics if d.rule == rule.id and twin.fact in d.facts]
    assert any(d.verdict in ("always", "sometimes") for d in found), told(wrong)
    right = analyze_source(twin.passing, target=twin.target, api_version=twin.api)
    assert not right.errors and not right.diagnostics, told(right)
    assert {kernel.status for kernel in right.kernels} == {"verified"}, told(right)
