"""``tilelint check``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from verifier.cli import options, reporting
from verifier.cli.output import Refusal, complain, remark
from verifier.cli.reporting import Reporting
from verifier.cli.shards import Part, read_part

if TYPE_CHECKING:
    from verifier.cli.affected import Scope
    from verifier.cli.fix import Fixing
    from verifier.cli.runner import Expected
    from verifier.configuration.settings import Configurations
    from verifier.report.model import RunReport


_NOT_WHOLE = (
    "--write-baseline needs the findings of a whole run: --affected, --diff-base, --kernel "
    "and --shard leave some out (merge has --write-baseline, too)"
)


@click.command("check")
@click.argument("paths", nargs=-1, type=click.Path())
@options.settings
@click.option(
    "--affected",
    is_flag=True,
    help="PATHS are files that have changed (default: what git says): check every kernel file "
    "that is one of them or imports one, through any number of files.",
)
@click.option(
    "--diff-base",
    metavar="REV",
    help="Report only what was not there at a revision of git ('main...': where the branch left "
    "main), in the kernel files that changes since then concern.",
)
@click.option(
    "--kernel",
    "kernels",
    multiple=True,
    metavar="FILE::NAME",
    help="Check this function alone, whether or not the file says that it is a kernel "
    "(repeatable; with --contract for its inputs).",
)
@click.option(  # no setting: what is checked must not be able to ask for its own execution
    "--replay",
    is_flag=True,
    help="Run every counterexample on the reference executor. This executes the files.",
)
@click.option(
    "--migrate-to",
    metavar="VERSION",
    help="Report what this later NKI generation (0.2 .. 0.6) does not take as it is, or reads "
    "otherwise, with what to write; with --fix or --diff: write it.",
)
@reporting.options
@click.option(
    "--shard",
    callback=read_part,
    metavar="I/N",
    help="Check the I-th of N parts of the files; `tilelint merge` makes one report of all parts.",
)
@click.option(
    "--fix",
    is_flag=True,
    help="Apply the fixes that change nothing that works today, and report what is left.",
)
@click.option(
    "--unsafe-fixes",
    is_flag=True,
    help="With --fix or --diff: also the fixes that reject inputs, such as missing assertions, and "
    "suppressions that only this run has no use for.",
)
@click.option(
    "--diff",
    is_flag=True,
    help="Print what --fix would change as a unified diff, and change nothing. "
    "Exit with 1 if there is something.",
)
@click.option("--no-cache", is_flag=True, help="Neither use nor keep results of earlier runs.")
@click.option("--statistics", is_flag=True, help="Show where obligations and time went.")
def command(
    paths: tuple[str, ...],
    affected: bool,
    diff_base: str | None,
    kernels: tuple[str, ...],
    replay: bool,
    migrate_to: str | None,
    format_: str,
    output: str | None,
    baseline: str | None,
    write_baseline: str | None,
    verbose: bool,
    shard: Part | None,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
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
    reported = Reporting.asked(format_, output, baseline, write_baseline, verbose=verbose)
    chosen = affected or diff_base is not None
    if write_baseline is not None and (chosen or shard is not None or kernels):
        raise Refusal(_NOT_WHOLE)
    asked = _asked(kernels, alone=not (paths or chosen))
    fixing = _fixing(fix, unsafe_fixes, diff)
    with _refusals():
        run = _Run(
            tuple(asked) or paths or (".",),
            _scope(paths, affected, diff_base),
            options.configurations(said),
            statistics=statistics,
            replay=replay,
            parts=verbose,
            cached=not no_cache,
            fixing=fixing,
            shard=shard,
            kernels=asked,
            migrate_to=_generation(migrate_to, replay=replay),
        )
        report = run.report(diff_base, lambda: options.configurations(said))
        report = reported.weighed(report, run.root, run.expected())
    strict = run.whole.strict
    if diff and fixing is not None:
        sys.stdout.writelines(fixing.diff())
        status = fixing.exit_status(report)
    else:
        reported.print(report, run.root, strict=strict, statistics=statistics)
        status = report.exit_status(strict=strict)
    sys.stdout.flush()
    _remarks(report, run, fixing)
    click.get_current_context().exit(status)


@contextmanager
def _refusals() -> Iterator[None]:
    """What git or a configuration refuses is refused."""
    from verifier.cli.git import GitError
    from verifier.configuration.model import ConfigurationError

    try:
        yield
    except (GitError, ConfigurationError) as error:
        raise Refusal(str(error)) from error


class _Run:
    """What is checked, under which settings."""

    def __init__(
        self,
        paths: tuple[str, ...],
        scope: Scope | None,
        configurations: Configurations,
        *,
        statistics: bool,
        replay: bool,
        parts: bool,
        cached: bool,
        fixing: Fixing | None,
        shard: Part | None,
        kernels: Mapping[str, Sequence[str]],
        migrate_to: str,
    ) -> None:
        from verifier.cache import place
        from verifier.cli.paths import absolute, project_root
        from verifier.cli.runner import RunOptions, default_jobs

        #: what was named, nothing where the files are chosen by what has changed
        self.named = paths if scope is None else ()
        self.configurations = configurations
        self.root = project_root()
        #: the settings of the run, not of one file
        self.whole = configurations.for_run(paths if scope is None else scope.roots).settings
        self._scope = scope
        self._asked = RunOptions(
            paths=paths if scope is None else tuple(scope.files),
            configurations=configurations,
            jobs=self.whole.jobs or default_jobs(),
            statistics=statistics,
            replay=replay,
            parts=parts,
            cache=place.folder(self.whole.cache_dir) if cached else None,
            roots=None if scope is None else (*scope.roots, "."),
            chosen_from=None if scope is None else scope.total,
            fixing=fixing,
            shard=shard,
            kernels={absolute(path): names for path, names in kernels.items()},
            migrate_to=migrate_to,
        )

    def report(
        self, revision: str | None, configurations: Callable[[], Configurations]
    ) -> RunReport:
        """What was found; with a ``revision`` what was not there under its configurations."""
        from verifier.cli.runner import run

        report = run(self._asked)
        return report if revision is None else self._new(report, revision, configurations)

    def _new(
        self, report: RunReport, revision: str, configurations: Callable[[], Configurations]
    ) -> RunReport:
        """The report without what was there at a revision, under the ``configurations`` then."""
        from verifier.cli.introduced import introduced
        from verifier.cli.runner import run

        def before(files: Sequence[str], roots: Sequence[str]) -> RunReport:
            then = replace(
                self._asked,
                paths=tuple(files),
                roots=tuple(roots),
                configurations=configurations(),
                replay=False,
                cache=None,
                fixing=None,
                shard=None,
            )
            return run(then)

        assert self._scope is not None
        return introduced(report, self._scope, revision, before)

    def expected(self) -> Expected:
        from verifier.cli.runner import Expected

        return Expected(self.configurations, self.named, self.root)


def _remarks(report: RunReport, run: _Run, fixing: Fixing | None) -> None:
    """On stderr: what was fixed, what was not looked at, and what went wrong."""
    from verifier.cli.runner import complaint

    if fixing is not None:
        for line in fixing.remarks():
            remark(line)
    for path in run.configurations.left_out(run.named):
        remark(f"{path.path} is left out: {path.excluded}")
    for table in run.configurations.shadowed():
        remark(str(table))
    for error in report.errors:
        if error.kind != "syntax":
            complain(complaint(error))


def _fixing(fix: bool, unsafe: bool, diff: bool) -> Fixing | None:
    """What is to be fixed; None: nothing."""
    if not (fix or diff):
        if unsafe:
            raise Refusal(
                "--unsafe-fixes says which fixes --fix or --diff applies: give one of them"
            )
        return None
    from verifier.cli.fix import Fixing

    return Fixing(unsafe=unsafe, write=not diff)


def _generation(migrate_to: str | None, *, replay: bool) -> str:
    """The generation that files are to fit; empty: they stay what they are.

    Raises:
        Refusal: there is no such generation, or nothing can be run yet.
    """
    if migrate_to is None:
        return ""
    from verifier.configuration.suggestions import did_you_mean
    from verifier.dialects.nki.versions import GENERATIONS

    later = GENERATIONS[1:]
    if migrate_to not in later:
        hint = did_you_mean(migrate_to, later)
        raise Refusal(f"--migrate-to takes one of {', '.join(later)}, not '{migrate_to}'{hint}")
    if replay:
        raise Refusal("--replay runs kernels as they are: it goes with no --migrate-to")
    return migrate_to


def _asked(kernels: Sequence[str], alone: bool) -> dict[str, list[str]]:
    """The functions of ``FILE::NAME``, by their files; ``alone``: nothing else says what to check.

    Raises:
        Refusal: they are not the only ones, or not written so.
    """
    if kernels and not alone:
        raise Refusal("--kernel says what is checked: PATHS, --affected, --diff-base say more")
    found: dict[str, list[str]] = {}
    for kernel in kernels:
        path, mark, name = kernel.rpartition("::")
        if not (path and mark and name):
            raise Refusal(f"--kernel takes FILE::NAME, not '{kernel}'")
        found.setdefault(path, []).append(name)
    return found


def _scope(paths: tuple[str, ...], changed: bool, revision: str | None) -> Scope | None:
    """The files to check where they are chosen by what has changed; None: all below ``paths``."""
    if not changed and revision is None:
        return None
    from verifier.cli.affected import affected, concerned

    if changed or revision is None:
        return affected(paths, revision)
    return concerned(paths or (".",), revision)
