"""Checks of hand-built traces, decided by the solver."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from verifier.hardware.targets import TARGETS, Target
from verifier.solver import Query, Solver
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool
from verifier.symbolic.trace import Trace

TRN2 = TARGETS["trn2"]
Rule = Callable[[Trace, Target], Iterable[Check]]


def verdict(check: Check, assumptions: tuple[Bool, ...] = ()) -> str:
    """``proved``, ``refuted``, or what else the solver says."""
    facts = (*assumptions, *(check.path or ()), *check.given)
    return Solver().check(Query(facts, check.predicate, check.exact, check.reason)).kind.value


def verdicts(
    rule: Rule, trace: Trace, *assumptions: Bool, target: Target = TRN2
) -> dict[str, list[str]]:
    """The checks that are not proved: kind of answer -> messages."""
    out: dict[str, list[str]] = {}
    for check in rule(trace, target):
        kind = verdict(check, assumptions)
        if kind != "proved":
            out.setdefault(kind, []).append(check.message)
    return out
