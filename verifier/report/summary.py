"""The block below the findings: one line per kernel with its reasons, and the totals.

A kernel of which all is said above, and with a baseline one of which nothing is new, has a line
only with ``--verbose``.
"""

from __future__ import annotations

from collections import Counter

from verifier.report.model import KernelReport, RunReport, Status
from verifier.report.text import Line, Options, Piece, cells, folded, one_line, words, wrap

_MOST_REASONS = 2
_MOST_GONE = 10
_MOST_NAMED = 4
_STYLES: dict[Status, str] = {
    "verified": "ok",
    "conditional": "unsure",
    "violated": "bad",
    "unknown": "unsure",
    "error": "bad",
}
_WORDS: dict[Status, str] = {
    "verified": "verified",
    "conditional": "right under a precondition",
    "violated": "with faults",
    "unknown": "unknown",
    "error": "not analysed",
}


def summary_lines(report: RunReport, options: Options) -> list[Line]:
    """Per file its kernels, then totals; a run without kernels says so in one line."""
    lines: list[Line] = []
    files: dict[str, list[KernelReport]] = {}
    listed = report.kernels if options.verbose else _untold(report)
    for kernel in listed:
        files.setdefault(kernel.path, []).append(kernel)
    names = max((cells(_title(kernel)) for kernel in listed), default=0)
    targets = max((cells(_target(kernel)) for kernel in listed), default=0)
    names = min(names, max(12, options.width // 2))
    for path, kernels in files.items():
        lines.append([(path, "path")])
        for kernel in kernels:
            lines += _kernel(kernel, names, targets, options)
    if lines:
        lines.append([])
    return lines + totals_lines(report, options)


def _untold(report: RunReport) -> list[KernelReport]:
    """The kernels that are listed in any case."""
    if report.known:  # only what is new
        return [k for k in report.kernels if k.status == "error" or k in report.undecided]
    told = {
        (d.span.path, d.kernel, target)
        for d in report.shown
        if d.precondition is not None
        for target in d.targets
    }
    return [
        k
        for k in report.kernels
        if k.status != "conditional" or (k.path, k.name, k.target) not in told
    ]


def _title(kernel: KernelReport) -> str:
    return f"{kernel.name}:{kernel.line}"


def _target(kernel: KernelReport) -> str:
    return f"{kernel.target} {kernel.api_version}".strip()


def _kernel(kernel: KernelReport, names: int, targets: int, options: Options) -> list[Line]:
    style = _STYLES[kernel.status]
    glyphs = options.glyphs
    glyph = {
        "verified": glyphs.ok,
        "conditional": glyphs.partly,
        "violated": glyphs.bad,
        "unknown": glyphs.unsure,
        "error": glyphs.bad,
    }[kernel.status]
    head: Line = [
        (f"  {glyph} ", style),
        (kernel.name, ""),
        (f":{kernel.line}", "dim"),
        (" " * (names - cells(_title(kernel)) + 2), ""),
        (_target(kernel), "dim"),
        (" " * (targets - cells(_target(kernel)) + 2), ""),
    ]
    lines = wrap(head, _verdict(kernel, style, options), options.width, indent=6)
    if kernel.contract:
        head = [(f"      {f'preset {kernel.preset}:' if kernel.preset else 'under'} ", "dim")]
        lines += wrap(head, words(one_line(kernel.contract), "dim"), options.width)
    if options.verbose:
        for text in kernel.assumptions:
            head = [("      ", ""), ("assumes: ", "dim")]
            lines += wrap(head, words(one_line(text)), options.width, indent=8)
    if kernel.status == "verified":
        return lines
    if kernel.calls.unmodelled:
        listed = ", ".join(kernel.calls.unmodelled)
        lines += wrap([("      ", "")], words(f"not modelled: {listed}", "dim"), options.width)
    if kernel.precondition is not None and kernel.status == "conditional":
        for conjunct in (c for c in kernel.precondition.sizes if c.rank):
            head = [("      ", ""), ("checked with ", "dim")]
            lines += wrap(head, words(conjunct.text), options.width, indent=8)
    for reason in kernel.reasons[:_MOST_REASONS]:
        place = (
            f"line {reason.line}"
            if reason.path == kernel.path
            else (f"{reason.path}:{reason.line}")
        )
        head = [("      ", ""), (f"{place}: ", "dim")]
        said = folded(one_line(reason.message), options)
        lines += wrap(head, words(said), options.width, indent=8)
    more = len(kernel.reasons) - _MOST_REASONS
    if more > 0:
        lines.append([(f"      {glyphs.ellipsis} and {more} more (all with --format json)", "dim")])
    return lines


def _verdict(kernel: KernelReport, style: str, options: Options) -> list[Piece]:
    counts = kernel.obligations
    if kernel.status == "error":
        return [("not analysed", style)]
    parts: list[list[Piece]] = []
    if kernel.status == "conditional":
        parts.append([(_WORDS["conditional"], style)])
    elif counts.violated:
        parts.append([(f"{counts.violated} violated", "bad")])
    if counts.unknown:
        parts.append([(f"{counts.unknown} unknown", "unsure")])
    if kernel.status == "verified":
        parts.append([(f"{number(counts.proved, 'obligation')} proved", "ok")])
    elif counts.total:
        parts.append([(f"{counts.proved}/{counts.total} proved", "dim")])
    elif kernel.status == "unknown":
        parts.append([("undecided", "unsure")])
    if kernel.assumptions and options.verbose:
        parts.append([(number(len(kernel.assumptions), "assumption"), "dim")])
    return _join(parts, options)


def _join(parts: list[list[Piece]], options: Options) -> list[Piece]:
    pieces: list[Piece] = []
    for index, part in enumerate(parts):
        if index:
            pieces.append((options.glyphs.dot, "dim"))
        pieces += part
    return pieces


def totals_lines(report: RunReport, options: Options) -> list[Line]:
    """How many kernels and findings there are, and what is left out of the report."""
    files = report.statistics.get("files")
    looked = f" in {number(int(files), 'file')}" if isinstance(files, int) else ""
    lines: list[Line]
    if report.kernels:
        status = Counter(kernel.status for kernel in report.kernels)
        verdicts: list[Piece] = [
            (f"{status[name]} {_WORDS[name]}", style)
            for name, style in _STYLES.items()
            if status[name]
        ]
        pieces = _commas(verdicts)
        total = sum(kernel.obligations.total for kernel in report.kernels)
        if total:
            proved = sum(kernel.obligations.proved for kernel in report.kernels)
            pieces.append((f"({proved} of {number(total, 'obligation')} proved)", "dim"))
        head = f"{number(len(report.kernels), 'kernel')}{looked}: "
        lines = wrap([(head, "message")], pieces, options.width, indent=2)
    else:
        lines = [[(f"No kernels{looked}", "message")], *_nearest(report, options)]
    if report.helpers:
        one = len(report.helpers) == 1
        there = "is judged where kernels call it" if one else "are judged where kernels call them"
        lines.append([(f"{number(len(report.helpers), 'helper')} {there}", "dim")])

    findings: Counter[str] = Counter(diagnostic.severity for diagnostic in report.shown)
    failed = sum(error.kind != "syntax" for error in report.errors)
    findings["error"] += len(report.errors) - failed
    findings["failure"] = failed
    counted: list[Piece] = [
        (number(findings[word], word), style)
        for word, style in (
            ("error", "bad"),
            ("warning", "unsure"),
            ("note", "note"),
            ("failure", "bad"),
        )
        if findings[word]
    ]
    counted += [(text, "dim") for text in _left_out(report)]
    if counted:
        lines += wrap([], _commas(counted), options.width)
    elif report.kernels:
        lines.append([("Nothing to report", "ok")])
    return lines + _gone(report, options)


def _nearest(report: RunReport, options: Options) -> list[Line]:
    """What may have been meant as a kernel where none is found."""
    found = [f"`{f.name}` (line {f.line} of {f.path})" for f in report.unreached]
    if not found:
        return []
    if len(found) > _MOST_NAMED:
        found[_MOST_NAMED:] = [f"{len(found) - _MOST_NAMED} more"]
    pieces = _commas([(text, "") for text in found])
    how = "`tilelint check --kernel FILE::NAME` checks one all the same"
    return [*wrap([("nothing launches ", "")], pieces, options.width), [(how, "dim")]]


def _left_out(report: RunReport) -> list[str]:
    suppressed = sum(d.suppressed is not None for d in report.diagnostics)
    texts = [f"{suppressed} suppressed"] if suppressed else []
    texts += [
        f"{len(known.fingerprints)} known from {known.source}"
        for known in report.known
        if known.fingerprints
    ]
    return texts


def _gone(report: RunReport, options: Options) -> list[Line]:
    """The entries of the baseline that can be taken out of it; a shard cannot tell."""
    if not report.gone or report.shard is not None:
        return []
    are = "is" if len(report.gone) == 1 else "are"
    head = f"{number(len(report.gone), 'finding')} of the baseline {are} no longer there:"
    lines: list[Line] = [[(head, "dim")]]
    for entry in report.gone[:_MOST_GONE]:
        within = f" [{entry.kernel}]" if entry.kernel else ""
        text = f"{entry.path}: {entry.rule}: {entry.message}{within}"
        lines += wrap([("  ", "")], words(one_line(text), "dim"), options.width, indent=4)
    more = len(report.gone) - _MOST_GONE
    if more > 0:
        lines.append([(f"  {options.glyphs.ellipsis} and {more} more", "dim")])
    return lines


def _commas(pieces: list[Piece]) -> list[Piece]:
    return [*((f"{text},", style) for text, style in pieces[:-1]), *pieces[-1:]]


def number(count: int, noun: str) -> str:
    """``1 kernel``, ``2 kernels``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
