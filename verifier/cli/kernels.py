"""``tilelint kernels``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verifier.cli.output import complain, version

if TYPE_CHECKING:
    from verifier.cli.paths import Display
    from verifier.report.model import FileError
    from verifier.report.text import Line
    from verifier.source.discovery import KernelEntry
    from verifier.source.text import SourceError


@click.command("kernels")
@click.argument("paths", nargs=-1, type=click.Path())
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print the list.",
)
def command(paths: tuple[str, ...], format_: str) -> None:
    """List the device entry points in PATHS (default: this directory), checking nothing."""
    from verifier.cli.candidates import gather, roots_of
    from verifier.cli.paths import Display
    from verifier.cli.runner import complaint
    from verifier.report.model import RunReport
    from verifier.source.discovery import discover
    from verifier.source.project import Module, Project
    from verifier.source.text import SourceError

    given = paths or (".",)
    candidates = gather(given)
    errors = list(candidates.errors)
    project = Project(Path(root) for root in roots_of(given))
    modules: list[Module] = []
    display = Display(candidates.files)
    for file in sorted(candidates.files):
        try:
            module = project.module(Path(file))
        except SourceError as error:
            errors.append(_error(error, display))
            continue
        modules.append(module)
        errors += [_error(error, display) for error in module.errors]
    entries = discover(project, modules)
    shown = [(display.name(str(entry.path)), entry) for entry in entries]
    report = RunReport.merge([], errors)
    if format_ == "json":
        click.echo(json.dumps(document(shown, report.errors), indent=2))
    else:
        _print(shown, candidates.total)
    sys.stdout.flush()
    for failure in report.errors:
        complain(complaint(failure))
    click.get_current_context().exit(report.exit_status())


def _error(error: SourceError, display: Display) -> FileError:
    from verifier.report.model import FileError

    return FileError(display.name(error.path), error.line, error.message, "syntax")


def document(
    entries: list[tuple[str, KernelEntry]], errors: tuple[FileError, ...]
) -> dict[str, Any]:
    """The entry points as a JSON object; ``line`` is that of the ``def``."""
    return {
        "schema_version": 1,
        "tool": {"name": "tilelint", "version": version()},
        "kernels": [
            {
                "path": path,
                "name": entry.name,
                "line": entry.line,
                "dialect": entry.dialect,
                "how": entry.how.value,
                "wrapper": entry.wrapper,
            }
            for path, entry in entries
        ],
        "errors": [
            {"path": error.path, "line": error.line, "message": error.message} for error in errors
        ],
    }


def _print(entries: list[tuple[str, KernelEntry]], total: int) -> None:
    from verifier.report.summary import number
    from verifier.report.text import Options, cells, write

    titles = [f"{entry.name}:{entry.line}" for _, entry in entries]
    widest = max(map(cells, titles), default=0)
    dialects = max((cells(entry.dialect) for _, entry in entries), default=0)
    lines: list[Line] = []
    previous = None
    for (path, entry), title in zip(entries, titles, strict=True):
        if path != previous:
            lines += [[], [(path, "path")]] if lines else [[(path, "path")]]
            previous = path
        lines.append(
            [
                (f"  {entry.name}", ""),
                (f":{entry.line}", "dim"),
                (" " * (widest - cells(title) + 2), ""),
                (f"{entry.dialect:<{dialects}}  {_how(entry)}", "dim"),
            ]
        )
    if lines:
        lines.append([])
    lines.append([(f"{number(len(entries), 'kernel')} in {number(total, 'file')}", "message")])
    write(lines, sys.stdout, Options.for_stream(sys.stdout, version=""))


def _how(entry: KernelEntry) -> str:
    from verifier.source.discovery import How

    call = f"@{entry.wrapper}" if entry.how is How.DECORATOR else f"{entry.wrapper}(...)"
    return f"{call}, does not parse" if entry.error else call
