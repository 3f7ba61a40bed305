"""Runs of kernels on shapes alone, in processes of their own: files may do anything."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from verifier.executor import replay
from verifier.executor.findings import MisuseError
from verifier.executor.loader import Loaded, isolated, kernel
from verifier.executor.machine import TRACED, Options
from verifier.executor.memory import TRACKED
from verifier.executor.running import Outcome, Shaped, run, text_of
from verifier.executor.session import Session, using
from verifier.executor.worker import limit
from verifier.hardware import catalogue
from verifier.report.model import Diagnostic, Structure
from verifier.report.model import Span as Place
from verifier.source.ir import Span

#: megabytes of one run, and seconds to load a file
_MEMORY, _LOADING = 2048, 20.0
#: how a run ends that the kernel could not come to with a value that is made up
_REFUSALS = ("raised", "misuse", "unsupported")


@dataclass(frozen=True, slots=True)
class Job:
    """A kernel to run with each of ``inputs``, which are as counterexamples have them."""

    path: str
    kernel: str
    target: str
    api: str
    inputs: tuple[Mapping[str, Any], ...]
    structures: tuple[Structure, ...] = ()


@dataclass(slots=True)
class Ran:
    """What a run came to. ``guessed``: parameters whose values are made up; ``lost``: some memory
    was too large or too often divided to follow it."""

    outcome: Outcome
    arguments: dict[str, Any] = field(default_factory=dict)
    guessed: str = ""
    lost: bool = False


def ran(jobs: Sequence[Job], seconds: float) -> list[list[Ran]]:
    """The runs of all jobs, which are of one file, target and generation."""
    child = replay._Child.start(partial(_file, jobs, seconds))
    count = sum(len(job.inputs) for job in jobs)
    child.deadline += _LOADING + (seconds + 1) * count
    child.wait()
    found = iter(child.finish())
    nothing = {"ended": ("died", "the process that runs it ended", None)}
    return [[_read(next(found, nothing)) for _ in job.inputs] for job in jobs]


def _file(jobs: Sequence[Job], seconds: float, write: Callable[[object], None]) -> None:
    """Load the file, then run each input in a fork of this process."""
    replay._quiet()
    replay._out_of_sight()
    first = jobs[0]
    target = catalogue.find(first.target)
    assert target is not None
    session = Session(target, first.api, Options(shapes_only=True))
    with using(session), isolated(forever=True):
        loaded = replay.loaded_within(Path(first.path), _LOADING, _MEMORY)
        if isinstance(loaded, str):
            for _ in range(sum(len(job.inputs) for job in jobs)):
                write({"ended": ("misuse", loaded, None)})
            return
        for job in jobs:
            for given in job.inputs:
                child = replay._Child.start(partial(_one, session, loaded, job, given, seconds))
                child.deadline += seconds + 0.5
                child.wait()
                got = child.finish()
                write(got[0] if got else {"ended": ("died", "the process ended", None)})


def _one(
    session: Session,
    loaded: Loaded,
    job: Job,
    given: Mapping[str, Any],
    seconds: float,
    write: Callable[[object], None],
) -> None:
    gc.disable()  # this process ends soon
    try:
        limit(seconds, _MEMORY)
        found = kernel(loaded, job.kernel, Path(job.path))
        grid = replay._grid(given)
        for arguments, guessed, free in replay._arguments(found, given, job.structures, job.api):
            outcome = run(session, found, arguments, grid, job.kernel)
            ended = outcome.ended is not None and outcome.ended[0] in _REFUSALS
            written = _written(outcome, arguments, guessed, loaded)
            written["lost"] = _is_lost(session)
            if not (ended and (guessed or free)):
                break
    except MisuseError as error:
        written = {"ended": ("misuse", str(error), None)}
    except BaseException as error:  # users' code may raise anything, interrupts as well
        written = {"ended": ("died", text_of(error), None)}
    signal.setitimer(signal.ITIMER_REAL, 0)
    write(written)


def _told(d: Diagnostic) -> tuple[Any, ...]:
    return d.rule, d.severity, d.message, _lines(d.span)


def _is_lost(session: Session) -> bool:
    machine = session.machine
    if machine is None:
        return False
    lost = machine.watch is not None and bool(machine.watch.lost)
    untraced = len(machine.trace) >= TRACED
    return lost or untraced or bool(machine.unsettled) or machine.largest > TRACKED


def _written(
    outcome: Outcome, arguments: Mapping[str, Any], guessed: str, loaded: Loaded
) -> dict[str, Any]:
    ended: tuple[str, str, list[Any] | None] | None = None
    if outcome.ended is not None:
        kind, message, place = outcome.ended
        if kind == "raised" and _made_up(message, loaded):
            kind = "unsupported"
        ended = kind, message, None if place is None else _lines(place)
    return {
        "ended": ended,
        "guessed": guessed,
        "arguments": {name: _plain(value) for name, value in arguments.items()},
        "found": [_told(d) for d in outcome.diagnostics],
        "doubts": [_told(d) for d in outcome.doubts],
    }


def _made_up(message: str, loaded: Loaded) -> bool:
    """Whether an error comes of a library that is not there, or of the top level of the file."""
    lost = message.startswith("NameError") and bool(loaded.problems)
    return lost or "'Absent'" in message


def _lines(place: Span | Place) -> list[Any]:
    return [place.path, place.line, place.column, place.end_line, place.end_column]


def _plain(value: Any) -> Any:
    if isinstance(value, Shaped):
        return {"dtype": value.dtype, "shape": value.shape}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _read(got: Mapping[str, Any]) -> Ran:
    outcome = Outcome()
    if got["ended"] is not None:
        kind, message, place = got["ended"]
        outcome.ended = kind, message, None if place is None else Span(*place)
    for kind, told in (("found", outcome.diagnostics), ("doubts", outcome.doubts)):
        for rule, severity, message, place in got.get(kind, ()):
            told.append(Diagnostic(rule, rule, severity, "always", message, Place(*place)))
    arguments = {
        name: Shaped(value["dtype"], tuple(value["shape"])) if isinstance(value, dict) else value
        for name, value in got.get("arguments", {}).items()
    }
    return Ran(outcome, arguments, got.get("guessed", ""), got.get("lost", False))
