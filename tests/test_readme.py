"""What the pages show is what the tool prints, and its commands are the real ones."""

from __future__ import annotations

import os
import re
import subprocess

from tests.commands import tilelint
from tests.pages import PAGES, ROOT, texts
from verifier.cli.main import COMMANDS
from verifier.rulebase import all_rules

README = ROOT / "README.md"
SHOWN = re.compile(r"(?<=```console\n\$ )tilelint ([^\n]*)\n(.*?)(?=```\n)", re.S)


def test_the_examples_are_what_the_tool_prints() -> None:
    """``TILELINT_UPDATE_SNAPSHOTS=1`` stores what it prints now."""
    commands = set()
    for page, text in texts().items():
        if os.environ.get("TILELINT_UPDATE_SNAPSHOTS") == "1":
            text = SHOWN.sub(lambda m: f"tilelint {m[1]}\n{printed(m[1])}", text)
            page.write_text(text, encoding="utf-8")
        for arguments, output in SHOWN.findall(text):
            commands.add(arguments.split()[0])
            assert output == printed(arguments), arguments
    assert commands == {"check", "run", "layout"}


def test_every_page_is_known_and_what_pages_name_is_there() -> None:
    listing = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, check=False, text=True
    )
    if listing.returncode == 0 and listing.stdout:
        assert {ROOT / name for name in listing.stdout.split()} <= set(PAGES)
    wrong = [
        f"{page.relative_to(ROOT)}: {name}"
        for page, text in texts().items()
        for name in re.findall(r"`((?:verifier|rules|tests|fixtures)/[\w./]+\.\w+)`", text)
        if not (ROOT / name).exists()
    ]
    assert wrong == []


def printed(arguments: str) -> str:
    """What the command prints in the project's folder."""
    return tilelint(*arguments.split(), env={**os.environ, "COLUMNS": "100"}).stdout


def test_every_command_and_family_is_in_the_tables() -> None:
    text = README.read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"| `tilelint {name}" not in text] == []
    table = (ROOT / "rules/README.md").read_text(encoding="utf-8")
    assert sorted(f for f in {r.family for r in all_rules()} if f"`{f}`" not in table) == []


def test_one_test_command() -> None:
    """The line that ``.ci/run`` takes out of the README."""
    lines = README.read_text(encoding="utf-8").splitlines()
    found = [x for x in lines if x.startswith("python3 -m venv .venv") and "pytest" in x]
    assert len(found) == 1
