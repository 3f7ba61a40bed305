"""``tilelint explain``."""

from __future__ import annotations

import json
import sys

import click

from verifier.cli.output import Refusal, did_you_mean


@click.command("explain")
@click.argument("rule")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
    help="How to print it; text is Markdown, rendered on a terminal.",
)
def command(rule: str, format_: str) -> None:
    """Say what RULE (an id or a code) demands and why, with a failing and a passing kernel."""
    from verifier.rulebase import all_rules, markdown

    known = all_rules()
    wanted = rule.lower()
    found = next((r for r in known if wanted in (r.id, r.code.lower())), None)
    if found is None:
        names = [name for r in known for name in (r.id, r.code)]
        raise Refusal(f"unknown rule '{rule}'{did_you_mean(rule, names)}")
    if format_ == "json":
        from verifier.cli.rules import rule_document

        click.echo(json.dumps({"schema_version": 1, "rule": rule_document(found)}, indent=2))
    elif format_ == "markdown":
        click.echo(markdown(found), nl=False)
    else:
        _print(markdown(found))


def _print(text: str) -> None:
    from verifier.report.text import Options

    options = Options.for_stream(sys.stdout, version="")
    if not options.color:
        click.echo(text, nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(file=sys.stdout, force_terminal=True, width=min(options.width, 100))
    console.print(Markdown(text, code_theme="ansi_dark"))
