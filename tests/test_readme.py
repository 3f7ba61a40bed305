"""What the README shows is what the tool prints, and its commands are the real ones."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from verifier.cli.main import COMMANDS
from verifier.rulebase import all_rules

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
SHOWN = re.compile(r"(?<=```console\n\$ )tilelint ([^\n]*)\n(.*?)(?=```\n)", re.S)


def test_the_examples_are_what_the_tool_prints() -> None:
    """``TILELINT_UPDATE_SNAPSHOTS=1`` stores what it prints now."""
    text = README.read_text(encoding="utf-8")
    if os.environ.get("TILELINT_UPDATE_SNAPSHOTS") == "1":
        text = SHOWN.sub(lambda m: f"tilelint {m[1]}\n{printed(m[1])}", text)
        README.write_text(text, encoding="utf-8")
    shown = SHOWN.findall(text)
    assert {arguments.split()[0] for arguments, _ in shown} == {"check", "run", "layout"}
    for arguments, output in shown:
        assert output == printed(arguments), arguments


def printed(arguments: str) -> str:
    """What the command prints in the project's folder."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "verifier", *arguments.split()],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        check=False,
    )
    return done.stdout.decode()


def test_every_command_and_family_is_in_the_tables() -> None:
    text = README.read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"| `tilelint {name}" not in text] == []
    table = text.partition("## Rules")[2].partition("## ")[0]
    assert sorted(f for f in {r.family for r in all_rules()} if f"`{f}`" not in table) == []


def test_one_test_command() -> None:
    """The line that ``.ci/run`` takes out of the README."""
    lines = README.read_text(encoding="utf-8").splitlines()
    found = [x for x in lines if x.startswith("python3 -m venv .venv") and "pytest" in x]
    assert len(found) == 1
