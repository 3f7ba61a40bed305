"""One line per finding: ``path:line:column: severity[rule] message [kernel]``, and
``(replay: confirmed)`` or what else came of it where the counterexample was replayed. A finding
that is a matter of shape presets names them: ``(preset decode)``.

The form that editors and grep read. Columns are 1-based. Undecided kernels get a line for each
reason that no finding tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from verifier.report.model import RunReport
from verifier.report.statistics import statistics_lines
from verifier.report.text import Line, Options, one_line, write


def render(report: RunReport, stream: TextIO, options: Options) -> None:
    """Print ``report``; errors other than syntax errors are left to the caller's stderr."""
    rows: list[tuple[tuple[str, int, int], Line]] = []
    told: set[tuple[str, int, str, str]] = set()
    for diagnostic in report.listed(parts=options.verbose):
        span = diagnostic.span
        why = diagnostic.undecided
        if why:
            said = f"{diagnostic.predicate}: {why}"
            told.add((span.path, span.line, diagnostic.kernel, said))
        rows.append(
            (
                (span.path, span.line, span.column),
                _line(
                    f"{span.path}:{span.line}:{span.column + 1}",
                    diagnostic.severity,
                    diagnostic.rule,
                    diagnostic.message + (f"; not decided: {why}" if why else ""),
                    diagnostic.kernel,
                    diagnostic.replay,
                    diagnostic.presets,
                ),
            )
        )
    for error in report.errors:
        if error.kind == "syntax":
            place = f"{error.path}:{error.line}:1"
            line = _line(place, "error", "syntax-error", error.message, "")
            rows.append(((error.path, error.line, 0), line))
    for kernel in report.undecided:
        for reason in kernel.reasons:
            if (reason.path, reason.line, kernel.name, reason.message) in told:
                continue
            place = f"{reason.path}:{reason.line}:1"
            line = _line(place, "note", "undecided", reason.message, kernel.name)
            rows.append(((reason.path, reason.line, 0), line))
        if not kernel.reasons:
            place = f"{kernel.path}:{kernel.line}:1"
            message = "this kernel could not be decided"
            line = _line(place, "note", "undecided", message, kernel.name)
            rows.append(((kernel.path, kernel.line, 0), line))
    rows.sort(key=lambda row: row[0])
    lines = list(dict.fromkeys(tuple(line) for _, line in rows))
    printed: list[Line] = [list(line) for line in lines]
    if options.statistics:
        printed += statistics_lines(report.statistics, options)
    write(printed, stream, options)


def _line(
    place: str,
    severity: str,
    rule: str,
    message: str,
    kernel: str,
    replay: str = "not-run",
    presets: Sequence[str] = (),
) -> Line:
    line: Line = [
        (f"{place}: ", ""),
        (f"{severity}[{rule}]", severity),
        (f" {one_line(message)}", ""),
    ]
    if kernel:
        line.append((f" [{kernel}]", "dim"))
    if presets:
        line.append((f" (preset {', '.join(presets)})", "dim"))
    if replay != "not-run":
        line.append((f" (replay: {replay})", "dim"))
    return line
