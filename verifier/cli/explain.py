"""``tilelint explain``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from verifier.cli.output import Refusal, did_you_mean

if TYPE_CHECKING:
    from verifier.rulebase import Rule


@click.command("explain")
@click.argument("rule")
def command(rule: str) -> None:
    """Say what RULE (an id or a code) demands and why, with a failing and a passing kernel."""
    from verifier.rulebase import all_rules

    known = all_rules()
    wanted = rule.lower()
    found = next((r for r in known if wanted in (r.id, r.code.lower())), None)
    if found is None:
        names = [name for r in known for name in (r.id, r.code)]
        raise Refusal(f"unknown rule '{rule}'{did_you_mean(rule, names)}")
    _print(markdown(found))


def markdown(rule: Rule) -> str:
    """Everything about a rule, in Markdown."""
    parts = [
        f"# {rule.id} ({rule.code})",
        f"{rule.summary.strip().rstrip('.')}.",
        f"**Severity:** {rule.severity}  \n"
        f"**Family:** {rule.family}  \n"
        f"**Dialect:** {', '.join(rule.dialects)}",
        f"## Why\n\n{rule.reason.strip()}",
    ]
    if rule.failing.strip():
        parts.append(f"## Reported\n\n```python\n{rule.failing.strip()}\n```")
    if rule.passing.strip():
        parts.append(f"## Accepted\n\n```python\n{rule.passing.strip()}\n```")
    if rule.facts:
        parts.append(f"## Facts\n\n{', '.join(rule.facts)}")
    if rule.sources:
        parts.append("## Sources\n\n" + "\n".join(f"- {source}" for source in rule.sources))
    return "\n\n".join(parts) + "\n"


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
