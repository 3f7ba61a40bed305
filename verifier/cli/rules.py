"""``tilelint rules``."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from verifier.cli.output import Refusal

if TYPE_CHECKING:
    from verifier.report.text import Line, Options
    from verifier.rulebase import Rule

_FORMATS = ("text", "json", "markdown")


@click.command("rules")
@click.option(
    "--coverage",
    is_flag=True,
    help="List every documented fact with the rule that enforces it, or why none does.",
)
@click.option(
    "--families",
    is_flag=True,
    help="List the families with the number of their rules and what they are about.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(_FORMATS),
    default="text",
    show_default=True,
    help="How to print the list.",
)
def command(coverage: bool, families: bool, format_: str) -> None:
    """List the rules with their codes, severities and what they demand."""
    if coverage and families:
        raise Refusal("--coverage and --families exclude each other")
    if families:
        from rules import FAMILIES
        from verifier.rulebase import all_rules

        _families(FAMILIES, all_rules(), format_)
    elif coverage:
        from rules.coverage import coverage as rows

        _coverage(list(rows()), format_)
    else:
        from verifier.rulebase import all_rules

        _rules(all_rules(), format_)


def _rules(rules: Sequence[Rule], format_: str) -> None:
    if format_ == "json":
        _json({"schema_version": 1, "rules": [rule_document(rule) for rule in rules]})
    elif format_ == "markdown":
        rows = [
            (rule.code, f"`{rule.id}`", rule.family, rule.severity, rule.summary) for rule in rules
        ]
        _markdown(("Code", "Rule", "Family", "Severity", "Demands"), rows)
        _reference(rules)
    else:
        _text(_rule_lines(rules))


def _reference(rules: Sequence[Rule]) -> None:
    """What each rule says about itself, family by family."""
    from rules import FAMILIES
    from verifier.rulebase import markdown

    for family in dict.fromkeys(rule.family for rule in rules):
        click.echo(f"\n## {family}\n")
        if family in FAMILIES:
            click.echo(f"{FAMILIES[family]}.\n")
        listed = [markdown(rule, 3) for rule in rules if rule.family == family]
        click.echo("\n".join(listed), nl=False)


def rule_document(rule: Rule) -> dict[str, Any]:
    """A rule as a JSON object."""
    return {
        "id": rule.id,
        "code": rule.code,
        "family": rule.family,
        "dialect": ", ".join(rule.dialects),
        "severity": rule.severity,
        "summary": rule.summary,
        "reason": rule.reason,
        "facts": list(rule.facts),
        "sources": list(rule.sources),
        "failing": rule.failing,
        "passing": rule.passing,
    }


def _families(families: Mapping[str, str], rules: Sequence[Rule], format_: str) -> None:
    counts = Counter(rule.family for rule in rules)
    rows = [(name, counts[name], about) for name, about in families.items() if counts[name]]
    if format_ == "json":
        listed = [{"family": name, "rules": count, "about": about} for name, count, about in rows]
        _json({"schema_version": 1, "families": listed})
    elif format_ == "markdown":
        cells = [(f"`{name}`", str(count), about) for name, count, about in rows]
        _markdown(("Family", "Rules", "What it is about"), cells)
    else:
        from verifier.report.text import words

        widest = max(len(name) for name, _, _ in rows)
        _text(
            [
                ([(f"{name:<{widest}}  ", "message"), (f"{count:>3}  ", "dim")], words(about))
                for name, count, about in rows
            ]
        )


def _rule_lines(rules: Sequence[Rule]) -> list[tuple[Line, list[tuple[str, str]]]]:
    from verifier.report.text import words

    rows: list[tuple[Line, list[tuple[str, str]]]] = []
    codes = max((len(rule.code) for rule in rules), default=0)
    ids = max((len(rule.id) for rule in rules), default=0)
    families = dict.fromkeys(rule.family for rule in rules)
    for family in families:
        if rows:
            rows.append(([], []))
        rows.append(([(family, "message")], []))
        for rule in rules:
            if rule.family == family:
                head: Line = [
                    (f"  {rule.code:<{codes}}  ", "dim"),
                    (f"{rule.id:<{ids}}  ", "label" if rule.severity == "error" else "unsure"),
                ]
                rows.append((head, words(rule.summary)))
    number = len(rules)
    rows.append(([], []))
    rows.append(([(f"{number} rule{'' if number == 1 else 's'}", "message")], []))
    return rows


def _coverage(rows: list[tuple[str, str, str | None, str]], format_: str) -> None:
    covered = sum(rule is not None for _, _, rule, _ in rows)
    if format_ == "json":
        _json(
            {
                "schema_version": 1,
                "total": len(rows),
                "enforced": covered,
                "facts": [
                    {"fact": fact, "text": text, "rule": rule, "why_not": None if rule else why}
                    for fact, text, rule, why in rows
                ],
            }
        )
    elif format_ == "markdown":
        _markdown(
            ("Fact", "States", "Enforced by", "Why not"),
            [(fact, text, f"`{rule}`" if rule else "", why) for fact, text, rule, why in rows],
        )
    else:
        from verifier.report.text import words

        widest = max((len(fact) for fact, _, _, _ in rows), default=0)
        lines: list[tuple[Line, list[tuple[str, str]]]] = []
        for fact, text, rule, why in rows:
            verdict = [(rule, "ok")] if rule else []
            verdict += words(why, "dim")
            lines.append(
                ([(f"{fact:<{widest}}  ", "key")], [*words(text), ("->", "dim"), *verdict])
            )
        lines.append(([], []))
        summary = f"{covered} of {len(rows)} facts are enforced by a rule"
        lines.append(([(summary, "message")], []))
        _text(lines)


def _json(document: dict[str, Any]) -> None:
    click.echo(json.dumps(document, indent=2))


def _markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(" ".join(c.split()).replace("|", "\\|") for c in cells) + " |"

    click.echo(line(header))
    click.echo("|" + "|".join(" --- " for _ in header) + "|")
    for row in rows:
        click.echo(line(row))


def _text(rows: Iterable[tuple[Line, list[tuple[str, str]]]]) -> None:
    from verifier.report.text import Options, wrap, write

    options: Options = Options.for_stream(sys.stdout, version="")
    lines = [line for head, body in rows for line in wrap(head, body, options.width)]
    write(lines, sys.stdout, options)
