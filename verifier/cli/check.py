"""``tilelint check``."""

from __future__ import annotations

import sys
from typing import Any

import click

from verifier.cli import options
from verifier.cli.output import Refusal, complain, remark, version
from verifier.report.formats import FORMATS


@click.command("check")
@click.argument("paths", nargs=-1, type=click.Path())
@options.settings
@click.option(
    "--format",
    "format_",
    type=click.Choice(list(FORMATS)),
    default="full",
    show_default=True,
    help="How to print the findings.",
)
@click.option("--no-cache", is_flag=True, help="Neither use nor keep results of earlier runs.")
@click.option("--statistics", is_flag=True, help="Show where obligations and time went.")
def command(
    paths: tuple[str, ...],
    format_: str,
    no_cache: bool,
    statistics: bool,
    **said: Any,
) -> None:
    """Prove or refute the constraints of every kernel in PATHS (default: this directory).

    RULES are rule ids, codes, families or prefixes of these, separated by commas. What is not
    said here is taken from the nearest tilelint.toml or pyproject.toml of each file.

    Exit status: 0 nothing to report, 1 at least one error (with --strict also warnings and
    unknowns), 2 bad usage or an internal error.
    """
    from verifier.cache import place
    from verifier.cli.runner import RunOptions, complaint, default_jobs, run
    from verifier.configuration.model import ConfigurationError
    from verifier.report.formats import renderer
    from verifier.report.text import Options

    given = paths or (".",)
    configurations = options.configurations(said)
    try:
        whole = configurations.for_run(given).settings
        report = run(
            RunOptions(
                paths=given,
                configurations=configurations,
                jobs=whole.jobs or default_jobs(),
                statistics=statistics,
                replay=whole.replay,
                cache=None if no_cache else place.folder(whole.cache_dir),
            )
        )
    except ConfigurationError as unusable:
        raise Refusal(str(unusable)) from unusable
    style = Options.for_stream(sys.stdout, version=version(), statistics=statistics)
    renderer(format_)(report, sys.stdout, style)
    sys.stdout.flush()
    for path in configurations.left_out(given):
        remark(f"{path.path} is left out: {path.excluded}")
    for table in configurations.shadowed():
        remark(str(table))
    for error in report.errors:
        if error.kind != "syntax":
            complain(complaint(error))
    click.get_current_context().exit(report.exit_status(strict=whole.strict))
