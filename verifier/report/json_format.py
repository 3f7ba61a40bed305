"""JSON, schema version 2: stable; keys are added, never renamed.

``line`` and ``column`` are 1-based, ``end_line`` and ``end_column`` 1-based and exclusive in the
column, as in ruff's JSON; columns count code points. Nothing that a report knows is left out:
:mod:`verifier.report.json_reader` reads it back.
"""

from __future__ import annotations

import json
import math
from typing import Any, TextIO

from verifier.report.details import advice, remarks
from verifier.report.model import (
    Caller,
    Conjunct,
    Counterexample,
    Diagnostic,
    Edit,
    Entry,
    FileError,
    Fix,
    Function,
    KernelReport,
    Precondition,
    RunReport,
    Shard,
    Span,
    Value,
)
from verifier.report.statistics import summarise
from verifier.report.text import Options

SCHEMA_VERSION = 2


def render(report: RunReport, stream: TextIO, options: Options) -> None:
    """Print ``report`` as one JSON object, indented, in ASCII."""
    stream.write(json.dumps(document(report, options), indent=2))
    stream.write("\n")


def document(report: RunReport, options: Options) -> dict[str, Any]:
    """The JSON object of ``report``."""
    result: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "tilelint", "version": options.version},
        "kernels": [_kernel(kernel) for kernel in report.kernels],
        "diagnostics": [
            _diagnostic(diagnostic) for diagnostic in report.recorded(parts=options.verbose)
        ],
        "errors": [_error(error) for error in report.errors],
        "files": {
            "collected": report.statistics.get("files", 0),
            "with_kernels": report.statistics.get("kernel_files", 0),
        },
        "known": {known.source: list(known.fingerprints) for known in report.known},
        "gone": [_entry(entry) for entry in report.gone],
        "helpers": [
            {**_function(helper), "callers": [_caller(caller) for caller in helper.callers]}
            for helper in report.helpers
        ],
        "unreached": [_function(function) for function in report.unreached],
    }
    if report.shard is not None:
        result["shard"] = _shard(report.shard)
    if options.statistics:
        result["statistics"] = summarise(report.statistics)
    return result


def _kernel(kernel: KernelReport) -> dict[str, Any]:
    counts = kernel.obligations
    return {
        "path": kernel.path,
        "name": kernel.name,
        "line": kernel.line,
        "dialect": kernel.dialect,
        "api_version": kernel.api_version,
        "target": kernel.target,
        "status": kernel.status,
        "obligations": {
            "total": counts.total,
            "proved": counts.proved,
            "violated": counts.violated,
            "unknown": counts.unknown,
        },
        "calls": {
            "total": kernel.calls.total,
            "modelled": kernel.calls.modelled,
            "unmodelled": list(kernel.calls.unmodelled),
        },
        "assumptions": list(kernel.assumptions),
        "reasons": [
            {"path": reason.path, "line": reason.line, "message": reason.message}
            for reason in kernel.reasons
        ],
        "time_ms": round(float(kernel.time_ms), 3),
        "contract": kernel.contract or None,
        "preset": kernel.preset or None,
        "known": kernel.known,
        "precondition": (
            None if kernel.precondition is None else precondition(kernel.precondition)
        ),
    }


def precondition(condition: Precondition) -> dict[str, Any]:
    """A precondition, wherever it stands in JSON."""
    return {
        "text": condition.text,
        "sufficient": condition.sufficient,
        "exact": condition.exact,
        "faulty": condition.faulty,
        "conjuncts": [_conjunct(conjunct) for conjunct in condition.conjuncts],
        "dtypes": [conjunct.text for conjunct in condition.dtypes],
        "undecided": list(condition.undecided),
        "shapes": {tensor: list(sizes) for tensor, sizes in condition.shapes},
        "asserted": list(condition.asserted),
        "assumed": list(condition.assumed),
    }


def _conjunct(conjunct: Conjunct) -> dict[str, Any]:
    return {
        "text": conjunct.text,
        "what": conjunct.what,
        **_span(conjunct.span),
        "rule": conjunct.rule,
        "facts": list(conjunct.facts),
        "silent": conjunct.silent,
        "exact": conjunct.exact,
        "grid": conjunct.grid,
        "minor": conjunct.minor,
        "dtype": conjunct.dtype,
        "rank": conjunct.rank,
        "witness": _counterexample(conjunct.witness),
        "breach": conjunct.breach,
        "assertion": None if conjunct.assertion is None else _edit(conjunct.assertion),
        "others": [{"rule": need.rule, **_span(need.span)} for need in conjunct.others],
    }


def _counterexample(found: Counterexample | None) -> dict[str, Any] | None:
    return None if found is None else {name: finite(value) for name, value in found.items()}


def _diagnostic(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "rule": diagnostic.rule,
        "name": diagnostic.name,
        "severity": diagnostic.severity,
        "verdict": diagnostic.verdict,
        "message": diagnostic.message,
        **_span(diagnostic.span),
        "kernel": diagnostic.kernel,
        "facts": list(diagnostic.facts),
        "predicate": diagnostic.predicate,
        "counterexample": _counterexample(diagnostic.counterexample),
        "replay": diagnostic.replay,
        "notes": list(remarks(diagnostic)),
        "fix": None if diagnostic.fix is None else _fix(diagnostic.fix),
        "help": list(advice(diagnostic)),
        "assertion": diagnostic.assertion,
        "undecided": diagnostic.undecided,
        "labels": [{**_span(label.span), "text": label.text} for label in diagnostic.labels],
        "targets": list(diagnostic.targets),
        "presets": list(diagnostic.presets),
        "suppressed": diagnostic.suppressed,
        "fingerprint": diagnostic.fingerprint,
        "part": diagnostic.part,
        "precondition": (
            None if diagnostic.precondition is None else precondition(diagnostic.precondition)
        ),
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "title": fix.title,
        "safe": fix.safe,
        "edits": [_edit(edit) for edit in fix.edits],
    }


def _edit(edit: Edit) -> dict[str, Any]:
    return {**_span(edit.span), "text": edit.text}


def _span(span: Span) -> dict[str, Any]:
    return {
        "path": span.path,
        "line": span.line,
        "column": span.column + 1,
        "end_line": span.end_line,
        "end_column": span.end_column + 1,
    }


def _error(error: FileError) -> dict[str, Any]:
    return {
        "path": error.path,
        "line": error.line,
        "message": error.message,
        "kind": error.kind,
    }


def _function(function: Function) -> dict[str, Any]:
    return {"path": function.path, "name": function.name, "line": function.line}


def _caller(caller: Caller) -> dict[str, Any]:
    return {"path": caller.path, "name": caller.name}


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "path": entry.path,
        "rule": entry.rule,
        "kernel": entry.kernel,
        "message": entry.message,
        "fingerprint": entry.fingerprint,
    }


def _shard(shard: Shard) -> dict[str, Any]:
    return {
        "index": shard.index,
        "count": shard.count,
        "contracts": [
            {
                "path": contract.path,
                "line": contract.line,
                "kernel": contract.kernel,
                "message": contract.message,
                "known": list(contract.known),
            }
            for contract in shard.contracts
        ],
    }


def finite(value: Value) -> Value:
    """JSON has no infinities or NaN; they are given by name."""
    if isinstance(value, list):
        return [finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value
