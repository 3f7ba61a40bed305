"""Launches that break what kernels need or assert, in all files that are checked together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from verifier.report.model import FileResult, KernelReport
from verifier.service.policy import Policy

if TYPE_CHECKING:
    from verifier.source.project import Project


def with_launching(
    results: Sequence[FileResult], others: Sequence[str], read: Callable[[str], str | None]
) -> list[FileResult]:
    """The results, and an empty one for each file of ``others`` that names one of the kernels that
    are not right for all inputs, or do not take all."""
    kernels = list(_choosy(results)) if others else []
    if not kernels:
        return list(results)
    from verifier.engine.launches import Naming

    naming = Naming(kernels, read)
    known = {result.path for result in results}
    more = (path for path in map(_absolute, others) if path not in known)
    return [*results, *(FileResult(path) for path in more if naming.may_be_in(path))]


def launched(
    results: Sequence[FileResult],
    policy: Policy,
    read: Callable[[str], str | None],
    project: Callable[[], Project] | None = None,
) -> list[FileResult]:
    """The results with one finding for each launch that breaks what its kernel needs or asserts.

    ``project`` makes one in which imports are looked up; None: only launches in the file of a
    kernel count.
    """
    if not any(True for _ in _choosy(results)):
        return list(results)
    from verifier.engine.launches import RULE, Broken
    from verifier.service.preconditions import judged

    functions = (f for result in results for f in (*result.helpers, *result.unreached))
    device = {(_absolute(function.path), function.line) for function in functions}
    kernels = [one for result in results for one in judged(result)]
    broken = Broken(kernels, device, read, None if project is None else project())
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


def launched_by(
    path: str, others: Sequence[str], project: Project, read: Callable[[str], str | None]
) -> list[str]:
    """Those of ``others`` whose kernels a file launches on tensors that its text shows."""
    if not others:
        return []
    from verifier.source.discovery import kernels
    from verifier.source.launches import Launches
    from verifier.source.text import SourceError
    from verifier.source.values import Array

    places: set[tuple[str, int]] = set()
    for file in (path, *others):
        with suppress(SourceError):
            module = project.module(Path(file))
            places.update((_absolute(str(e.path)), e.line) for e in kernels(project, module))
    found = Launches(places, (), read, project).of(path)
    shown = (one for one in found if any(isinstance(v, Array) for v in one.arguments.values()))
    started = {launch.kernel[0] for launch in shown}
    return [file for file in others if file in started]


def _choosy(results: Sequence[FileResult]) -> Iterator[KernelReport]:
    """The kernels that are not right for all inputs, or do not take all."""
    for result in results:
        for kernel in result.kernels:
            condition = kernel.precondition
            if kernel.demands or (condition is not None and condition.conjuncts):
                yield kernel


def _absolute(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100  (links are not followed)
