"""Signals that ask this process to end: exceptions where it works, nothing once it ends."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_PAUSE = 0.01  # seconds until a lost exception is tried again, and again
_SAME = 0.5  # seconds in which further signals say the same as the first

_ENDING = tuple(getattr(signal, name) for name in ("SIGHUP", "SIGTERM") if hasattr(signal, name))


class Ended(BaseException):
    """Somebody asked this process to end; what is open is put away on the way out."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def status(self) -> int:
        """As a shell reports it."""
        return 128 + self.number


_arrived: list[BaseException] = []
_raised: list[float] = []
#: signals of which the exceptions were dropped, or would have been
_missed: list[int] = []


def arrived() -> BaseException | None:
    """The exception of a signal that has arrived; Python may have made another one of it."""
    return _arrived[0] if _arrived else None


def listen() -> None:
    """From now on, SIGTERM and SIGHUP raise :class:`Ended`, and SIGINT raises KeyboardInterrupt.

    What whoever started this process has told it to ignore stays ignored. SIGTERM is the last: who
    sees that it is caught knows that all are.
    """
    sys.unraisablehook = _again
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, _end)
    for number in _ENDING:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    now = time.monotonic()
    if _arrived and now - _raised[-1] < _SAME:
        return  # the first one is on its way out, and must get there
    while frame is not None:
        if frame.f_code is _again.__code__:
            _missed.append(number)  # an exception would be dropped for good here
            return
        frame = frame.f_back
    _missed.clear()
    error = KeyboardInterrupt() if number == signal.SIGINT else Ended(number)
    _arrived.append(error)
    _raised.append(now)
    raise error


def ignore() -> None:
    """The end has begun: a second signal must not cut short what is said about the first."""
    for number in (signal.SIGINT, *_ENDING):
        with contextlib.suppress(ValueError):  # not the main thread
            signal.signal(number, signal.SIG_IGN)


def _again(lost: UnraisableHookArgs) -> None:
    """A signal that met a destructor or a callback, where Python drops exceptions, comes again."""
    error = lost.exc_value
    if isinstance(error, (KeyboardInterrupt, Ended)):
        _missed.append(error.number if isinstance(error, Ended) else int(signal.SIGINT))
    else:
        sys.__unraisablehook__(lost)
    if _missed:
        import threading

        _raised.append(-_SAME)  # it has gone nowhere
        threading.Thread(target=_send, args=(_missed[0],), daemon=True).start()


def _send(number: int) -> None:
    """Send a signal to the main thread until it has become an exception there."""
    import _thread
    import threading

    main = threading.main_thread().ident
    while _raised[-1] < 0:
        time.sleep(_PAUSE)
        if hasattr(signal, "pthread_kill") and main is not None:
            signal.pthread_kill(main, number)  # wakes it, if it sleeps
        else:
            _thread.interrupt_main(signal.Signals(number))
