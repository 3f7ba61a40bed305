"""One report from several: the shards of a run, or runs over different files or targets.

The merged report of all shards of a run is the report of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from verifier.report.fingerprints import renumbered
from verifier.report.model import (
    Entry,
    FileError,
    FileResult,
    Known,
    RunReport,
    Unmatched,
)

#: What to add to the message about a name that is not among the known ones.
Hint = Callable[[str, Sequence[str]], str]


class MergeError(ValueError):
    """Reports that do not belong together; the message says why."""


def merged(
    reports: Sequence[tuple[str, RunReport]], hint: Hint, *, partial: bool = False
) -> RunReport:
    """The union of ``reports``, each with the name that it is to be called in a message.

    ``partial``: shards may be missing. Then nothing is said about contracts without a kernel and
    findings that are gone: the missing shards may have them.

    Raises:
        MergeError: shards are missing, given twice, or of different runs.
    """
    missing = _missing(reports)
    if missing and not partial:
        raise MergeError(missing)
    found = [report for _, report in reports]
    # The names only give an order, in which nothing that is kept depends on it.
    results = [
        FileResult(
            str(number), r.kernels, r.diagnostics, r.errors, r.statistics, r.helpers, r.unreached
        )
        for number, r in enumerate(found)
    ]
    errors = () if missing else _unmatched(found, hint)
    whole = RunReport.merge(results)
    known = _known(found)
    names = {name for entry in known for name in entry.fingerprints}
    return renumbered(
        replace(
            whole,
            errors=(*whole.errors, *errors),
            known=known,
            gone=()
            if missing
            else tuple(entry for entry in _gone(found) if entry.fingerprint not in names),
        )
    )


def unmatched_errors(contracts: Iterable[Unmatched], hint: Hint) -> tuple[FileError, ...]:
    """The errors of contracts whose kernels are nowhere."""
    return tuple(
        FileError(c.path, c.line, c.message + hint(c.kernel, c.known), "usage") for c in contracts
    )


def _missing(reports: Sequence[tuple[str, RunReport]]) -> str:
    """Which shards are missing; empty if there are none, or all of one run.

    Raises:
        MergeError: they are of different runs, or given twice.
    """
    shards = [(name, report.shard) for name, report in reports if report.shard is not None]
    if not shards:
        return ""
    count = shards[0][1].count
    seen: dict[int, str] = {}
    for name, report in reports:
        shard = report.shard
        if shard is None:
            raise MergeError(f"{name} is a whole run, {shards[0][0]} a shard of one")
        if shard.count != count:
            raise MergeError(f"{name} is one of {shard.count} shards, {shards[0][0]} of {count}")
        if shard.index in seen:
            raise MergeError(
                f"shard {shard.index}/{count} is given twice: {seen[shard.index]}, {name}"
            )
        seen[shard.index] = name
    missing = [str(index) for index in range(1, count + 1) if index not in seen]
    if not missing:
        return ""
    what = f"shard {missing[0]}" if len(missing) == 1 else f"shards {', '.join(missing)}"
    return f"{what} of {count} missing"


def _unmatched(reports: Sequence[RunReport], hint: Hint) -> tuple[FileError, ...]:
    """A contract is in error if no shard has its kernel."""
    groups: dict[tuple[str, int, str, str], list[Unmatched]] = {}
    for report in reports:
        for c in report.shard.contracts if report.shard else ():
            groups.setdefault((c.path, c.line, c.kernel, c.message), []).append(c)
    nowhere = [
        replace(group[0], known=tuple(sorted({name for c in group for name in c.known})))
        for group in groups.values()
        if len(group) == len(reports)
    ]
    return unmatched_errors(nowhere, hint)


def _known(reports: Sequence[RunReport]) -> tuple[Known, ...]:
    sources: dict[str, set[str]] = {}
    for report in reports:
        for known in report.known:
            sources.setdefault(known.source, set()).update(known.fingerprints)
    return tuple(Known(source, tuple(sorted(names))) for source, names in sources.items())


def _gone(reports: Sequence[RunReport]) -> list[Entry]:
    """What none of the reports has found."""
    first, *others = (set(report.gone) for report in reports)
    return sorted(first.intersection(*others))
