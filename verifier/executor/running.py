"""One run of a kernel, from arguments to results, with what is judged at the end only."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct, field

from verifier.dialects import decorating
from verifier.executor import places, raised, tpu_running
from verifier.executor.findings import (
    MisuseError,
    UnsupportedError,
    ViolationError,
)
from verifier.executor.machine import ConcreteMachine
from verifier.executor.memory import Memory
from verifier.executor.session import (
    Kernel,
    Session,
    array_of,
    input_tensor,
    known_dtype,
    launch,
    placed,
)
from verifier.executor.tiles import Tensor
from verifier.hardware.chips import Chip
from verifier.report import model as report
from verifier.source.ir import Span
from verifier.symbolic.memory.events import Ended, Followed, Lived, Returned, UndefinedRead, Updated
from verifier.symbolic.python.pins import argument_path, item_path
from verifier.symbolic.python.shapetexts import updated
from verifier.symbolic.tensors import StorageKind

#: characters of what a kernel raises that are shown
_LONGEST = 500


class Shaped(Struct, frozen=True):
    """A tensor argument without its numbers: they are drawn, or there are none."""

    dtype: str
    shape: tuple[int, ...]


class Typed(Struct, frozen=True):
    """A tensor argument of a dtype that NumPy holds as another one (packed formats, tf32)."""

    dtype: str
    array: Any


class Unsized(Struct, frozen=True):
    """A buffer that is as large as need be; only shapes are run with it."""

    dtype: str


class Made(Struct, frozen=True):
    """An argument that a class makes of others."""

    make: Callable[..., Any]
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]


class Outcome(Struct):
    """What a run came to. ``ended``: why it stopped early (kind, message, place), if it did.

    ``doubts``: findings that one run is not enough for, and a check of all inputs is.
    ``unsettled``: rules that shapes do not say enough for, or that ask for too many elements.

    ``raised``: the name of the exception's type, if one ended it; ``told``: the finding that it is,
    where a rule is about what Python refuses there.

    Kinds: ``violation``, ``unsupported``, ``raised``, ``left`` (by what is no ``Exception``),
    ``misuse``, ``memory``, ``time``.
    """

    outputs: list[Any] = field(default_factory=list)
    diagnostics: list[report.Diagnostic] = field(default_factory=list)
    doubts: list[report.Diagnostic] = field(default_factory=list)
    unsettled: set[str] = field(default_factory=set)
    ended: tuple[str, str, Span | None] | None = None
    raised: str = ""
    told: report.Diagnostic | None = None
    operations: int = 0

    @property
    def violations(self) -> list[report.Diagnostic]:
        return [d for d in self.diagnostics if d.severity == "error"]


class TimeIsUpError(BaseException):
    """Raised in the kernel when its time is used up. Not for kernels to catch."""


def run(
    session: Session,
    kernel: Kernel,
    arguments: Mapping[str, Any],
    grid: tuple[int, ...] = (),
    name: str = "",
) -> Outcome:
    """Run a kernel with arguments by name: arrays, :class:`Shaped` tensors, or plain values."""
    session.machine = None
    machine = session.current()
    function = kernel.function
    machine.kernel = name or getattr(function, "__qualname__", "kernel")
    span = definition_of(function)
    outcome = Outcome(unsettled=machine.unsettled)
    inputs: list[Tensor] = []
    session.running = True
    try:
        if isinstance(machine.hardware, Chip):
            outcome.outputs = _on_chip(machine, kernel, arguments, grid, span)
            return outcome
        _decorated(machine, session.api, kernel, span)
        machine.optional = _optional(function)
        given = {
            key: _argument(machine, key, value, span, inputs) for key, value in arguments.items()
        }
        with np.errstate(all="ignore"):
            result = _invoke(function, grid, given)
        returned = _tensors(result)
        _finish(machine, returned, inputs, span, function, alone=prod(grid) == 1)
        if not machine.options.shapes_only:
            outcome.outputs = [array_of(tensor) for tensor in returned]
        else:
            outcome.outputs = [Shaped(t.dtype.name, t.shape) for t in returned]
    except ViolationError as error:
        outcome.ended = ("violation", error.diagnostic.message, None)
    except (UnsupportedError, MisuseError) as error:
        kind = "unsupported" if isinstance(error, UnsupportedError) else "misuse"
        outcome.ended = (kind, str(error), error.span or line_of(error))
    except MemoryError as error:
        outcome.ended = ("memory", "the kernel needs more memory than it may use", line_of(error))
    except TimeIsUpError as error:
        outcome.ended = ("time", str(error), line_of(error))
    except KeyboardInterrupt:
        raise
    except Exception as error:  # whatever the user's code raises
        if type(error).__name__ == "SemanticsMissing":
            outcome.ended = ("unsupported", str(error), line_of(error))
        else:
            text, place = text_of(error), line_of(error)
            outcome.ended = ("raised", text, place)
            outcome.raised = type(error).__name__
            outcome.told = raised.finding(machine, error, text, place)
    except BaseException as error:  # SystemExit, for one
        outcome.ended = ("left", text_of(error), line_of(error))
    finally:
        session.running = False
        outcome.diagnostics = machine.found
        outcome.doubts = machine.doubts
        outcome.operations = machine.performed
    return outcome


def _on_chip(
    machine: ConcreteMachine,
    kernel: Kernel,
    arguments: Mapping[str, Any],
    grid: tuple[int, ...],
    span: Span,
) -> list[Any]:
    """A run on a TPU: its results are the buffers that it writes, in the order of the inputs."""
    buffers = tpu_running.Given([])

    def made(name: str, value: Any) -> Any:
        if isinstance(value, Shaped):
            return buffers.make(machine, name, value.shape, value.dtype, None, span)
        if isinstance(value, np.ndarray):
            value = Typed(known_dtype(value, name), value)
        if isinstance(value, Typed):
            return buffers.make(machine, name, value.array.shape, value.dtype, value.array, span)
        if isinstance(value, Unsized):
            return buffers.make(machine, name, None, value.dtype, None, span)
        return value

    given = {name: made(name, value) for name, value in arguments.items()}
    if kernel.structure is not None:
        parameter = next(iter(inspect.signature(kernel.function).parameters))
        given = {parameter: kernel.structure(**given)}
    with np.errstate(all="ignore"):
        _invoke(kernel.function, grid, given)
    tpu_running.finish(machine, buffers, span)
    if machine.options.shapes_only:
        return [
            Shaped(str(storage.dtype), tpu_running.extents(storage))
            for storage in buffers.results()
        ]
    return [tpu_running.array_of(storage) for storage in buffers.results()]


def text_of(error: BaseException) -> str:
    """An error as one line, of a length that can be read."""
    text = " ".join(str(error).split())
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 3] + "..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def line_of(error: BaseException) -> Span | None:
    """The innermost line of the user's own code in a traceback."""
    found = None
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if places.is_user(code.co_filename):
            found = (trace.tb_frame, trace.tb_lineno)
        trace = trace.tb_next
    return None if found is None else places.line_at(found[0].f_code.co_filename, found[1])


def definition_of(function: Callable[..., Any]) -> Span:
    """The name in the function's definition."""
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    if code is None:
        return places.NOWHERE
    return places.definition(code.co_filename, code.co_firstlineno, function.__name__)


def _decorated(machine: ConcreteMachine, api: str, kernel: Kernel, span: Span) -> None:
    """What the generation has against the decorator, before anything runs."""
    for said in decorating.checks(api, kernel.keywords, span):
        text, message = said.text, said.message
        machine.check(decorating.RULE, said.predicate, span, text, message, facts=said.facts)


def _optional(function: Callable[..., Any]) -> frozenset[str]:
    """The parameters that are None unless somebody gives them."""
    with contextlib.suppress(TypeError, ValueError):
        parameters = inspect.signature(function).parameters
        return frozenset(name for name, p in parameters.items() if p.default is None)
    return frozenset()


def _argument(
    machine: ConcreteMachine, name: str, value: Any, span: Span, inputs: list[Tensor]
) -> Any:
    if isinstance(value, (list, tuple)):
        items = [
            _argument(machine, item_path(name, k), v, span, inputs) for k, v in enumerate(value)
        ]
        return type(value)(items) if type(value) in (list, tuple) else items
    if isinstance(value, Made):
        args = [
            _argument(machine, argument_path(name, k), v, span, inputs)
            for k, v in enumerate(value.arguments)
        ]
        named = {
            key: _argument(machine, argument_path(name, key), v, span, inputs)
            for key, v in value.keywords.items()
        }
        return value.make(*args, **named)
    if isinstance(value, np.ndarray):
        value = Typed(known_dtype(value, name), value)
    if isinstance(value, Shaped):
        tensor = input_tensor(machine, name, value.shape, value.dtype, None, span)
    elif isinstance(value, Typed):
        tensor = input_tensor(machine, name, value.array.shape, value.dtype, value.array, span)
    else:
        return value
    inputs.append(tensor)
    return tensor


def _invoke(function: Callable[..., Any], grid: tuple[int, ...], given: dict[str, Any]) -> Any:
    return launch(function, grid, *placed(function, given))


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in _tensors(item)]
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in _tensors(item)]
    return []


# ------------------------------------------------------------------------ at the end


def _finish(
    machine: ConcreteMachine,
    returned: list[Tensor],
    inputs: list[Tensor],
    span: Span,
    function: Callable[..., Any],
    *,
    alone: bool,
) -> None:
    """``alone``: no other instance of the launch ran beside it."""
    _followed(machine, span, alone=alone)
    trace = machine.blank_trace(span)
    trace.returns.append(((), tuple(tensor.as_view for tensor in returned), span))
    machine.accumulators.ended()
    machine.meet(Ended(trace, any(tensor.memory.written for tensor in inputs)))
    machine.origins.ended()
    results = {id(tensor.memory): tensor.memory for tensor in returned}
    for memory in results.values():
        if memory.template.kind is StorageKind.ALLOC:
            _written(machine, memory)
    if machine.watch is not None:
        given = [tensor.memory for tensor in inputs]
        for origin in machine.watch.finish(given):
            machine.meet(UndefinedRead(origin, origin.span, "nobody writes it before"))
    machine.judge_results()
    _updated(machine, returned, function, span)
    capacity(machine)


def _followed(machine: ConcreteMachine, span: Span, *, alone: bool) -> None:
    """What became of results, if all operations were kept, and are those of one instance."""
    if not (alone and machine.followed and len(machine.trace) == machine.performed):
        machine.unsettled |= {rule.id for rule, _ in machine.rules.monitors.get(Followed, ())}
        return
    trace = machine.blank_trace(span)
    trace.operations = machine.trace
    made = (view.storage for op in machine.trace for _, view in (*op.reads, *op.writes))
    trace.storages = [*{id(storage): storage for storage in made}.values()]
    machine.meet(Followed(trace))


def _updated(
    machine: ConcreteMachine, returned: list[Tensor], function: Callable[..., Any], span: Span
) -> None:
    """The parameters that were written, where they are to be declared so."""
    if not machine.generation.declares_updates:
        return
    known = inspect.signature(inspect.unwrap(function)).parameters if machine.updated else {}
    results = {id(tensor.memory) for tensor in returned}
    for memory, operation in machine.updated.items():
        annotation = known[memory.name].annotation if memory.name in known else ""
        said = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
        declared, is_result = updated(said), id(memory) in results
        found = Updated(memory.storage, operation, span, declared, is_result, bool(returned))
        machine.meet(found)


def _written(machine: ConcreteMachine, memory: Memory) -> None:
    if not memory.complete():
        whole = memory.template.whole
        undefined = memory.undefined(whole)
        lost = np.where(undefined, memory.reads(whole), 0)
        if not machine.origins.told(memory):
            why = f"it is in `{memory.name}`, which is returned"
            machine.origins.blame(lost, memory.span, why)
        missing = int((undefined & (lost == 0)).sum())
        writes = tuple(span for late, span in machine.late if late is memory)
        machine.meet(Returned(memory.storage, missing, writes))


def capacity(machine: ConcreteMachine) -> None:
    """Judge what is live at once: all of it at the end, a lower bound before."""
    if isinstance(machine.hardware, Chip):
        tpu_running.capacity(machine)
    else:
        machine.meet(Lived(machine.generation, machine.lives))
