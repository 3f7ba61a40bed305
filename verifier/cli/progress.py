"""The progress bar: on stderr, on a terminal only, and only once a run takes a moment."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_DELAY = 0.5  # seconds before the bar appears
_INTERVAL = 0.1


class Bar:
    """Counts files. Draws from :meth:`tick` only: no thread, so that forking stays safe."""

    def __init__(self, total: int, *, enabled: bool | None = None) -> None:
        self.total = total
        self.done = 0
        self.enabled = sys.stderr.isatty() if enabled is None else enabled
        self.started = time.monotonic()
        self.drawn = 0.0
        self.progress: Progress | None = None
        self.task: TaskID | None = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.progress is not None:
            self.progress.stop()

    def advance(self) -> None:
        self.done += 1
        self.tick()

    def tick(self) -> None:
        now = time.monotonic()
        if not self.enabled or now - self.started < _DELAY or now - self.drawn < _INTERVAL:
            return
        self.drawn = now
        if self.progress is None:
            self._appear()
        if self.progress is not None and self.task is not None:
            self.progress.update(self.task, completed=self.done)
            self.progress.refresh()

    def _appear(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeElapsedColumn as Elapsed

        self.progress = Progress(
            TextColumn("checking"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("files"),
            Elapsed(),
            console=Console(stderr=True),
            transient=True,
            auto_refresh=False,
        )
        self.task = self.progress.add_task("checking", total=self.total)
        self.progress.start()
