"""What the worker does with a file: its settings, the engine, suppressions and severities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from verifier.configuration.model import ConfigurationError, Overrides, Resolved
from verifier.configuration.settings import for_file
from verifier.configuration.severity import overridden
from verifier.engine import suppressions
from verifier.engine.workspace import Workspace
from verifier.lsp.messages import Answer, Check
from verifier.report.model import FileError, FileResult
from verifier.rulebase import all_rules
from verifier.source.lowering import keep
from verifier.source.outline import outline
from verifier.source.text import SourceError, SourceText, may_hold_kernels

#: of its limit, what a kernel has to use to count as cut short
NEARLY = 0.8
#: definitions that are kept in the form that is interpreted: each edit makes a new one
_LOWERED = 128


class Analysis:
    """The engine, with the editor's buffers in the place of their files."""

    def __init__(self) -> None:
        keep(_LOWERED)
        self._workspace = Workspace()
        self._rules = all_rules()

    def update(self, texts: Mapping[str, str | None]) -> None:
        """Take over the buffers that changed; None: the file counts again."""
        for path, text in texts.items():
            self._workspace.open(path, text)

    def check(self, job: Check) -> Answer:
        """What ``check`` says of the file, and what the editor needs besides.

        A configuration that cannot be used is an error of the file: nothing is guessed instead.
        """
        try:
            resolved = for_file(job.path, job.overrides)
        except ConfigurationError as error:
            errors = tuple(
                FileError(problem.path or job.path, problem.line, problem.message, "usage")
                for problem in error.problems
            )
            return Answer(job.number, FileResult(job.path, errors=errors))
        if resolved.excluded is not None:
            return Answer(job.number, FileResult(job.path))
        text = self._read(job.path)
        if text is not None and not may_hold_kernels(text.encode("utf-8", "surrogatepass")):
            return Answer(job.number, FileResult(job.path))  # not our business, parse or not
        request = resolved.request(job.path, job.folders, tiles=True)
        limit = job.limit
        if limit is not None and request.timeout is not None and limit >= request.timeout:
            limit = None
        if limit is not None:
            request = replace(request, timeout=limit)
        result = self._workspace.check(request)
        short = any(limit and k.time_ms > 1000 * limit * NEARLY for k in result.kernels)
        result = self._finished(result, resolved, job.overrides)
        return Answer(job.number, result, self._broken(result), short)

    def _finished(self, result: FileResult, resolved: Resolved, overrides: Overrides) -> FileResult:
        """The steps behind the engine that the command line takes as well."""
        settings = resolved.settings
        chosen = {rule.id for rule in self._rules if rule.id not in settings.ignore}
        if settings.select:
            chosen &= set(settings.select)
        if overrides.contracts:
            chosen.discard("unused-suppression")  # other inputs may need it
        found = suppressions.apply(
            [result], self._read, selected=lambda _path: chosen, narrow=overrides.narrow
        )
        diagnostics = [d for each in found for d in each.diagnostics]
        return replace(result, diagnostics=overridden(diagnostics, settings.severity))

    def _read(self, path: str) -> str | None:
        try:
            return self._workspace.text(path)
        except SourceError:
            return None

    def _broken(self, result: FileResult) -> tuple[tuple[int, int], ...]:
        """The lines that do not parse."""
        if not any(e.kind == "syntax" and e.path == result.path for e in result.errors):
            return ()
        text = SourceText(Path(result.path), self._workspace.text(result.path))
        return tuple(
            (chunk.line, chunk.end_line)
            for chunk in outline(text).chunks
            if chunk.error is not None
        )
