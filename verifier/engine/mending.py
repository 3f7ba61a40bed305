"""Applying fixes until nothing is left to fix, each proved to do what it says.

Fixes are applied to texts in memory, all of a file that do not touch each other at once; then the
files that depend on it are checked again, once. Where something of that is wrong (a finding is
still there, the file no longer parses, something new is found), all is taken back, and those who
may be to blame are tried again one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from verifier.report import model as report
from verifier.report.together import Together
from verifier.source import edits
from verifier.source.edits import Replacement

#: the text of a file with its own line ends, or None if it cannot be changed
Reader = Callable[[str], str | None]
#: the results of these files when texts stand in place of what is on disk
Check = Callable[[Mapping[str, str], Sequence[str]], list[report.FileResult]]
#: results as the user sees them: with suppressions
Finish = Callable[[Sequence[report.FileResult], Mapping[str, str]], list[report.FileResult]]

#: changes of one file; each makes the next possible only if they touch each other
ROUNDS = 100


class Refused(Struct, frozen=True):
    """A fix that was taken back, and why."""

    path: str
    line: int
    title: str
    reason: str


class Mended(Struct):
    """``texts`` are the new texts by path, ``applied`` the titles of the fixes in each."""

    results: list[report.FileResult]
    texts: dict[str, str] = field(default_factory=dict)
    applied: dict[str, list[str]] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)


def mend(
    results: Sequence[report.FileResult],
    read: Reader,
    check: Check,
    finish: Finish,
    *,
    unsafe: bool = False,
) -> Mended:
    """Apply the safe fixes of all findings (``unsafe``: the others, too).

    ``results`` are those of the analysis, before :func:`verifier.engine.suppressions.apply`.
    Nothing is written.
    """
    return _Mender(read, check, finish, unsafe, Mended(list(results))).run()


class _Mender(Struct):
    read: Reader
    check: Check
    finish: Finish
    unsafe: bool
    state: Mended
    shown: list[report.FileResult] = field(default_factory=list)
    #: what was taken back, and what is tried on its own
    tried: set[object] = field(default_factory=set)
    alone: set[object] = field(default_factory=set)

    def run(self) -> Mended:
        self.shown = self.finish(self.state.results, {})
        rounds: Counter[str] = Counter()
        while True:
            batch = self._batch({path for path, n in rounds.items() if n >= ROUNDS})
            if not batch:
                return self.state
            path = _path(batch[0])
            rounds[path] += 1
            wrong = self._attempt(path, batch)
            if wrong is None:
                continue
            if len(batch) > 1:
                blamed = [d for d in batch if d.kernel == wrong.kernel] or batch
                self.alone.update(map(_key, blamed))
                continue
            (only,) = batch
            assert only.fix is not None
            self.tried.add(_key(only))
            refused = Refused(path, only.span.line, only.fix.title, wrong.reason)
            self.state.refused.append(refused)

    def _batch(self, done: set[str]) -> list[report.Diagnostic]:
        """Findings whose fixes are for one file and do not touch each other."""
        found: dict[str, list[report.Diagnostic]] = {}
        for diagnostic in _fixable(self.shown):
            fix = diagnostic.fix
            assert fix is not None
            if (fix.safe or self.unsafe) and _key(diagnostic) not in self.tried:
                found.setdefault(_path(diagnostic), []).append(diagnostic)
        for path in sorted(found):
            if path in done or self._text(path) is None:
                continue
            every = sorted(found[path], key=_order)
            together = [d for d in every if _key(d) not in self.alone]
            if not together:
                return every[:1]
            batch = Together()
            return [d for d in together if d.fix is not None and batch.takes(d.fix)]
        return []

    def _text(self, path: str) -> str | None:
        known = self.state.texts.get(path)
        return self.read(path) if known is None else known

    def _attempt(self, path: str, batch: Sequence[report.Diagnostic]) -> _Wrong | None:
        """Apply fixes; if they do not do what they should, the reason and no change."""
        before = self._text(path)
        assert before is not None
        changes = dict.fromkeys(edit for d in batch if d.fix is not None for edit in d.fix.edits)
        try:
            after = edits.replaced(before, map(_replacement, changes))
        except ValueError as error:
            return _Wrong(str(error))
        wrong = edits.problem(Path(path), after)
        if wrong is not None and edits.problem(Path(path), before) is None:
            return _Wrong(f"line {wrong.line} would no longer parse")
        texts = {**self.state.texts, path: after}
        affected = [r.path for r in self.state.results if _depends(r, path)]
        results = renewed(self.state.results, self.check(texts, affected))
        shown = self.finish(results, texts)
        found = _wrong(self.shown, shown, batch)
        if found is None:
            self.state.texts, self.state.results, self.shown = texts, results, shown
            titles = [d.fix.title for d in batch if d.fix is not None]
            self.state.applied.setdefault(path, []).extend(titles)
        return found


def _fixable(results: Sequence[report.FileResult]) -> Iterator[report.Diagnostic]:
    for result in results:
        for diagnostic in result.diagnostics:
            fix = diagnostic.fix
            if fix is None or diagnostic.suppressed is not None or not fix.edits:
                continue
            if len({edit.span.path for edit in fix.edits}) == 1:
                yield diagnostic


def renewed(
    results: Sequence[report.FileResult], fresh: Sequence[report.FileResult]
) -> list[report.FileResult]:
    """The results with those of some files replaced, which may have come in several parts."""
    paths = {result.path for result in fresh}
    return [*(result for result in results if result.path not in paths), *fresh]


def _path(diagnostic: report.Diagnostic) -> str:
    assert diagnostic.fix is not None
    return diagnostic.fix.edits[0].span.path


def _order(diagnostic: report.Diagnostic) -> tuple[object, ...]:
    assert diagnostic.fix is not None
    return (diagnostic.fix.edits[0].span, *report.sort_key(diagnostic))


def _key(diagnostic: report.Diagnostic) -> object:
    """What a fix is known by when lines have moved."""
    return (_change(diagnostic), diagnostic.rule, diagnostic.message)


def _change(diagnostic: report.Diagnostic) -> object:
    assert diagnostic.fix is not None
    texts = tuple(edit.text for edit in diagnostic.fix.edits)
    return (_path(diagnostic), diagnostic.kernel, texts)


def _replacement(edit: report.Edit) -> Replacement:
    span = edit.span
    return Replacement(span.line, span.column, span.end_line, span.end_column, edit.text)


def _depends(result: report.FileResult, path: str) -> bool:
    return (
        result.path == path
        or any(d.span.path == path for d in result.diagnostics)
        or any(place.span.path == path for k in result.kernels for place in k.judged)
        or any(kernel.path == path for kernel in result.kernels)
    )


class _Wrong(Struct, frozen=True):
    """Why a change is not what its fixes promise, and in which kernel; empty: not known."""

    reason: str
    kernel: str = ""


def _wrong(
    before: Sequence[report.FileResult],
    after: Sequence[report.FileResult],
    batch: Sequence[report.Diagnostic],
) -> _Wrong | None:
    """Why a change is not what its fixes promise, or None."""
    new_errors = _errors(after) - _errors(before)
    if new_errors:
        return _Wrong(f"then {min(new_errors)[2]}")
    had, has = _count(_found(before)), _count(_found(after))
    for finding in sorted(has, key=repr):
        if has[finding] > had[finding]:
            return _Wrong(f"then `{finding[1]}` is found", finding[2])
    # a place may break a rule in several ways, of which one is shown
    said, says = _count(_found(before), said=True), _count(_found(after), said=True)
    for finding, count in _count(batch, said=True).items():
        if says[finding] > said[finding] - count:
            return _Wrong("the finding is still there", finding[2])
    left = {_change(d) for d in _fixable(after) if d.rule == report.PRECONDITION}
    for diagnostic in batch:
        if _change(diagnostic) in left:  # what it says may be another condition now
            return _Wrong("the finding is still there", diagnostic.kernel)
    were = _statuses(before)
    for kernel, status in _statuses(after).items():
        was = were.get(kernel, status)
        if _WORSE.index(status) > _WORSE.index(was):
            return _Wrong(f"then `{kernel[1]}` is no longer {_SAID[was]}", kernel[1])
    return None


#: what may become of a kernel, the best first
_WORSE: tuple[report.Status, ...] = ("verified", "conditional", "unknown", "violated", "error")
_SAID: Mapping[report.Status, str] = {
    "verified": "verified",
    "conditional": "right under a precondition",
    "unknown": "free of known faults",
    "violated": "analysed",
}


#: path, rule, kernel, targets, and the message where it matters
_Finding = tuple[str, str, str, tuple[str, ...], str]


def _found(results: Iterable[report.FileResult]) -> list[report.Diagnostic]:
    """What is reported; a part of a precondition may become a fault of its own."""
    return [
        diagnostic
        for result in results
        for diagnostic in result.diagnostics
        if diagnostic.suppressed is None and diagnostic.verdict != "unknown" and not diagnostic.part
    ]


def _count(diagnostics: Iterable[report.Diagnostic], *, said: bool = False) -> Counter[_Finding]:
    return Counter(
        (d.span.path, d.rule, d.kernel, d.targets, d.message if said else "") for d in diagnostics
    )


def _errors(results: Iterable[report.FileResult]) -> set[tuple[str, str, str]]:
    return {(e.path, e.kind, e.message) for result in results for e in result.errors}


def _statuses(
    results: Iterable[report.FileResult],
) -> dict[tuple[str, str, str, str], report.Status]:
    return {
        (kernel.path, kernel.name, kernel.target, kernel.contract): kernel.status
        for result in results
        for kernel in result.kernels
    }
