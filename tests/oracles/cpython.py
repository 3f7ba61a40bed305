"""CPython's regression tests as kernels: ``python -m tests.oracles.cpython``.

A test method runs at trace time inside a kernel. One of its assertions decides how many partitions
a tile has: 128 where it holds, which the hardware allows, and 129 where it does not. CPython runs
each kernel first, so that what is asked of the tool is known to be true: the kernel has to be
verified, and its twin, in which the numbers are swapped, has to be refuted.

The tests are read from the installed interpreter when this runs; nothing of them is kept here.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from tests.oracles import tables
from tests.oracles.files import FILES
from tests.oracles.isolated import Isolated
from tests.oracles.judge import Answer, Judged, Task, analyze, answered, warm
from tests.oracles.kernels import Kernel, kernels
from tests.oracles.suite import MissingSuiteError, Suite
from tests.oracles.tables import FileReport
from tests.oracles.validate import all_hold

#: seconds beyond an analysis's own limit after which it counts as hanging
_GRACE = 15.0


def usable(suite: Suite, name: str, per_method: int, limit: int, jobs: int) -> FileReport | None:
    """The kernels of a file that CPython confirms, ``limit`` of them from all over the file."""
    file = suite.file(name)
    if file is None:
        return None
    report = FileReport(name)
    made: list[Kernel] = []
    for found in kernels(suite, file, per_method):
        if isinstance(found, Kernel):
            made.append(found)
        else:
            report.skipped += 1
    report.made = len(made)
    chosen = _spread(made, limit)
    confirmed = zip(chosen, all_hold([kernel.probe for kernel in chosen], jobs), strict=True)
    nothing = Answer("unknown")
    report.judged = [Judged(kernel, nothing, nothing) for kernel, holds in confirmed if holds]
    return report


def _spread(made: Sequence[Kernel], limit: int) -> list[Kernel]:
    """At most ``limit`` kernels in equal distances; 0 is no limit."""
    if limit <= 0 or len(made) <= limit:
        return list(made)
    return [made[position * len(made) // limit] for position in range(limit)]


def judge(reports: Sequence[FileReport], jobs: int, seconds: float, *, told: bool = False) -> None:
    """Fill in the tool's answers; those on one test method come from one process."""
    warm()
    flat = [(report, one.kernel) for report in reports for one in report.judged]
    groups = [list(group) for _, group in groupby(flat, lambda pair: (pair[0].file, pair[1].test))]
    batches = [
        [
            Task(text, twin, seconds)
            for _, kernel in group
            for text, twin in ((kernel.probe, False), (kernel.twin, True))
        ]
        for group in groups
    ]

    def progress(done: int) -> None:
        if told and done % 50 == 0:
            print(f"{done} of {len(batches)} tests", file=sys.stderr, flush=True)

    answers = Isolated(analyze, jobs, 1.25 * seconds + _GRACE).run(batches, progress)
    for report in reports:
        report.judged = []
    for group, found in zip(groups, answers, strict=True):
        for position, (report, kernel) in enumerate(group):
            probe, twin = (answered(found[2 * position + side]) for side in (0, 1))
            report.judged.append(Judged(kernel, probe, twin))


def keep(reports: Sequence[FileReport], folder: Path) -> None:
    """Write the kernels with an answer that is wrong, unsound or missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for report in reports:
        for one in report.judged:
            if one.wrong or one.unsound or one.failed:
                name = one.kernel.name.replace("#", "_")
                Path(folder, f"{name}.py").write_text(one.kernel.probe, encoding="utf-8")
                Path(folder, f"{name}_twin.py").write_text(one.kernel.twin, encoding="utf-8")


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.oracles.cpython", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("--files", nargs="+", default=list(FILES), metavar="NAME", help="default: all known ones")
    add("--limit", type=int, default=30, metavar="N", help="probes per file, 0: all (30)")
    add("--per-method", type=int, default=3, metavar="N", help="probes per test method (3)")
    add("--jobs", type=int, default=1, metavar="N", help="processes (1)")
    add("--seconds", type=float, default=5.0, metavar="S", help="limit of one analysis (5)")
    add("--wrong", action="store_true", help="print every wrong, unsound or missing answer")
    add("--keep", type=Path, metavar="DIR", help="write the kernels of those to DIR")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Make, confirm and judge kernels, and print the tables."""
    options = _arguments(arguments)
    started = time.monotonic()
    try:
        suite = Suite()
    except MissingSuiteError as error:
        print(f"cpython oracle: {error}", file=sys.stderr)
        return 2
    found = (
        usable(suite, name, options.per_method, options.limit, options.jobs)
        for name in options.files
    )
    reports = [report for report in found if report is not None and report.judged]
    judge(reports, options.jobs, options.seconds, told=True)
    print("\n".join(tables.table(reports)))
    print("\nwhy probes are unknown (the first reason of each):")
    print("\n".join(tables.reasons(reports)))
    print("\nwhy probes are unknown (every reason, once a probe):")
    print("\n".join(tables.every_reason(reports)))
    if options.wrong:
        print("\nwrong, unsound and missing answers:")
        print("\n".join(tables.failures(reports)))
    if options.keep is not None:
        keep(reports, options.keep)
    print(f"\n{len(reports)} files in {time.monotonic() - started:.0f} s")
    judged = [one for report in reports for one in report.judged]
    return int(any(one.wrong or one.unsound or one.failed for one in judged))


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # the same order of sets in every run
        os.execve(
            sys.executable,
            [sys.executable, "-m", "tests.oracles.cpython", *sys.argv[1:]],
            {**os.environ, "PYTHONHASHSEED": "0"},
        )
    sys.exit(main())
