"""Worker processes for the analysis of files.

A worker that dies or hangs costs its file only: the file is reported and a new worker takes over.
Workers start by fork where the platform has it, so that what the parent imported is shared.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

from msgspec import Struct

from verifier.report.model import FileRequest

R = TypeVar("R")

_MASKS = hasattr(signal, "pthread_sigmask")
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if _MASKS else ()

_TICK = 0.1  # seconds between looks at the clock
_PATIENCE = 20  # a file may take this many times the limit of one kernel,
GRACE = 5.0  # and this many seconds more


class Work(Struct, Generic[R], frozen=True):
    """``do`` answers a request and does not raise; ``failed`` answers for it, and says why."""

    do: Callable[[FileRequest], R]
    failed: Callable[[FileRequest, str], R]


class _Worker(Struct):
    process: BaseProcess
    connection: Connection
    request: FileRequest
    started: float


def run(
    requests: Sequence[FileRequest],
    work: Work[R],
    jobs: int,
    done: Callable[[FileRequest, R], None],
    tick: Callable[[], None],
) -> None:
    """Do the work for every request in order, call ``done`` for every result as it arrives.

    ``tick`` is called at least ten times a second. With one job, or one request, everything runs
    in this process.
    """
    if jobs <= 1 or len(requests) <= 1:
        for request in requests:
            tick()
            done(request, work.do(request))
        return
    pending = list(reversed(requests))
    workers: list[_Worker] = []
    try:
        while pending and len(workers) < jobs:
            workers.append(_start(work, pending.pop(), workers))
        while workers:
            ready = set(
                wait(
                    [item for w in workers for item in (w.connection, w.process.sentinel)],
                    timeout=_TICK,
                )
            )
            tick()
            for worker in list(workers):
                result = None
                if worker.connection in ready or worker.process.sentinel in ready:
                    result = _receive(worker, work)
                elif _overdue(worker):
                    result = work.failed(worker.request, "gave up: the file takes far too long")
                    worker.process.kill()
                if result is None:
                    continue
                done(worker.request, result)
                if pending and worker.process.is_alive() and _send(worker, pending[-1]):
                    pending.pop()
                    continue
                _stop(worker)
                workers.remove(worker)
                if pending:
                    workers.append(_start(work, pending.pop(), workers))
    finally:
        for worker in workers:
            worker.process.kill()
            _stop(worker)


def _start(work: Work[R], request: FileRequest, others: Sequence[_Worker]) -> _Worker:
    fork = "fork" in multiprocessing.get_all_start_methods()
    make: Callable[..., BaseProcess] = (
        multiprocessing.get_context("fork").Process
        if fork
        else multiprocessing.get_context("spawn").Process
    )
    ours, theirs = multiprocessing.Pipe()
    # A forked child holds copies of our ends; it closes them, so that it notices when we are gone.
    inherited = (ours, *(worker.connection for worker in others)) if fork else ()
    process = make(target=_serve, args=(theirs, work, inherited), daemon=True)
    with _blocked():
        process.start()
    theirs.close()
    worker = _Worker(process, ours, request, time.monotonic())
    _send(worker, request)
    return worker


@contextlib.contextmanager
def _blocked() -> Iterator[None]:
    """A process that starts inside the block meets no signal before it has said what it does."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS) if _MASKS else set()
    try:
        yield
    finally:
        if _MASKS:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(connection: Connection, work: Work[R], inherited: Sequence[Connection]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process decides
    if _MASKS:
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:  # (under nohup)
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    for other in inherited:
        other.close()
    with contextlib.suppress(EOFError, OSError):
        while True:
            connection.send(work.do(connection.recv()))


def _send(worker: _Worker, request: FileRequest) -> bool:
    worker.request = request
    worker.started = time.monotonic()
    try:
        worker.connection.send(request)
    except OSError:
        return False
    return True


def _receive(worker: _Worker, work: Work[R]) -> R | None:
    """The result that is ready, or the report of the worker's death."""
    try:
        if worker.connection.poll():
            result: R = worker.connection.recv()
            return result
        if worker.process.is_alive():
            return None
    except (EOFError, OSError):
        pass
    worker.process.join()
    code = worker.process.exitcode or 0
    how = f"signal {-code}" if code < 0 else f"status {code}"
    return work.failed(worker.request, f"internal error: the worker process died ({how})")


def _overdue(worker: _Worker) -> bool:
    timeout = worker.request.timeout
    return timeout is not None and time.monotonic() - worker.started > _PATIENCE * timeout + GRACE


def _stop(worker: _Worker) -> None:
    worker.connection.close()
    worker.process.join(timeout=1)
    if worker.process.is_alive():
        worker.process.kill()
        worker.process.join()
