"""Functions that use a kernel API and that no kernel reaches: what needs no inputs is judged.

Their parameters may be anything, so nothing is said of what depends on them: names that are bound
nowhere, functions that the API does not have, arguments that do not fit, literal dtypes.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
from collections.abc import Collection, Iterable, Iterator
from typing import Final, TypeGuard

from msgspec.structs import replace

from verifier import rulebase
from verifier.dialects.registry import DIALECTS
from verifier.engine import diagnostics
from verifier.engine.case import Case, Unit
from verifier.engine.fixes import Fixer
from verifier.engine.memo import Outcome
from verifier.engine.obligations import Obligation
from verifier.engine.verdicts import Discharger
from verifier.engine.watchdog import Share
from verifier.report import model as report
from verifier.source import nodes
from verifier.source.discovery import How, KernelEntry, Scanned
from verifier.source.project import Module
from verifier.symbolic import expr as E
from verifier.symbolic.trace import AssumptionKind, LedgerKind, Trace

_BUILTINS: Final = frozenset((*dir(builtins), "__file__", "__name__", "__doc__", "__spec__"))
#: how such functions are told
HOWS: Final = (How.UNREACHED, How.HOST)
#: the rules about names of an API
_NAMES: Final = frozenset({"api-removed", "no-attribute"})
#: with a call of one of these, names may be bound in ways that the text does not show
_HIDDEN: Final = frozenset({"globals", "exec", "setattr"})


def functions(scanned: Scanned) -> list[KernelEntry]:
    """The functions of a module that no kernel of the run reaches, as far as calls show, and that
    may be wrong whatever they are given: they call a kernel API, ask it for a name that not all
    generations of it have, or read a name that is bound nowhere."""
    entries = (*scanned.unreached, *scanned.inside)
    if not entries:
        return []
    wanted = scanned.device | set(_of_unbound_names(scanned.module))
    host: set[str] = set()
    statements = scanned.module.syntax()
    for dialect in {entry.dialect for entry in entries} & DIALECTS.keys():
        asks = DIALECTS[dialect].doubtful(statements)
        host |= {name for name, function in _outermost(statements, "") if asks(function)}
    found = [
        entry
        for entry in entries
        if entry.name in wanted or (entry.anonymous and entry.name.rpartition(".")[0] in wanted)
    ]
    rest = (entry for entry in entries if entry.name in host - wanted)
    return [*found, *(dataclasses.replace(entry, how=How.HOST) for entry in rest)]


def _of_unbound_names(module: Module) -> Iterator[str]:
    """The functions that read a global name that no statement of the module binds."""
    statements = module.syntax()
    if module.star_imports or module.errors:
        return
    bound = {*module.bindings, *_BUILTINS}
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Global):
                bound.update(node.names)
            elif isinstance(node, ast.Name) and node.id in _HIDDEN:
                return
    for name, function in _outermost(statements, ""):
        if not _names(function) <= bound:
            yield name


def _outermost(
    statements: Iterable[ast.stmt], prefix: str
) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Functions and methods by their qualified names, without those in other functions."""
    for statement in statements:
        if isinstance(statement, ast.FunctionDef):
            yield prefix + statement.name, statement
        elif isinstance(statement, ast.ClassDef):
            yield from _outermost(statement.body, f"{prefix}{statement.name}.")


def _names(function: ast.FunctionDef) -> set[str]:
    """The names that a function reads and that nothing in it binds."""
    read: set[str] = set()
    own: set[str | None] = {node.arg for node in ast.walk(function.args) if _is_argument(node)}
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                read.add(node.id)
            elif isinstance(node, ast.alias):
                own.add((node.asname or node.name).partition(".")[0])
            else:  # whatever has a name binds it: assignments, definitions, handlers, patterns
                own.update(getattr(node, field, None) for field in ("id", "arg", "name", "rest"))
    return read - own


def _is_argument(node: ast.AST) -> TypeGuard[ast.arg]:
    return isinstance(node, ast.arg)


def _around(statements: Iterable[ast.AST], prefix: str) -> dict[int, str]:
    """The innermost function or class around each line, by its qualified name: a fault that is
    come to in several ways is one."""
    found: dict[int, str] = {}
    for statement in statements:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = prefix + statement.name
            found |= dict.fromkeys(range(statement.lineno, (statement.end_lineno or 0) + 1), name)
            found |= _around(statement.body, f"{name}.")
        else:
            inner = (node for node in nodes.below(statement) if not isinstance(node, ast.expr))
            found |= _around(inner, prefix)
    return found


def _unasserted(trace: Trace) -> None:
    """Leave out what is asserted of arguments of which nothing is known: it excludes none."""
    trace.ledger[:] = [e for e in trace.ledger if e.kind is not LedgerKind.ASSUMPTION]
    trace.assumptions[:] = [
        a
        for a in trace.assumptions
        if a.kind is not AssumptionKind.ASSERT
        or not any(s.origin in E.OPEN for s in a.condition.free())
    ]


def _asking(unit: Unit) -> set[int]:
    """The lines of a module that ask an API for a name that not all generations have."""
    statements = unit.module.syntax()
    asks = DIALECTS[unit.entry.dialect].doubtful(statements)
    every = (node for statement in statements for node in nodes.walk(statement))
    return {n.lineno for n in every if isinstance(n, ast.Attribute) and asks(n)}


def _of_names(obligation: Obligation, lines: Collection[int]) -> bool:
    """Whether it is about a name of an API that is not there; the host may do all else."""
    check = obligation.check
    named = obligation.rule.id in _NAMES and check.span.line in lines
    return named and check.severity is None


def judgement(case: Case) -> Outcome:
    """Follow a function with arguments of which nothing is known, and report what is wrong with it
    whatever they are."""
    unit, request, clock = case.unit, case.request, case.clock
    rules = [rule for rule in rulebase.of_dialect(unit.entry.dialect) if rule.unreached]
    chosen = report.chosen
    selected = {rule.id for rule in rules if chosen(rule.id, request.select, request.ignore)}
    run = case.other(replace(case.job, opaque=True), clock).run()
    _unasserted(run.trace)
    fixer = Fixer(case.project, unit.api)
    pending = [
        obligation
        for obligation in case.demanded(run, selected, rules)
        if obligation.check.predicate is E.FALSE
        and obligation.check.span.path == str(unit.module.path)
    ]
    if unit.entry.how is How.HOST:
        lines = _asking(unit)
        pending = [each for each in pending if _of_names(each, lines)]
    within = _around(unit.module.syntax(), "")
    problems = []
    discharger = Discharger(run, case.solver)
    result = discharger.discharge(pending, clock.until(Share.DECIDE))
    for verdict in map(discharger.smallest, result.verdicts):
        if verdict.kind.violated:
            found = diagnostics.build(verdict, run, unit.target.name)
            name = within.get(found.span.line, found.kernel)
            found = replace(found, kernel=name, counterexample=None)
            problems.append(fixer.attached(found, verdict))
    late = bool(clock.cuts) or run.late
    return Outcome(replace(unit.bare("unknown"), late=late), tuple(report.deduplicate(problems)))
