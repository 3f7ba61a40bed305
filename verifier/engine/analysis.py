"""One file, from its text to its report."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from verifier.configuration.showing import text_of
from verifier.configuration.suggestions import did_you_mean
from verifier.dialects.descriptor import DialectDescriptor
from verifier.dialects.registry import DIALECTS
from verifier.engine import unreached
from verifier.engine.asking import asked, contracts_for, targets_for, unfit
from verifier.engine.case import Unit, opened
from verifier.engine.contracts import ContractMismatchError
from verifier.engine.judgement import dotted, judgement
from verifier.engine.memo import Memo, Outcome, Stored, find, keep, reached
from verifier.engine.watchdog import Clock
from verifier.engine.wrapping import width
from verifier.hardware import targets
from verifier.report import model as report
from verifier.report.internal import describe
from verifier.source import footprint
from verifier.source.commented import contract_comments
from verifier.source.discovery import (
    How,
    KernelEntry,
    Scanned,
    scan,
)
from verifier.source.footprint import recording
from verifier.source.outline import BindingKind
from verifier.source.project import Module, Project
from verifier.source.sources import Sources
from verifier.source.stars import spelled_out
from verifier.source.starts import Start
from verifier.source.text import NestedTooDeepError, SourceError
from verifier.source.wrappers import Named
from verifier.symbolic.python.entry import Request
from verifier.symbolic.trace import LATE

#: seconds for one kernel when no ``--timeout`` is given
DEFAULT_TIMEOUT = 60.0
#: seconds for a function that no kernel reaches
_UNREACHED = 5.0
#: frames: a call in a kernel takes about fifteen, and terms nest as deeply as kernels write them
_RECURSION_LIMIT = 6000


@cache
def _empty() -> tempfile.TemporaryDirectory[str]:
    """A folder without files: what a text imports from beside it is not there."""
    return tempfile.TemporaryDirectory()


def analyze_source(
    text: str,
    *,
    target: str = targets.DEFAULT,
    api_version: str | None = None,
    select: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
) -> report.FileResult:
    """The report of a source text that is not a file; paths in it are of one that there is not."""
    path = os.path.join(_empty().name, "kernel.py")  # noqa: PTH118
    request = report.FileRequest(
        path=path, targets=(target,), api_version=api_version, select=select, ignore=ignore
    )
    return analyze_file(request, project=project_of(request, Sources({path: text})))


def analyze_file(
    request: report.FileRequest,
    memo: Memo | None = None,
    project: Project | None = None,
) -> report.FileResult:
    """The report of one file; every path in it is absolute.

    ``memo`` has results of earlier analyses and is given the new ones. ``project`` is the one to
    look imports up in, by default one of the request's roots.
    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _RECURSION_LIMIT))
    try:
        return _file(request, memo, project or project_of(request))
    finally:
        sys.setrecursionlimit(before)


def project_of(
    request: report.FileRequest,
    sources: Sources | None = None,
    kept: MutableMapping[tuple[str, str], Module] | None = None,
) -> Project:
    """Where the imports of the request's file are looked up, see :class:`Project`."""
    roots = request.roots or (str(Path(request.path).parent),)
    return Project([Path(os.path.abspath(root)) for root in roots], sources, kept)  # noqa: PTH100


def _file(request: report.FileRequest, memo: Memo | None, project: Project) -> report.FileResult:
    path = Path(os.path.abspath(request.path))  # noqa: PTH100  (links are not followed)
    errors: list[report.FileError] = []
    footprint.note_whole(str(path))
    try:
        module = project.module(path)
    except SourceError as error:
        return report.FileResult(request.path, errors=(_unreadable(error),))
    for syntax in module.errors:
        errors.append(report.FileError(syntax.path, syntax.line, syntax.message, "syntax"))
    found: list[report.KernelReport] = []
    problems: list[report.Diagnostic] = []
    statistics: report.Statistics = {}
    text = _TextFacts()
    first, step = request.part
    scanned = scan(
        project, module, _users(project, request), _named(request, text.contracts(module))
    )
    if request.migrate_to:
        from verifier.engine.migrating import migrated  # most runs have no use for it

        limit = request.timeout or DEFAULT_TIMEOUT
        users = _users(project, request)
        comments = text.contracts(module)
        result = migrated(request, project, module, scanned, users, comments, limit)
        return replace(result, errors=(*dict.fromkeys((*errors, *result.errors)),))
    loose = unreached.functions(scanned)
    entries = [*scanned.kernels, *loose]
    if request.kernels:
        entries = [entry for entry in scanned.kernels if entry.name in request.kernels]
        errors += _missing(request, scanned, module)
    for entry in entries[first::step]:
        if entry.error is not None or entry.dialect not in DIALECTS:
            continue
        starts = scanned.starts_of(entry)
        for outcome in _kernel(project, entry, request, memo, errors, text, starts):
            if entry.how not in unreached.HOWS:
                found.append(outcome.kernel)
            problems.extend(outcome.diagnostics)
            report.merge_statistics(statistics, outcome.statistics)
    return report.FileResult(
        request.path,
        tuple(found),
        tuple(problems),
        tuple(dict.fromkeys(errors)),
        statistics,
        tuple(_function(h.entry, [report.Caller(*c) for c in h.callers]) for h in scanned.helpers),
        tuple(_function(entry) for entry in loose if entry.how is not How.HOST),
    )


def _named(request: report.FileRequest, commented: Iterable[str]) -> set[str]:
    """The functions that somebody speaks of as kernels, ``commented``: in a contract above them."""
    texts = (*request.contracts, *(text for _, text in request.presets))
    return {
        *request.kernels,
        *commented,
        *(re.split(r"[(\[\s]", text.lstrip(), maxsplit=1)[0] for text in texts),
    }


def _missing(
    request: report.FileRequest, scanned: Scanned, module: Module
) -> Iterator[report.FileError]:
    """The functions that were asked for and are not there."""
    there = {entry.name for entry in scanned.kernels}
    functions = [name for name, b in module.bindings.items() if b.kind is BindingKind.FUNCTION]
    for name in request.kernels:
        if name not in there:
            hint = did_you_mean(name, {*there, *functions})
            message = f"`{name}` is no function that a kernel could be{hint}"
            yield report.FileError(request.path, 0, message, "usage")


def _function(entry: KernelEntry, callers: Sequence[report.Caller] = ()) -> report.Function:
    return report.Function(str(entry.path), entry.name, entry.line, tuple(callers))


def _users(project: Project, request: report.FileRequest) -> list[Module]:
    """The other files of the run that may call a function of this one."""
    out = []
    for path in request.users:
        footprint.note_whole(path)
        with suppress(SourceError):
            out.append(project.module(Path(path)))
    return out


def _unreadable(error: SourceError) -> report.FileError:
    return report.FileError(error.path, error.line, error.message, "unreadable")


# ------------------------------------------------------------------------ one kernel


def _kernel(
    project: Project,
    entry: KernelEntry,
    request: report.FileRequest,
    memo: Memo | None,
    errors: list[report.FileError],
    text: _TextFacts,
    starts: tuple[Start, ...],
) -> Iterator[Outcome]:
    try:
        module = project.module(entry.path)
    except SourceError as error:
        errors.append(report.FileError(error.path, error.line, error.message, "syntax"))
        return
    dialect = DIALECTS[entry.dialect]
    asked = request.api_version
    known = asked if asked is not None and asked in dialect.generations else None
    api = known or text.generation(project, module, dialect, entry)
    # the generation, contracts and lines are those of the whole file
    footprint.note_whole(module.file)
    contracts = contracts_for(module, entry, request, text.contracts(module), errors)
    pairs = [
        (preset, Unit(entry, module, api, target, contract, by_default, starts))
        for preset, contract in (*contracts,) or (("", None),)
        for target, by_default in targets_for(dialect, module, entry, request, contract)
    ]
    order = {unit.target.name: k for k, (_, unit) in reversed([*enumerate(pairs)])}
    for preset, unit in sorted(pairs, key=lambda pair: order[pair[1].target.name]):
        outcome = _remembered(project, unit, request, memo, errors)
        if outcome is not None:
            named = preset or _given(entry)
            yield _of_preset(outcome, named) if named else outcome


def _of_preset(outcome: Outcome, preset: str) -> Outcome:
    """The outcome, with the name of the preset whose shapes were checked."""
    found = tuple(replace(diagnostic, presets=(preset,)) for diagnostic in outcome.diagnostics)
    return replace(outcome, kernel=replace(outcome.kernel, preset=preset), diagnostics=found)


def _remembered(
    project: Project,
    unit: Unit,
    request: report.FileRequest,
    memo: Memo | None,
    errors: list[report.FileError],
) -> Outcome | None:
    """The result that is kept if it still holds, else a new one, which is kept."""
    own = unit.module.chunk_at(unit.entry.line)
    if memo is None or own is None:
        return _unit(project, unit, request, errors)
    key = _key(unit, own, request)
    known = find(memo.load(key), (unit.module.file, *own), project)
    if known is not None:
        return known
    before = len(errors)
    with recording() as seen:
        outcome = _unit(project, unit, request, errors)
    if outcome is not None and len(errors) == before:
        # its own text is in the key; its file counts in any case
        seen.files.add(unit.module.file)
        keep(memo, key, Stored(reached(seen, project), own, outcome))
    return outcome


def _key(unit: Unit, own: tuple[int, int], request: report.FileRequest) -> str:
    """Everything that a kernel's result depends on, but for what its analysis looks at."""
    entry, module = unit.entry, unit.module
    parts = (
        module.file,
        entry.name,
        entry.line - own[0],
        entry.name_span.column,
        entry.how.value,
        entry.wrapper,
        sorted((name, repr(value)) for name, value in entry.keywords.items()),
        entry.bound,
        entry.site,
        module.lines[own[0] - 1 : own[1]],
        unit.api,
        unit.target.name,
        unit.by_default,
        [(s.path, s.call.lineno, s.call.col_offset, ast.unparse(s.call)) for s in unit.starts],
        "" if unit.contract is None else text_of(unit.contract),
        # what the generation has no longer is judged wherever it is imported
        sorted({dotted(b) for b in module.bindings.values() if b.kind.imports}),
        request.select,
        request.ignore,
        request.timeout,
        request.statistics,
        request.tiles,
        request.parts,
        width(request.line_length, module.lines),
    )
    return hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _unit(
    project: Project,
    unit: Unit,
    request: report.FileRequest,
    errors: list[report.FileError],
) -> Outcome | None:
    """The result of a kernel; None if it cannot be read."""
    entry = unit.entry
    limit = request.timeout or DEFAULT_TIMEOUT
    clock = Clock(min(limit, _UNREACHED) if entry.how in unreached.HOWS else limit)
    try:
        job = asked(project, unit)
    except NestedTooDeepError as error:
        deep = report.Reason(error.path, error.line, error.message)
        return Outcome(replace(unit.bare("unknown"), reasons=(deep,)))
    except SourceError as error:
        errors.append(report.FileError(error.path, error.line, error.message, "syntax"))
        return None
    except ContractMismatchError as mismatch:
        return unfit(unit, mismatch, errors)
    if job is None:
        return None
    try:
        try:
            return _judged(project, job, unit, request, clock)
        except ContractMismatchError:
            if unit.contract is not None or not entry.bound:
                raise
            # a name that it is bound to leads nowhere: it may be given anything
            return _judged(project, replace(job, pinned={}), unit, request, clock)
    except ContractMismatchError as mismatch:
        return unfit(unit, mismatch, errors)
    except Exception as error:  # costs this kernel only
        message = f"kernel `{entry.name}`: {describe(error)}"
        errors.append(report.FileError(str(entry.path), entry.line, message))
        return Outcome(unit.bare("error"))


def _given(entry: KernelEntry) -> str:
    """What tells a kernel from others of its function: ``tile=128, mode=Mode.FAST``."""
    texts = (
        f"{name}={'.'.join(value.path) if isinstance(value, Named) else repr(value)}"
        for name, value in entry.bound
    )
    return ", ".join(texts)


def _judged(
    project: Project, job: Request, unit: Unit, request: report.FileRequest, clock: Clock
) -> Outcome:
    """What is found of a kernel in its time."""
    entry = unit.entry
    judge = unreached.judgement if entry.how in unreached.HOWS else judgement
    late = report.Reason(str(entry.path), entry.line, LATE)
    with opened(project, job, unit, request, clock) as case:
        return judge(case)
    return Outcome(replace(unit.bare("unknown"), reasons=(late,), late=True))


class _TextFacts:
    """What the text of a module says about all its kernels, read once per module."""

    def __init__(self) -> None:
        self._generations: dict[tuple[Path, str], Callable[[str], str]] = {}
        self._contracts: dict[Path, Mapping[str, list[tuple[int, str]]]] = {}

    def generation(
        self, project: Project, module: Module, dialect: DialectDescriptor, entry: KernelEntry
    ) -> str:
        key = (module.path, dialect.name)
        if key not in self._generations:
            body = [*spelled_out(project, module), *module.syntax()]
            tree = ast.Module(body=body, type_ignores=[])
            self._generations[key] = dialect.infer(tree)
        return self._generations[key](entry.name)

    def contracts(self, module: Module) -> Mapping[str, list[tuple[int, str]]]:
        if module.path not in self._contracts:
            self._contracts[module.path] = contract_comments(module)
        return self._contracts[module.path]
