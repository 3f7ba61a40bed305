"""What the worker does with a file: the engine, between the two ends of the service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from verifier.configuration.model import ConfigurationError, Overrides
from verifier.configuration.settings import Configurations
from verifier.engine.launches import RULE as LAUNCH
from verifier.engine.workspace import Workspace
from verifier.lsp.messages import Answer, Check
from verifier.report.model import FileError, FileRequest, FileResult
from verifier.service.callers import Neighbourhood, launchable
from verifier.service.launched import launched_by
from verifier.service.policy import Policy
from verifier.service.results import Finish
from verifier.source.lowering import keep
from verifier.source.outline import outline
from verifier.source.project import Project
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
        imported = self._imported(job, policy)
        text = self._read(job.path)
        ours = text is None or may_hold_kernels(text.encode("utf-8", "surrogatepass"))
        if not (ours or imported):
            return nothing  # not our business, parse or not
        result, limit = self._checked(job, policy, job.path) if ours else (nothing.result, None)
        assert result is not None
        short = frozenset(k.name for k in result.kernels if limit and k.late)
        result = self._finished(job, policy, result, imported)
        return Answer(job.number, result, self._broken(result), short)

    def _checked(self, job: Check, policy: Policy, path: str) -> tuple[FileResult, float | None]:
        """What the engine says of a file, and the limit that was set for it here."""
        users = self._around.callers(path, job.folders, self._workspace.buffers)
        request = policy.request(path, job.folders, users=users, tiles=path == job.path)
        limit = job.limit
        if limit is not None and request.timeout is not None and limit >= request.timeout:
            limit = None
        if limit is not None:
            request = replace(request, timeout=limit)
        return self._workspace.check(request), limit

    def _project(self, job: Check) -> Project:
        return self._workspace.project(FileRequest(job.path, job.folders))

    def _imported(self, job: Check, policy: Policy) -> list[FileResult]:
        """What there is to know of the kernels of other files that a file may launch."""
        project = self._project(job)
        imported = launchable(project, job.path)
        found = launched_by(job.path, imported, project, self._read)
        return [self._checked(job, policy, p)[0] for p in found if _settled(policy, p)]

    def _finished(
        self, job: Check, policy: Policy, result: FileResult, imported: Sequence[FileResult]
    ) -> FileResult:
        """The result as it is reported, with the launches in the file of kernels that it imports,
        and those of its own kernels in other files."""
        launching: list[str] = []
        if result.kernels:
            found = self._around.launching(job.path, self._workspace.buffers)
            launching = [path for path in found if _settled(policy, path)]
        project = partial(self._project, job)
        finish = Finish(policy, read=self._read, others=launching, project=project)
        own, *more = finish([result, *imported])
        elsewhere = (
            d
            for other in more
            for d in other.diagnostics
            if d.rule == LAUNCH and any(label.span.path == job.path for label in d.labels)
        )
        return replace(own, diagnostics=(*own.diagnostics, *elsewhere))

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


def _settled(policy: Policy, path: str) -> bool:
    """Whether another file is checked, and can be."""
    try:
        return policy.settled(path).excluded is None
    except ConfigurationError:
        return False
