"""The tables of the pages come from the code.

``TILELINT_UPDATE_README=1 python -m pytest tests/test_readme_tables.py`` writes them anew. A table
stands between ``<!-- table: NAME -->`` and ``<!-- end of table -->``.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module

import click
from click.testing import CliRunner

from rules import FAMILIES
from rules.coverage import coverage, decided
from tests.pages import texts
from verifier.cli.main import COMMANDS, cli
from verifier.cli.output import STATUSES
from verifier.rulebase import all_rules

BLOCK = re.compile(r"(<!-- table: (\S+) -->\n)(.*?)(<!-- end of table -->)", re.S)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    cells = [[" ".join(cell.split()).replace("|", "\\|") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def commands() -> str:
    rows = []
    for name, (module, text) in COMMANDS.items():
        command: click.Command = import_module(module).command
        context = click.Context(command, info_name=name)
        pieces = [piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]"]
        if isinstance(command, click.Group):
            pieces = ["|".join(command.list_commands(context))]
        options = (p for p in command.params if isinstance(p, click.Option) and p.required)
        records = (option.get_help_record(context) for option in options)
        pieces += [record[0] for record in records if record is not None]
        rows.append((f"`{' '.join(['tilelint', name, *pieces])}`", text))
    return table(("Command", "What it does"), rows)


def statuses() -> str:
    return table(("Exit status", "Meaning"), STATUSES.items())


def printed(*arguments: str) -> Callable[[], str]:
    def run() -> str:
        result = CliRunner().invoke(cli, arguments)
        assert result.exit_code == 0, result.output
        return result.output

    return run


def rows_enforced() -> str:
    """How many rows of each catalogue a rule enforces, and why none enforces the others."""
    found = coverage()
    lines = []
    for name, of_nki in (("NKI", True), ("TPUs", False)):
        mine = [row for row in found if row.fact.startswith("NKI-") is of_nki]
        enforced = sum(row.rule is not None for row in mine)
        why = Counter(row.why.partition(":")[0] for row in mine if row.rule is None)
        reasons = "; ".join(f"{count} {reason}" for reason, count in why.most_common(4))
        others = sum(why.values()) - sum(count for _, count in why.most_common(4))
        lines.append((name, str(len(mine)), str(enforced), f"{reasons}; {others} other"))
    return table(
        ("Catalogue", "Rows", "Enforced by a rule", "The others, most common first"), lines
    )


def rows_decided() -> str:
    """Of what is rejected or undefined, how many rows a rule enforces, by what decides them."""
    lines = [
        (means, str(number), str(enforced), f"{100 * enforced / number:.0f} %")
        for means, number, enforced in decided(coverage())
    ]
    return table(("What is rejected or undefined, decided", "Rows", "Enforced", "Share"), lines)


TABLES: Mapping[str, Callable[[], str]] = {
    "commands": commands,
    "statuses": statuses,
    "settings": printed("config", "settings", "--format", "markdown"),
    "families": printed("rules", "--families", "--format", "markdown"),
    "coverage": rows_enforced,
    "decided": rows_decided,
}


def test_the_tables_are_those_of_the_code() -> None:
    names: list[str] = []
    for page, text in texts().items():
        names += [name for _, name, _, _ in BLOCK.findall(text)]
        fresh = BLOCK.sub(lambda m: f"{m[1]}{TABLES[m[2]]()}{m[4]}", text)
        if os.environ.get("TILELINT_UPDATE_README") == "1":
            page.write_text(fresh, encoding="utf-8")
        stale = page.read_text(encoding="utf-8") != fresh
        assert not stale, f"the tables of {page} are stale: see the top of this file"
    assert sorted(names) == sorted(TABLES)


def test_every_family_says_what_it_is_about() -> None:
    assert {rule.family for rule in all_rules()} == set(FAMILIES)
