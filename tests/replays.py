"""Counterexamples that are run by a small process, as those of the command are.

Each run is a fork, and what a fork costs grows with what its process holds: one that has run a
thousand tests holds four times what the command does.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

from tests.commands import python
from verifier.cli import replay as command
from verifier.executor import replay as module
from verifier.executor.replay import Answer, Item
from verifier.report.model import FileResult


def mark(results: Sequence[FileResult], jobs: int) -> list[FileResult]:
    """:func:`verifier.cli.replay.mark`, which says of each counterexample what came of it."""
    with mock.patch.object(module, "replay", apart):
        return command.mark(results, jobs)


def apart(items: Sequence[Item], jobs: int = 1) -> list[Answer]:
    """What :func:`verifier.executor.replay.replay` answers in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        asked, told = Path(folder) / "items", Path(folder) / "answers"
        asked.write_bytes(pickle.dumps(list(items)))
        words = f"from {__name__} import _serve; _serve()"
        done = python("-c", words, asked, told, jobs)
        assert done.returncode == 0, done.stderr
        answers: list[Answer] = pickle.loads(told.read_bytes())
        return answers


def _serve() -> None:
    asked, told, jobs = sys.argv[1:]
    items = pickle.loads(Path(asked).read_bytes())
    Path(told).write_bytes(pickle.dumps(module.replay(items, int(jobs))))
