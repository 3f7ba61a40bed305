"""Running the command as a user does, and reading what it says."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import commands
from tests.cli.repository import kernel
from tests.commands import ROOT

FIXTURES = ROOT / "fixtures"

#: One file takes seconds at most; this is a hang.
PATIENCE = 120


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of ``tilelint`` came to."""

    status: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.out)
        return document

    @property
    def internal(self) -> list[str]:
        """Internal errors, and whatever else no input may cause."""
        found = [line for line in self.err.splitlines() if "internal error" in line]
        if "Traceback" in self.err or "Fatal Python error" in self.err:
            found.append(self.err[-2000:])
        if self.status not in (0, 1, 2):
            found.append(f"exit status {self.status}")
        return found


def tilelint(*arguments: object, cwd: Path | None = None, patience: float = PATIENCE) -> Outcome:
    """Run the command in a process of its own."""
    environment = {**os.environ, "PYTHONFAULTHANDLER": "1"}
    done = commands.tilelint(*arguments, cwd=cwd or ROOT, env=environment, timeout=patience)
    return Outcome(done.returncode, done.stdout, done.stderr)


def good(name: str = "pass_through") -> str:
    """A kernel that is verified."""
    return kernel(name, 96)


def bad(name: str = "too_tall") -> str:
    """A kernel with one error: a tile of up to 200 partitions."""
    return kernel(name, 200)
