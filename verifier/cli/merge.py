"""``tilelint merge``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from verifier.cli import reporting
from verifier.cli.output import Refusal, complain, did_you_mean
from verifier.cli.paths import project_root

if TYPE_CHECKING:
    from verifier.report.json_reader import Reading


@click.command("merge")
@click.argument("reports", nargs=-1, required=True, type=click.Path())
@reporting.options
@click.option(
    "--partial",
    is_flag=True,
    help="Take the shards that are given, though others are missing.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 on warnings and unknowns, too.")
def command(
    reports: tuple[str, ...],
    format_: str,
    output: str | None,
    baseline: str | None,
    write_baseline: str | None,
    verbose: bool,
    partial: bool,
    strict: bool,
) -> None:
    """Make one report of several that `check --format json` has written.

    The shards of a run (`check --shard 2/8`) make the report of the whole run. Frames and paths
    are those of the current directory, which should be the one that `check` ran in.

    Exit status: as that of `check`.
    """
    from verifier.cli.runner import complaint
    from verifier.report.json_reader import ReportError, read
    from verifier.report.merging import MergeError, merged

    if partial and write_baseline is not None:
        raise Refusal("--write-baseline needs the findings of a whole run: --partial has some")
    wanted = reporting.Reporting.asked(format_, output, baseline, write_baseline, verbose=verbose)
    readings: list[tuple[str, Reading]] = []
    problems = []
    for path in dict.fromkeys(reports):
        try:
            readings.append((path, read(Path(path).read_bytes())))
        except OSError as error:
            problems.append(f"{path}: {error.strerror or error}")
        except ReportError as error:
            problems.append(f"{path}: {error}")
    if problems:
        raise Refusal("\n".join(problems))
    made_by = _version(readings)
    try:
        found = [(path, reading.report) for path, reading in readings]
        report = merged(found, did_you_mean, partial=partial)
    except MergeError as error:
        raise Refusal(str(error)) from error
    root = project_root()
    report = wanted.weighed(report, root)
    statistics = any(reading.statistics for _, reading in readings)
    wanted.print(report, root, strict=strict, statistics=statistics, made_by=made_by)
    for failure in report.errors:
        if failure.kind != "syntax":
            complain(complaint(failure))
    click.get_current_context().exit(report.exit_status(strict=strict))


def _version(readings: Sequence[tuple[str, Reading]]) -> str:
    """The version that all reports are from."""
    versions: dict[str, str] = {}
    for path, reading in readings:
        versions.setdefault(reading.version, path)
    if len(versions) > 1:
        listed = ", ".join(f"{path} of {version}" for version, path in versions.items())
        raise Refusal(f"reports of different versions of tilelint: {listed}")
    return next(iter(versions))
