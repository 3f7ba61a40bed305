"""The worker process: analyses what it is told to, and stops when it is told to.

A thread reads what the server says, so that a cancellation is heard while an analysis runs. It
makes the main thread raise :class:`CancelledError` wherever it is, as often as it takes: an
exception inside a destructor is lost. What does not stop in spite of this the server kills.
"""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import gc
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, BinaryIO, Final

from msgspec.structs import replace

from verifier.lsp import messages
from verifier.lsp.messages import Answer, Cancel, Check

if TYPE_CHECKING:
    from verifier.lsp.analysis import Analysis

#: seconds between two attempts to stop an analysis
_AGAIN: Final = 0.05
#: seconds after which nobody seems to be typing, and analyses between two looks for garbage if not
_QUIET: Final = 1.0
_OFTEN: Final = 50
_SIGNAL: Final = getattr(signal, "SIGUSR1", signal.SIGINT)


class CancelledError(BaseException):
    """Not an Exception: nothing on the way may take it for its own."""


class _Inbox:
    """What the server sends, and which of it is cancelled."""

    def __init__(self, stream: BinaryIO) -> None:
        self._waiting: queue.SimpleQueue[Check] = queue.SimpleQueue()
        self._stream = stream
        self._lock = threading.Lock()
        self._cancelled = 0
        self._running: int | None = None
        self._served = 0

    def listen(self) -> None:
        """Read until the server is gone; then there is nothing left to do."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                message = messages.receive(self._stream)
                if isinstance(message, Cancel):
                    with self._lock:
                        self._cancelled = max(self._cancelled, message.number)
                    threading.Thread(target=self._stop, args=(message.number,), daemon=True).start()
                else:
                    self._waiting.put(message)
        os._exit(0)

    def _stop(self, number: int) -> None:
        while self._running is not None and self._running <= number:
            _thread.interrupt_main(_SIGNAL)
            time.sleep(_AGAIN)

    def next(self) -> Check:
        """The next thing to do; waits for it. What was used before is given back meanwhile."""
        self._running = None
        self._served += 1
        if self._served % _OFTEN == 0:
            _tidy()
        try:
            return self._waiting.get(timeout=_QUIET)
        except queue.Empty:
            _tidy()
            return self._waiting.get()

    def ring(self, _number: int, _frame: FrameType | None) -> None:
        """The signal's handler, in the main thread."""
        if self._running is not None and self._running <= self._cancelled:
            raise CancelledError

    @contextlib.contextmanager
    def job(self, number: int) -> Iterator[None]:
        """Inside, a cancellation is raised; it is not any more outside."""
        try:
            with self._lock:
                self._running = number
                cancelled = number <= self._cancelled
            if cancelled:
                raise CancelledError
            yield
        finally:
            self._running = None


def main() -> None:
    """Serve the process that started this one, over standard input and output."""
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that is printed may end up between two frames
    with open(os.devnull) as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
    inbox = _Inbox(incoming)
    signal.signal(_SIGNAL, inbox.ring)
    if _SIGNAL is not signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the editor's terminal is not ours
    threading.Thread(target=inbox.listen, daemon=True).start()

    from verifier.lsp.analysis import Analysis

    analysis = Analysis()
    gc.freeze()
    gc.set_threshold(20_000, 10, 5)  # later, and memory is scattered for good
    while True:
        # one that arrives at the very end of an analysis costs that analysis, not the process
        with contextlib.suppress(CancelledError):
            _serve(inbox, outgoing, analysis)


def _tidy() -> None:
    """Give back what is not used any more, to the system too where that can be asked for."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError, TypeError):  # glibc only
        ctypes.CDLL(None).malloc_trim(0)


def _serve(inbox: _Inbox, outgoing: BinaryIO, analysis: Analysis) -> None:
    from verifier.report.internal import describe

    while True:
        message = inbox.next()
        started = time.perf_counter()
        analysis.update(message.texts)
        answer = Answer(message.number, dropped=True)
        try:
            with inbox.job(message.number):
                answer = analysis.check(message)
        except CancelledError:
            pass
        except Exception as error:
            answer = Answer(message.number, error=describe(error))
        seconds = time.perf_counter() - started
        try:
            outgoing.write(messages.frame(replace(answer, seconds=seconds)))
            outgoing.flush()
        except OSError:
            sys.exit(0)


if __name__ == "__main__":
    main()
