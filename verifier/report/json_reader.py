"""Reads the JSON output, version 2, back into the report that it was printed from.

Keys that are not known are ignored (a later version may add some); a key that is missing, or has a
value of another type, is an error that names its place in the document.
"""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec
from msgspec import Struct

from verifier.report.json_format import SCHEMA_VERSION
from verifier.report.model import (
    CallCounts,
    Conjunct,
    Counterexample,
    Diagnostic,
    Edit,
    Entry,
    ErrorKind,
    FileError,
    Fix,
    Function,
    KernelReport,
    Known,
    Label,
    Need,
    ObligationCounts,
    Precondition,
    Reason,
    Replay,
    RunReport,
    Severity,
    Shard,
    Span,
    Statistics,
    Status,
    Verdict,
)


class ReportError(ValueError):
    """A document that is no report; the message says where and why."""


class Reading(Struct, frozen=True):
    """A report and the version of the tool that printed it."""

    report: RunReport
    version: str
    statistics: bool


class _Region(msgspec.Struct):
    path: str
    line: int
    column: int
    end_line: int
    end_column: int

    def span(self) -> Span:
        return Span(self.path, self.line, self.column - 1, self.end_line, self.end_column - 1)


class _Text(_Region):
    text: str

    def edit(self) -> Edit:
        return Edit(self.span(), self.text)


class _Fix(msgspec.Struct):
    title: str
    safe: bool
    edits: list[_Text]


class _Need(_Region):
    rule: str

    def need(self) -> Need:
        return Need(self.rule, self.span())


class _Conjunct(_Need):
    text: str
    what: str
    facts: tuple[str, ...]
    silent: bool
    exact: bool
    grid: bool
    minor: bool
    dtype: bool
    witness: dict[str, Any] | None
    breach: str
    others: list[_Need]
    assertion: _Text | None
    rank: bool = False


class _Precondition(msgspec.Struct):
    text: str
    sufficient: bool
    exact: bool
    conjuncts: list[_Conjunct]
    undecided: tuple[str, ...]
    asserted: tuple[str, ...]
    shapes: dict[str, tuple[str, ...]]
    assumed: tuple[str, ...] = ()
    faulty: bool = False
    dtypes: tuple[str, ...] = ()


class _Diagnostic(_Region):
    rule: str
    name: str
    severity: Severity
    verdict: Verdict
    message: str
    kernel: str
    facts: tuple[str, ...]
    predicate: str
    counterexample: dict[str, Any] | None
    replay: Replay
    notes: tuple[str, ...]
    fix: _Fix | None
    help: tuple[str, ...]
    labels: list[_Text]
    targets: tuple[str, ...]
    presets: tuple[str, ...]
    suppressed: str | None
    fingerprint: str
    part: bool
    precondition: _Precondition | None
    # reports of earlier releases have them in their notes and help only
    undecided: str = ""
    assertion: str = ""


class _Kernel(msgspec.Struct):
    path: str
    name: str
    line: int
    dialect: str
    api_version: str
    target: str
    status: Status
    obligations: ObligationCounts
    calls: CallCounts
    assumptions: tuple[str, ...]
    reasons: tuple[Reason, ...]
    time_ms: float
    contract: str | None
    preset: str | None
    known: bool
    precondition: _Precondition | None


class _Error(msgspec.Struct):
    path: str
    line: int
    message: str
    kind: ErrorKind


class _Files(msgspec.Struct):
    collected: int
    with_kernels: int


class _Tool(msgspec.Struct):
    name: str
    version: str


class _Document(msgspec.Struct):
    schema_version: Literal[2]
    tool: _Tool
    kernels: list[_Kernel]
    diagnostics: list[_Diagnostic]
    errors: list[_Error]
    files: _Files
    known: dict[str, tuple[str, ...]]
    gone: tuple[Entry, ...]
    helpers: tuple[Function, ...] = ()
    unreached: tuple[Function, ...] = ()
    shard: Shard | None = None
    statistics: dict[str, Any] | None = None


class _Head(msgspec.Struct):
    """What says that a document is a report at all, looked at before everything else."""

    schema_version: int


def read(data: bytes) -> Reading:
    """The report in ``data``.

    Raises:
        ReportError: the data is no report of version 2.
    """
    try:
        # The standard decoder: a file's name may hold bytes that are no text (lone surrogates).
        parsed = json.loads(data, parse_constant=_no_constant)
        head = msgspec.convert(parsed, _Head)
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        raise ReportError(f"not a JSON report of tilelint: {_said(error)}") from error
    if head.schema_version != SCHEMA_VERSION:
        raise ReportError(f"schema_version is {head.schema_version}, not {SCHEMA_VERSION}")
    try:
        document = msgspec.convert(parsed, _Document)
    except msgspec.ValidationError as error:
        raise ReportError(f"not a whole report: {_said(error)}") from error
    if document.tool.name != "tilelint":
        raise ReportError(f"a report of {document.tool.name}, not of tilelint")
    report = RunReport(
        kernels=tuple(
            _kernel(kernel, f"$.kernels[{number}]")
            for number, kernel in enumerate(document.kernels)
        ),
        diagnostics=tuple(
            _diagnostic(found, f"$.diagnostics[{number}]")
            for number, found in enumerate(document.diagnostics)
        ),
        errors=tuple(FileError(e.path, e.line, e.message, e.kind) for e in document.errors),
        statistics=_statistics(document),
        known=tuple(Known(source, names) for source, names in document.known.items()),
        gone=document.gone,
        shard=document.shard,
        helpers=document.helpers,
        unreached=document.unreached,
    )
    return Reading(report, document.tool.version, document.statistics is not None)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value")


def _said(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "not text"
    text = str(error).replace("`", "'") or type(error).__name__
    return text[:1].lower() + text[1:]


def _kernel(kernel: _Kernel, place: str) -> KernelReport:
    return KernelReport(
        path=kernel.path,
        name=kernel.name,
        line=kernel.line,
        dialect=kernel.dialect,
        api_version=kernel.api_version,
        target=kernel.target,
        status=kernel.status,
        obligations=kernel.obligations,
        calls=kernel.calls,
        assumptions=kernel.assumptions,
        reasons=kernel.reasons,
        time_ms=kernel.time_ms,
        contract=kernel.contract or "",
        preset=kernel.preset or "",
        known=kernel.known,
        precondition=_precondition(kernel.precondition, place),
    )


def _precondition(found: _Precondition | None, place: str) -> Precondition | None:
    if found is None:
        return None
    return Precondition(
        conjuncts=tuple(
            _conjunct(conjunct, f"{place}.precondition.conjuncts[{number}]")
            for number, conjunct in enumerate(found.conjuncts)
        ),
        sufficient=found.sufficient,
        exact=found.exact,
        faulty=found.faulty,
        asserted=found.asserted,
        assumed=found.assumed,
        undecided=found.undecided,
        shapes=tuple(found.shapes.items()),
    )


def _conjunct(found: _Conjunct, place: str) -> Conjunct:
    return Conjunct(
        text=found.text,
        what=found.what,
        rule=found.rule,
        facts=found.facts,
        span=found.span(),
        others=tuple(other.need() for other in found.others),
        silent=found.silent,
        grid=found.grid,
        minor=found.minor,
        dtype=found.dtype,
        rank=found.rank,
        exact=found.exact,
        witness=_counterexample(found.witness, f"{place}.witness"),
        breach=found.breach,
        assertion=None if found.assertion is None else found.assertion.edit(),
    )


def _diagnostic(found: _Diagnostic, place: str) -> Diagnostic:
    return Diagnostic(
        rule=found.rule,
        name=found.name,
        severity=found.severity,
        verdict=found.verdict,
        message=found.message,
        span=found.span(),
        kernel=found.kernel,
        facts=found.facts,
        predicate=found.predicate,
        counterexample=_counterexample(found.counterexample, f"{place}.counterexample"),
        replay=found.replay,
        notes=found.notes[:-1] if found.undecided else found.notes,
        undecided=found.undecided,
        labels=tuple(Label(label.span(), label.text) for label in found.labels),
        help=found.help[1:] if found.assertion else found.help,
        assertion=found.assertion,
        fix=None
        if found.fix is None
        else Fix(
            found.fix.title,
            found.fix.safe,
            tuple(edit.edit() for edit in found.fix.edits),
        ),
        targets=found.targets,
        presets=found.presets,
        suppressed=found.suppressed,
        fingerprint=found.fingerprint,
        part=found.part,
        precondition=_precondition(found.precondition, place),
    )


def _counterexample(values: dict[str, Any] | None, place: str) -> Counterexample | None:
    for name, value in (values or {}).items():
        if not _is_value(value):
            raise ReportError(f"not a value: {place}[{name!r}]")
    return values


def _is_value(value: object) -> bool:
    if isinstance(value, list):
        return all(map(_is_value, value))
    return value is None or isinstance(value, (bool, int, float, str))


def _statistics(document: _Document) -> Statistics:
    """What the report was printed from: the times of the queries one by one."""
    statistics: Statistics = dict(document.statistics or {})
    statistics["files"] = document.files.collected
    statistics["kernel_files"] = document.files.with_kernels
    times = statistics.get("query_ms")
    if times is not None:
        if not isinstance(times, dict) or not isinstance(times.get("all"), list):
            raise ReportError("not a whole report: no list at $.statistics.query_ms.all")
        statistics["query_ms"] = times["all"]
    return statistics
