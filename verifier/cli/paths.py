"""How paths are shown: as the user wrote them, else relative to the current directory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from verifier.report.model import Diagnostic, FileResult, Span


def absolute(path: str | Path) -> str:
    """The absolute path without ``.`` and ``..``; links are not followed."""
    return os.path.abspath(path)  # noqa: PTH100  (resolve() would follow links)


class Display:
    """Gives one file one name, however the analysis came to it."""

    def __init__(self, given: Iterable[str]) -> None:
        self._names = {absolute(path): path for path in given}
        self._here = absolute(".").rstrip(os.sep) + os.sep

    def name(self, path: str) -> str:
        if not path:
            return path
        full = absolute(path)
        known = self._names.get(full)
        if known is None:
            inside = full.startswith(self._here) and Path(path).is_absolute()
            known = full[len(self._here) :] if inside else path
            self._names[full] = known
        return known

    def result(self, result: FileResult) -> FileResult:
        """``result`` with every path in it renamed."""
        return FileResult(
            self.name(result.path),
            tuple(
                replace(
                    kernel,
                    path=self.name(kernel.path),
                    reasons=tuple(replace(r, path=self.name(r.path)) for r in kernel.reasons),
                )
                for kernel in result.kernels
            ),
            tuple(self.diagnostic(diagnostic) for diagnostic in result.diagnostics),
            tuple(replace(error, path=self.name(error.path)) for error in result.errors),
            result.statistics,
        )

    def diagnostic(self, diagnostic: Diagnostic) -> Diagnostic:
        return replace(
            diagnostic,
            span=self.span(diagnostic.span),
            labels=tuple(replace(lb, span=self.span(lb.span)) for lb in diagnostic.labels),
        )

    def span(self, span: Span) -> Span:
        return replace(span, path=self.name(span.path))
