"""Launches that break the preconditions of kernels, in all files that are checked together."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from verifier.report.model import FileResult
from verifier.service.policy import Policy

if TYPE_CHECKING:
    from verifier.engine.launches import Judged


def with_launching(
    results: Sequence[FileResult], others: Sequence[str], read: Callable[[str], str | None]
) -> list[FileResult]:
    """The results, and an empty one for each file of ``others`` that names one of the kernels that
    are not right for all inputs."""
    judged = _judged(results)
    if not judged or not others:
        return list(results)
    from verifier.engine.launches import Broken

    broken = Broken(judged, (), read)
    known = {result.path for result in results}
    more = (path for path in map(_absolute, others) if path not in known)
    return [*results, *(FileResult(path) for path in more if broken.may_be_in(path))]


def launched(
    results: Sequence[FileResult],
    policy: Policy,
    read: Callable[[str], str | None],
    roots: Sequence[str] | None = None,
) -> list[FileResult]:
    """The results with one finding for each launch that breaks the precondition of its kernel.

    ``roots`` are where imports are looked up; None: only launches in the file of a kernel count.
    """
    judged = _judged(results)
    if not judged:
        return list(results)
    from verifier.engine.launches import RULE, Broken
    from verifier.source.project import Project

    project = None if roots is None else Project(map(Path, roots))
    functions = (f for result in results for f in (*result.helpers, *result.unreached))
    device = {(_absolute(function.path), function.line) for function in functions}
    broken = Broken(judged, device, read, project)
    seen: set[str] = set()
    out: list[FileResult] = []
    for result in results:
        path = result.path
        if path and path not in seen and policy.wants(path, RULE):
            seen.add(path)
            found = broken.of(path)
            if found:
                result = replace(result, diagnostics=(*result.diagnostics, *found))
        out.append(result)
    return out


def _judged(results: Sequence[FileResult]) -> list[Judged]:
    if not any(
        k.precondition is not None and k.precondition.conjuncts for r in results for k in r.kernels
    ):
        return []
    from verifier.service.preconditions import judged

    return [one for result in results for one in judged(result)]


def _absolute(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100  (links are not followed)
