"""``check --migrate-to``: what of a file a later generation of its API does not take as it is.

The kernels are run under the generation that they are written for: that says what calls returned.
What is found is of the whole text, be it reached by a kernel or not. A kernel that has nothing to
change is judged under both generations: what only the later one finds belongs to the migration.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from verifier import rulebase
from verifier.dialects.names import NKI
from verifier.dialects.nki.binding import REMOVED_RULE, SIGNATURE_RULE
from verifier.dialects.nki.migration import Change, Visits, migrations
from verifier.dialects.nki.versions import GENERATIONS
from verifier.dialects.registry import DIALECTS, cited
from verifier.engine.case import Unit, opened
from verifier.engine.judgement import judgement
from verifier.engine.memo import Outcome
from verifier.engine.watchdog import Clock, Share
from verifier.hardware.catalogue import Hardware
from verifier.hardware.targets import Target
from verifier.report import model as report
from verifier.report.internal import describe
from verifier.solver.solver import Solver
from verifier.source.discovery import KernelEntry, Scanned, enclosing_functions, kernel_definition
from verifier.source.project import Module, Project
from verifier.source.text import SourceError
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.python.entry import Request, Run, interpreted
from verifier.symbolic.trace import AssumptionKind, Operation

_LATER: Final = "nothing is left to change for NKI {0}: `check --api-version {0}` judges the kernel"


def migrated(
    request: report.FileRequest,
    project: Project,
    module: Module,
    scanned: Scanned,
    users: Iterable[Module],
    limit: float,
) -> report.FileResult:
    """The report of a file on its way to ``request.migrate_to``; its kernels of NKI are judged."""
    if request.part[0]:
        return report.FileResult(request.path)
    kernels = [k for k in scanned.kernels if k.dialect == NKI and k.error is None]
    kernels = [k for k in kernels if k.path == module.path]
    others = [k for k in scanned.kernels if k.dialect != NKI]
    if others:
        return report.FileResult(request.path)
    dialect = DIALECTS[NKI]
    asked = request.api_version
    known = asked if asked is not None and asked in dialect.generations else None
    since = known or dialect.infer(_together(project, module, users))("")
    if dialect.generations[since].at_least(request.migrate_to):
        since = request.migrate_to
    errors: list[report.FileError] = []
    job = _Migration(request, project, module, since, limit, errors)
    visits = Visits()
    for entry in kernels:
        job.run(entry, visits)
    tree = ast.Module(body=list(module.syntax()), type_ignores=[])
    changes = migrations(str(module.path), module.lines, tree, since, request.migrate_to, visits)
    chosen = [c for c in changes if report.chosen(c.rule, request.select, request.ignore)]
    reach = _Reach(tree, kernels)
    found = [_diagnostic(change, reach) for change in chosen]
    reports: list[report.KernelReport] = []
    for entry in kernels:
        outcome = job.judged(entry, reach.concerned(entry, chosen))
        reports.append(outcome.kernel)
        found += outcome.diagnostics
    return report.FileResult(request.path, tuple(reports), tuple(found), tuple(errors))


def _together(project: Project, module: Module, users: Iterable[Module]) -> ast.Module:
    """The syntax of a file and of those that it is used with: one generation is that of all.

    Those that import from the package of the other namespace are left out.
    """
    body = list(module.syntax())
    seen, pending = {module.file}, [*_imported(project, module), *users]
    own = _namespaces(body)
    while pending:
        other = pending.pop()
        if other.file in seen:
            continue
        seen.add(other.file)
        with suppress(SourceError):
            syntax = list(other.syntax())
            if _namespaces(syntax) == own:
                body += syntax
            pending += _imported(project, other)
    return ast.Module(body=body, type_ignores=[])


def _namespaces(body: Sequence[ast.stmt]) -> frozenset[str]:
    """The packages of the API that statements import from."""
    found: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return frozenset(found & DIALECTS[NKI].packages)


def _imported(project: Project, module: Module) -> Iterator[Module]:
    """The files of the project that a file imports from."""
    for name, binding in module.bindings.items():
        if binding.kind.imports:
            with suppress(SourceError):
                found = project.resolve_name(module, name)
                if found is not None and found[0].file != module.file:
                    yield found[0]


class _Migration(Struct, frozen=True):
    request: report.FileRequest
    project: Project
    module: Module
    since: str
    limit: float
    errors: list[report.FileError]

    def run(self, entry: KernelEntry, visits: Visits) -> None:
        """Run a kernel under the generation that it is written for."""
        target = self._target(entry)
        E.fresh_context()
        try:
            job = self._job(entry)
            if job is None or not isinstance(target, Target):
                return
            clock = Clock(self.limit)
            solver = Solver(deadline=clock.left(Share.DECIDE))
            end, within = clock.end(Share.INTERPRET), clock.until(Share.INTERPRET)
            dialect, since = DIALECTS[NKI].of(self.since)
            try:
                run = interpreted(
                    self.project, dialect, target, since, job, solver.decide, end, within
                )
                with clock.until(Share.DECIDE):
                    visits.add(run.trace.operations, target, _holds(run, solver))
            finally:
                solver.release()
        except SourceError as error:
            found = report.FileError(error.path, error.line, error.message, "syntax")
            self.errors.append(found)
        except Exception as error:  # costs this kernel only
            message = f"kernel `{entry.name}`: {describe(error)}"
            self.errors.append(report.FileError(str(entry.path), entry.line, message))

    def judged(self, entry: KernelEntry, left: Sequence[Change]) -> Outcome:
        """The kernel under the later generation, as far as it reads the text as it is.

        A text of Beta 1 says nothing there before it is rewritten.
        """
        to = self.request.migrate_to
        unit = self._unit(entry, to)
        loud = any(change.weight != "note" for change in left)
        reason = report.Reason(str(entry.path), entry.line, _LATER.format(to))
        unsaid = replace(unit.bare("unknown"), reasons=(reason,))
        if self.request.migrate_text_only or (loud and self.since == GENERATIONS[0]):
            return Outcome(unit.bare("violated") if loud else unsaid)
        try:
            later = before = self._judgement(entry, unit)
            if self.since != to:
                before = self._judgement(entry, self._unit(entry, self.since))
        except Exception as error:  # costs this kernel only
            message = f"kernel `{entry.name}`: {describe(error)}"
            self.errors.append(report.FileError(str(entry.path), entry.line, message))
            return Outcome(unit.bare("error"))
        if later is None or before is None:
            return Outcome(unit.bare("violated") if loud else unsaid)
        new = tuple(_only_there(later.diagnostics, before.diagnostics))
        # what it demands of its inputs is as it was
        kernel = replace(later.kernel, precondition=None)
        return Outcome(replace(kernel, status="violated") if loud else kernel, new)

    def _judgement(self, entry: KernelEntry, unit: Unit) -> Outcome | None:
        E.fresh_context()
        job = self._job(entry)
        if job is None:
            return None
        with opened(self.project, job, unit, self.request, Clock(self.limit)) as case:
            return judgement(case)
        return None

    def _job(self, entry: KernelEntry) -> Request | None:
        definition = kernel_definition(self.project, entry)
        if definition is None:
            return None
        enclosing = enclosing_functions(self.project, entry) if entry.nested else ()
        return Request(entry.name, definition, self.module, enclosing)

    def _unit(self, entry: KernelEntry, api: str) -> Unit:
        return Unit(entry, self.module, api, self._target(entry), None)

    def _target(self, entry: KernelEntry) -> Hardware:
        dialect = DIALECTS[NKI]
        asked = self.request.targets
        return dialect.targets(asked, entry.name, self.module.syntax, entry.keywords, ())[0]


def _only_there(
    later: Iterable[report.Diagnostic], before: Iterable[report.Diagnostic]
) -> Iterator[report.Diagnostic]:
    """What is found under the later generation alone, or always fails there."""
    known = {(d.rule, d.span) for d in before}
    for diagnostic in later:
        told = diagnostic.rule in (SIGNATURE_RULE, REMOVED_RULE, report.PRECONDITION)
        new = (diagnostic.rule, diagnostic.span) not in known
        certain = diagnostic.verdict == "always" and not diagnostic.part
        if not told and diagnostic.verdict != "unknown" and (new or certain):
            yield replace(diagnostic, part=False)


def _holds(run: Run, solver: Solver) -> Callable[[Bool, Operation], bool]:
    """Whether a condition holds wherever a run comes by an operation."""
    always = (AssumptionKind.GRID, AssumptionKind.CONTRACT, AssumptionKind.TYPE)
    demands = run.trace.assumptions

    def holds(condition: Bool, operation: Operation) -> bool:
        if condition in (E.TRUE, E.FALSE):
            return condition is E.TRUE
        facts = [
            a.condition
            for a in demands
            if a.everywhere or a.kind in always or a.order <= operation.order
        ]
        loops = (loop.within for loop in operation.loops)
        return solver.decide((*facts, *operation.path, *loops), condition) is True

    return holds


# ------------------------------------------------------------------------ findings


class _Reach:
    """Which statements of a file a kernel is made of: its own, and all that they name."""

    def __init__(self, tree: ast.Module, kernels: Sequence[KernelEntry]) -> None:
        bound: dict[str, list[ast.stmt]] = {}
        for statement in tree.body:
            for name in _bound(statement):
                bound.setdefault(name, []).append(statement)
        self._lines: dict[str, set[int]] = {}
        for entry in kernels:
            start = [s for s in tree.body if _first(s) <= entry.line <= (s.end_lineno or 0)]
            seen: dict[int, ast.stmt] = {}
            pending = start
            while pending:
                statement = pending.pop()
                if id(statement) in seen:
                    continue
                seen[id(statement)] = statement
                for name in _named(statement):
                    pending += bound.get(name, [])
            self._lines[entry.name] = {
                line
                for statement in seen.values()
                for line in range(_first(statement), (statement.end_lineno or 0) + 1)
            }

    def kernel(self, line: int) -> str:
        """The first kernel that a line is part of, or nothing."""
        return next((name for name, lines in self._lines.items() if line in lines), "")

    def concerned(self, entry: KernelEntry, changes: Sequence[Change]) -> list[Change]:
        """The changes that a kernel needs."""
        return [c for c in changes if c.span.line in self._lines[entry.name]]


def _named(statement: ast.stmt) -> set[str]:
    """The names of others that a statement of a module has: a function's own are not."""
    found = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
    if isinstance(statement, ast.FunctionDef):
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                found.discard(node.id)
            elif isinstance(node, ast.arg):
                found.discard(node.arg)
    return found


def _first(statement: ast.stmt) -> int:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return min([statement.lineno, *(each.lineno for each in statement.decorator_list)])
    return statement.lineno


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module binds."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name


def _diagnostic(change: Change, reach: _Reach) -> report.Diagnostic:
    rule = rulebase.find(change.rule)
    assert rule is not None
    span = change.span
    fix: report.Fix | None = None
    if change.edits:
        edits = tuple(
            report.Edit(report.Span(span.path, *edit.start, *edit.end), edit.text)
            for edit in change.edits
        )
        fix = report.Fix(change.title, True, edits)
    return report.Diagnostic(
        rule=rule.id,
        name=rule.summary,
        severity=change.weight,
        verdict="always",
        message=change.message,
        span=report.Span(span.path, span.line, span.column, span.end_line, span.end_column),
        kernel=reach.kernel(span.line),
        claim=change.message,
        facts=cited(change.facts, NKI),
        help=change.help,
        fix=fix,
    )


__all__ = ["migrated"]
