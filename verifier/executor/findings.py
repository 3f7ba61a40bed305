"""Checks on plain numbers: whether one holds, and the diagnostic when it does not."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from verifier.dialects.registry import cited
from verifier.executor.access import NotConcreteError, truth, value
from verifier.report import model as report
from verifier.report.spans import span_of, subject_of
from verifier.rulebase import Rule
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool, Expr

#: elements of a predicate's axes that are looked at together
_MOST = 1 << 24


class ViolationError(BaseException):
    """The first violation of a run that does not go on. Not for kernels to catch."""

    def __init__(self, diagnostic: report.Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class UnsupportedError(Exception):
    """The kernel does something that the executor has no meaning for."""

    def __init__(self, message: str, span: Span | None = None) -> None:
        super().__init__(message)
        self.span = span


class MisuseError(Exception):
    """What was asked for makes no sense: one message for the user."""

    def __init__(self, message: str, span: Span | None = None) -> None:
        super().__init__(message)
        self.span = span


def holds(predicate: Bool, given: tuple[Bool, ...]) -> bool | None:
    """Whether a predicate holds wherever ``given`` does; None if a symbol has no range."""
    if predicate is E.TRUE or any(fact is E.FALSE for fact in given):
        return True
    facts = [fact for fact in given if fact is not E.TRUE]
    symbols = {s.name: s for term in (predicate, *facts) for s in term.free()}
    if not symbols:
        return predicate is not E.FALSE
    ranges: dict[str, tuple[int, int]] = {}
    for name, symbol in symbols.items():
        high = _upper(symbol, facts)
        if high is None or symbol.lo is None:
            if predicate is E.FALSE and not any(symbol in fact.free() for fact in facts):
                continue
            return False if predicate is E.FALSE and not facts else None
        ranges[name] = (symbol.lo, high)
    if any(high < low for low, high in ranges.values()):
        return True
    if prod(high - low + 1 for low, high in ranges.values()) > _MOST:
        return None
    values: dict[str, Any] = {}
    for k, (name, (low, high)) in enumerate(ranges.items()):
        along = [1] * len(ranges)
        along[k] = high - low + 1
        values[name] = np.arange(low, high + 1, dtype=np.int64).reshape(along)
    try:
        good = truth(predicate, values)
        for fact in facts:
            good = np.logical_or(good, np.logical_not(truth(fact, values)))
    except NotConcreteError:
        return None
    return bool(np.all(good))


def _upper(symbol: E.Sym, facts: list[Bool]) -> int | None:
    """The greatest value of a symbol that the facts ``symbol < n`` leave."""
    best = symbol.hi
    for fact in facts:
        if fact.kind is E.BoolKind.LE and fact.expr is not None and len(fact.expr.terms) == 1:
            coef = fact.expr.coefficient(symbol)
            if coef > 0:
                most = -fact.expr.const // coef
                best = most if best is None else min(best, most)
    return best


def diagnose(
    rule: Rule,
    check: Check,
    kernel: str,
    target: str,
    dialect: str,
    notes: tuple[str, ...] = (),
) -> report.Diagnostic:
    """What the user reads about a check that does not hold."""
    shown = [f"{name} = {number}" for name, number in _numbers(check.values).items()]
    return report.Diagnostic(
        rule=rule.id,
        name=rule.summary,
        severity=severity(rule, check),
        verdict="always",
        message=check.message,
        span=span_of(check.span),
        kernel=kernel,
        subject=subject_of(check.subject),
        facts=cited(check.facts or rule.facts, dialect),
        predicate=check.text,
        notes=(*shown, *notes),
        labels=tuple(report.Label(span_of(note.span), note.text) for note in check.notes),
        help=check.help,
        targets=(target,),
    )


def severity(rule: Rule, check: Check) -> report.Severity:
    cap = check.severity or rule.severity
    return "warning" if cap == "warning" else "note" if cap == "note" else "error"


def span(found: report.Span) -> Span:
    """The other way round."""
    return Span(found.path, found.line, found.column, found.end_line, found.end_column)


def _numbers(values: tuple[tuple[str, Expr], ...]) -> Mapping[str, int]:
    out: dict[str, int] = {}
    for name, term in values:
        try:
            number = value(term, {})
        except NotConcreteError:
            continue
        if name != str(number):
            out[name] = int(number)
    return out
