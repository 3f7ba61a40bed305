"""The analysis of many files: what is known already, and the rest on all cores."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from verifier.cli import pool, signals
from verifier.cli.output import remark
from verifier.cli.progress import Bar
from verifier.report.model import FileError, FileRequest, FileResult

if TYPE_CHECKING:
    from verifier.cache.results import Kept
    from verifier.cache.store import Store
    from verifier.source.project import Project
    from verifier.source.recent import RecentModules
    from verifier.source.sources import Sources

#: bytes of a file that is not worth two workers
_SMALL = 8192


def parts_of(size: int, total: int, jobs: int) -> int:
    """Into how many parts a file is shared out, so that no worker is left with a long last file."""
    long = size > _SMALL and 3 * jobs * size > total
    return jobs if long else 1


def analysed(
    requests: Sequence[FileRequest],
    sizes: Sequence[int],
    sources: Sources,
    jobs: int,
    folder: Path | None,
) -> list[FileResult]:
    """The reports of whole files, in no particular order.

    ``sizes`` are the files' in bytes, ``sources`` what has been read of them, ``folder`` where
    results are kept between runs (None: nowhere). Raises KeyboardInterrupt; what was found until
    then is kept.
    """
    if not requests:
        return []
    if folder is None:
        return _worked(requests, sizes, jobs, None, lambda _, __: None)
    from verifier.cache.store import CacheError, Store

    try:
        store = Store(folder)
    except CacheError as error:
        remark(f"the cache in {folder} cannot be used: {error}")
        return _worked(requests, sizes, jobs, None, lambda _, __: None)
    try:
        results = _through(store, requests, sizes, sources, jobs)
    finally:
        store.close()
    if store.trouble is not None:
        remark(f"not everything could be kept in the cache in {folder}: {store.trouble}")
    return results


def _through(
    store: Store,
    requests: Sequence[FileRequest],
    sizes: Sequence[int],
    sources: Sources,
    jobs: int,
) -> list[FileResult]:
    from verifier.cache.results import find, keep
    from verifier.source.project import Project

    projects: dict[tuple[str, ...], Project] = {}

    def project(request: FileRequest) -> Project:
        if request.roots not in projects:
            projects[request.roots] = Project(map(Path, request.roots), sources)
        return projects[request.roots]

    results: list[FileResult] = []
    missing: list[tuple[FileRequest, int]] = []
    for request, size in zip(requests, sizes, strict=True):
        known = find(store, request, project(request))
        if known is None:
            missing.append((request, size))
        else:
            results.append(known)
    parts: dict[str, list[Worked]] = {}

    def arrived(request: FileRequest, worked: Worked) -> None:
        so_far = parts.setdefault(request.path, [])
        so_far.append(worked)
        with store.together():
            if worked.kept is not None:
                for key, value in worked.kept.fresh.items():
                    store.put(key, value)
            if len(so_far) == request.part[1]:
                whole = [(part.result, part.kept) for part in so_far]
                keep(store, request, project(request), whole)

    wanted = [request for request, _ in missing]
    results += _worked(wanted, [size for _, size in missing], jobs, store.folder, arrived)
    return results


class Worked(Struct, frozen=True):
    """What came of the analysis of a file, or of a part of it; ``kept`` is for the cache."""

    result: FileResult
    kept: Kept | None = None


class _Analysis(Struct, frozen=True):
    """The work of a worker process; ``folder`` is where it finds the results of kernels."""

    folder: Path | None

    def __call__(self, request: FileRequest) -> Worked:
        worked = self._worked(request)
        # somebody asked us to end, and Python made an error of the analysis of it
        ended = signals.arrived()
        if ended is not None:
            raise ended
        return worked

    def _worked(self, request: FileRequest) -> Worked:
        from verifier.engine import analyze_file, project_of

        try:
            project = project_of(request, kept=_modules())
            store = self._store()
            if store is None:
                return Worked(analyze_file(request, project=project))
            from verifier.cache.results import analysed

            return Worked(*analysed(store, request, project))
        except Exception as error:
            from verifier.report.internal import describe

            return failed(request, describe(error))

    def _store(self) -> Store | None:
        global _store
        if self.folder is None:
            return None
        if _store is None or _store.folder != self.folder:
            from verifier.cache.store import CacheError, Store

            try:
                _store = Store(self.folder)
            except CacheError:
                return None  # the parent process says it
        return _store


_store: Store | None = None


@cache
def _modules() -> RecentModules:
    """What this process has read of files: those that come later import them too."""
    from verifier.source.recent import RecentModules

    return RecentModules()


def failed(request: FileRequest, message: str) -> Worked:
    """The answer where a file could not be analysed."""
    error = FileError(request.path, 0, message)
    return Worked(FileResult(request.path, errors=(error,)))


def _worked(
    requests: Sequence[FileRequest],
    sizes: Sequence[int],
    jobs: int,
    folder: Path | None,
    arrived: Callable[[FileRequest, Worked], None],
) -> list[FileResult]:
    """The reports of files that have to be analysed."""
    if not requests:
        return []
    # before forking: the workers share what this imports
    from verifier.engine import analyze_file  # noqa: F401

    if jobs > 1 and len(requests) > 1:
        from verifier.source import lowering  # noqa: F401

    # Terms live as long as their kernel's analysis: to look for garbage often is wasted.
    gc.freeze()
    gc.set_threshold(400_000, 20, 50)
    shared = [
        replace(request, part=(part, parts))
        for request, size in zip(requests, sizes, strict=True)
        for parts in [parts_of(size, sum(sizes), jobs)]
        for part in range(parts)
    ]
    results: list[FileResult] = []
    with Bar(len(shared)) as bar:

        def done(request: FileRequest, worked: Worked) -> None:
            results.append(worked.result)
            arrived(request, worked)
            bar.advance()

        pool.run(shared, pool.Work(_Analysis(folder), failed), jobs, done, bar.tick)
    return results
