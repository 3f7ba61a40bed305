"""Replay: counterexamples are run, mostly on shapes alone, in processes of their own.

One process loads a file; every counterexample of the file is run in a fork of it, with a limit on
time and memory. Where no number in memory matters no tensor has bytes, so that the sizes of a
counterexample do not matter.
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import inspect
import json
import os
import re
import selectors
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from verifier import rulebase
from verifier.dialects.registry import DIALECTS, of_generation
from verifier.executor import places
from verifier.executor.findings import MisuseError, ViolationError
from verifier.executor.loader import Loaded, isolated, kernel, load
from verifier.executor.machine import TRACKED_EVENTS, Options
from verifier.executor.memory import TRACKED
from verifier.executor.names import DTypeProxy
from verifier.executor.running import Made, Outcome, Shaped, Unsized, capacity, run
from verifier.executor.session import Kernel, Session, using
from verifier.executor.worker import limit
from verifier.hardware import catalogue
from verifier.hardware import dtypes as dt
from verifier.report import model as report
from verifier.report.spans import alike
from verifier.rulebase import Rule, Shown
from verifier.symbolic.memory.events import LanesLived, Lived, SharedLived
from verifier.symbolic.python.pins import argument_path, item_path
from verifier.symbolic.values import AddressType

Status: TypeAlias = Literal["confirmed", "diverged", "unsupported"]

#: seconds and megabytes of one counterexample, and seconds to load its file
_TIME: Final = 3.0
_MEMORY: Final = 1024
_LOADING: Final = 20.0

#: what tensors are made of when the counterexample leaves it open, the first that is admitted
_DTYPES: Final = ("float32", "bfloat16", "float16", "int32", "uint32", "int8", "uint8", "uint16")
#: values of parameters that the counterexample does not depend on
_FILLERS: Final = (1.0, 1, None, True, Shaped("float32", (128, 512)), "")

#: the same where kernels are given numbers and flags only
_NUMBERS: Final = (1, 64, True, 1.0, None)

#: what a counterexample says of the launch
_LAUNCH: Final = ("num_programs(", "get_core_num(", "get_group_num(")
#: how runs end that do not come to their end with these arguments
_REFUSALS: Final = ("raised", "misuse", "unsupported")
#: what shows before the end of a run, or in one that does not come to its end
_GROWS: Final = frozenset({Lived, LanesLived, SharedLived})
#: how many iterations of a loop to run at its beginning: what shows in few shows quickly
_ABRIDGED: Final = (1, 3)
#: of a loop that the finding is about: what it has to do with others shows in neighbours
_NEIGHBOURS: Final = 3


class Item(Struct, frozen=True):
    """A counterexample to run: ``rule`` is broken at ``span`` if ``kernel`` of ``path`` runs so.

    ``sure``: the finding is certain, so that a run that does not break the rule diverges.
    ``subject``: of the finding. ``places``: others that it speaks of.
    """

    path: str
    kernel: str
    target: str
    api_version: str
    rule: str
    span: report.Span
    counterexample: Mapping[str, Any]
    sure: bool = True
    subject: report.Subject | None = None
    places: tuple[report.Span, ...] = ()
    structures: tuple[report.Structure, ...] = ()

    @classmethod
    def of(cls, diagnostic: report.Diagnostic, kernel: report.KernelReport) -> Item:
        """What there is to run for a finding about ``kernel``, which has a counterexample."""
        assert diagnostic.counterexample is not None
        return cls(
            path=_absolute(kernel.path),
            kernel=kernel.name,
            target=kernel.target,
            api_version=kernel.api_version,
            rule=diagnostic.rule,
            span=_found(diagnostic.span),
            counterexample=diagnostic.counterexample,
            sure=diagnostic.verdict != "unknown",
            subject=diagnostic.subject,
            places=tuple(_found(label.span) for label in diagnostic.labels),
            structures=diagnostic.structures,
        )

    @property
    def about(self) -> Rule:
        """The rule.

        Raises:
            MisuseError: there is none of that id.
        """
        found = rulebase.find(self.rule)
        if found is None:
            raise MisuseError(f"there is no rule `{self.rule}`")
        return found

    def hears(self, events: frozenset[type]) -> bool:
        """Whether the rule judges one of these kinds of events."""
        return any(monitor.event in events for monitor in self.about.monitors)


def _absolute(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100  (links are not followed)


def _found(span: report.Span) -> report.Span:
    return replace(span, path=_absolute(span.path))


class Answer(Struct, frozen=True):
    """What came of it, and why if it is not confirmed. ``seconds``: of a processor, for the run.

    ``elsewhere``: the run breaks the rule, at another place than the finding says.
    """

    status: Status
    reason: str = ""
    seconds: float = 0.0
    elsewhere: bool = False


def replay(items: Sequence[Item], jobs: int = 1) -> list[Answer]:
    """Run every counterexample; the answers are in the order of ``items``."""
    if not hasattr(os, "fork"):
        return [Answer("unsupported", "this platform cannot fork processes")] * len(items)
    groups: dict[tuple[str, str, str], list[int]] = {}
    for number, item in enumerate(items):
        groups.setdefault((item.path, item.target, item.api_version), []).append(number)
    answers = [Answer("unsupported", "the process that runs it ended")] * len(items)
    pending = list(groups.values())
    running: list[tuple[_Child, list[int]]] = []
    with selectors.DefaultSelector() as ready:
        try:
            while pending or running:
                while pending and len(running) < max(1, jobs):
                    numbers = pending.pop(0)
                    chosen = [items[n] for n in numbers]
                    child = _Child.start(partial(_file, chosen))
                    child.deadline += _LOADING + 4 * (_TIME + 1) * len(numbers)
                    ready.register(child.pipe, selectors.EVENT_READ)
                    running.append((child, numbers))
                ready.select(0.5)
                for entry in list(running):
                    child, numbers = entry
                    if child.read() or time.monotonic() > child.deadline:
                        ready.unregister(child.pipe)
                        running.remove(entry)
                        for number, fields in zip(numbers, child.finish(), strict=False):
                            answers[number] = Answer(**fields)
        finally:
            for child, _ in running:
                child.finish()
    return answers


# ------------------------------------------------------------------------ processes


class _Child(Struct):
    """A forked process that writes lines of JSON to a pipe."""

    pid: int
    pipe: int
    deadline: float
    received: bytearray = field(default_factory=bytearray)

    @staticmethod
    def start(work: Callable[[Callable[[object], None]], None]) -> _Child:
        source, sink = os.pipe()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.close(source)
                os.setsid()

                def write(value: object) -> None:
                    data = json.dumps(value).encode() + b"\n"
                    while data:
                        data = data[os.write(sink, data) :]

                work(write)
                status = 0
            finally:
                os._exit(status)
        os.close(sink)
        os.set_blocking(source, False)
        return _Child(pid, source, time.monotonic())

    def read(self) -> bool:
        """Take what has arrived; whether that was all."""
        while True:
            try:
                data = os.read(self.pipe, 1 << 16)
            except BlockingIOError:
                return False
            if not data:
                return True
            self.received += data

    def wait(self) -> None:
        """Read until the end or the deadline."""
        with selectors.DefaultSelector() as ready:
            ready.register(self.pipe, selectors.EVENT_READ)
            while not self.read() and time.monotonic() < self.deadline:
                ready.select(0.1)

    def finish(self) -> list[dict[str, Any]]:
        """End the process, and all that it started; what it wrote."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        os.close(self.pipe)
        whole = bytes(self.received).split(b"\n")[:-1]
        return [json.loads(line) for line in whole]


def _quiet() -> None:
    """What users' code prints goes nowhere, and nobody answers it."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    nothing = Path(os.devnull)  # open for as long as there is a run
    sys.stdin = nothing.open(encoding="utf-8")
    sys.stdout = sys.stderr = nothing.open("w", encoding="utf-8")


def _out_of_sight() -> None:
    """Users' modules win over our packages of the same name, wherever these lie."""
    home = str(Path(__file__).resolve().parent.parent.parent)
    sys.path[:] = [entry for entry in sys.path if entry not in ("", home)]
    sys.path.append(home)


def _file(items: Sequence[Item], write: Callable[[object], None]) -> None:
    """Load the file that all ``items`` are of, then run them one by one."""
    _quiet()
    _out_of_sight()
    first = items[0]
    target = catalogue.find(first.target)
    assert target is not None
    session = Session(target, first.api_version, Options(shapes_only=True, keep_going=True))
    with using(session), isolated(forever=True):
        loaded = loaded_within(Path(first.path), _LOADING, _MEMORY)
        if isinstance(loaded, str):
            for _ in items:
                write(to_builtins(Answer("unsupported", loaded)))
            return
        for item in items:
            write(to_builtins(_answer(session, loaded, item)))


class _Way(Struct, frozen=True):
    """How to run. ``beginning``: iterations of a loop besides the last one, None: all.

    ``only``: by the rule in question alone.
    """

    beginning: int | None = None
    only: bool = True


def _answer(session: Session, loaded: Loaded, item: Item) -> Answer:
    """The answer of the first way of running that has one; the seconds of all that were tried.

    Each is a fork of this process: what a run has done to the user's modules does not stay.
    """
    replayed = item.about.replayed
    if replayed.shown is Shown.NEVER:
        return Answer("unsupported", replayed.why)
    ways = [_Way(count) for count in (() if replayed.whole else _ABRIDGED)]
    ways.append(_Way())
    if item.api_version in DIALECTS:  # rules about a whole trace need the whole trace
        ways = [_Way(only=False)]
    seconds = 0.0
    for way in ways:
        answer, whole, ended = _apart(session, loaded, item, way)
        seconds += answer.seconds
        if answer.status == "confirmed" or whole:
            break
    if ended and way.only:  # all the rules together say what is wrong
        told, _, _ = _apart(session, loaded, item, _Way(only=False))
        seconds += told.seconds
        answer = told if told.status == "unsupported" else answer
    return replace(answer, seconds=seconds)


def _apart(session: Session, loaded: Loaded, item: Item, way: _Way) -> tuple[Answer, bool, bool]:
    """The answer, whether the run left nothing out, and whether it ended before it could tell."""
    child = _Child.start(partial(_tell, session, loaded, item, way, _TIME))
    child.deadline += _TIME + 0.5
    child.wait()
    late = time.monotonic() >= child.deadline
    got = child.finish()
    if got:
        return Answer(**got[0]["answer"]), got[0]["whole"], got[0]["ended"]
    why = f"it still runs after {_TIME:g} seconds" if late else "its process ended"
    answer = Answer("unsupported", why, _TIME if late else 0.0)
    return answer, way.beginning is None, False


def loaded_within(path: Path, seconds: float, memory: int) -> Loaded | str:
    """A file that is loaded within limits, or why it cannot be."""
    try:
        limit(seconds, memory)
        loaded = load(path, stand_ins=True)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except BaseException as error:  # whatever the top level of the file does
        return f"its file cannot be loaded: {_text(error)}"
    return loaded


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


# ------------------------------------------------------------------------ one counterexample


def _tell(
    session: Session,
    loaded: Loaded,
    item: Item,
    way: _Way,
    seconds: float,
    write: Callable[[object], None],
) -> None:
    answer, ended = _judge(session, loaded, item, way, seconds)
    machine = session.machine
    whole = way.beginning is None or machine is None or not machine.abridged
    write({"answer": to_builtins(answer), "whole": whole, "ended": ended})


def _judge(
    session: Session, loaded: Loaded, item: Item, way: _Way, seconds: float
) -> tuple[Answer, bool]:
    started = time.process_time()
    gc.disable()  # this process ends soon
    ended = False
    try:
        limit(seconds, _MEMORY)
        found = kernel(loaded, item.kernel, Path(item.path))
        answer, ended = _attempt(session, found, item, way)
    except MisuseError as error:
        answer = Answer("unsupported", str(error))
    except BaseException as error:  # users' code may raise anything, interrupts as well
        answer = Answer("unsupported", f"the run ends with {_text(error)}")
    signal.setitimer(signal.ITIMER_REAL, 0)
    return replace(answer, seconds=time.process_time() - started), ended


def _first(item: Item, count: int, path: str, line: int) -> int:
    """How many iterations to run at the beginning of the loop there."""
    about = any(_same_line(path, line, place) for place in item.places)
    return _NEIGHBOURS if about else count


def _attempt(session: Session, found: Kernel, item: Item, way: _Way) -> tuple[Answer, bool]:
    """The answer, and whether the run ended before it could be had."""
    grid = _grid(item.counterexample)
    last = Answer("unsupported", "no arguments were found that the kernel admits")
    ended, told = True, False
    for arguments, guessed, free in _arguments(
        found, item.counterexample, item.structures, item.api_version
    ):
        outcome = _outcome(session, found, arguments, grid, item, way)
        answer = _verdict(session, outcome, item, guessed)
        if answer.status == "confirmed" or not told:
            last = answer  # else of the first guess with which it runs to its end
        told = told or outcome.ended is None
        ended = outcome.ended is not None and outcome.ended[0] in _REFUSALS
        if last.status == "confirmed" or not (guessed or (free and ended)):
            break
    return last, ended and last.status != "confirmed"


def _outcome(
    session: Session,
    found: Kernel,
    arguments: dict[str, Any],
    grid: tuple[int, ...],
    item: Item,
    way: _Way,
) -> Outcome:
    """A run up to the place where the rule is broken."""
    grows = item.hears(_GROWS)
    session.options = replace(
        session.options,
        shapes_only=not item.about.replayed.numbers,
        until=lambda d: _shows(d, item),
        about=item.rule,
        only=item.rule if way.only and not item.about.replayed.told_as else None,
        abridge=None if way.beginning is None else partial(_first, item, way.beginning),
        probe=capacity if grows else None,
    )
    outcome = run(session, found, arguments, grid, item.kernel)
    machine = session.machine
    if grows and machine is not None and outcome.ended is not None:
        with contextlib.suppress(ViolationError):
            capacity(machine)
    return outcome


def _shows(diagnostic: report.Diagnostic, item: Item) -> bool:
    """Whether this is what the counterexample is to show."""
    if diagnostic.rule != item.rule:
        return False
    shown = item.about.replayed.shown
    if shown is Shown.SUBJECT:
        return alike(item.subject, diagnostic.subject)
    return shown is Shown.AT_THE_END or _overlap(diagnostic.span, item.span)


def _tells(diagnostic: report.Diagnostic, item: Item) -> bool:
    """Whether it says of one of the places what the rule says of inputs that keep them apart."""
    others = item.about.replayed.told_as
    places_ = item.places if diagnostic.rule in others else ()
    return any(_overlap(diagnostic.span, place) for place in places_)


def _verdict(session: Session, outcome: Outcome, item: Item, guessed: str) -> Answer:
    same = [d for d in outcome.diagnostics if d.rule == item.rule]
    if any(_shows(d, item) for d in same):
        return Answer("confirmed")
    if any(_tells(d, item) for d in (*outcome.diagnostics, *outcome.doubts)):
        return Answer("confirmed")
    if outcome.ended is not None:
        kind, message, place = outcome.ended
        here = place is not None and _same_line(place.path, place.line, item.span)
        if here and outcome.raised in item.about.replayed.raises:
            return Answer("confirmed")
        where = f" at line {place.line}" if place is not None else ""
        before = [d for d in outcome.diagnostics if d.severity == "error"]
        if before:
            first = before[0]
            return Answer(
                "unsupported",
                f"the run breaks {first.rule} at line {first.span.line} and ends{where}: {message}",
            )
        refused = kind == "raised" and place is not None and _demands(place.path, place.line)
        if refused and item.sure and not guessed:
            return Answer("diverged", f"the kernel refuses this input{where}: {message}")
        return Answer("unsupported", f"the run ends{where}: {message}")
    if guessed:
        return Answer("unsupported", f"it does not say what {guessed} is")
    machine = session.machine
    if machine is not None and item.hears(TRACKED_EVENTS) and machine.largest > TRACKED:
        return Answer("unsupported", "a tensor is too large to follow every element of it")
    if item.rule in outcome.unsettled:
        return Answer("unsupported", "this run alone does not settle it")
    if machine is not None and machine.watch is not None and machine.watch.lost:
        return Answer("unsupported", "too many parts of a tensor are told apart to follow them")
    if not item.sure:
        return Answer("unsupported", "the run does not break the rule, and it was only possible")
    if same:
        lines = ", ".join(str(d.span.line) for d in same[:3])
        said = f"the run breaks the rule at line {lines} instead"
        return Answer("diverged", said, elsewhere=True)
    return Answer("diverged", "the run does not break the rule")


def _demands(path: str, line: int) -> bool:
    """Whether the kernel's own text refuses its input there."""
    lines = places.source(path).lines
    return 1 <= line <= len(lines) and bool(re.search(r"assert|\braise\b", lines[line - 1]))


@cache
def _real(path: str) -> str:
    return os.path.realpath(path)


def _overlap(a: report.Span, b: report.Span) -> bool:
    same = _real(a.path) == _real(b.path)
    return same and a.line <= b.end_line and b.line <= a.end_line


def _same_line(path: str, line: int, span: report.Span) -> bool:
    same = _real(path) == _real(span.path)
    return same and span.line <= line <= span.end_line


def _grid(counterexample: Mapping[str, Any]) -> tuple[int, ...]:
    cores = counterexample.get("get_core_num()")
    if cores is not None:
        return (int(counterexample.get("get_group_num()", 1)), int(cores))
    sizes = {
        int(name[len("num_programs(") : -1]): int(value)
        for name, value in counterexample.items()
        if name.startswith("num_programs(")
    }
    return tuple(sizes.get(axis, 1) for axis in range(max(sizes) + 1)) if sizes else ()


def _arguments(
    found: Kernel,
    counterexample: Mapping[str, Any],
    said: Sequence[report.Structure],
    api: str,
) -> Iterator[tuple[dict[str, Any], str, bool]]:
    """Arguments to try, the names of those that are guessed, and whether dtypes were chosen.

    Raises:
        MisuseError: the counterexample speaks of what is no argument.
    """
    dialect = of_generation(api)
    dtypes = (dialect.floats, *(name for name in _DTYPES if name != dialect.floats))
    parameters = found.signature().parameters
    given: dict[str, Any] = {}
    open_dtypes: dict[str, tuple[int, ...]] = {}
    missing: list[str] = []
    for name in counterexample:
        base = name.partition(".")[0].partition("[")[0]
        if base not in parameters and not name.startswith(_LAUNCH):
            raise MisuseError(f"`{name}` is no argument of the kernel itself")
    structures = {structure.path: structure for structure in said}
    for name, parameter in parameters.items():
        shaped = _shaped(counterexample, name, dtypes[0])
        if shaped is not None:
            if f"{name}.dtype" not in counterexample:
                open_dtypes[name] = shaped.shape
            given[name] = shaped
        elif name in structures:
            given[name] = _structured(found, structures, counterexample, name)
        elif name in counterexample:
            given[name] = _plain(counterexample[name])
        elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        elif _is_address(parameter.annotation):
            given[name] = Unsized("uint8")
        elif parameter.default is parameter.empty:
            missing.append(name)
    guessed = ", ".join(f"`{name}`" for name in missing)
    for dtype in dtypes if open_dtypes else dtypes[:1]:
        made = {name: Shaped(dtype, shape) for name, shape in open_dtypes.items()}
        fillers = _NUMBERS if dialect.numbers_only else _FILLERS
        for filler in fillers if missing else fillers[:1]:
            yield {**given, **made, **dict.fromkeys(missing, filler)}, guessed, bool(open_dtypes)


def _shaped(counterexample: Mapping[str, Any], path: str, dtype: str) -> Shaped | None:
    """The tensor that an input is, of ``dtype`` where it may be of any; None: it is no tensor."""
    shape = counterexample.get(f"{path}.shape")
    if shape is None:
        return None
    said = counterexample.get(f"{path}.dtype", dtype)
    return Shaped(str(said), tuple(int(size) for size in shape))


def _structured(
    found: Kernel,
    structures: Mapping[str, report.Structure],
    counterexample: Mapping[str, Any],
    path: str,
) -> Any:
    """An input that is made of others, or one of these.

    Raises:
        MisuseError: it is not known what it is.
    """
    shaped = _shaped(counterexample, path, _DTYPES[0])
    if shaped is not None:
        return shaped
    structure = structures.get(path)
    value = counterexample.get(path)
    if structure is None or (structure.form == "name" and not isinstance(value, str)):
        if path not in counterexample:
            raise MisuseError(f"nothing says what `{path}` is")
        return _plain(value)
    if structure.form == "name":
        return _by_name(found, str(value))
    part = partial(_structured, found, structures, counterexample)
    if structure.form == "object":
        args = tuple(part(argument_path(path, k)) for k in range(structure.arguments))
        named = {key: part(argument_path(path, key)) for key in structure.keywords}
        return Made(_by_name(found, structure.name), args, named)
    items = [part(item_path(path, k)) for k in range(structure.arguments)]
    return items if structure.form == "list" else tuple(items)


def _by_name(found: Kernel, dotted: str) -> Any:
    """A value by its name in the module of the kernel."""
    first, *rest = dotted.split(".")
    names = inspect.unwrap(found.function).__globals__
    try:
        value = names[first] if first in names else getattr(builtins, first)
        for name in rest:
            value = getattr(value, name)
    except AttributeError as error:
        raise MisuseError(f"the kernel's module has no `{dotted}`") from error
    return value


def _is_address(annotation: Any) -> bool:
    """Whether a parameter is the address of a buffer (OKK)."""
    if isinstance(annotation, str):
        return annotation.rpartition(".")[2].strip("'\"") == "SystemAddr"
    return isinstance(annotation, AddressType)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_plain(item) for item in value)
    if isinstance(value, str):
        name = dt.canonical(value)
        return DTypeProxy(name) if name is not None else value
    return value
