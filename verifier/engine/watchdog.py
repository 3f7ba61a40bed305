"""The time of one kernel: how its parts share it, and the end of what does not look at the clock.

A part that comes to the end of its share is cut, and what it has found stays: a share of the time
is left for deciding what was traced, and one for saying what was decided. Time is what the process
has computed, not what the wall clock says: a machine that is busy with other things changes no
verdict.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator
from enum import Enum
from types import FrameType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

#: seconds between two attempts to end the block
_AGAIN: Final = 0.2
#: seconds that what may be left out may take however little time the rest has taken
_WORTH: Final = 1.0
#: what is in the middle of entering or leaving a block is not ended there
_BLOCKS: Final = frozenset({__file__, contextlib.__file__})


class OutOfTimeError(BaseException):
    """The hard limit has passed. Not an Exception: nothing on the way may take it for its own."""


class Share(Enum):
    """Until which part of a kernel's time its parts may last, in their order."""

    #: running the kernel on symbols
    INTERPRET = 0.6
    #: what the rules demand of what it did
    DEMAND = 0.75
    #: whether any input is admitted
    ADMIT = 0.8
    DECIDE = 0.84
    #: what costs next to nothing to prove of what is left
    SURE = 0.9
    #: the condition that all its violations hang on
    CONDITION = 0.97
    #: counterexamples and findings
    REPORT = 1.04
    #: everything: a result that would come later is lost
    ALL = 1.1


class Clock:
    """How far the time of one kernel has run, of ``limit`` seconds from now on."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._start = time.process_time()
        #: the parts that were cut
        self.cuts: list[Share] = []

    def end(self, share: Share) -> float:
        """When a part has to be over, of ``time.process_time()``."""
        return self._start + share.value * self.limit

    def once_more(self, share: Share) -> float:
        """When something has to be over that is not worth much more than all before it."""
        now = time.process_time()
        return min(now + max(2 * (now - self._start), _WORTH), self.end(share))

    def left(self, share: Share) -> float:
        """The seconds until a part has to be over."""
        return self.end(share) - time.process_time()

    @contextlib.contextmanager
    def until(self, share: Share) -> Iterator[None]:
        """Go on behind the block when its time is over, however far it has come."""
        try:
            with limit(max(self.left(share), 0.001)):
                yield
        except OutOfTimeError:
            self.cuts.append(share)


@contextlib.contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise :class:`OutOfTimeError` inside the block after ``seconds`` of the process's own time.

    Where there are no timers, or outside the main thread, nothing is raised: the limits that the
    interpreter and the solver look at themselves still hold. Blocks may stand in each other.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return

    rung = False

    def ring(_number: int, frame: FrameType | None) -> None:
        nonlocal rung
        if frame is None or frame.f_code.co_filename not in _BLOCKS:
            rung = True
            raise OutOfTimeError

    said = sys.unraisablehook

    def lost(what: UnraisableHookArgs) -> None:
        if not isinstance(what.exc_value, OutOfTimeError):
            said(what)

    before = signal.signal(signal.SIGPROF, ring)
    sys.unraisablehook = lost
    # Again and again: Python drops an exception that meets a destructor.
    outer, _ = signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN)
    begin = time.process_time()
    try:
        yield
    except Exception as error:
        if rung:  # C code that was called back made an error of its own of it, as ctypes does
            raise OutOfTimeError from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        sys.unraisablehook = said
        if outer:
            left = outer - (time.process_time() - begin)
            signal.setitimer(signal.ITIMER_PROF, max(left, 0.001), _AGAIN)
