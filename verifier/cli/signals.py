"""Signals that ask this process to end: exceptions where it works, nothing once it ends."""

from __future__ import annotations

import contextlib
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_PAUSE = 0.01  # seconds until a lost exception is tried again

_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Ended(BaseException):
    """Somebody asked this process to end; what is open is put away on the way out."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def status(self) -> int:
        """As a shell reports it."""
        return 128 + self.number


def listen() -> None:
    """From now on, SIGTERM and SIGHUP raise :class:`Ended`, and SIGINT raises KeyboardInterrupt.

    What whoever started this process has told it to ignore stays ignored.
    """

    def end(number: int, _: FrameType | None) -> None:
        raise Ended(number)

    for number in _ENDING:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, end)
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.unraisablehook = _again


def ignore() -> None:
    """The end has begun: a second signal must not cut short what is said about the first."""
    for number in (signal.SIGINT, *_ENDING):
        with contextlib.suppress(ValueError):  # not the main thread
            signal.signal(number, signal.SIG_IGN)


def _again(lost: UnraisableHookArgs) -> None:
    """A signal that met a destructor or a callback, where Python drops exceptions, comes again."""
    error = lost.exc_value
    if isinstance(error, (KeyboardInterrupt, Ended)):
        import _thread
        import threading

        number = error.number if isinstance(error, Ended) else int(signal.SIGINT)
        timer = threading.Timer(_PAUSE, _thread.interrupt_main, (number,))
        timer.daemon = True
        timer.start()
    else:
        sys.__unraisablehook__(lost)
