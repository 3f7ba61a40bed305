"""What the server knows and does, apart from the protocol: buffers, findings, what to analyse next.

An edit stops the analysis that is running, whatever it is of; the file that was edited comes first,
the others after it (they may import it). When there is nothing else to do, kernels that were cut
short are analysed with the whole time they have.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import AsyncIterator
from typing import Final, Protocol

from verifier.lsp.analyst import Analyst
from verifier.lsp.findings import Findings
from verifier.lsp.messages import Answer
from verifier.lsp.options import Options
from verifier.lsp.text import Buffer

log = logging.getLogger(__name__)

#: seconds after which an analysis is worth a progress bar
LONG: Final = 1.0


class Client(Protocol):
    """What the session asks of the editor."""

    def publish(self, about: str) -> None:
        """The findings have changed; ``about`` is the file that was analysed (or closed)."""

    def failed(self, path: str, reason: str) -> None:
        """A file cannot be analysed: a fault of ours."""

    def refused(self, problems: str) -> None:
        """A configuration cannot be used."""

    def working(self, path: str) -> contextlib.AbstractAsyncContextManager[None]:
        """Inside, a long analysis of ``path`` is going on."""


class Session:
    """One editor's session. Everything here belongs to the event loop."""

    def __init__(self, client: Client, analyst: Analyst | None = None) -> None:
        self.options = Options()
        self.folders: tuple[str, ...] = ()
        self.buffers: dict[str, Buffer] = {}
        self.findings = Findings(self.buffers)
        self.analyst = analyst or Analyst()
        self._client = client
        #: files to analyse, the next one last; and those to finish
        self._pending: list[str] = []
        self._unfinished: list[str] = []
        self._changed = 0.0
        self._wake = asyncio.Event()
        self._news = asyncio.Event()
        self._running: str | None = None
        #: revision of a text at which the worker process ended, by path
        self._crashed: dict[str, int] = {}
        #: what the user was told of configurations, by the path of the file that they are for
        self._refused: dict[str, tuple[str, ...]] = {}

    # ----------------------------------------------------------------- what the editor says

    def opened(self, buffer: Buffer) -> None:
        self.buffers[buffer.path] = buffer
        self.findings.drop(buffer.path)
        self._crashed.pop(buffer.path, None)
        self._edited(buffer)

    def edited(self, path: str) -> None:
        """The text of a buffer is another one."""
        self._edited(self.buffers[path])

    def _edited(self, buffer: Buffer) -> None:
        self.analyst.open(buffer.path, buffer.text)
        self.recheck(first=buffer.path)

    def closed(self, path: str) -> None:
        if self.buffers.pop(path, None) is None:
            return
        self.analyst.open(path, None)
        self.findings.drop(path)
        for waiting in (self._pending, self._unfinished):
            if path in waiting:
                waiting.remove(path)
        self._client.publish(path)
        self.recheck()

    def recheck(self, first: str | None = None) -> None:
        """Analyse every open file again; what is unchanged costs next to nothing."""
        others = [path for path in self.buffers if path != first]
        recent = [path for path in self._pending if path in others]
        self._pending = [*(path for path in others if path not in recent), *recent]
        if first is not None:
            self._pending.append(first)
        self._unfinished.clear()
        self._changed = time.monotonic()
        if self._running is not None:
            self.analyst.cancel()
        self._wake.set()

    def within(self, path: str) -> bool:
        """Whether a file lies in a folder of the workspace."""
        return any(_below(path, folder) for folder in self.folders)

    # ----------------------------------------------------------------- what is going on

    def current(self, path: str) -> bool:
        """Whether the last result is of the text as it is now."""
        buffer = self.buffers.get(path)
        return buffer is not None and self.findings.revision(path) == buffer.revision

    @property
    def idle(self) -> bool:
        """Whether there is nothing left to do."""
        return not self._pending and not self._unfinished and self._running is None

    async def fresh(self, path: str, patience: float) -> bool:
        """Wait for the result of the text as it is now, so many seconds at most."""
        until = time.monotonic() + patience
        while not self.current(path):
            left = until - time.monotonic()
            if left <= 0 or path not in self.buffers:
                return False
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._news.wait(), left)
        return True

    # ----------------------------------------------------------------- the analysis

    async def run(self) -> None:
        """Analyse what there is to analyse, for ever."""
        await self.analyst.warm()
        while True:
            self._wake.clear()
            if not self._pending and not self._unfinished:
                await self._wake.wait()
                continue
            wait = self._changed + self.options.debounce / 1000 - time.monotonic()
            if wait > 0:
                await asyncio.sleep(wait)
            if self._pending:
                await self._analyse(self._pending.pop(), self.options.interactive_timeout or None)
            elif self._unfinished:
                await self._analyse(self._unfinished.pop(), None)

    async def _analyse(self, path: str, limit: float | None) -> None:
        buffer = self.buffers.get(path)
        if buffer is None:
            return
        revisions = {p: b.revision for p, b in self.buffers.items()}
        self._running = path
        try:
            async with self._progress(path):
                answer = await self.analyst.check(
                    path, self._roots(path), self.options.overrides, limit
                )
        finally:
            self._running = None
        if self.buffers.get(path) is not buffer:
            return
        if answer.dropped:
            if limit is None and path not in self._pending and path not in self._unfinished:
                self._unfinished.append(path)
        elif answer.error or answer.result is None:
            self._failed(path, buffer.revision, answer)
        elif buffer.revision == revisions[path]:
            self._take(path, revisions, answer, limit)
        # else: the text has changed meanwhile, and is waiting to be analysed

    def _failed(self, path: str, revision: int, answer: Answer) -> None:
        """Once more, in case it was not the text's fault; then not before the next edit."""
        log.error("%s: %s", path, answer.error)
        if self._crashed.get(path) != revision:
            self._crashed[path] = revision
            self._pending.insert(0, path)
            return
        self._client.failed(path, answer.error)
        self._tell()

    def _take(
        self, path: str, revisions: dict[str, int], answer: Answer, limit: float | None
    ) -> None:
        self.findings.take(path, revisions, answer)
        self._warn(path, answer)
        if answer.short and limit is not None and path not in self._unfinished:
            self._unfinished.append(path)
        self._client.publish(path)
        self._tell()

    def _warn(self, path: str, answer: Answer) -> None:
        """Tell the user of a configuration that cannot be used, once."""
        if not answer.refused or answer.result is None:
            self._refused.pop(path, None)
            return
        told = {text for texts in self._refused.values() for text in texts}
        texts = tuple(f"{e.path}:{e.line}: {e.message}" for e in answer.result.errors)
        self._refused[path] = texts
        new = [text for text in texts if text not in told]
        if new:
            self._client.refused("\n".join(new))

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def _roots(self, path: str) -> tuple[str, ...]:
        """Where imports are looked up: the workspace around the file, and its own folder."""
        around = [folder for folder in self.folders if _below(path, folder)]
        return tuple(dict.fromkeys([os.path.dirname(path), *around]))  # noqa: PTH120

    @contextlib.asynccontextmanager
    async def _progress(self, path: str) -> AsyncIterator[None]:
        async def show() -> None:
            await asyncio.sleep(LONG)
            async with self._client.working(path):
                await asyncio.Event().wait()

        shown = asyncio.create_task(show())
        try:
            yield
        finally:
            shown.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await shown


def _below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep)
