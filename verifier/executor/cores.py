"""The instances of a launch that wait for each other: the cores of a logical core.

Instances run one after the other for as long as none of them needs another one. One that receives
what was not sent yet stands still, in the middle of its code, while the others run up to there, in
threads of their own. Only one of them moves at any time, so what happens is the same in each run.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from verifier.executor.findings import UnsupportedError
from verifier.symbolic.memory.events import Unanswered

if TYPE_CHECKING:
    from verifier.executor.machine import ConcreteMachine
    from verifier.executor.programs import Program
    from verifier.source.ir import Span

#: between the orders of events on two cores: what is live on one says nothing about the other
_APART = 1 << 40


class _StoppedError(BaseException):
    """Raised in an instance that stands still when the run is over."""


class _StuckError(Exception):
    """Two cores wait for each other."""


class Core:
    """One instance: its thread, what belongs to it while others run, and how it ended."""

    def __init__(
        self,
        machine: ConcreteMachine,
        program: Program,
        order: int,
        state: dict[object, object],
        work: Callable[[], Any],
    ) -> None:
        self.machine = machine
        self.program = program
        self.order = order
        self.state = state
        self.work = work
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        self.inline = False
        self.paused = False
        self.stopped = False
        self.turn = threading.Semaphore(0)
        self.back = threading.Semaphore(0)
        self.thread: threading.Thread | None = None

    def run(self) -> None:
        """Run it to its end, in the thread of the caller."""
        outer = self.machine.exchange_state(self.program, self.order, self.state)
        try:
            self.inline = True
            self.result = self.work()
            self.done = True
        finally:
            _, self.order, self.state = self.machine.exchange_state(*outer)

    def resume(self) -> None:
        """Let it run, in a thread, until it ends or stands still.

        Raises:
            BaseException: what ended it, if that was an exception.
        """
        outer = self.machine.exchange_state(self.program, self.order, self.state)
        try:
            self.paused = False
            if self.thread is None:
                self.thread = threading.Thread(target=self._run, daemon=True)
                self.thread.start()
            else:
                self.turn.release()
            self.back.acquire()
        finally:
            _, self.order, self.state = self.machine.exchange_state(*outer)
        if self.error is not None:
            raise self.error

    def pause(self) -> None:
        """Stand still, in the own thread, until resumed."""
        self.paused = True
        self.back.release()
        self.turn.acquire()
        if self.stopped:
            raise _StoppedError

    def stop(self) -> None:
        """End it where it stands still; its thread is over then."""
        if self.thread is not None and self.paused:
            self.stopped = True
            self.turn.release()
            self.thread.join()

    def _run(self) -> None:
        try:
            with np.errstate(all="ignore"):
                self.result = self.work()
        except _StoppedError:
            pass
        except BaseException as error:
            self.error = error
        finally:
            self.done = True
            self.back.release()


class Cores:
    """The instances of one launch."""

    def __init__(
        self, machine: ConcreteMachine, programs: list[Program], work: Callable[[], Any]
    ) -> None:
        self._cores = [
            Core(
                machine,
                program,
                machine.order + number * _APART,
                {
                    **machine.state,
                    "rank": program.index[0],
                    "exchange": self.exchange,
                    "barrier": self.barrier,
                },
                work,
            )
            for number, program in enumerate(programs)
        ]
        self._sent: dict[tuple[int, int, object], deque[Any]] = {}
        #: what a core has gone on without, as the other one waits on another pipe: that may come
        self._open: list[tuple[tuple[int, int, object], Span]] = []
        self._current = 0
        #: messages sent and received so far: whether anything moves on
        self._count = 0

    def run(self) -> list[Any]:
        """Run all of them to their ends; what they return.

        Raises:
            UnsupportedError: all of those left wait for each other, or have gone on without what
                came on one pipe as they waited on another.
        """
        try:
            for number, core in enumerate(self._cores):
                if core.thread is None:
                    self._current = number
                    core.run()
                while not core.done:
                    self._let_run(number)
            self._settle()
        finally:
            for core in self._cores:
                core.stop()
        return [core.result for core in self._cores]

    def _settle(self) -> None:
        """What cores have gone on without, as pipes do not wait for each other.

        Raises:
            UnsupportedError: it has come, and there were other numbers in its place.
        """
        for key, span in self._open:
            if not self._sent.get(key):
                self._cores[key[1]].machine.meet(Unanswered(span))
            else:
                self._sent[key].popleft()
                raise UnsupportedError("cores come to exchanges on several pipes in other orders")

    def _let_run(self, number: int) -> None:
        """Let another instance go on; it has to come further than it was.

        Raises:
            UnsupportedError: it waits for what nobody will send.
        """
        if not self._moves(number):
            raise UnsupportedError("a core waits for what is never sent to it")

    def _moves(self, number: int) -> bool:
        """Let another instance go on; whether it comes further than it was."""
        before, caller = self._count, self._current
        core = self._cores[number]
        self._current = number
        try:
            core.resume()
        finally:
            self._current = caller
        return core.done or self._count != before

    def barrier(self, cores: tuple[int, ...]) -> int:
        """Stand still until each of these cores has gone through as many barriers.

        Gives the number of those that never do.

        Raises:
            UnsupportedError: there is no such core.
        """
        own = self._current
        core = self._cores[own]
        self._count += 1
        missing = 0
        for number in cores:
            if not 0 <= number < len(self._cores):
                raise UnsupportedError(f"core {own} waits for a core that the launch has not")
            other = self._cores[number]
            while other.program.waited < core.program.waited:
                if other.done:
                    missing += 1
                    break
                if core.inline:
                    self._let_run(number)
                else:
                    core.pause()
        return missing

    def exchange(self, to: int, source: int, pipe: object, array: Any, span: Span) -> Any:
        """Send an array to one core and wait for one from another (or the same).

        Gives the own array where nothing of its shape is ever sent: that is reported.

        Raises:
            UnsupportedError: there is no such core.
        """
        own = self._current
        if not (0 <= to < len(self._cores) and 0 <= source < len(self._cores)):
            raise UnsupportedError(f"core {own} exchanges with a core that the launch has not")
        self._sent.setdefault((own, to, pipe), deque()).append(array)
        self._count += 1
        try:
            found = self._received(source, own, pipe)
        except _StuckError:
            self._open.append(((source, own, pipe), span))
            return array
        self._count += 1
        if found is None or found.size != array.size or found.shape[:1] != array.shape[:1]:
            self._cores[own].machine.meet(Unanswered(span))
            return array
        return found

    def _received(self, source: int, own: int, pipe: object) -> Any:
        """What another core sends; None if it never does.

        Raises:
            _StuckError: that waits for something itself, and may send it later.
        """
        core, other = self._cores[own], self._cores[source]
        while True:
            waiting = self._sent.get((source, own, pipe))
            if waiting:
                return waiting.popleft()
            if other.done or other is core:
                return None
            if not core.inline:
                core.pause()
            elif not self._moves(source):
                raise _StuckError
