"""Replay of a counterexample, in a process of its own: this executes the user's file.

The server never imports what this imports; it starts this module, on the user's request only.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from dataclasses import dataclass
from typing import Final

from verifier.report.model import Diagnostic, KernelReport

#: seconds for a replay, loading included
_TIME: Final = 60.0


@dataclass(frozen=True, slots=True)
class Question:
    """A finding whose counterexample is to be run, and the report of its kernel."""

    diagnostic: Diagnostic
    kernel: KernelReport


async def ask(question: Question) -> tuple[str, str]:
    """What came of it (``confirmed``, ``diverged``, ``unsupported`` or ``failed``), and why."""
    start = "from verifier.lsp.replaying import main; main()"
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        f"import sys; sys.path[:] = {sys.path!r}; {start}",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        data, _ = await asyncio.wait_for(process.communicate(pickle.dumps(question)), _TIME)
    except asyncio.TimeoutError:
        return "failed", "it takes too long"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    try:
        status, reason = pickle.loads(data)
    except (pickle.UnpicklingError, EOFError):
        return "failed", f"the process that runs it ended with status {process.returncode}"
    return str(status), str(reason)


def main() -> None:
    """Answer one question on standard input."""
    question: Question = pickle.load(sys.stdin.buffer)
    answers = os.dup(1)
    os.dup2(2, 1)  # what the kernel prints is no answer
    from verifier.executor.replay import Item, replay

    item = Item.of(question.diagnostic, question.kernel)
    [answer] = replay([item] if item is not None else [])
    with os.fdopen(answers, "wb") as stream:
        pickle.dump((answer.status, answer.reason), stream)


if __name__ == "__main__":
    main()
