"""What the worker does with a file: the engine, between the two ends of the service."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from verifier.configuration.model import ConfigurationError, Overrides
from verifier.configuration.settings import Configurations
from verifier.engine.workspace import Workspace
from verifier.lsp.messages import Answer, Check
from verifier.report.model import FileError, FileResult
from verifier.service.callers import Neighbourhood
from verifier.service.policy import Policy
from verifier.service.results import Finish
from verifier.source.lowering import keep
from verifier.source.outline import outline
from verifier.source.text import SourceError, SourceText, may_hold_kernels

#: definitions that are kept in the form that is interpreted: each edit makes a new one
_LOWERED = 128


class Analysis:
    """The engine, with the editor's buffers in the place of their files."""

    def __init__(self) -> None:
        keep(_LOWERED)
        self._workspace = Workspace()
        self._policy: Policy | None = None
        self._around = Neighbourhood()

    def update(self, texts: Mapping[str, str | None]) -> None:
        """Take over the buffers that changed; None: the file counts again."""
        for path, text in texts.items():
            self._workspace.open(path, text)

    def check(self, job: Check) -> Answer:
        """What ``check`` says of the file, and what the editor needs besides.

        A configuration that cannot be used is an error of the file: nothing is guessed instead.
        """
        nothing = Answer(job.number, FileResult(job.path))
        try:
            policy = self._policy_under(job.overrides)
            if policy.settled(job.path).excluded is not None:
                return nothing
        except ConfigurationError as error:
            errors = tuple(
                FileError(problem.path or job.path, problem.line, problem.message, "usage")
                for problem in error.problems
            )
            return Answer(job.number, FileResult(job.path, errors=errors), refused=True)
        text = self._read(job.path)
        if text is not None and not may_hold_kernels(text.encode("utf-8", "surrogatepass")):
            return nothing  # not our business, parse or not
        users = self._around.callers(job.path, job.folders, self._workspace.buffers)
        request = policy.request(job.path, job.folders, users=users, tiles=True)
        limit = job.limit
        if limit is not None and request.timeout is not None and limit >= request.timeout:
            limit = None
        if limit is not None:
            request = replace(request, timeout=limit)
        result = self._workspace.check(request)
        short = {k.name for k in result.kernels if limit and k.late}
        [result] = Finish(policy, read=self._read)([result])
        return Answer(job.number, result, self._broken(result), frozenset(short))

    def _policy_under(self, overrides: Overrides) -> Policy:
        """The settings as they are on disk now, below what the editor says."""
        if self._policy is None or self._policy.configurations.overrides != overrides:
            self._policy = Policy(Configurations(overrides))
        self._policy.renew()
        return self._policy

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
