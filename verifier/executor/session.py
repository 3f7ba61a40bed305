"""The machine in force, and launching kernels on it: from the host, and from other kernels."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from msgspec import Struct, field

from verifier.executor import operands, tensors, tpu, tpu_operation, tpu_running
from verifier.executor.conversion import inward, outward, tensor_of
from verifier.executor.cores import Cores
from verifier.executor.findings import MisuseError
from verifier.executor.machine import ConcreteMachine, Device, Options
from verifier.executor.memory import Memory, Template, numpy_name
from verifier.executor.places import NOWHERE
from verifier.executor.programs import Plans, Program
from verifier.executor.tiles import Tensor
from verifier.hardware.catalogue import Hardware
from verifier.hardware.chips import Chip
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.tensors import DType, Storage, StorageKind

_CORES: Final = Device(
    operands.execute, operands.allocated, tensor_of, operands.declared, inward, outward, plans=True
)
_LANES: Final = Device(
    *(tpu_operation.execute, tpu.allocated, tensors.LaneTensor, tensors.declared),
    *(inward, outward),
    plans=False,
)


class Session(Struct):
    """What files are loaded and kernels are run for."""

    target: Hardware
    api: str
    options: Options = field(default_factory=Options)
    machine: ConcreteMachine | None = None
    plans: Plans = field(default_factory=Plans)
    #: a kernel is running; False while a file is loaded
    running: bool = False
    #: told of functions that become kernels
    awaited: Callable[[Callable[..., Any]], None] | None = None

    def current(self) -> ConcreteMachine:
        """The machine that API calls go to."""
        if self.machine is None:
            self.plans = self.plans.current()
            device = _LANES if isinstance(self.target, Chip) else _CORES
            self.machine = ConcreteMachine(self.target, self.api, self.options, device, self.plans)
        return self.machine


_sessions: list[Session] = []


def active() -> Session:
    """The session in force.

    Raises:
        MisuseError: there is none: a function of the API is called outside of a run.
    """
    if not _sessions:
        raise MisuseError("functions of the kernel API are called outside of a kernel")
    return _sessions[-1]


@contextmanager
def using(session: Session) -> Iterator[Session]:
    """Make a session the one in force."""
    _sessions.append(session)
    try:
        yield session
    finally:
        _sessions.pop()


class LoadingError(Exception):
    """A kernel is launched by the top level of a file that is being loaded."""


class Kernel:
    """A function that runs on the device; ``kernel[grid](...)`` launches it on a grid."""

    def __init__(
        self,
        function: Callable[..., Any],
        structure: type | None = None,
        keywords: Iterable[str] = (),
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        #: what its decorator is given by name
        self.keywords = tuple(keywords)
        #: the class of the only parameter, whose fields are the inputs (OKK)
        self.structure = structure
        session = _sessions[-1] if _sessions else None
        if session is not None and session.awaited is not None:
            session.awaited(function)

    def signature(self) -> inspect.Signature:
        """The inputs.

        Raises:
            TypeError, ValueError: they cannot be told.
        """
        return signature_of(self.function if self.structure is None else self.structure)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return launch(self.function, (), args, keywords)

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return functools.partial(_launch_on, self.function, grid)


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The inputs of a function: its own names, and for starred ones those of what it wraps.

    Raises:
        TypeError, ValueError: they cannot be told.
    """
    own = inspect.signature(function, follow_wrapped=False)
    starred = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    if any(p.kind in starred for p in own.parameters.values()):
        return inspect.signature(function)
    return own


def placed(
    function: Callable[..., Any], given: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments by place and by name of a function that is given some by its signature."""
    try:
        signature = signature_of(function)
        own = inspect.signature(function, follow_wrapped=False).parameters
    except (TypeError, ValueError):
        return (), given
    positional: list[Any] = []
    named = dict(given)
    starred = any(p.kind is p.VAR_POSITIONAL and p.name not in given for p in own.values())
    for parameter in signature.parameters.values():
        if starred and parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            if parameter.name not in named:
                break  # it has a default, and what comes behind it is given by name
            positional.append(named.pop(parameter.name))
        elif parameter.kind is parameter.VAR_POSITIONAL and parameter.name in named:
            positional.extend(named.pop(parameter.name))
        elif parameter.kind is parameter.POSITIONAL_ONLY and parameter.name in named:
            positional.append(named.pop(parameter.name))
        elif parameter.kind is parameter.VAR_KEYWORD and parameter.name in named:
            named.update(named.pop(parameter.name))
    return tuple(positional), named


def _launch_on(function: Callable[..., Any], grid: Any, *args: Any, **keywords: Any) -> Any:
    return launch(function, sizes_of(grid), args, keywords)


def sizes_of(grid: Any) -> tuple[int, ...]:
    """A launch grid as its sizes.

    Raises:
        MisuseError: they are not one to three positive integers.
    """
    items = grid if isinstance(grid, (tuple, list)) else (grid,)
    try:
        sizes = tuple(int(item) for item in items if not isinstance(item, (float, str)))
    except (TypeError, ValueError):
        sizes = ()
    if len(sizes) != len(items) or not 1 <= len(sizes) <= 3 or any(size < 1 for size in sizes):
        raise MisuseError(f"a launch grid is one to three positive sizes, not {grid!r}")
    return sizes


#: as many instances along one axis can be the cores of one logical core
CORES: Final = 2


def launch(
    function: Callable[..., Any],
    grid: tuple[int, ...],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Any:
    """Run every instance of a kernel, one after the other; the result of the first one.

    The cores of a logical core may exchange data: they are run up to where one waits for another.
    """
    session = active()
    if not session.running:
        raise LoadingError("a kernel is launched while its file is loaded")
    machine = session.current()
    outer = machine.program
    if not grid:
        return function(*args, **keywords)
    if isinstance(session.target, Chip):
        cores = tpu_running.programs_of(machine, grid, Program)
        return tpu_running.launch(machine, cores, lambda: function(*args, **keywords))
    shared: list[Memory] = []
    programs = [
        Program(index, grid, shared) for index in itertools.product(*(range(n) for n in grid))
    ]
    if len(programs) <= CORES and len(grid) == 1:
        return Cores(machine, programs, lambda: function(*args, **keywords)).run()[0]
    results: list[Any] = []
    try:
        for program in programs:
            machine.program = program
            results.append(function(*args, **keywords))
    finally:
        machine.program = outer
    return results[0]


# ------------------------------------------------------------------------ tensors of the host


def input_tensor(
    machine: ConcreteMachine,
    name: str,
    shape: tuple[int, ...],
    dtype: str,
    array: Any | None,
    span: Span = NOWHERE,
) -> Tensor:
    """A parameter in HBM; its bytes are those of ``array`` (shared if contiguous)."""
    storage = Storage(
        id=machine.next_order(),
        name=name,
        buffer=Buffer.HBM,
        dtype=DType.named(dtype),
        shape=tuple(E.const(size) for size in shape),
        partition_axis=None,
        span=span,
        kind=StorageKind.INPUT,
        initialised=True,
    )
    template: Template = machine.template(storage)
    memory = Memory(template, name, span, None)
    memory.full = True
    if array is not None and not machine.options.shapes_only:
        if array.flags.c_contiguous and array.flags.writeable and array.size:
            memory.data = array.reshape(-1).view(np.uint8)
        else:
            memory.copy_in(array)
    return Tensor(machine, memory, template.whole, None, None)


def array_of(tensor: Tensor) -> np.ndarray[Any, Any]:
    """The elements of a tensor; copied if they are an argument's."""
    found = tensor.bound()
    from verifier.executor.regions import Geometry

    if isinstance(found.place, Geometry):
        array = found.memory.array(found.place)
        return array.copy() if found.memory.template.kind is StorageKind.INPUT else array
    out: np.ndarray[Any, Any] = found.memory.flat(found.place.dtype)[found.place.positions]
    return out


def known_dtype(array: Any, name: str = "") -> str:
    """The dtype of an array of the host, which is that argument.

    Raises:
        MisuseError: tensors of that dtype do not exist.
    """
    dtype = np.asarray(array).dtype
    known = numpy_name(dtype)
    where = f"argument '{name}': " if name else ""
    if known is None:
        raise MisuseError(f"{where}there are no tensors of dtype {dtype}")
    if dtype.itemsize > 4:  # NumPy's own defaults, which no device has (NKI-T01)
        half = known.replace("64", "32")
        raise MisuseError(f"{where}there are no tensors of dtype {dtype}: give it as {half}")
    return known
