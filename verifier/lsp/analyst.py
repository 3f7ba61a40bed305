"""The server's side of the worker process: starts it, asks it, interrupts it, replaces it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import pickle
import sys
from collections.abc import Mapping
from typing import Final

from verifier.configuration.model import Overrides
from verifier.lsp import messages
from verifier.lsp.messages import Answer, Cancel, Check

log = logging.getLogger(__name__)

#: seconds that a cancelled analysis may take to stop before its process is killed
PATIENCE: Final = 1.0


class Analyst:
    """One worker process at a time, and one analysis at a time.

    All methods belong to the event loop, and none of them blocks it.
    """

    def __init__(self, command: tuple[str, ...] | None = None) -> None:
        self._command = command or _worker()
        self._process: asyncio.subprocess.Process | None = None
        self._number = 0
        #: the buffers, and those whose text the process does not have yet
        self._texts: dict[str, str] = {}
        self._stale: set[str] = set()
        self._answer: asyncio.Future[Answer] | None = None
        self._asked = 0
        self._reaper: asyncio.TimerHandle | None = None
        self._listeners: set[asyncio.Task[None]] = set()
        #: how many processes there have been
        self.started = 0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def open(self, path: str, text: str | None) -> None:
        """The text of a buffer from now on; None: it is closed."""
        if text is None:
            self._texts.pop(path, None)
        else:
            self._texts[path] = text
        self._stale.add(path)

    async def warm(self) -> None:
        """Have a process ready."""
        if self._process is None:
            await self._start()

    async def check(
        self,
        path: str,
        folders: tuple[str, ...],
        overrides: Overrides,
        limit: float | None = None,
    ) -> Answer:
        """Analyse a file with the buffers as they are now. A crash is an answer with an error."""
        await self.warm()
        self._number += 1
        number = self._asked = self._number
        texts: Mapping[str, str | None] = {p: self._texts.get(p) for p in sorted(self._stale)}
        self._stale.clear()
        answer = self._answer = asyncio.get_running_loop().create_future()
        self._write(Check(number, path, folders, texts, overrides, limit))
        try:
            result: Answer = await answer
            return result
        finally:
            self._answer = None
            if self._reaper is not None:
                self._reaper.cancel()
                self._reaper = None

    def cancel(self) -> None:
        """Stop the analysis that is running; if it does not stop, its process is killed."""
        if self._answer is None or self._answer.done() or self._reaper is not None:
            return
        self._write(Cancel(self._asked))
        self._reaper = asyncio.get_running_loop().call_later(PATIENCE, self.kill)

    def kill(self) -> None:
        """End the process, whatever it does; the next question starts another."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            log.warning("the process of the analysis is ended")
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        self._deliver(Answer(self._asked, dropped=True))

    async def close(self) -> None:
        """End the process for good."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    # ----------------------------------------------------------------- the process

    async def _start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *self._command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        self.started += 1
        self._stale = set(self._texts)
        listener = asyncio.create_task(self._listen(self._process))
        self._listeners.add(listener)
        listener.add_done_callback(self._listeners.discard)

    def _write(self, message: messages.Message) -> None:
        process = self._process
        if process is None or process.stdin is None or process.stdin.is_closing():
            return
        with contextlib.suppress(OSError):
            process.stdin.write(messages.frame(message))

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        stream = process.stdout
        assert stream is not None
        with contextlib.suppress(asyncio.IncompleteReadError, OSError, pickle.UnpicklingError):
            while True:
                head = await stream.readexactly(messages.HEADER.size)
                data = await stream.readexactly(messages.HEADER.unpack(head)[0])
                answer: Answer = pickle.loads(data)
                if answer.number == self._asked:
                    self._deliver(answer)
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        code = await process.wait()
        if self._process is process:
            self._process = None
            error = f"the process that analyses it ended with status {code}"
            self._deliver(Answer(self._asked, error=error))

    def _deliver(self, answer: Answer) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)


def _worker() -> tuple[str, ...]:
    """The command of the worker process: it looks for modules where this process does.

    With ``-m`` it would look in the current folder first, which holds the user's files.
    """
    start = "from verifier.lsp.worker import main; main()"
    return (sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; {start}")
