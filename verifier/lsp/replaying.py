"""Replay of a counterexample, in a process of its own: this executes the user's file.

The server never imports what this imports; it starts this module, on the user's request only.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from verifier.report.model import Diagnostic, KernelReport, Span

#: seconds for a replay, loading included
_TIME: Final = 60.0


@dataclass(frozen=True, slots=True)
class Question:
    """A counterexample to run, as :class:`verifier.executor.replay.Item` has it."""

    fields: Mapping[str, Any]

    @staticmethod
    def of(diagnostic: Diagnostic, kernel: KernelReport) -> Question:
        return Question(
            {
                "path": kernel.path,
                "kernel": kernel.name,
                "target": kernel.target,
                "api_version": kernel.api_version,
                "rule": diagnostic.rule,
                "span": _absolute(diagnostic.span),
                "counterexample": diagnostic.counterexample,
                "sure": diagnostic.verdict != "unknown",
                "message": diagnostic.message.removeprefix("possible: "),
                "predicate": diagnostic.predicate,
                "places": tuple(_absolute(label.span) for label in diagnostic.labels),
            }
        )


def _absolute(span: Span) -> Span:
    return replace(span, path=os.path.abspath(span.path))  # noqa: PTH100


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

    [answer] = replay([Item(**question.fields)])
    with os.fdopen(answers, "wb") as stream:
        pickle.dump((answer.status, answer.reason), stream)


if __name__ == "__main__":
    main()
