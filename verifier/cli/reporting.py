"""From a report to what is printed, written and returned: shared by ``check`` and ``merge``."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import Struct
from msgspec.structs import replace

from verifier.cli.output import Refusal, version
from verifier.cli.writing import check_writable, write_whole
from verifier.report.formats import FORMATS, NEEDS

if TYPE_CHECKING:
    from verifier.report.baseline import Baseline
    from verifier.report.model import Entry, RunReport
    from verifier.report.rules import RuleText

Command = TypeVar("Command", bound=Callable[..., Any])


def options(command: Command) -> Command:
    """The options that say what becomes of a report."""
    for option in reversed(
        (
            click.option(
                "--format",
                "format_",
                type=click.Choice(list(FORMATS)),
                default="full",
                show_default=True,
                help="How to print the findings.",
            ),
            click.option(
                "--output",
                metavar="FILE",
                help="Write the report to FILE; only the totals are printed.",
            ),
            click.option(
                "--baseline",
                metavar="FILE",
                help="Leave out the findings that are in FILE.",
            ),
            click.option(
                "--write-baseline",
                metavar="FILE",
                help="Write all findings to FILE, which makes them known.",
            ),
            click.option(
                "--verbose",
                is_flag=True,
                help="Show every finding that a kernel's precondition stands for on its own, every "
                "kernel, and what is assumed.",
            ),
        )
    ):
        command = option(command)
    return command


class Reporting(Struct, frozen=True):
    """What becomes of a report. Made before the analysis, so that mistakes are told at once.

    Raises:
        Refusal: the format's library is missing, a file cannot be written, the baseline is absent
            or none.
    """

    format: str
    output: str | None
    write_baseline: str | None
    known: Baseline | None
    verbose: bool

    @staticmethod
    def asked(
        format_: str,
        output: str | None,
        baseline: str | None,
        write_baseline: str | None,
        *,
        verbose: bool,
    ) -> Reporting:
        module, extra = NEEDS.get(format_, ("", ""))
        if module and find_spec(module) is None:
            raise Refusal(
                f"--format {format_} needs the package {module}: pip install 'tilelint[{extra}]'"
            )
        if output == "-":
            output = None
        if output is not None:
            check_writable(output, "--output")
        if write_baseline is not None:
            check_writable(write_baseline, "--write-baseline")
        known = None
        if baseline is not None:
            from verifier.report.baseline import BaselineError, read

            try:
                known = read(baseline)
            except BaselineError as error:
                raise Refusal(f"--baseline {error}") from error
        return Reporting(format_, output, write_baseline, known, verbose)

    def weighed(
        self, report: RunReport, root: str, expected: Callable[[Entry], bool] = lambda _: True
    ) -> RunReport:
        """``report`` without what the baseline knows; the new baseline is written first.

        ``expected`` says of an entry whether this run could have found it. A baseline is not
        written after a failure: what is missing from it would come back as new.
        """
        from verifier.report import baseline
        from verifier.report.model import EXIT_FAILURE

        known = self.known
        if self.write_baseline is not None:
            if report.exit_status() == EXIT_FAILURE:
                return _failed(report, self.write_baseline, "not written: the run failed")
            known = baseline.of(report, root)
            try:
                write_whole(self.write_baseline, baseline.text(known))
            except OSError as error:
                # The findings are reported, so that they are not lost.
                message = f"cannot be written: {error.strerror or error}"
                return _failed(report, self.write_baseline, message)
        if known is None:
            return report
        return baseline.applied(report, known, root, expected)

    def print(
        self,
        report: RunReport,
        root: str,
        *,
        strict: bool,
        statistics: bool = False,
        made_by: str | None = None,
    ) -> None:
        """Print the report, or write it to a file and print the totals.

        ``made_by`` is the version of the tool that the report is from, if it was another.
        """
        from verifier.report.formats import renderer
        from verifier.report.summary import totals_lines
        from verifier.report.text import UNICODE, Options, write

        style = Options.for_stream(sys.stdout, version=made_by or version(), statistics=statistics)
        style = replace(style, root=root, strict=strict, verbose=self.verbose)
        if self.format == "sarif":
            style = replace(style, rules=rule_texts())
        if self.output is None:
            renderer(self.format)(report, sys.stdout, style)
        else:
            printed = io.StringIO()
            plain = replace(style, width=100, color=False, glyphs=UNICODE)
            renderer(self.format)(report, printed, plain)
            try:
                write_whole(self.output, printed.getvalue())
            except OSError as error:
                sys.stdout.write(printed.getvalue())  # rather there than lost
                sys.stdout.flush()
                reason = error.strerror or str(error)
                raise Refusal(f"{self.output}: cannot be written: {reason}") from error
            write(totals_lines(report, style), sys.stdout, style)
        sys.stdout.flush()


def _failed(report: RunReport, path: str, message: str) -> RunReport:
    """``report`` with a failure that makes the exit status 2."""
    from verifier.report.model import FileError

    return replace(report, errors=(*report.errors, FileError(path, 0, message, "usage")))


def rule_texts() -> Mapping[str, RuleText]:
    """What the rules say about themselves."""
    from verifier.report.rules import RuleText
    from verifier.rulebase import all_rules, markdown

    return {
        rule.id: RuleText(
            id=rule.id,
            code=rule.code,
            family=rule.family,
            summary=rule.summary,
            reason=rule.reason,
            markdown=markdown(rule),
            severity="error" if rule.severity == "error" else "warning",
            facts=rule.facts,
            tags=rule.dialects,
        )
        for rule in all_rules()
    }
