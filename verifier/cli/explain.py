"""``tilelint explain``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import click

from verifier.cli.output import Refusal, did_you_mean

if TYPE_CHECKING:
    from verifier.rulebase import Rule

#: what stands in a rule's place in a report, and is none
_WORDS: Final = {
    "undecided": (
        "Not a rule: the analysis could neither prove that a demand always holds nor find an input "
        "that the kernel admits and that breaks it. The message says what stands in the way: "
        "a value that is not known (an import that is not found, say), a call or statement that "
        "is not modelled, or the time that was allowed. The kernel is then not verified, even "
        "where nothing else is found.\n\n"
        "Say more about the inputs (an assertion, or a contract), bring the missing module in "
        "reach, or raise `--timeout`. Undecided kernels fail a run with `--strict` only."
    ),
    "syntax-error": (
        "Not a rule: the file does not parse, so whatever is around the error is not analysed."
    ),
}


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
    """Say what RULE (an id or a code) demands and why, with a failing and a passing kernel.

    RULE may also be a documented fact that findings name, such as B19: which rules enforce it. Or
    an error of the compiler of NKI Beta 1, as it was printed or a part of it, such as
    EOutOfBounds or err_num_partition: which rules say the same, and what to write.
    """
    from verifier.rulebase import all_rules, markdown

    known = all_rules()
    wanted = rule.strip().lower()
    found = next((r for r in known if wanted in (r.id, r.code.lower())), None)
    if found is not None and format_ == "json":
        from verifier.cli.rules import rule_document

        _json({"rule": rule_document(found)})
    elif found is not None:
        _print(markdown(found), format_)
    elif wanted in _WORDS:
        if format_ == "json":
            _json({"word": {"id": wanted, "text": _WORDS[wanted]}})
        else:
            _print(f"# {wanted}\n\n{_WORDS[wanted]}\n", format_)
    elif not _fact(wanted, known, format_) and not _old_errors(rule, known, format_):
        # one code or fact is near any other: only words can be mistyped
        names = [] if any(c.isdigit() for c in wanted) else [*(r.id for r in known), *_WORDS]
        raise Refusal(f"unknown rule '{rule}'{did_you_mean(rule, names)}")


def _fact(wanted: str, known: Iterable[Rule], format_: str) -> bool:
    """Print which rules enforce a fact of the catalogues; False if there is no such fact."""
    from rules.coverage import coverage

    row = next((row for row in coverage() if row[0].lower() in (wanted, f"nki-{wanted}")), None)
    if row is None:
        return False
    fact, about, enforced_by, why = row
    ids = enforced_by.split(", ") if enforced_by else []
    if format_ == "json":
        _json({"fact": {"fact": fact, "text": about, "rules": ids, "why_not": why}})
        return True
    summaries = {r.id: f"`{r.id}` ({r.code}): {r.summary}" for r in known}
    lines = [f"# {fact}", "", f"A documented fact, about: {about}.", ""]
    if ids:
        lines += [f"Enforced by{f' ({why})' if why else ''}:", ""]
        lines += [f"- {summaries.get(name, f'`{name}`')}" for name in ids]
        lines += ["", f"`tilelint explain {ids[0]}` says more."]
    else:
        lines.append(f"No rule enforces it: {why}.")
    _print("\n".join(lines) + "\n", format_)
    return True


def _old_errors(text: str, known: Iterable[Rule], format_: str) -> bool:
    """Print the errors of Beta 1 that a text means; False if there is none."""
    from rules.coverage import coverage
    from rules.errors import look_up

    found = look_up(text)
    if not found:
        return False
    rows = {fact: (enforced_by, why) for fact, _, enforced_by, why in coverage()}
    summaries = {r.id: f"`{r.id}` ({r.code}): {r.summary}" for r in known}
    listed, parts = [], []
    for error in found:
        enforced_by, why = rows[error.fact]
        ids = enforced_by.split(", ") if enforced_by else []
        listed.append(
            {
                "name": error.name,
                "fact": error.fact,
                "rules": ids,
                "why_not": "" if ids else why,
                "instead": error.instead,
            }
        )
        by = [f"- {summaries.get(name, f'`{name}`')}" for name in ids]
        lines = [f"# {error.name}", "", f"An error of NKI Beta 1 ({error.fact}).", ""]
        lines += ["The same is said by:", "", *by] if by else [f"No rule says it: {why}."]
        lines += ["", error.instead]
        if ids and len(found) == 1:
            lines += ["", f"`tilelint explain {ids[0]}` says more."]
        parts.append("\n".join(lines))
    if format_ == "json":
        _json({"errors": listed})
    else:
        _print("\n\n".join(parts) + "\n", format_)
    return True


def _json(document: dict[str, object]) -> None:
    click.echo(json.dumps({"schema_version": 1, **document}, indent=2))


def _print(text: str, format_: str) -> None:
    from verifier.report.text import Options

    options = Options.for_stream(sys.stdout, version="")
    if format_ == "markdown" or not options.color:
        click.echo(text, nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(file=sys.stdout, force_terminal=True, width=min(options.width, 100))
    console.print(Markdown(text, code_theme="ansi_dark"))
