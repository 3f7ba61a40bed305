"""How paths are shown: as the user wrote them, else relative to the current directory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from verifier.report.model import (
    Conjunct,
    Diagnostic,
    Edit,
    FileError,
    FileResult,
    Fix,
    Function,
    Judged,
    Precondition,
    Span,
)


def absolute(path: str | Path) -> str:
    """The absolute path without ``.`` and ``..``; links are not followed."""
    return os.path.abspath(path)  # noqa: PTH100  (resolve() would follow links)


#: What marks the root of a project, the strongest first.
_MARKS = ((".git",), ("tilelint.toml", "pyproject.toml"))


def project_root(start: str | Path = ".") -> str:
    """The directory that paths in reports for other programs count from.

    The nearest one above ``start`` that is a git checkout, else the nearest with a configuration
    file, else ``start`` itself.
    """
    here = Path(absolute(start))
    for names in _MARKS:
        for folder in (here, *here.parents):
            if any((folder / name).exists() for name in names):
                return str(folder)
    return str(here)


def key_of(path: str, kernel: str, file: str) -> str:
    """A kernel as a configuration file names it: its path counts from the file's folder."""
    inside = Path(path).absolute()
    with suppress(ValueError):
        inside = inside.relative_to(Path(file).absolute().parent)
    return f"{inside.as_posix()}::{kernel}"


class Display:
    """Gives one file one name, however the analysis came to it."""

    def __init__(self, given: Iterable[str], roots: Iterable[str] = ()) -> None:
        """``given``: files as the user wrote them; ``roots``: folders as the user wrote them."""
        self._names = {absolute(path): path for path in given}
        self._roots = [(absolute(root).rstrip(os.sep) + os.sep, root) for root in roots]
        self._here = absolute(".").rstrip(os.sep) + os.sep

    def name(self, path: str) -> str:
        if not path:
            return path
        full = absolute(path)
        known = self._names.get(full)
        if known is None:
            known = self._below_a_root(full)
        if known is None:
            inside = full.startswith(self._here) and Path(path).is_absolute()
            known = full[len(self._here) :] if inside else path
            self._names[full] = known
        return known

    def _below_a_root(self, full: str) -> str | None:
        for folder, given in self._roots:
            if full.startswith(folder):
                return str(Path(given) / full[len(folder) :])
        return None

    def result(self, result: FileResult) -> FileResult:
        """``result`` with every path in it renamed."""
        return FileResult(
            self.name(result.path),
            tuple(
                replace(
                    kernel,
                    path=self.name(kernel.path),
                    reasons=tuple(replace(r, path=self.name(r.path)) for r in kernel.reasons),
                    judged=tuple(self.judged(place) for place in kernel.judged),
                    precondition=self.precondition(kernel.precondition),
                )
                for kernel in result.kernels
            ),
            tuple(self.diagnostic(diagnostic) for diagnostic in result.diagnostics),
            tuple(self.error(error) for error in result.errors),
            result.statistics,
            tuple(map(self.function, result.helpers)),
            tuple(map(self.function, result.unreached)),
        )

    def function(self, function: Function) -> Function:
        callers = tuple(replace(c, path=self.name(c.path)) for c in function.callers)
        return replace(function, path=self.name(function.path), callers=callers)

    def error(self, error: FileError) -> FileError:
        return replace(error, path=self.name(error.path))

    def diagnostic(self, diagnostic: Diagnostic) -> Diagnostic:
        return replace(
            diagnostic,
            span=self.span(diagnostic.span),
            labels=tuple(replace(lb, span=self.span(lb.span)) for lb in diagnostic.labels),
            fix=None if diagnostic.fix is None else self.fix(diagnostic.fix),
            precondition=self.precondition(diagnostic.precondition),
        )

    def precondition(self, found: Precondition | None) -> Precondition | None:
        if found is None or not found.conjuncts:
            return found
        return replace(found, conjuncts=tuple(map(self.conjunct, found.conjuncts)))

    def conjunct(self, conjunct: Conjunct) -> Conjunct:
        return replace(
            conjunct,
            span=self.span(conjunct.span),
            others=tuple(replace(need, span=self.span(need.span)) for need in conjunct.others),
            assertion=None if conjunct.assertion is None else self.edit(conjunct.assertion),
        )

    def fix(self, fix: Fix) -> Fix:
        return replace(fix, edits=tuple(map(self.edit, fix.edits)))

    def edit(self, edit: Edit) -> Edit:
        return replace(edit, span=self.span(edit.span))

    def judged(self, place: Judged) -> Judged:
        """There are thousands of these, and most keep their name."""
        if self.name(place.span.path) == place.span.path:
            return place
        return replace(place, span=self.span(place.span))

    def span(self, span: Span) -> Span:
        return replace(span, path=self.name(span.path))
