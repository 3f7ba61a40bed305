"""``tilelint check``."""

from __future__ import annotations

import sys

import click

from verifier.cli import selection
from verifier.cli.output import complain, version
from verifier.report.formats import FORMATS

DEFAULT_TIMEOUT = 60.0


@click.command("check")
@click.argument("paths", nargs=-1, type=click.Path())
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="NAME",
    help="Hardware to check for: trn2, bm1690 ... (repeatable; default: of the kernel's family).",
)
@click.option(
    "--api-version",
    metavar="VERSION",
    help="NKI generation: beta1, 0.2 .. 0.6 (default: inferred for each file).",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(list(FORMATS)),
    default="full",
    show_default=True,
    help="How to print the findings.",
)
@click.option("--select", multiple=True, metavar="RULES", help="Check these rules only.")
@click.option("--ignore", multiple=True, metavar="RULES", help="Leave these rules out.")
@click.option(
    "--contract",
    "contracts",
    multiple=True,
    metavar="SPEC",
    help="Narrow a kernel's inputs, e.g. 'gemm(a: bf16[K, M]) where K % 128 == 0' (repeatable).",
)
@click.option(
    "--replay",
    is_flag=True,
    help="Run every counterexample on the reference executor. This executes the files.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 on warnings and unknowns, too.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Worker processes (default: the cores available).",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=DEFAULT_TIMEOUT,
    show_default=True,
    metavar="SECONDS",
    help="Time limit for each kernel.",
)
@click.option("--statistics", is_flag=True, help="Show where obligations and time went.")
def command(
    paths: tuple[str, ...],
    targets: tuple[str, ...],
    api_version: str | None,
    format_: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    contracts: tuple[str, ...],
    replay: bool,
    strict: bool,
    jobs: int | None,
    timeout: float,
    statistics: bool,
) -> None:
    """Prove or refute the constraints of every kernel in PATHS (default: this directory).

    RULES are rule ids, codes, families or prefixes of these, separated by commas.

    Exit status: 0 nothing to report, 1 at least one error (with --strict also warnings and
    unknowns), 2 bad usage or an internal error.
    """
    from verifier.cli.runner import RunOptions, complaint, default_jobs, run
    from verifier.report.formats import renderer
    from verifier.report.text import Options

    chosen: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    if select or ignore:
        from verifier.rulebase import all_rules

        known = all_rules()
        chosen = selection.rules(select, known, "--select")
        ignored = selection.rules(ignore, known, "--ignore")
    report = run(
        RunOptions(
            paths=paths or (".",),
            targets=selection.targets(targets),
            api_version=selection.api_version(api_version),
            contracts=selection.contracts(contracts),
            select=chosen,
            ignore=ignored,
            timeout=timeout,
            jobs=jobs or default_jobs(),
            statistics=statistics,
            replay=replay,
        )
    )
    options = Options.for_stream(sys.stdout, version=version(), statistics=statistics)
    renderer(format_)(report, sys.stdout, options)
    sys.stdout.flush()
    for error in report.errors:
        if error.kind != "syntax":
            complain(complaint(error))
    click.get_current_context().exit(report.exit_status(strict=strict))
