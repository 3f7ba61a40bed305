"""Replay of a counterexample, in a process of its own: this executes the user's file.

The server never imports what this imports; it starts this module, on the user's request only.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from typing import Final

from msgspec import Struct

from verifier.report.model import Replay
from verifier.service.replays import Question

#: seconds for a replay, loading included
_TIME: Final = 60.0


class Answer(Struct, frozen=True):
    """What came of it, see :class:`verifier.service.replays.Answer`."""

    status: Replay
    reason: str = ""
    elsewhere: bool = False


async def ask(question: Question) -> Answer:
    """Run the counterexample of a finding."""
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
        return Answer("unsupported", "it takes too long")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    try:
        answer: Answer = pickle.loads(data)
    except (pickle.UnpicklingError, EOFError):
        return Answer("unsupported", f"the process that runs it ended: {process.returncode}")
    return answer


def main() -> None:
    """Answer one question on standard input."""
    question: Question = pickle.load(sys.stdin.buffer)
    answers = os.dup(1)
    os.dup2(2, 1)  # what the kernel prints is no answer
    from verifier.executor.replay import Item, replay

    [answer] = replay([Item.of(question.diagnostic, question.kernel)])
    with os.fdopen(answers, "wb") as stream:
        pickle.dump(Answer(answer.status, answer.reason, answer.elsewhere), stream)


if __name__ == "__main__":
    main()
