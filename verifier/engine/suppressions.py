"""Suppressions: which findings the source takes back, and what is wrong with the comments.

This is a step of its own behind the analysis, so that comments never change what is analysed. What
it does depends on the findings, on :attr:`KernelReport.judged`, and on the texts.

A suppression is *used* when its rule is violated at its place, *unused* when everything that can
come to this place was analysed to the end and the rule was not violated, and neither otherwise. A
finding that is not decided is suppressed like others, but leaves the suppression neither used nor
unused; its kernel stays undecided.

Where contracts or presets narrow the inputs, or the run leaves out what is checked at other
times, an unused suppression may be needed elsewhere: removing it is then no safe fix.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from verifier import rulebase
from verifier.configuration.suggestions import NEAR
from verifier.report import model as report
from verifier.rulebase import Rule
from verifier.source import suppressions as comments
from verifier.source.ir import Span
from verifier.source.suppressions import Suppression

#: the text of a file (line ends of any kind), or None if there is none
Reader = Callable[[str], str | None]
#: the ids of the rules that were checked in a file
Selection = Callable[[str], Collection[str]]

#: adds findings that stand for others
Summing = Callable[[Sequence[report.FileResult]], list[report.FileResult]]

FAMILY = "suppression"

_UNUSED = "unused-suppression"
_UNKNOWN = "unknown-suppression"
_PROBLEMS: dict[str, str] = {
    "malformed": "malformed-suppression",
    "misplaced": "malformed-suppression",
    "blanket": "blanket-suppression",
    "reason": "suppression-without-reason",
}
_FORM = "write `# tilelint: ignore[rule] -- reason`"


def apply(
    results: Sequence[report.FileResult],
    read: Reader,
    stated: Summing = list,
    *,
    selected: Selection | None = None,
    whole: bool = False,
    narrow: bool = False,
) -> list[report.FileResult]:
    """The results with suppressed findings marked and findings about suppressions added.

    ``stated`` adds what stands for several findings, once it is known which are suppressed.

    Paths in ``results`` name each file in one way only. ``selected`` None: all rules were checked.
    ``whole``: the results are of all kernels that may come to these files, so that suppressions in
    files without kernels of their own can be called unused. ``narrow``: at other times more is
    checked, or something else (other targets, rules or versions).
    """
    files = _Files(results, read)
    if not files.found:
        return stated(results)
    chosen = selected or _all_rules
    for file in files.found.values():
        file.resolve()
    marked = [_marked(result, files, about=False) for result in results]
    marked = [_without_parts(_marked(result, files, about=False)) for result in stated(marked)]
    added: dict[str, list[report.Diagnostic]] = {}
    for path, file in files.found.items():
        rules = chosen(path)
        told = [*_complaints(file, rules), *_unused(file, files, rules, whole, narrow)]
        if told:
            added[path] = told
    return [_marked(result, files, about=True) for result in _with(marked, added)]


def suppression_edit(text: str, span: report.Span, rule: str, reason: str) -> report.Edit:
    """The edit that suppresses a rule at a place: a comment on a line above the statement.

    ``text`` may have line ends of any kind; the edit has those of the line that it stands before.
    """
    layout = comments.scan(text)
    owner = layout.line_at(span.line)
    line = owner.first if owner is not None else span.line
    rows = re.split(r"(\r\n|\r|\n)", text)
    position = min(2 * (line - 1), len(rows) - 1)
    row = rows[position]
    lead = row[: len(row) - len(row.lstrip(" \t\f"))]
    newline = next((end for end in (*rows[position + 1 : position + 2], *rows[1:2])), "\n")
    why = " ".join(reason.split()) or "no reason given"
    place = report.Span(span.path, line, 0, line, 0)
    return report.Edit(place, f"{lead}# tilelint: ignore[{rule}] -- {why}{newline}")


def _all_rules(_: str) -> Collection[str]:
    return {rule.id for rule in rulebase.all_rules()}


# ----------------------------------------------------------------------------- the comments


class _Entry(Struct):
    """One rule of one suppression; ``hits`` are the verdicts of what it suppressed."""

    suppression: Suppression
    named: comments.Named
    rule: Rule | None
    hits: set[str] = field(default_factory=set)


class _File(Struct):
    """A file with directives in it."""

    path: str
    text: str
    suppressions: tuple[Suppression, ...]
    entries: list[_Entry] = field(default_factory=list)

    def resolve(self) -> None:
        """Find the rules that are named."""
        known = {rule.id: rule for rule in rulebase.all_rules()}
        known |= {rule.code.lower(): rule for rule in rulebase.all_rules()}
        for suppression in self.suppressions:
            if suppression.problem in ("", "reason"):
                for named in suppression.names:
                    self.entries.append(_Entry(suppression, named, known.get(named.name.lower())))

    def working(self) -> list[_Entry]:
        return [e for e in self.entries if not e.suppression.problem and e.rule is not None]


class _Files:
    """The files of a run that have directives, and what is known about every file."""

    def __init__(self, results: Sequence[report.FileResult], read: Reader) -> None:
        self.kernels = [kernel for result in results for kernel in result.kernels]
        self.broken = {error.path for result in results for error in result.errors}
        self.judged: dict[str, list[tuple[report.KernelReport, report.Judged]]] = {}
        for kernel in self.kernels:
            for place in kernel.judged:
                self.judged.setdefault(place.span.path, []).append((kernel, place))
        paths = dict.fromkeys(result.path for result in results)
        paths |= dict.fromkeys(d.span.path for result in results for d in result.diagnostics)
        paths |= dict.fromkeys(self.judged)
        self.found: dict[str, _File] = {}
        for path in paths:
            text = read(path) if path else None
            if text is not None and comments.may_suppress(text):
                found = comments.find(path, text)
                if found:
                    self.found[path] = _File(path, text, found)


def _marked(result: report.FileResult, files: _Files, *, about: bool) -> report.FileResult:
    """``result`` with what is suppressed marked; ``about``: findings about suppressions only."""
    out: list[report.Diagnostic] = []
    for diagnostic in result.diagnostics:
        file = files.found.get(diagnostic.span.path)
        if file is not None:
            diagnostic = _one(diagnostic, file, about)
        out.append(diagnostic)
    if out == list(result.diagnostics):
        return result
    return replace(result, diagnostics=tuple(out))


def _without_parts(result: report.FileResult) -> report.FileResult:
    """The result without the parts of preconditions that are suppressed as a whole."""
    gone = {
        (d.kernel, target)
        for d in result.diagnostics
        if d.precondition is not None and d.suppressed is not None
        for target in d.targets
    }
    kept = tuple(
        d
        for d in result.diagnostics
        if not (
            d.part and d.suppressed is None and gone.issuperset((d.kernel, t) for t in d.targets)
        )
    )
    return replace(result, diagnostics=kept) if gone else result


def _one(diagnostic: report.Diagnostic, file: _File, about: bool) -> report.Diagnostic:
    for entry in file.working():
        rule, suppression = entry.rule, entry.suppression
        assert rule is not None
        if rule.id != diagnostic.rule or (rule.family == FAMILY) is not about:
            continue
        if suppression.covers(diagnostic.span.line, diagnostic.span.end_line):
            entry.hits.add(diagnostic.verdict)
            if diagnostic.suppressed is None:
                diagnostic = replace(diagnostic, suppressed=suppression.reason)
    return diagnostic


def _with(
    results: Sequence[report.FileResult], added: dict[str, list[report.Diagnostic]]
) -> list[report.FileResult]:
    """The results with findings added to that of their file, else to the first that met it."""
    out = list(results)
    for path, told in added.items():
        own = [i for i, result in enumerate(out) if result.path == path]
        met = [i for i, r in enumerate(out) if any(d.span.path == path for d in r.diagnostics)]
        at = (own or met or [0])[0]
        out[at] = replace(out[at], diagnostics=(*out[at].diagnostics, *told))
    return out


# ---------------------------------------------------------------------------- what is found


def _complaints(file: _File, rules: Collection[str]) -> Iterable[report.Diagnostic]:
    """Findings about the text of comments: malformed, blanket, no reason, unknown rules."""
    for suppression in file.suppressions:
        rule = _PROBLEMS.get(suppression.problem)
        if rule is not None and rule in rules:
            message = f"this suppresses nothing: {suppression.message}"
            form = _FORM
            if suppression.problem == "malformed":
                message = f"this directive cannot be read: {suppression.message}"
            elif suppression.problem == "misplaced":
                message = f"this contract is ignored: {suppression.message}"
                form = "write it into the lines right above the `def`, or above its decorators"
            yield _finding(rule, suppression.span, message, help=(form,))
    if _UNKNOWN in rules:
        for entry in file.entries:
            if entry.rule is None:
                message, hint = _unknown(entry.named.name)
                yield _finding(_UNKNOWN, entry.named.span, message, help=hint)


def _unknown(name: str) -> tuple[str, tuple[str, ...]]:
    known = rulebase.all_rules()
    if name in {rule.family for rule in known}:
        return f"`{name}` is a family: a suppression names single rules", ()
    names = [n for rule in known for n in (rule.id, rule.code)]
    close = difflib.get_close_matches(name.lower(), [n.lower() for n in names], 1, NEAR)
    spelled = [n for n in names if close and n.lower() == close[0]]
    return f"there is no rule `{name}`", tuple(f"did you mean `{n}`?" for n in spelled[:1])


def _unused(
    file: _File, files: _Files, rules: Collection[str], whole: bool, narrow: bool
) -> Iterable[report.Diagnostic]:
    """One finding for each comment that has rules without a use."""
    if _UNUSED not in rules or file.path in files.broken:
        return
    coverage = _Coverage(file, files, rules, whole)
    idle: dict[int, list[_Entry]] = {}
    total: dict[int, int] = {}
    for entry in file.entries:
        if not entry.suppression.problem:
            total[id(entry.suppression)] = total.get(id(entry.suppression), 0) + 1
            if entry.rule is not None and coverage.unused(entry):
                idle.setdefault(id(entry.suppression), []).append(entry)
    for key, entries in idle.items():
        suppression = entries[0].suppression
        all_of_them = len(entries) == total[key]
        listed = " and ".join(f"`{entry.named.name}`" for entry in entries)
        what = "is" if len(entries) == 1 else "are"
        where = "in this file" if suppression.whole_file else "here"
        partial = narrow or coverage.narrowed(suppression)
        hint = "remove it, unless what was not checked here needs it" if partial else "remove it"
        yield _finding(
            _UNUSED,
            suppression.span if all_of_them else entries[0].named.span,
            f"{listed} {what} not violated {where}: nothing is suppressed",
            help=(hint,),
            fix=_removal(suppression, entries, all_of_them, safe=not partial),
        )


def _removal(
    suppression: Suppression, entries: Sequence[_Entry], all_of_them: bool, *, safe: bool
) -> report.Fix | None:
    place = suppression.removal if all_of_them else suppression.names_span
    if place is None:
        return None
    gone = {entry.named for entry in entries}
    kept = ", ".join(named.name for named in suppression.names if named not in gone)
    edit = report.Edit(_place(place), "" if all_of_them else kept)
    return report.Fix("remove the unused suppression", safe, (edit,))


class _Coverage:
    """What of a file was analysed to the end."""

    def __init__(self, file: _File, files: _Files, rules: Collection[str], whole: bool) -> None:
        self._rules = rules
        self._records = files.judged.get(file.path, [])
        self._layout = comments.scan(file.text)
        self._kernels = files.kernels
        self._own = [kernel for kernel in files.kernels if kernel.path == file.path]
        met = [kernel for kernel, _ in self._records]
        related = [*self._own, *met]
        # What was analysed may come here, what was not analysed might have.
        blind = any(not kernel.judged and not _complete(kernel) for kernel in files.kernels)
        self._decided = bool(self._own or (whole and met)) and all(map(_complete, related))
        self._decided_outside = self._decided and not blind

    def unused(self, entry: _Entry) -> bool:
        """Whether the rule was not violated where the suppression speaks, for certain."""
        suppression, rule = entry.suppression, entry.rule
        assert rule is not None
        if rule.family == FAMILY or rule.id not in self._rules or entry.hits:
            return False
        here = [
            place
            for _, place in self._records
            if suppression.covers(place.span.line, place.span.end_line)
        ]
        if any(rule.id in place.violated for place in here):
            return False
        if suppression.whole_file:
            return self._decided_outside
        if not suppression.first:
            return True
        around = [k for k in self._own if self._inside(k, suppression.first)]
        if around:
            if not all(_complete(kernel) for kernel in around):
                return False
        elif not self._decided_outside:
            return False
        return bool(here) or self._reached(suppression.first)

    def narrowed(self, suppression: Suppression) -> bool:
        """Whether what may come to a suppression was only checked for some inputs."""
        around = [k for k in self._own if self._inside(k, suppression.first)]
        met = [kernel for kernel, _ in self._records]
        # A kernel that never came by may do so with other inputs.
        concerned = [*around, *met] if around and suppression.first else self._kernels
        return any(kernel.contract or kernel.preset for kernel in concerned)

    def _inside(self, kernel: report.KernelReport, line: int) -> bool:
        """Whether a line is in the header or the body of a kernel."""
        header = self._layout.line_at(kernel.line)
        if header is None:
            return False
        if header.first <= line <= header.last:
            return True
        return header.last < line <= self._layout.body_end(kernel.line)

    def _reached(self, line: int) -> bool:
        """Whether the analysis came by: something was judged later in the same block, or before
        without a way out in between."""
        layout = self._layout
        start, end = layout.block_start(line), layout.block_end(line)
        lines = [place.span.line for _, place in self._records]
        if any(line <= other <= end for other in lines):
            return True
        before = [other for other in lines if start <= other < line]
        return bool(before) and not layout.leaves(max(before), line)


def _complete(kernel: report.KernelReport) -> bool:
    return kernel.status in ("verified", "conditional", "violated") and not kernel.reasons


def _place(span: Span) -> report.Span:
    return report.Span(span.path, span.line, span.column, span.end_line, span.end_column)


def _finding(
    rule_id: str,
    span: Span,
    message: str,
    *,
    help: tuple[str, ...] = (),
    fix: report.Fix | None = None,
) -> report.Diagnostic:
    rule = rulebase.find(rule_id)
    assert rule is not None
    return report.Diagnostic(
        rule=rule.id,
        name=rule.summary,
        severity="warning",
        verdict="always",
        message=message,
        span=_place(span),
        help=help,
        fix=fix,
    )
