"""``check --migrate-to``: what of a file a later generation of its API does not take as it is.

The kernels are run under the generation that they are written for: that says what calls returned.
What is found is of the whole text, be it reached by a kernel or not. A kernel that has nothing to
change is judged under both generations: what only the later one finds belongs to the migration.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from verifier import rulebase
from verifier.dialects.names import NKI
from verifier.dialects.nki.binding import REMOVED_RULE, SIGNATURE_RULE
from verifier.dialects.nki.dialect import NkiDialect
from verifier.dialects.nki.generation import fits
from verifier.dialects.nki.heard import Heard
from verifier.dialects.nki.migration import Change, Visits, migrations
from verifier.dialects.nki.migration.changes import CALL, NAME
from verifier.dialects.nki.versions import GENERATIONS
from verifier.dialects.registry import DIALECTS, cited
from verifier.engine.asking import asked, contracts_for, targets_for, unfit
from verifier.engine.case import Unit, opened
from verifier.engine.contracts import ContractMismatchError
from verifier.engine.judgement import judgement
from verifier.engine.memo import Outcome
from verifier.engine.watchdog import Clock, Share
from verifier.hardware.targets import Target
from verifier.report import model as report
from verifier.report.internal import describe
from verifier.solver.solver import Solver
from verifier.source.discovery import KernelEntry, Scanned
from verifier.source.ir import Span
from verifier.source.project import Module, Project
from verifier.source.text import SourceError
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.python.entry import Run, interpreted
from verifier.symbolic.trace import AssumptionKind, Operation

_LATER: Final = "nothing is left to change for NKI {0}: `check --api-version {0}` judges the kernel"


def migrated(
    request: report.FileRequest,
    project: Project,
    module: Module,
    scanned: Scanned,
    users: Iterable[Module],
    comments: Mapping[str, list[tuple[int, str]]],
    limit: float,
) -> report.FileResult:
    """The report of a file on its way to ``request.migrate_to``; its kernels of NKI are judged.

    ``comments``: the contracts above its kernels.
    """
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
    together = _together(project, module, users)
    since = known or dialect.infer(together)("")
    certain = known is not None or not fits(together, request.migrate_to)
    if dialect.generations[since].at_least(request.migrate_to):
        since = request.migrate_to
    errors: list[report.FileError] = []
    job = _Migration(request, project, module, since, comments, limit, errors)
    visits = Visits()
    for entry in kernels:
        starts = (s for s in scanned.starts_of(entry) if s.path == str(module.path))
        visits.launches |= {layer for start in starts for layer in start.layers}
        job.run(entry, visits)
    tree = ast.Module(body=list(module.syntax()), type_ignores=[])
    changes = migrations(
        str(module.path), module.lines, tree, since, request.migrate_to, visits, certain=certain
    )
    chosen = [c for c in changes if report.chosen(c.rule, request.select, request.ignore)]
    reach = _Reach(tree, kernels)
    found = [_diagnostic(change, reach) for change in chosen]
    reports: list[report.KernelReport] = []
    for entry in kernels:
        for outcome in job.judged(entry, reach.concerned(entry, chosen)):
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
    comments: Mapping[str, list[tuple[int, str]]]
    limit: float
    errors: list[report.FileError]

    def run(self, entry: KernelEntry, visits: Visits) -> None:
        """Run a kernel under the generation that it is written for."""
        for unit in self._units(entry, self.since):
            try:
                self._visited(unit, visits)
            except ContractMismatchError as mismatch:
                unfit(unit, mismatch, self.errors)
            except SourceError as error:
                found = report.FileError(error.path, error.line, error.message, "syntax")
                self.errors.append(found)
            except Exception as error:  # costs this kernel only
                self._failed(entry, error)

    def _visited(self, unit: Unit, visits: Visits) -> None:
        job, target = asked(self.project, unit), unit.target
        if job is None or not isinstance(target, Target):
            return
        clock = Clock(self.limit)
        solver = Solver(deadline=clock.left(Share.DECIDE))
        end, within = clock.end(Share.INTERPRET), clock.until(Share.INTERPRET)
        heard, since = Heard(), DIALECTS[NKI].generations[self.since]
        dialect = NkiDialect(heard)
        try:
            run = interpreted(self.project, dialect, target, since, job, solver.decide, end, within)
            visits.hear(heard, [view for _, views, _ in run.trace.returns for view in views])
            with clock.until(Share.DECIDE):
                visits.demands(run.trace.assumptions, solver.decide)
                visits.add(run.trace.operations, target, _holds(run, solver))
        finally:
            solver.release()

    def judged(self, entry: KernelEntry, left: Sequence[Change]) -> Iterator[Outcome]:
        """The kernel under the later generation, as far as it reads the text as it is.

        A text of Beta 1 says nothing there before it is rewritten.
        """
        to = self.request.migrate_to
        loud = any(change.weight != "note" for change in left)
        reason = report.Reason(str(entry.path), entry.line, _LATER.format(to))
        for unit in self._units(entry, to):
            unsaid = replace(unit.bare("unknown"), reasons=(reason,))
            bare = Outcome(unit.bare("violated") if loud else unsaid)
            if self.request.migrate_text_only or (loud and self.since == GENERATIONS[0]):
                yield bare
                continue
            try:
                later = before = self._judgement(unit)
                if self.since != to:
                    before = self._judgement(replace(unit, api=self.since))
            except ContractMismatchError as mismatch:
                yield unfit(unit, mismatch, self.errors)
                continue
            except Exception as error:  # costs this kernel only
                self._failed(entry, error)
                yield Outcome(unit.bare("error"))
                continue
            if later is None or before is None:
                yield bare
                continue
            new = tuple(_only_there(later.diagnostics, before.diagnostics, left))
            # what it demands of its inputs is as it was
            kernel = replace(later.kernel, precondition=None)
            yield Outcome(replace(kernel, status="violated") if loud else kernel, new)

    def _failed(self, entry: KernelEntry, error: Exception) -> None:
        message = f"kernel `{entry.name}`: {describe(error)}"
        self.errors.append(report.FileError(str(entry.path), entry.line, message))

    def _judgement(self, unit: Unit) -> Outcome | None:
        job = asked(self.project, unit)
        if job is None:
            return None
        with opened(self.project, job, unit, self.request, Clock(self.limit)) as case:
            return judgement(case)
        return None

    def _units(self, entry: KernelEntry, api: str) -> Iterator[Unit]:
        """The kernel under each of its contracts, on the first of its targets."""
        given = contracts_for(self.module, entry, self.request, self.comments, self.errors)
        for _, contract in given or (("", None),):
            known = targets_for(DIALECTS[NKI], self.module, entry, self.request, contract)
            yield Unit(entry, self.module, api, known[0][0], contract)


#: what names and signatures of the later generation make of a text, as migration speaks of it
_OF_MIGRATION: Final = {SIGNATURE_RULE: CALL, REMOVED_RULE: NAME}


def _only_there(
    later: Sequence[report.Diagnostic],
    before: Sequence[report.Diagnostic],
    told: Sequence[Change],
) -> Iterator[report.Diagnostic]:
    """What is found under the later generation alone, or always fails there.

    Names and calls whose text does not say what they are (another name for a function, arguments
    from a tuple, a number under a name) are found in what was run; what is ``told`` of a line by
    its text is not told again.
    """
    known = {(d.rule, d.span) for d in before}
    messages = {(d.span, d.message) for d in before}
    other: list[Span | report.Span] = [d.span for d in later if d.rule == REMOVED_RULE]
    other += [change.span for change in told if change.weight == "error"]
    for diagnostic in later:
        own = _OF_MIGRATION.get(diagnostic.rule)
        certain = diagnostic.verdict == "always" and not diagnostic.part
        if own is not None:
            new = (diagnostic.span, diagnostic.message) not in messages
            if (new or certain) and not any(_tells(change, diagnostic) for change in told):
                yield _as_a_change(own, diagnostic)
            continue
        if diagnostic.rule == report.PRECONDITION or diagnostic.verdict == "unknown":
            continue
        new = (diagnostic.rule, diagnostic.span) not in known
        # what there is no longer breaks no rule, nor does what is not meant, and one finding for
        # one place will do
        void = any(_share_lines(span, diagnostic.span) for span in other)
        void = void or any(_place(change.span) == _place(diagnostic.span) for change in told)
        if (new or certain) and not void:
            yield replace(diagnostic, part=False)


def _tells(change: Change, diagnostic: report.Diagnostic) -> bool:
    """Whether a text says already what a run has found."""
    same = change.message == diagnostic.message
    return same or _share_lines(change.span, diagnostic.span)


def _place(span: Span | report.Span) -> tuple[object, ...]:
    """Where something begins: a rule may show more of it, or less."""
    return span.path, span.line, span.column


def _share_lines(one: Span | report.Span, other: report.Span) -> bool:
    same = one.path == other.path
    return same and one.line <= other.end_line and other.line <= one.end_line


def _as_a_change(own: str, found: report.Diagnostic) -> report.Diagnostic:
    """A finding about a name or a call as one about a text: the later generation rejects it."""
    rule = rulebase.find(own)
    assert rule is not None
    severity = "warning" if found.severity == "error" else found.severity
    return replace(found, rule=own, name=rule.summary, severity=severity, part=False)


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
