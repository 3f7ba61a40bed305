"""``tilelint config``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verifier.cli import options
from verifier.cli.output import Refusal, remark, version

if TYPE_CHECKING:
    from verifier.configuration.model import Entry, KernelContract, Origin, Resolved
    from verifier.report.text import Line


@click.group("config", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Say what is configured for a file, and which settings there are."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@command.command("show")
@click.argument("path", metavar="FILE", type=click.Path())
@options.settings
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print the settings.",
)
def show(path: str, format_: str, **said: Any) -> None:
    """Show each setting that holds for FILE, and the line or option that sets it.

    The nearest tilelint.toml, or pyproject.toml with [tool.tilelint], above FILE and inside its
    repository holds; in one folder tilelint.toml wins. From the lowest to the highest level:
    defaults, the configuration file, its overrides whose paths match FILE (later ones above
    earlier ones), the options given here, which are those of check. `tilelint config settings`
    lists what can be set.
    """
    from verifier.cli.affected import is_known
    from verifier.configuration.model import ConfigurationError

    if not is_known(path):
        raise Refusal(f"{path}: no such file or directory")
    configurations = options.configurations(said)
    try:
        if Path(path).is_dir():
            found = configurations.for_run([path])
        else:
            found = configurations.for_file(path)
    except ConfigurationError as unusable:
        raise Refusal(str(unusable)) from unusable
    if format_ == "json":
        click.echo(json.dumps(document(found), indent=2))
    else:
        _print(path, found)
    sys.stdout.flush()
    for table in configurations.shadowed():
        remark(str(table))


@command.command("settings")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="How to print the list.",
)
def settings(format_: str) -> None:
    """List what [tool.tilelint] and tilelint.toml may say."""
    from verifier.configuration import documentation
    from verifier.configuration.table import OVERRIDES, PATHS, SETTINGS
    from verifier.report.text import Options, words, wrap, write

    if format_ == "markdown":
        click.echo(documentation.markdown(), nl=False)
        return
    if format_ == "json":
        listed = [
            {
                "key": setting.key,
                "value": setting.type_,
                "default": setting.default_text,
                "per_path": setting.per_path,
                "option": setting.option or None,
                "summary": setting.summary,
                "example": setting.example,
            }
            for setting in SETTINGS
        ]
        click.echo(json.dumps({"schema_version": 1, "settings": listed}, indent=2))
        return
    style = Options.for_stream(sys.stdout, version="")
    lines: list[Line] = []
    for setting in SETTINGS:
        lines.append([(f"{setting.key} = {setting.example}", "key")])
        lines += wrap([("    ", "")], words(setting.summary), style.width)
        about = f"{setting.type_}; default: {setting.default_text}"
        if setting.option:
            about += f"; option: {setting.option}"
        if not setting.per_path:
            about += "; not in overrides"
        lines += wrap([("    ", "")], words(about, "dim"), style.width)
    lines.append([(f"[[{OVERRIDES}]]", "key")])
    about = (
        f"Other values for files that match {PATHS}, a list of patterns in the form of .gitignore"
    )
    lines += wrap([("    ", "")], words(f"{about}."), style.width)
    write(lines, sys.stdout, style)


def document(found: Resolved) -> dict[str, Any]:
    """What holds for a file as a JSON object; ``value`` is what is in force, ``entries`` are what
    was said about it, least important first."""
    from verifier.configuration.model import shown
    from verifier.configuration.table import said_of

    return {
        "schema_version": 1,
        "tool": {"name": "tilelint", "version": version()},
        "path": found.path,
        "configuration": None if found.file is None else shown(found.file),
        "excluded": None if found.excluded is None else _origin(found.excluded),
        "settings": [
            {
                "key": key,
                "value": _value(given.value),
                "entries": [_entry(entry) for entry in given.entries],
            }
            for key, given in said_of(found).items()
        ],
    }


def _value(value: object) -> object:
    from verifier.configuration.model import KernelContract

    if isinstance(value, tuple):
        return [_contract(x) if isinstance(x, KernelContract) else x for x in value]
    return value


def _contract(contract: KernelContract) -> dict[str, str | None]:
    return {
        "kernel": contract.kernel,
        "contract": contract.text,
        "files": contract.files or None,
        "preset": contract.preset or None,
    }


def _entry(entry: Entry) -> dict[str, Any]:
    return {"key": entry.key or None, "value": entry.value, **_origin(entry.origin)}


def _origin(origin: Origin) -> dict[str, Any]:
    from verifier.configuration.model import shown

    return {
        "source": origin.source,
        "path": shown(origin.path) if origin.path else None,
        "line": origin.line or None,
        "option": origin.option or None,
    }


def _print(path: str, found: Resolved) -> None:
    from verifier.configuration.model import shown
    from verifier.configuration.table import BY_KEY, said_of
    from verifier.report.text import Options, one_line, words, wrap, write

    style = Options.for_stream(sys.stdout, version="")
    file = "no configuration file" if found.file is None else shown(found.file)
    lines: list[Line] = [[(path, "path"), (": ", ""), (file, "")]]
    if found.excluded is not None:
        lines.append([("  left out: ", "unsure"), (str(found.excluded), "")])
    lines.append([])
    widest = max(len(key) for key in said_of(found))
    for key, given in said_of(found).items():
        name = key
        for entry in given.entries:
            set_ = entry.origin.source != "default"
            text = _text(entry) if set_ else BY_KEY[key].default_text
            head: Line = [(f"  {name:<{widest}}  ", "key" if set_ else "dim")]
            if entry.key:
                head.append((f"{one_line(entry.key)} = ", ""))
            body = [*words(one_line(text), "" if set_ else "dim"), (f"({entry.origin})", "dim")]
            lines += wrap(head, body, style.width, indent=widest + 4)
            name = ""
    write(lines, sys.stdout, style)


def _text(entry: Entry) -> str:
    if isinstance(entry.value, list):
        return json.dumps(entry.value, ensure_ascii=False) if entry.value else "[]"
    if isinstance(entry.value, bool):
        return str(entry.value).lower()
    return str(entry.value)
