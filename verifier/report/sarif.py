"""SARIF 2.1.0, for code scanning services and editors.

Columns count code points. Paths are relative to the project's root (``%SRCROOT%``). Findings,
syntax errors and undecided kernels are results; whatever else went wrong is a notification, and
the run was then not successful. Suppressed findings are there with their suppression. Nothing in
the file depends on the clock or the machine, so that equal runs give equal files.

Undecided findings have kind ``fail`` and level ``note``: by the standard, kind ``open`` goes with
level ``none``, which services do not show, and silence must mean that all was proved.

Limits are those of GitHub code scanning: 25,000 results (the least severe are left out, and a
notification says how many), 1,000 related places of a result, 1,024 characters of a description.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from verifier.report.details import advice, details, remarks
from verifier.report.fingerprints import SCHEME, undecided, unparsed
from verifier.report.json_format import finite
from verifier.report.model import (
    SEVERITIES,
    Diagnostic,
    FileError,
    Fix,
    KernelReport,
    RunReport,
    Severity,
    Span,
)
from verifier.report.places import below, portable, uri
from verifier.report.rules import RuleText
from verifier.report.text import Options

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MOST_RESULTS = 25_000
MOST_PLACES = 1_000
LONGEST_DESCRIPTION = 1_024
_ROOT = "%SRCROOT%"

#: Results that come from no rule.
_OWN = {
    "syntax-error": RuleText(
        "syntax-error",
        "",
        "source",
        "The file is Python that parses",
        "What does not parse cannot be checked: the rest of the file was, where that was possible.",
        "",
        "error",
    ),
    "undecided": RuleText(
        "undecided",
        "",
        "analysis",
        "The kernel is decided",
        "The kernel was neither verified nor found to break a rule. The reasons say what the "
        "analysis could not follow; an assertion or a contract often helps.",
        "",
        "note",
    ),
}


def render(report: RunReport, stream: TextIO, options: Options) -> None:
    """Print ``report`` as one SARIF log, indented, in ASCII."""
    json.dump(document(report, options), stream, indent=2)
    stream.write("\n")


def document(report: RunReport, options: Options) -> dict[str, Any]:
    """The SARIF log of ``report``, with one run."""
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [_Run(report, options).document()]}


class _Run:
    def __init__(self, report: RunReport, options: Options) -> None:
        self.report = report
        self.options = options
        self.descriptors: list[dict[str, Any]] = []
        self.indices: dict[str, int] = {}

    def document(self) -> dict[str, Any]:
        results, left_out = self.results()
        failures = [error for error in self.report.errors if error.kind != "syntax"]
        notifications = [self.notification(error) for error in failures]
        if left_out:
            text = f"{left_out} results are left out: a run can have {MOST_RESULTS}"
            notifications.append({"level": "warning", "message": {"text": text}})
        return {
            "tool": {
                "driver": {
                    "name": "tilelint",
                    "version": self.options.version,
                    "rules": self.descriptors,
                }
            },
            "invocations": [
                {
                    "executionSuccessful": not failures
                    and all(kernel.status != "error" for kernel in self.report.kernels),
                    "toolExecutionNotifications": notifications,
                }
            ],
            "originalUriBaseIds": {
                _ROOT: {"description": {"text": "The directory that the project is in."}}
            },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }

    def results(self) -> tuple[list[dict[str, Any]], int]:
        """The results, worst first if there are too many, and how many are left out."""
        found: list[Diagnostic | FileError | KernelReport] = [
            *self.report.recorded(parts=self.options.verbose),
            *(error for error in self.report.errors if error.kind == "syntax"),
            *self.report.undecided,
        ]
        left_out = max(0, len(found) - MOST_RESULTS)
        if left_out:
            found.sort(key=lambda item: SEVERITIES.index(_severity(item)))
            del found[MOST_RESULTS:]
        results = [self.result(item) for item in found]
        if any("suppressions" in result for result in results):
            # Where one result says whether it is suppressed, all of them have to.
            for result in results:
                result.setdefault("suppressions", [])
        return results, left_out

    def result(self, item: Diagnostic | FileError | KernelReport) -> dict[str, Any]:
        if isinstance(item, Diagnostic):
            return self.finding(item)
        if isinstance(item, FileError):
            return self.syntax(item)
        return self.undecided(item)

    def finding(self, diagnostic: Diagnostic) -> dict[str, Any]:
        known = self.options.rules.get(diagnostic.rule)
        severity = diagnostic.severity
        unknown = RuleText(diagnostic.rule, "", "", diagnostic.name, "", "", severity)
        location = self.location(diagnostic.span)
        if diagnostic.kernel:
            location["logicalLocations"] = [{"name": diagnostic.kernel, "kind": "function"}]
        text = "\n".join([diagnostic.message, *details(diagnostic)])
        result = self.base(known or unknown, severity, text, location)
        if diagnostic.labels:
            result["relatedLocations"] = [
                {"id": number, **self.location(label.span), "message": _message(label.text)}
                for number, label in enumerate(diagnostic.labels[:MOST_PLACES], 1)
            ]
        if diagnostic.fingerprint:
            result["partialFingerprints"] = {SCHEME: diagnostic.fingerprint}
        if diagnostic.suppressed is not None:
            suppression = {"kind": "inSource", "status": "accepted"}
            if diagnostic.suppressed:
                suppression["justification"] = diagnostic.suppressed
            result["suppressions"] = [suppression]
        if diagnostic.fix is not None and diagnostic.fix.edits:
            result["fixes"] = [self.fix(diagnostic.fix)]
        counterexample = diagnostic.counterexample
        properties = {
            "verdict": diagnostic.verdict,
            "kernel": diagnostic.kernel,
            "targets": list(diagnostic.targets),
            "presets": list(diagnostic.presets),
            "predicate": diagnostic.predicate,
            "counterexample": None
            if counterexample is None
            else {name: finite(value) for name, value in counterexample.items()},
            "replay": diagnostic.replay,
            "facts": list(diagnostic.facts),
            "notes": list(remarks(diagnostic)),
            "help": list(advice(diagnostic)),
        }
        result["properties"] = {key: value for key, value in properties.items() if value != ""}
        return result

    def syntax(self, error: FileError) -> dict[str, Any]:
        location = self.location(Span(error.path, error.line, 0, error.line, -1))
        result = self.base(_OWN["syntax-error"], "error", error.message, location)
        result["partialFingerprints"] = {SCHEME: unparsed(error, self.options.root)}
        return result

    def undecided(self, kernel: KernelReport) -> dict[str, Any]:
        line = kernel.line
        location = self.location(Span(kernel.path, line, 0, line, -1))
        location["logicalLocations"] = [{"name": kernel.name, "kind": "function"}]
        reasons = list(dict.fromkeys(kernel.reasons))
        text = f"{kernel.name} could not be decided for {kernel.target}"
        if kernel.contract:
            text += f" under {kernel.contract}"
        if reasons:
            text += f": {reasons[0].message}"
        if len(reasons) > 1:
            text += f" (and {len(reasons) - 1} more)"
        result = self.base(_OWN["undecided"], "note", text, location)
        if reasons:
            result["relatedLocations"] = [
                {
                    "id": number,
                    **self.location(Span(reason.path, reason.line, 0, reason.line, -1)),
                    "message": _message(reason.message),
                }
                for number, reason in enumerate(reasons[:MOST_PLACES], 1)
            ]
        result["partialFingerprints"] = {SCHEME: undecided(kernel, self.options.root)}
        result["properties"] = {
            "verdict": "unknown",
            "kernel": kernel.name,
            "targets": [kernel.target],
            "contract": kernel.contract or None,
            "preset": kernel.preset or None,
        }
        return result

    def base(
        self, rule: RuleText, severity: Severity, text: str, location: dict[str, Any]
    ) -> dict[str, Any]:
        return {
            "ruleId": rule.id,
            "ruleIndex": self.rule(rule),
            "kind": "fail",
            "level": severity,
            "message": _message(text),
            "locations": [location],
        }

    def rule(self, rule: RuleText) -> int:
        """The place of a rule among the descriptors; rules without results have none."""
        index = self.indices.get(rule.id)
        if index is None:
            index = self.indices[rule.id] = len(self.descriptors)
            self.descriptors.append(_descriptor(rule))
        return index

    def fix(self, fix: Fix) -> dict[str, Any]:
        changes: dict[str, list[dict[str, Any]]] = {}
        for edit in fix.edits:
            changes.setdefault(edit.span.path, []).append(
                {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}}
            )
        return {
            "description": {"text": fix.title},
            "artifactChanges": [
                {"artifactLocation": self.artifact(path), "replacements": replacements}
                for path, replacements in changes.items()
            ],
            "properties": {"safe": fix.safe},
        }

    def notification(self, error: FileError) -> dict[str, Any]:
        notification: dict[str, Any] = {
            "level": "error",
            "message": _message(error.message),
            "properties": {"kind": error.kind},
        }
        if error.path:
            span = Span(error.path, error.line, 0, error.line, -1)
            notification["locations"] = [self.location(span)]
        return notification

    def location(self, span: Span) -> dict[str, Any]:
        physical: dict[str, Any] = {"artifactLocation": self.artifact(span.path)}
        if span.line > 0:
            physical["region"] = _region(span)
        return {"physicalLocation": physical}

    def artifact(self, path: str) -> dict[str, Any]:
        inside = below(path, self.options.root)
        if inside is None:
            return {"uri": uri(portable(path, self.options.root), absolute=True)}
        return {"uri": uri(inside), "uriBaseId": _ROOT}


def _severity(item: Diagnostic | FileError | KernelReport) -> Severity:
    if isinstance(item, Diagnostic):
        return item.severity
    return "error" if isinstance(item, FileError) else "note"


def _region(span: Span) -> dict[str, int]:
    """A region; ``end_column`` -1: whole lines."""
    if span.end_column < 0:
        return {"startLine": span.line}
    return {
        "startLine": span.line,
        "startColumn": span.column + 1,
        "endLine": span.end_line,
        "endColumn": span.end_column + 1,
    }


def _message(text: str) -> dict[str, str]:
    """Plain text; `](` would be read as a link to a related place, as in `x.shape[1](...)`."""
    return {"text": text.replace("](", "] (") or "(no message)"}


def _descriptor(rule: RuleText) -> dict[str, Any]:
    descriptor: dict[str, Any] = {
        "id": rule.id,
        "name": "".join(part[:1].upper() + part[1:] for part in rule.id.split("-")),
        "defaultConfiguration": {"level": rule.severity},
    }
    if rule.summary.strip():
        descriptor["shortDescription"] = {"text": _short(_sentence(rule.summary))}
    if rule.reason.strip():
        descriptor["fullDescription"] = {"text": _short(rule.reason.strip())}
    text = "\n\n".join(filter(None, (_sentence(rule.summary), rule.reason.strip())))
    if text:
        descriptor["help"] = {"text": text}
        if rule.markdown:
            descriptor["help"]["markdown"] = rule.markdown
    properties: dict[str, Any] = {}
    if rule.code:
        properties["code"] = rule.code
    if rule.family:
        properties["family"] = rule.family
    if rule.facts:
        properties["facts"] = list(rule.facts)
    tags = _tags((rule.family, *rule.tags))
    if tags:
        properties["tags"] = tags
    if properties:
        descriptor["properties"] = properties
    return descriptor


def _tags(names: Iterable[str]) -> Sequence[str]:
    return list(dict.fromkeys(filter(None, names)))[:10]


def _sentence(text: str) -> str:
    text = text.strip()
    first = text.partition(" ")[0]
    if first.isalpha():
        text = text[:1].upper() + text[1:]
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_DESCRIPTION else text[: LONGEST_DESCRIPTION - 3] + "..."
