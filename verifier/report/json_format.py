"""JSON, schema version 1: stable; keys are added, never renamed.

``line`` and ``column`` are 1-based, ``end_line`` and ``end_column`` 1-based and exclusive in the
column, as in ruff's JSON; columns count code points.
"""

from __future__ import annotations

import json
import math
from typing import Any, TextIO

from verifier.report.model import Diagnostic, FileError, Fix, KernelReport, RunReport, Span, Value
from verifier.report.statistics import summarise
from verifier.report.text import Options

SCHEMA_VERSION = 1


def render(report: RunReport, stream: TextIO, options: Options) -> None:
    """Print ``report`` as one JSON object, indented, in ASCII."""
    json.dump(document(report, options), stream, indent=2)
    stream.write("\n")


def document(report: RunReport, options: Options) -> dict[str, Any]:
    """The JSON object of ``report``."""
    result: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "tilelint", "version": options.version},
        "kernels": [_kernel(kernel) for kernel in report.kernels],
        "diagnostics": [_diagnostic(diagnostic) for diagnostic in report.diagnostics],
        "errors": [_error(error) for error in report.errors],
    }
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
        "time_ms": round(kernel.time_ms, 3),
        "contract": kernel.contract or None,
        "preset": kernel.preset or None,
    }


def _diagnostic(diagnostic: Diagnostic) -> dict[str, Any]:
    counterexample = diagnostic.counterexample
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
        "counterexample": (
            None
            if counterexample is None
            else {name: _value(value) for name, value in counterexample.items()}
        ),
        "replay": diagnostic.replay,
        "notes": list(diagnostic.notes),
        "fix": None if diagnostic.fix is None else _fix(diagnostic.fix),
        "help": list(diagnostic.help),
        "labels": [{**_span(label.span), "text": label.text} for label in diagnostic.labels],
        "targets": list(diagnostic.targets),
        "presets": list(diagnostic.presets),
        "suppressed": diagnostic.suppressed,
        "fingerprint": diagnostic.fingerprint,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "title": fix.title,
        "safe": fix.safe,
        "edits": [{**_span(edit.span), "text": edit.text} for edit in fix.edits],
    }


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


def _value(value: Value) -> Value:
    """JSON has no infinities or NaN; they are given by name."""
    if isinstance(value, list):
        return [_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value
