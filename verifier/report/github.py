"""Workflow commands: GitHub shows each finding as an annotation at its line.

Errors, warnings and notices; suppressed findings are left out, undecided kernels are notices. The
totals follow as plain text. Paths are relative to the project's root, which is where annotations
count from.
"""

from __future__ import annotations

from typing import TextIO

from verifier.report.details import details
from verifier.report.model import Diagnostic, RunReport, Span
from verifier.report.places import portable
from verifier.report.summary import totals_lines
from verifier.report.text import Options, plain

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: RunReport, stream: TextIO, options: Options) -> None:
    """Print one command for each finding, then the totals."""
    for diagnostic in report.listed(parts=options.verbose):
        stream.write(_finding(diagnostic, options))
    for error in report.errors:
        title = "syntax-error" if error.kind == "syntax" else f"{error.kind} error"
        span = Span(error.path, error.line, 0, error.line, -1)
        stream.write(command("error", span, title, error.message, options))
    for kernel in report.undecided:
        title = f"undecided: {kernel.name} ({kernel.target})"
        reasons = dict.fromkeys(
            f"{reason.path}:{reason.line}: {reason.message}" for reason in kernel.reasons
        )
        text = "\n".join(reasons) or "this kernel could not be decided"
        span = Span(kernel.path, kernel.line, 0, kernel.line, -1)
        stream.write(command("note", span, title, text, options))
    stream.writelines(f"{plain(line)}\n" for line in totals_lines(report, options))


def _finding(diagnostic: Diagnostic, options: Options) -> str:
    title = diagnostic.rule
    if diagnostic.kernel:
        title += f" in {diagnostic.kernel}"
    if diagnostic.presets:
        title += f" with preset {', '.join(diagnostic.presets)}"
    text = "\n".join([diagnostic.message, *details(diagnostic)])
    return command(diagnostic.severity, diagnostic.span, title, text, options)


def command(severity: str, span: Span, title: str, text: str, options: Options) -> str:
    """One workflow command with its line end; ``end_column`` -1: the whole line."""
    properties = {}
    if span.path:
        properties["file"] = portable(span.path, options.root)
    if span.path and span.line > 0:
        properties["line"] = str(span.line)
        properties["endLine"] = str(span.end_line)
        # Columns are refused where an annotation has several lines.
        if span.end_column >= 0 and span.line == span.end_line:
            properties["col"] = str(span.column + 1)
            properties["endColumn"] = str(max(span.column + 1, span.end_column))
    properties["title"] = f"tilelint: {title}"
    listed = ",".join(f"{name}={escape_property(value)}" for name, value in properties.items())
    return f"::{_COMMANDS[severity]} {listed}::{escape(text)}\n"


def escape(text: str) -> str:
    """The text of a command: percent signs and line ends are escaped, in this order."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """The value of a property: colons and commas are escaped, too."""
    return escape(text).replace(":", "%3A").replace(",", "%2C")
