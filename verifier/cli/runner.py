"""One run of the analysis: collect files, schedule them, merge what comes back."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from verifier.cli.candidates import Candidates, below, gather, roots_of
from verifier.cli.output import did_you_mean
from verifier.cli.paths import Display, absolute, project_root
from verifier.cli.suppressing import Finish
from verifier.report.fingerprints import fingerprinted
from verifier.report.merging import unmatched_errors
from verifier.report.model import (
    Entry,
    FileError,
    FileRequest,
    FileResult,
    KernelReport,
    RunReport,
    Shard,
    Statistics,
    Unmatched,
)

if TYPE_CHECKING:
    from verifier.cli.fix import Fixing
    from verifier.cli.shards import Part
    from verifier.configuration.model import Resolved
    from verifier.configuration.settings import Configurations
    from verifier.source.sources import Sources

#: bytes of a file that is not worth two workers
_SMALL = 8192


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What ``check`` was asked to do. ``configurations`` know what holds for each file."""

    paths: tuple[str, ...]
    configurations: Configurations
    jobs: int = 1
    statistics: bool = False
    replay: bool = False
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
    from verifier.source.sources import Sources

    started = time.perf_counter()
    settings = _Settings(options.configurations)
    sources = Sources()
    candidates = gather(options.paths, settings.wanted, sources)
    settings.complain()
    if options.chosen_from is not None:
        candidates = replace(candidates, total=options.chosen_from)
    roots = roots_of(options.paths) if options.roots is None else options.roots
    folders = tuple(absolute(root) for root in roots)
    display = Display(candidates.files, roots)
    everything = candidates.files
    if options.shard is not None:
        from verifier.cli.shards import part_of

        candidates = part_of(candidates, options.shard)
    requests = [
        settings.of[absolute(path)].request(absolute(path), folders, statistics=options.statistics)
        for path in candidates.files
    ]
    requests = _with_users(requests, everything, folders, sources)
    results = analysed(requests, candidates.sizes, sources, options.jobs, options.cache)
    parted = options.chosen_from is not None or options.shard is not None
    complete = not parted and any(Path(path).is_dir() for path in options.paths)
    narrow = options.configurations.overrides.narrow
    finish = Finish(settings.selected, settings.weighed, complete, narrow)
    texts: dict[str, str] = {}
    if options.fixing is not None:
        from verifier.cli.fix import Again

        # helpers elsewhere are not changed
        found = below(options.paths)
        results = options.fixing.fix(
            results, Again(requests), finish, lambda path: path in found and settings.wanted(path)
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
        unknown = unknown_contracts(options.configurations, options.paths, report)
    if part is not None:
        return replace(report, shard=Shard(part.index, part.count, tuple(unknown)))
    return replace(report, errors=(*report.errors, *unmatched_errors(unknown, did_you_mean)))


def _with_users(
    requests: Sequence[FileRequest],
    files: Iterable[str],
    roots: Sequence[str],
    sources: Sources,
) -> list[FileRequest]:
    """The requests, each with those of all ``files`` of the run that import its own."""
    from verifier.source.imports import users
    from verifier.source.project import Project

    paths = [absolute(file) for file in files]
    if len(paths) < 2:
        return list(requests)
    found = users(Project(map(Path, roots), sources), paths)
    return [replace(request, users=found[request.path]) for request in requests]


class _Settings:
    """The settings of the files of one run."""

    def __init__(self, configurations: Configurations) -> None:
        self.of: dict[str, Resolved] = {}
        self._configurations = configurations
        self._broken = False

    def wanted(self, path: str) -> bool:
        """Whether a file is to be checked; its settings are looked up."""
        from verifier.configuration.model import ConfigurationError

        try:
            found = self.of[absolute(path)] = self._configurations.for_file(path)
        except ConfigurationError:
            self._broken = True
            return False
        return found.excluded is None

    def complain(self) -> None:
        """Raises ConfigurationError, with every mistake, if a configuration cannot be used."""
        from verifier.configuration.model import ConfigurationError

        if self._broken:
            raise ConfigurationError(self._configurations.problems())

    def selected(self, path: str) -> frozenset[str]:
        """Ids of the rules that are checked in a file.

        What a contract of the command line leaves out may need every suppression.
        """
        return self._chosen(path).difference(
            ("unused-suppression",) if self._configurations.overrides.contracts else ()
        )

    def _chosen(self, path: str) -> frozenset[str]:
        from verifier.rulebase import all_rules

        known = self.of.get(absolute(path))
        everything = [rule.id for rule in all_rules()]
        if known is None:  # a helper that is not among the files that were named
            return frozenset(everything)
        chosen = known.settings.select or everything
        return frozenset(chosen).difference(known.settings.ignore)

    def weighed(self, result: FileResult) -> FileResult:
        """The result with the severities that are set for its file; errors of contracts are moved
        to where the contracts stand."""
        found = self.of[absolute(result.path)]
        if result.errors:
            result = replace(result, errors=tuple(map(found.placed, result.errors)))
        if not found.settings.severity:
            return result
        from verifier.configuration.severity import overridden

        diagnostics = overridden(result.diagnostics, found.settings.severity)
        return replace(result, diagnostics=diagnostics)


def unknown_contracts(
    configurations: Configurations, paths: Sequence[str], report: RunReport
) -> list[Unmatched]:
    """The contracts whose kernels are in none of the files that they are meant for.

    A contract of a configuration file is only judged if everything below the file's folder was
    checked and could be read.
    """
    from verifier.configuration.model import shown

    contracts = configurations.contracts()
    if not contracts:
        return []
    whole = not any(error.kind != "usage" for error in report.errors)
    folders = [os.path.join(absolute(path), "") for path in paths if Path(path).is_dir()]  # noqa: PTH118
    unmatched = []
    for contract in contracts:
        origin = contract.origin
        where = "the files checked"
        if origin.source == "file":
            base = configurations.folder_of(contract)
            if base is None or not whole or not os.path.join(base, "").startswith(tuple(folders)):  # noqa: PTH118
                continue
            where = f"the files that match '{contract.files}'"
            if not contract.files:
                where = "the files that it is for"
        known = _known(k for k in report.kernels if configurations.concerns(contract, k.path))
        if contract.kernel not in known:
            message = f"contract for '{contract.kernel}': no such kernel in {where}"
            # several contracts of one key are one mistake, where the key stands
            line = configurations.line_of(contract)
            names = tuple(sorted(known))
            unmatched.append(Unmatched(shown(origin.path), line, contract.kernel, message, names))
    return list(dict.fromkeys(unmatched))


def _known(kernels: Iterable[KernelReport]) -> set[str]:
    """The names by which a contract may call the kernels."""
    names = {kernel.name for kernel in kernels}
    return names | {name.rpartition(".")[2] for name in names}


@dataclass(frozen=True, slots=True)
class Expected:
    """Whether a run over ``paths`` would have found an entry of a baseline again."""

    configurations: Configurations
    paths: tuple[str, ...]
    root: str

    def __call__(self, entry: Entry) -> bool:
        full = absolute(Path(self.root, entry.path))
        if not any(Path(full).is_relative_to(absolute(path)) for path in self.paths):
            return False
        settings = self.configurations.for_file(full).settings
        if entry.rule in settings.ignore:
            return False
        return entry.rule in (*settings.select, "undecided") or not settings.select


def complaint(error: FileError) -> str:
    """An error as one line for stderr."""
    place = error.path
    if error.line:
        place += f":{error.line}"
    return f"{place}: {error.message}" if place else error.message
