"""The format for people: one code frame per finding, then a line per kernel and the totals.

Preconditions are blocks without frames; so are notes, unless ``verbose``: what is not decided is
told with its kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TextIO

from verifier.report.blocks import across_files, block_lines, one_block
from verifier.report.details import AGAIN, advice, assignments, remarks
from verifier.report.frames import Mark, frame
from verifier.report.model import Diagnostic, FileError, RunReport, Span
from verifier.report.sources import Sources
from verifier.report.statistics import statistics_lines
from verifier.report.summary import summary_lines
from verifier.report.text import Line, Options, Piece, one_line, words, wrap, write

_QUOTED = re.compile(r"`[^`]*`")


def render(
    report: RunReport, stream: TextIO, options: Options, sources: Sources | None = None
) -> None:
    """Print ``report``; errors other than syntax errors are left to the caller's stderr."""
    known = sources or Sources()
    lines: list[Line] = []
    listed = report.listed(parts=options.verbose)
    fixes = sum(d.precondition is not None and d.fix is not None for d in listed)
    for diagnostic, places in _causes(listed, options):
        if diagnostic.precondition is not None:
            fix = fixes == 1 or options.verbose
            condition = diagnostic.precondition
            lines += block_lines(diagnostic, condition, options, places, fix=fix)
        else:
            brief = _is_brief(diagnostic, options)
            lines += diagnostic_lines(diagnostic, known, options, places, brief=brief)
        lines.append([])
    for error in report.errors:
        if error.kind == "syntax":
            lines += [*diagnostic_lines(_syntax(error, known), known, options), []]
    lines += summary_lines(report, options)
    if fixes > 1:
        text = f"`tilelint check --fix --unsafe-fixes` asserts {fixes} of the preconditions"
        lines += wrap([], words(text, "help"), options.width)
    if options.statistics:
        lines += [[], *statistics_lines(report.statistics, options)]
    write(lines, stream, options)


def _causes(
    diagnostics: Iterable[Diagnostic], options: Options
) -> Iterator[tuple[Diagnostic, Sequence[Diagnostic]]]:
    """Each finding with those further down that say the same of other places.

    Notes are one, too, where they say the same of other names.
    """
    groups: dict[object, list[Diagnostic]] = {}
    for d in diagnostics:
        key: object = (d.rule, d.severity, d.verdict, d.message, d.predicate, advice(d))
        if _is_brief(d, options):
            key = (d.rule, d.verdict, _QUOTED.sub("``", d.message))
        if d.precondition is not None:
            key = one_block(d), d.span.path
        groups.setdefault(id(d) if options.verbose else key, []).append(d)
    files: dict[object, list[Diagnostic]] = {}
    for same in groups.values():
        block = same[0].precondition is not None and not options.verbose
        files.setdefault(across_files(same) if block else id(same), []).extend(same)
    for first, *others in files.values():
        yield first, others


def _is_brief(diagnostic: Diagnostic, options: Options) -> bool:
    """Whether only what it says is shown, and where."""
    return diagnostic.severity == "note" and not options.verbose


def diagnostic_lines(
    diagnostic: Diagnostic,
    sources: Sources,
    options: Options,
    others: Sequence[Diagnostic] = (),
    *,
    brief: bool = False,
) -> list[Line]:
    """The frame of one finding and what there is to say about it.

    ``others`` say the same of other places. ``brief``: only what is said, and where.
    """
    severity = diagnostic.severity
    head: Line = [(f"{severity}[{diagnostic.rule}]", severity), (": ", "message")]
    lines = wrap(head, words(one_line(diagnostic.message), "message"), options.width, indent=4)

    span = diagnostic.span
    style = "primary" if severity == "error" else f"primary-{severity}"
    own = [label.text for label in diagnostic.labels if label.span == span]
    marks = [Mark(span, one_line("; ".join(own)), True, style)]
    marks += [
        Mark(label.span, one_line(label.text), False, "label")
        for label in diagnostic.labels
        if label.span != span
    ]
    body, number_width = frame(sources, marks, options.width, options.glyphs)
    margin = " " * number_width

    place = [(f"{span.path}:{span.line}:{span.column + 1}", "")]
    if diagnostic.kernel:
        place.append((f"in {diagnostic.kernel}", "dim"))
    if diagnostic.targets:
        place.append((f"on {', '.join(diagnostic.targets)}", "dim"))
    if diagnostic.presets:
        place.append((f"with preset {', '.join(diagnostic.presets)}", "dim"))
    lines += wrap([(f"{margin}--> ", "arrow")], place, options.width)
    if brief:
        return lines + _also(diagnostic, others, margin, options)
    lines += body
    also = _also(diagnostic, others, margin, options)
    details = [*_details(diagnostic, margin, options), *also]
    if details:
        lines.append([(f"{margin} |", "gutter")])
        lines += details
    return lines


def _details(diagnostic: Diagnostic, margin: str, options: Options) -> list[Line]:
    lines: list[Line] = []

    def add(key: str, body: list[tuple[str, str]], key_style: str = "key") -> None:
        head: Line = [(f"{margin} = ", "gutter"), (f"{key}:", key_style), (" ", "")]
        lines.extend(wrap(head, body, options.width))

    if diagnostic.predicate:
        add("predicate", words(one_line(diagnostic.predicate)))
    if diagnostic.counterexample is not None:
        add("counterexample", _counterexample(diagnostic))
    for note in remarks(diagnostic):
        add("note", words(one_line(note)))
    for text in advice(diagnostic):
        add("help", words(one_line(text), "help"), "help-key")
    if diagnostic.name not in ("", diagnostic.rule):
        about = [phrase(diagnostic.name), ", ".join(diagnostic.facts)]
        add("rule", words(f" {options.glyphs.dot} ".join(filter(None, about)), "dim"))
    elif diagnostic.facts:
        add("facts", words(", ".join(diagnostic.facts), "dim"))
    return lines


def _also(
    first: Diagnostic, others: Sequence[Diagnostic], margin: str, options: Options
) -> list[Line]:
    """The other places of a cause: file by file, and of names that differ name by name."""
    if not others:
        return []
    places: dict[tuple[str, str], dict[int, None]] = {}
    for d in others:
        names = " and ".join(_QUOTED.findall(d.message)) if d.message != first.message else ""
        for span in (d.span, *(x.span for x in d.labels if x.text == AGAIN)):
            places.setdefault((span.path, names), {})[span.line] = None
    told = ""
    texts: list[str] = []
    for (path, names), lines in places.items():
        own = path == first.span.path
        if not names and not own and len(lines) == 1:
            texts.append(f"{path}:{next(iter(lines))}")
            continue
        where = "" if own or path == told else f"{path}: "
        told = path
        numbers = ", ".join(map(str, lines))
        at = f"line {numbers}" if len(lines) == 1 else f"lines {numbers}"
        texts.append(f"{where}{names} ({at})" if names else f"{where}{at}")
    head: Line = [(f"{margin} = ", "gutter"), ("also:", "key"), (" ", "")]
    return wrap(head, words(", ".join(texts)), options.width)


def phrase(title: str) -> str:
    """A rule's title as it stands in the middle of a line."""
    text = one_line(title).rstrip(".")
    first, _, rest = text.partition(" ")
    return f"{first.lower()} {rest}" if first.isalpha() and first.istitle() and rest else text


_REPLAY: Mapping[str, Piece] = {
    "confirmed": ("(confirmed by replay)", "dim"),
    "diverged": ("(replay did not confirm it)", "unsure"),
    "unsupported": ("(cannot be replayed)", "dim"),
}


def _counterexample(diagnostic: Diagnostic) -> list[Piece]:
    items = assignments(diagnostic.counterexample or {})
    pieces: list[Piece] = []
    if diagnostic.verdict == "always":
        pieces += words("every input that the kernel admits" + (", such as" if items else ""))
    elif not items:
        pieces.append(("any input", "value"))
    commas = [","] * (len(items) - 1) + [""]
    pieces += [(item + comma, "value") for item, comma in zip(items, commas, strict=False)]
    if diagnostic.replay in _REPLAY:
        pieces.append(_REPLAY[diagnostic.replay])
    return pieces


def _syntax(error: FileError, sources: Sources) -> Diagnostic:
    """A syntax error as a finding, so that it is shown with its line."""
    text = sources.line(error.path, error.line) or ""
    column = len(text) - len(text.lstrip())
    span = Span(error.path, max(1, error.line), column, max(1, error.line), len(text.rstrip()))
    return Diagnostic("syntax-error", "", "error", "always", error.message, span)
