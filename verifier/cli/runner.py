"""One run of the analysis: collect files, schedule them, merge what comes back."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from verifier.cli.output import did_you_mean
from verifier.cli.paths import Display, absolute, project_root
from verifier.report.fingerprints import fingerprinted
from verifier.report.model import (
    FileError,
    FileRequest,
    FileResult,
    KernelReport,
    RunReport,
    Statistics,
)

#: bytes of a file that is not worth two workers
_SMALL = 8192


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What ``check`` was asked to do; see :class:`FileRequest` for the fields they share."""

    paths: tuple[str, ...]
    targets: tuple[str, ...] = ()
    api_version: str | None = None
    contracts: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    timeout: float | None = None
    jobs: int = 1
    statistics: bool = False
    replay: bool = False


@dataclass(frozen=True, slots=True)
class Candidates:
    """``total`` files were found; ``files`` may hold kernels, largest first, of ``sizes`` bytes."""

    total: int
    files: tuple[str, ...]
    sizes: tuple[int, ...]
    errors: tuple[FileError, ...]


def default_jobs() -> int:
    """The cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every platform
        return os.cpu_count() or 1


def gather(paths: Sequence[str]) -> Candidates:
    """The files below ``paths`` that may hold kernels; what cannot be read is an error each."""
    from verifier.source.files import MissingPathError, PathError, collect
    from verifier.source.text import SourceError, may_hold_kernels, read_bytes

    found: dict[str, Path] = {}
    errors: list[FileError] = []
    failures: list[PathError] = []
    for path in dict.fromkeys(paths):
        try:
            for file in collect([Path(path)], failures):
                found.setdefault(absolute(file), file)
        except MissingPathError as error:
            errors.append(FileError(path, 0, error.message, "usage"))
        except PathError as error:
            errors.append(FileError(path, 0, error.message, "unreadable"))
    errors += [FileError(str(e.path), 0, e.message, "unreadable") for e in failures]
    sized: list[tuple[int, str]] = []
    for file in found.values():
        try:
            data = read_bytes(file)
        except SourceError as error:
            errors.append(FileError(str(file), 0, error.message, "unreadable"))
            continue
        if may_hold_kernels(data):
            sized.append((-len(data), str(file)))
    sized.sort()
    files, sizes = tuple(path for _, path in sized), tuple(-size for size, _ in sized)
    return Candidates(len(found), files, sizes, tuple(errors))


def parts_of(size: int, total: int, jobs: int) -> int:
    """Into how many parts a file is shared out, so that no worker is left with a long last file."""
    long = size > _SMALL and 3 * jobs * size > total
    return jobs if long else 1


def roots_of(paths: Sequence[str]) -> tuple[str, ...]:
    """Where imports are looked up: the directories given, those of files given, and here."""
    roots = [path if Path(path).is_dir() else str(Path(path).parent) for path in paths]
    return tuple(dict.fromkeys([*roots, "."]))


def run(options: RunOptions) -> RunReport:
    """Check everything below ``options.paths``.

    The report does not depend on ``options.jobs``. Raises KeyboardInterrupt; whatever else goes
    wrong in the analysis of a file becomes an error in the report.
    """
    from verifier.cli import pool
    from verifier.cli.progress import Bar

    started = time.perf_counter()
    candidates = gather(options.paths)
    roots = roots_of(options.paths)
    requests = [
        FileRequest(
            path=path,
            roots=roots,
            targets=options.targets,
            api_version=options.api_version,
            contracts=options.contracts,
            select=options.select,
            ignore=options.ignore,
            timeout=options.timeout,
            statistics=options.statistics,
            part=(part, parts),
        )
        for path, size in zip(candidates.files, candidates.sizes, strict=True)
        for parts in [parts_of(size, sum(candidates.sizes), options.jobs)]
        for part in range(parts)
    ]
    if requests:
        import verifier.engine  # noqa: F401  (before forking: the workers share what it imports)

        # Terms live as long as their kernel's analysis: to look for garbage often is wasted.
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)
    results: list[FileResult] = []
    display = Display(candidates.files, roots)

    with Bar(len(requests)) as bar:

        def done(result: FileResult) -> None:
            results.append(result)
            bar.advance()

        pool.run(requests, analyse, options.jobs, done, bar.tick)

    if options.replay:
        from verifier.cli.replay import mark

        results = mark(results, options.jobs)
    results = [display.result(result) for result in results]

    counters: Statistics = {"files": candidates.total, "kernel_files": len(candidates.files)}
    if options.statistics:
        elapsed = (time.perf_counter() - started) * 1000
        counters["times_ms"] = {"whole run": elapsed}
    # The path sorts before every file, so that these counters come first.
    results.append(FileResult("", statistics=counters))
    report = RunReport.merge(results, candidates.errors)
    unknown = unknown_contracts(options.contracts, report.kernels)
    if unknown:
        report = replace(report, errors=(*report.errors, *unknown))
    return fingerprinted(report, root=project_root())


def analyse(request: FileRequest) -> FileResult:
    """The engine's answer for one file; a crash of the engine is an error of that file."""
    try:
        from verifier.engine import analyze_file

        return analyze_file(request)
    except Exception as error:
        from verifier.report.internal import describe

        return FileResult(request.path, errors=(FileError(request.path, 0, describe(error)),))


def unknown_contracts(contracts: Sequence[str], kernels: Sequence[KernelReport]) -> list[FileError]:
    """An error for every contract whose kernel is in none of the checked files."""
    from verifier.configuration.contracts import parse

    known = {kernel.name for kernel in kernels}
    known |= {name.rpartition(".")[2] for name in known}
    errors = []
    for text in contracts:
        name = parse(text).kernel or ""
        if name not in known:
            message = f"contract for '{name}': no such kernel in the files checked"
            errors.append(FileError("", 0, message + did_you_mean(name, sorted(known)), "usage"))
    return errors


def complaint(error: FileError) -> str:
    """An error as one line for stderr."""
    place = error.path
    if error.line:
        place += f":{error.line}"
    return f"{place}: {error.message}" if place else error.message
