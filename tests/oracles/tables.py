"""The report of a run: a table by file, the totals, and why things are left undecided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.oracles.judge import Judged, normalized

_HEADINGS = ("right", "%", "unknown", "%", "twin ?", "wrong", "unsound", "crash")


@dataclass(slots=True)
class FileReport:
    """What came of one file: ``made`` kernels, those that CPython confirms, skipped methods."""

    file: str
    made: int = 0
    skipped: int = 0
    judged: list[Judged] = field(default_factory=list)


def table(reports: Sequence[FileReport]) -> Iterator[str]:
    """Lines, one for each file and one for all of them."""
    yield f"{'file':<28}{'probes':>7}" + "".join(f"{heading:>8}" for heading in _HEADINGS)
    for report in reports:
        yield _row(report.file, report.judged)
    yield _row("total", [judged for report in reports for judged in report.judged])


def _row(name: str, judged: Sequence[Judged]) -> str:
    right = sum(one.right for one in judged)
    unknown = sum(one.probe.side == "unknown" for one in judged)
    columns = (
        str(right),
        _percent(right, len(judged)),
        str(unknown),
        _percent(unknown, len(judged)),
        str(sum(one.twin.side == "unknown" for one in judged)),
        str(sum(one.wrong for one in judged)),
        str(sum(one.unsound for one in judged)),
        str(sum(one.failed for one in judged)),
    )
    return f"{name:<28}{len(judged):>7}" + "".join(f"{column:>8}" for column in columns)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole else "-"


def reasons(reports: Sequence[FileReport], top: int = 40) -> Iterator[str]:
    """Why probes are undecided: the first reason of each, by how often it comes."""
    return _ranked(reports, top, every=False)


def every_reason(reports: Sequence[FileReport], top: int = 40) -> Iterator[str]:
    """Why probes are undecided: all reasons, each counted once a probe."""
    return _ranked(reports, top, every=True)


def _ranked(reports: Sequence[FileReport], top: int, *, every: bool) -> Iterator[str]:
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for report in reports:
        for one in report.judged:
            if one.probe.side != "unknown":
                continue
            said = one.probe.detail if every else one.probe.detail[:1]
            for reason in dict.fromkeys(map(normalized, said)):
                counts[reason] += 1
                examples.setdefault(reason, f"{one.kernel.name}: {_first(one, reason)}")
    for reason, count in counts.most_common(top):
        yield f"{count:>6}  {reason}"
        yield f"        e.g. {examples[reason]}"


def _first(one: Judged, reason: str) -> str:
    said = next(text for text in one.probe.detail if normalized(text) == reason)
    return said if len(said) <= 160 else said[:159] + "…"


def failures(reports: Sequence[FileReport]) -> Iterator[str]:
    """Every answer that is wrong or unsound, and every one that is missing."""
    for report in reports:
        for one in report.judged:
            kinds = [
                kind
                for kind, holds in (
                    ("WRONG", one.wrong),
                    ("UNSOUND", one.unsound),
                    ("CRASH", one.failed),
                )
                if holds
            ]
            if kinds:
                yield f"{' '.join(kinds)} {one.kernel.name}"
                yield f"    assertion: {one.kernel.assertion}"
                yield f"    probe: {'; '.join(one.probe.detail)}"
                yield f"    twin:  {'; '.join(one.twin.detail)}"
