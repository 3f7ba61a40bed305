"""The hard limit on one kernel: for work that does not look at the clock itself."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

#: seconds between two attempts to end the block
_AGAIN: Final = 0.2


class OutOfTimeError(BaseException):
    """The hard limit has passed. Not an Exception: nothing on the way may take it for its own."""


@contextlib.contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise :class:`OutOfTimeError` inside the block after ``seconds``.

    Where there are no timers, or outside the main thread, nothing is raised: the limits that the
    interpreter and the solver look at themselves still hold.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise OutOfTimeError

    said = sys.unraisablehook

    def lost(what: UnraisableHookArgs) -> None:
        if not isinstance(what.exc_value, OutOfTimeError):
            said(what)

    before = signal.signal(signal.SIGALRM, ring)
    sys.unraisablehook = lost
    # Again and again: Python drops an exception that meets a destructor.
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = said
