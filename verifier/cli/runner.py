"""One run of the analysis: collect files, schedule them, merge what comes back."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from verifier.cli.candidates import Candidates, below, gather, roots_of
from verifier.cli.output import did_you_mean
from verifier.cli.paths import Display, absolute, project_root
from verifier.report.fingerprints import fingerprinted
from verifier.report.merging import unmatched_errors
from verifier.report.model import (
    Entry,
    FileError,
    FileRequest,
    FileResult,
    RunReport,
    Shard,
    Statistics,
    Unmatched,
    chosen,
)
from verifier.service.policy import Policy
from verifier.service.results import Finish

if TYPE_CHECKING:
    from verifier.cli.fix import Fixing
    from verifier.cli.shards import Part
    from verifier.configuration.settings import Configurations
    from verifier.source.project import Project

#: bytes of a file that is not worth two workers
_SMALL = 8192


class RunOptions(Struct, frozen=True):
    """What ``check`` was asked to do. ``configurations`` know what holds for each file."""

    paths: tuple[str, ...]
    configurations: Configurations
    jobs: int = 1
    statistics: bool = False
    replay: bool = False
    #: whether what a precondition stands for is shown one by one
    parts: bool = False
    #: where results are kept between runs; None: nowhere
    cache: Path | None = None
    #: where imports are looked up; None: as ``paths`` say
    roots: tuple[str, ...] | None = None
    #: how many files ``paths`` were chosen from; None: they are all
    chosen_from: int | None = None
    #: what is to be fixed; None: nothing
    fixing: Fixing | None = None
    #: the part of the files that is checked; None: all
    shard: Part | None = None
    #: the functions that alone are checked, by their files; none: all kernels
    kernels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: the generation of the API that the files are to fit; empty: the one they are written for
    migrate_to: str = ""


def default_jobs() -> int:
    """The cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every platform
        return os.cpu_count() or 1


def run(options: RunOptions) -> RunReport:
    """Check everything below ``options.paths``.

    The report does not depend on ``options.jobs``. Whatever goes wrong in the analysis of a file
    becomes an error in the report.

    Raises:
        ConfigurationError: the configuration of some file cannot be used.
        KeyboardInterrupt: the user has had enough.
    """
    from verifier.cli.analysis import analysed
    from verifier.service.callers import callers
    from verifier.source.sources import Sources

    started = time.perf_counter()
    policy = Policy(options.configurations)
    wanted = _Wanted(policy)
    sources = Sources()
    candidates = gather(options.paths, wanted, sources)
    wanted.complain()
    if options.chosen_from is not None:
        candidates = replace(candidates, total=options.chosen_from)
    roots = roots_of(options.paths) if options.roots is None else options.roots
    folders = tuple(absolute(root) for root in roots)
    display = Display((*candidates.files, *candidates.others), roots)
    everything = candidates.files
    if options.shard is not None:
        from verifier.cli.shards import part_of

        candidates = part_of(candidates, options.shard)
    every = [absolute(path) for path in everything]
    users = callers(every, set(map(absolute, options.paths)).intersection(every), folders, sources)
    requests = _requests(candidates, policy, folders, users, options)
    results = analysed(requests, candidates.sizes, sources, options.jobs, options.cache)
    parted = options.chosen_from is not None or options.shard is not None
    complete = not parted and any(Path(path).is_dir() for path in options.paths)
    finish = Finish(policy, complete, others=candidates.others, project=partial(_project, folders))
    texts: dict[str, str] = {}
    if options.fixing is not None:
        from verifier.cli.fix import Again

        # helpers elsewhere are not changed
        found = below(options.paths)
        results = options.fixing.fix(
            results, Again(requests), finish, lambda path: path in found and wanted(path)
        )
        texts = {path: after for path, (_, after) in options.fixing.changed.items()}
    if options.replay:
        from verifier.cli.replay import mark

        results = mark(results, options.jobs)
    results = [display.result(result) for result in finish(results, texts)]

    results.append(_counters(candidates, started if options.statistics else None))
    trouble = () if options.fixing is None else map(display.error, options.fixing.errors)
    report = RunReport.merge(results, (*candidates.errors, *trouble))
    return fingerprinted(_with_contracts(report, options), root=project_root())


def _project(folders: Sequence[str]) -> Project:
    """The files as they are on disk, with what they import below ``folders``."""
    from verifier.source.project import Project

    return Project(map(Path, folders))


def _requests(
    candidates: Candidates,
    policy: Policy,
    folders: Sequence[str],
    users: Mapping[str, Sequence[str]],
    options: RunOptions,
) -> list[FileRequest]:
    """What to ask of the engine for each file."""
    asked = (
        policy.request(
            path,
            folders,
            users=users[absolute(path)],
            statistics=options.statistics,
            parts=options.parts or options.replay,
            kernels=options.kernels.get(absolute(path), ()),
        )
        for path in candidates.files
    )
    # texts on their way are judged when they have arrived
    unjudged = options.migrate_to != "" and options.fixing is not None
    to = options.migrate_to
    return [replace(each, migrate_to=to, migrate_text_only=unjudged) for each in asked]


def _counters(candidates: Candidates, started: float | None) -> FileResult:
    """How many files there were, and how long the whole run took."""
    counters: Statistics = {"files": candidates.total, "kernel_files": len(candidates.files)}
    if started is not None:
        counters["times_ms"] = {"whole run": (time.perf_counter() - started) * 1000}
    return FileResult("", statistics=counters)  # the path sorts before every file


def _with_contracts(report: RunReport, options: RunOptions) -> RunReport:
    """The report with the contracts that are for no kernel, as far as this run can tell."""
    part = options.shard
    whole = options.chosen_from is None
    unknown: list[Unmatched] = []
    if whole:
        from verifier.service.contracts import unknown_contracts

        unknown = unknown_contracts(options.configurations, options.paths, report)
    if part is not None:
        return replace(report, shard=Shard(part.index, part.count, tuple(unknown)))
    return replace(report, errors=(*report.errors, *unmatched_errors(unknown, did_you_mean)))


class _Wanted:
    """Whether a file is to be checked; its settings are looked up, and what is wrong is kept."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._broken = False

    def __call__(self, path: str) -> bool:
        from verifier.configuration.model import ConfigurationError

        try:
            return self._policy.settled(path).excluded is None
        except ConfigurationError:
            self._broken = True
            return False

    def complain(self) -> None:
        """Raises ConfigurationError, with every mistake, if a configuration cannot be used."""
        from verifier.configuration.model import ConfigurationError

        if self._broken:
            raise ConfigurationError(self._policy.configurations.problems())


class Expected(Struct, frozen=True):
    """Whether a run over ``paths`` would have found an entry of a baseline again."""

    configurations: Configurations
    paths: tuple[str, ...]
    root: str

    def __call__(self, entry: Entry) -> bool:
        full = absolute(Path(self.root, entry.path))
        if not any(Path(full).is_relative_to(absolute(path)) for path in self.paths):
            return False
        settings = self.configurations.for_file(full).settings
        select = (*settings.select, "undecided") if settings.select else ()
        return chosen(entry.rule, select, settings.ignore)


def complaint(error: FileError) -> str:
    """An error as one line for stderr."""
    place = error.path
    if error.line:
        place += f":{error.line}"
    return f"{place}: {error.message}" if place else error.message
