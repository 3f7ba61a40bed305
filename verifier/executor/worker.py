"""Inside the process that runs a kernel: limits, loading, running, handing back."""

from __future__ import annotations

import faulthandler
import math
import os
import re
import resource
import signal
import sys
import zipfile
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn

import numpy as np
from msgspec.structs import replace

from verifier import rulebase
from verifier.executor import places, protocol
from verifier.executor.arguments import Argument, ArgumentKind
from verifier.executor.findings import MisuseError, ViolationError
from verifier.executor.loader import Loaded, generation_of, hardware_of, isolated, kernel, load
from verifier.executor.machine import Options
from verifier.executor.memory import numpy_name
from verifier.executor.names import DTypeProxy
from verifier.executor.protocol import Reply, Request
from verifier.executor.running import (
    Outcome,
    Shaped,
    TimeIsUpError,
    Typed,
    definition_of,
    line_of,
    run,
    text_of,
)
from verifier.executor.semantics.casts import NUMPY
from verifier.executor.session import Kernel, Session, known_dtype, using
from verifier.hardware.chips import Chip
from verifier.symbolic.memory.events import Reordered


def serve(folder: Path) -> None:
    """Carry out the request in ``folder``."""
    request = Request.read(folder / protocol.REQUEST)
    reply = Reply()
    try:
        _watch(folder / protocol.TRACE)
        rulebase.all_rules()  # what the tool itself loads is no part of the kernel's time
        limit(request.timeout, request.memory)
        arrays = _carry_out(request, reply)
        if arrays:
            np.savez(folder / protocol.ARRAYS, **arrays)
    except MisuseError as error:
        span = error.span
        reply.ended = ("misuse", str(error), span.path if span else "", span.line if span else 0)
    except TimeIsUpError as error:
        reply.ended = ("time", str(error), *_place(error, request))
    except MemoryError as error:
        reply.ended = ("memory", "", *_place(error, request))
    except KeyboardInterrupt as error:
        reply.ended = ("left", text_of(error), *_place(error, request))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if reply.ended is not None and reply.ended[0] == "memory":
        text = f"the kernel needs more memory than the {request.memory} MB that it may use"
        reply.ended = ("memory", text, *reply.ended[2:])
    reply.write(folder / protocol.REPLY)


def _place(error: BaseException, request: Request) -> tuple[str, int]:
    span = line_of(error)
    return (span.path, span.line) if span is not None else (request.path, 0)


def _watch(path: Path) -> None:
    """Have the line at which this process dies in a file, or is when it is asked for it."""
    file = path.open("w")
    faulthandler.enable(file, all_threads=False)
    # asked for in this thread: a watching thread would read frames that change under its eyes
    faulthandler.register(protocol.ASK, file, all_threads=False)
    leave = os._exit

    def left(status: int) -> NoReturn:
        faulthandler.dump_traceback(file, all_threads=False)
        leave(status)

    os._exit = left


#: seconds until a process is stopped again that did not see that its time is over
_AGAIN: Final = 0.01


def limit(timeout: float, memory: int) -> None:
    """Let this process run for ``timeout`` seconds and take ``memory`` MB more than it has.

    TimeIsUpError and MemoryError are raised in what runs then.
    """
    used = 0
    status = Path("/proc/self/statm")
    if status.is_file():
        used = int(status.read_text().split()[0]) * resource.getpagesize()
    most = used + memory * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))

    def ring(_: int, frame: FrameType | None) -> None:
        raise TimeIsUpError(f"the kernel still runs after {timeout:g} seconds")

    def lost(what: sys.UnraisableHookArgs) -> None:
        if isinstance(what.exc_value, TimeIsUpError):  # Python drops what is raised in callbacks
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        else:
            sys.__unraisablehook__(what)

    sys.unraisablehook = lost
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, timeout)


def _carry_out(request: Request, reply: Reply) -> dict[str, Any]:
    path = Path(request.path)
    api = request.api_version or generation_of(path, request.name)
    target = hardware_of(request.target or None, api, path, request.name, request.grid)
    reply.api_version = api
    options = Options(
        shapes_only=request.shapes_only,
        keep_going=request.keep_going,
        seed=request.seed,
    )
    session = Session(target, api, options)
    with using(session), isolated(forever=True):
        loaded = load(path)
        found = kernel(loaded, request.name, path)
        arguments = _arguments(request, found)
        outcome = run(session, found, _copied(arguments), request.grid, request.name)
        if request.loop_order != "forward" and outcome.ended is None and not request.shapes_only:
            session.options = replace(options, loop_order=request.loop_order)
            again = run(session, found, _copied(arguments), request.grid, request.name)
            _compare(session, found, outcome, again)
    if outcome.ended is not None and outcome.ended[0] == "raised":
        if not _explain(outcome, loaded) and outcome.told is not None:
            outcome.diagnostics.append(outcome.told)
            outcome.ended = ("violation", *outcome.ended[1:])
    reply.diagnostics = outcome.diagnostics
    reply.doubts = outcome.doubts
    reply.unsettled = sorted(outcome.unsettled)
    reply.operations = outcome.operations
    if session.machine is not None:
        if session.machine.asked_grid and isinstance(target, Chip):
            reply.cores = (math.prod(request.grid), target.cores)
    if outcome.ended is not None:
        kind, message, span = outcome.ended
        reply.ended = (kind, message, span.path if span else "", span.line if span else 0)
    arrays: dict[str, Any] = {}
    if request.shapes_only:
        reply.outputs = [(out.dtype, out.shape) for out in outcome.outputs]
        return arrays
    for name, value in arguments.items():
        if isinstance(value, np.ndarray | Typed):
            arrays[name] = portable(value.array if isinstance(value, Typed) else value)
    for number, out in enumerate(outcome.outputs):
        reply.outputs.append((_name(out), out.shape))
        arrays[f"out{number}"] = portable(out)
    return arrays


def _explain(outcome: Outcome, loaded: Loaded) -> bool:
    """Whether a name is missing because the line that defines it failed, of which is said which."""
    assert outcome.ended is not None
    kind, message, span = outcome.ended
    missing = re.fullmatch(r"NameError: name '(\w+)' is not defined.*", message)
    if missing is None:
        return False
    for place, error in loaded.problems:
        lines = places.source(place.path).lines[place.line - 1 : place.end_line]
        if re.search(rf"\b{missing[1]}\b", " ".join(lines)):
            outcome.ended = (kind, f"{message} (line {place.line}: {text_of(error)})", span)
            return True
    return False


def _name(array: Any) -> str:
    return str(array.dtype.name)


def portable(array: Any) -> Any:
    """An array that NumPy alone can read: narrow floats become float32, exactly."""
    if array.dtype.kind in "biufc" and array.dtype.num < 24:
        return array
    return array.astype(np.float32)


def _copied(arguments: dict[str, Any]) -> dict[str, Any]:
    def copied(value: Any) -> Any:
        if isinstance(value, Typed):
            return Typed(value.dtype, value.array.copy())
        return value.copy() if isinstance(value, np.ndarray) else value

    return {name: copied(value) for name, value in arguments.items()}


def _arguments(request: Request, found: Kernel) -> dict[str, Any]:
    """Arguments by parameter, checked against the kernel's signature.

    Raises:
        MisuseError: a name is unknown, or a parameter has no value.
    """
    function = found.function
    try:
        parameters = found.signature().parameters
    except (TypeError, ValueError):
        parameters = {}  # type: ignore[assignment]
    span = definition_of(function)
    for name in request.arguments:
        if name not in parameters:
            listed = ", ".join(parameters)
            raise MisuseError(f"`{request.name}` has no parameter `{name}`; it has {listed}", span)
    for name, parameter in parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is parameter.empty and name not in request.arguments:
            raise MisuseError(
                f"`{request.name}` needs `{name}`: give it with --arg {name}=...", span
            )
    rng = np.random.default_rng(request.seed)
    return {name: _made(request, name, a, rng) for name, a in request.arguments.items()}


def _made(request: Request, name: str, argument: Argument, rng: np.random.Generator) -> Any:
    if argument.kind is ArgumentKind.TENSOR:
        if request.shapes_only:
            return Shaped(argument.dtype, argument.shape)
        size = math.prod(argument.shape) * NUMPY[argument.dtype].itemsize >> 20
        if size > request.memory:
            raise MisuseError(
                f"argument '{name}' takes {size} MB of the {request.memory} MB that the kernel may "
                "use: raise --memory, or use --shapes-only"
            )
        array = drawn(rng, argument.dtype, argument.shape)
        same = numpy_name(array.dtype) == argument.dtype
        return array if same else Typed(argument.dtype, array)
    if argument.kind is ArgumentKind.FILE:
        array = _read(name, argument.value)
        if request.shapes_only:
            return Shaped(str(array.dtype.name), array.shape)
        return array
    if argument.kind is ArgumentKind.DTYPE:
        return DTypeProxy(str(argument.value))
    if isinstance(argument.value, list):
        return [
            _made(request, name, item, rng) if isinstance(item, Argument) else item
            for item in argument.value
        ]
    return argument.value


def drawn(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Any:
    """A random tensor: normal floats, small natural numbers."""
    kind = NUMPY[dtype]
    if dtype == "bool_":
        return rng.integers(0, 2, shape).astype(kind)
    if kind.kind in "iu":
        return rng.integers(0, 8, shape).astype(kind)
    values = rng.standard_normal(shape, np.float32)
    return np.abs(values).astype(kind) if dtype == "float8_e8m0fnu" else values.astype(kind)


def _read(name: str, path: str) -> Any:
    file, _, member = path.partition(":")
    try:
        found = np.load(file, allow_pickle=False)
        if isinstance(found, np.lib.npyio.NpzFile):
            if (member or name) not in found:
                raise MisuseError(f"argument '{name}': {file} has no array '{member or name}'")
            found = found[member or name]
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        reason = getattr(error, "strerror", None) or "it is no array of NumPy"
        if "Object arrays" in str(error):
            reason = "it holds Python objects (a pickle), not numbers"
        raise MisuseError(f"argument '{name}': cannot read {file}: {reason}") from None
    try:
        known_dtype(found)
    except MisuseError as error:
        raise MisuseError(f"argument '{name}': {error}") from None
    return found


def _compare(session: Session, found: Kernel, first: Outcome, again: Outcome) -> None:
    """Independent iterations give the same numbers in any order (up to rounding of sums)."""
    first.diagnostics += [d for d in again.diagnostics if d not in first.diagnostics]
    if again.ended is not None:
        first.ended = again.ended
        return
    for number, (a, b) in enumerate(zip(first.outputs, again.outputs, strict=True)):
        x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
        scale = float(np.max(np.abs(x), initial=0.0))
        if not np.allclose(x, y, rtol=1e-2, atol=1e-2 * scale, equal_nan=True):
            machine = session.current()
            before = len(machine.found)
            order = session.options.loop_order
            with suppress(ViolationError):
                machine.meet(Reordered(number, order, definition_of(found.function)))
            first.diagnostics += machine.found[before:]
            return
