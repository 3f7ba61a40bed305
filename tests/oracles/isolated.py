"""Work in child processes that may hang or crash: it costs one result, never the run."""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, Literal, TypeAlias, TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

#: what stands for a result where the child gave none
Failure: TypeAlias = Literal["hang", "crash"]

#: address space of a child: tests ask for gigabytes to see that they are refused
_MEMORY = 4 << 30


@dataclass(slots=True)
class _Child:
    batch: int
    position: int
    process: BaseProcess
    deadline: float


class Isolated(Generic[_Item, _Result]):
    """Calls a function on items, a batch per child; another child goes on after a failure."""

    def __init__(self, function: Callable[[_Item], _Result], jobs: int, seconds: float) -> None:
        self._function = function
        self._jobs = jobs
        self._seconds = seconds
        self._context = multiprocessing.get_context("fork")

    def run(
        self,
        batches: Sequence[Sequence[_Item]],
        done: Callable[[int], None] = lambda _count: None,
    ) -> list[list[_Result | Failure]]:
        """The results in the order of the items; ``done`` is told how many batches are through."""
        results: list[list[_Result | Failure]] = [[] for _ in batches]
        waiting = deque((number, 0) for number, batch in enumerate(batches) if batch)
        running: dict[Connection, _Child] = {}
        finished = 0
        while waiting or running:
            while waiting and len(running) < self._jobs:
                number, start = waiting.popleft()
                connection, child = self._start(batches[number], number, start)
                running[connection] = child
            for connection in self._ready(running):
                child = running[connection]
                self._receive(connection, child, results[child.batch])
                if child.position < 0:  # it ended without a result
                    del running[connection]
                    if len(results[child.batch]) < len(batches[child.batch]):
                        waiting.appendleft((child.batch, len(results[child.batch])))
                elif len(results[child.batch]) == len(batches[child.batch]):
                    del running[connection]
                    _end(connection, child)
                else:
                    continue
                finished += len(results[child.batch]) == len(batches[child.batch])
                done(finished)
        return results

    def _start(self, batch: Sequence[_Item], number: int, start: int) -> tuple[Connection, _Child]:
        here, there = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_work, args=(there, self._function, batch[start:]))
        process.start()
        there.close()
        return here, _Child(number, start, process, time.monotonic() + self._seconds)

    def _ready(self, running: dict[Connection, _Child]) -> list[Connection]:
        """Those that have something to say, or had to say it by now."""
        soonest = min(child.deadline for child in running.values())
        said = wait(list(running), timeout=max(0.0, soonest - time.monotonic()))
        now = time.monotonic()
        return [c for c, child in running.items() if c in said or child.deadline <= now]

    def _receive(
        self, connection: Connection, child: _Child, results: list[_Result | Failure]
    ) -> None:
        try:
            if connection.poll():
                results.append(connection.recv())
                child.position += 1
                child.deadline = time.monotonic() + self._seconds
                return
            results.append("hang")
        except (EOFError, OSError):
            results.append("crash")
        child.position = -1
        _end(connection, child)


def _end(connection: Connection, child: _Child) -> None:
    connection.close()
    child.process.join(0.2)
    if child.process.is_alive():
        child.process.kill()
        child.process.join()


def _work(connection: Connection, function: Callable[[Any], Any], items: Sequence[Any]) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    for item in items:
        connection.send(function(item))
    os._exit(0)
