"""Work that forks, done by a small process, as the command does it.

Runs of counterexamples are forks, and what a fork costs grows with what its process holds: one that
has run a thousand tests holds four times what the command does.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from tests.commands import python
from verifier.cli import replay as command
from verifier.executor import replay as module
from verifier.executor.replay import Answer, Item
from verifier.report.model import FileResult


def mark(results: Sequence[FileResult], jobs: int) -> list[FileResult]:
    """:func:`verifier.cli.replay.mark`, which says of each counterexample what came of it."""
    with mock.patch.object(module, "replay", partial(apart, _replay)):
        return command.mark(results, jobs)


def _replay(items: Sequence[Item], jobs: int) -> list[Answer]:
    return module.replay(items, jobs)


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of a module returns in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        asked, told = Path(folder) / "asked", Path(folder) / "told"
        asked.write_bytes(pickle.dumps((function, arguments)))
        done = python("-c", f"from {__name__} import _serve; _serve()", asked, told)
        assert done.returncode == 0, done.stderr
        return pickle.loads(told.read_bytes())


def _serve() -> None:
    asked, told = map(Path, sys.argv[1:])
    function, arguments = pickle.loads(asked.read_bytes())
    told.write_bytes(pickle.dumps(function(*arguments)))
