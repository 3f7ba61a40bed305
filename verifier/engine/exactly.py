"""A kernel whose short loops go trip by trip: where a generic trip of them leaves something open.

What memory holds after a trip that nobody has picked is a formula, and some are too irregular to
add up: places like ``3 * i % n``, tiles that are told apart by the trip, what is done in one trip
only. Where the numbers of trips are known, the trips themselves say it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from verifier.engine.gathering import Verdict, VerdictKind
from verifier.rulebase import Rule
from verifier.source.ir import Span
from verifier.symbolic.instruction import Trait
from verifier.symbolic.python.entry import Run
from verifier.symbolic.python.loops import is_short

#: operations that all trips together may come to
_MOST: Final = 512


def is_worth_it(run: Run, verdicts: Iterable[Verdict]) -> bool:
    """Whether all that is open is what memory holds, and loops can go trip by trip."""
    opened = _opened(verdicts)
    if run.late or not opened or not all(_finds_as_much(rule) for rule in opened.values()):
        return False
    operations = run.trace.operations
    total = 0
    for operation in operations:
        if operation.instruction is not None and Trait.PIPELINES in operation.instruction.traits:
            return False  # its loop runs in stages, one trip beside the next
        trips = 1
        for loop in operation.loops:
            if is_short(loop):
                trips *= loop.trips.const
        total += trips
    return len(operations) < total <= _MOST


def _finds_as_much(rule: Rule) -> bool:
    """Whether it finds as much where loops go trip by trip."""
    return rule.family == "memory" and rule.of_loops is None


def _opened(verdicts: Iterable[Verdict]) -> dict[str, Rule]:
    """The rules of which something is open."""
    rules = (v.obligation.rule for v in verdicts if v.kind is VerdictKind.UNKNOWN)
    return {rule.id: rule for rule in rules}


def settles(first: Sequence[Verdict], second: Sequence[Verdict]) -> bool:
    """Whether a ``second`` run leaves nothing open, and else says what the ``first`` one said.

    What was violated is violated there, and only rules of which something was open find more.
    """
    opened = _opened(first)
    if any(verdict.kind is VerdictKind.UNKNOWN for verdict in second):
        return False
    before, after = _violated(first), _violated(second)
    return before <= after and all(rule in opened for rule, _ in after - before)


def _violated(verdicts: Iterable[Verdict]) -> set[tuple[str, Span]]:
    return {
        (verdict.obligation.rule.id, span)
        for verdict in verdicts
        if verdict.kind.violated and not verdict.noted
        for span in (verdict.obligation.check.span, *verdict.others)
    }
