"""Runs of TPU kernels: buffers for arrays, what was written as results, and the final checks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from verifier import rulebase
from verifier.executor import tpu
from verifier.executor.cores import Core
from verifier.executor.findings import MisuseError
from verifier.executor.lanes import Array
from verifier.executor.records import Address, start_of
from verifier.executor.semantics.casts import NUMPY
from verifier.executor.tensors import Pointee, Pointer
from verifier.executor.tpu import BufferStorage
from verifier.source.ir import Span
from verifier.symbolic.trace import Trace

if TYPE_CHECKING:
    from verifier.executor.machine import ConcreteMachine, Program

#: between the orders of events on two cores
_APART: Final = 1 << 40


@dataclass(slots=True)
class Given:
    """The buffers that a kernel is given, in the order of its inputs."""

    buffers: list[BufferStorage]

    def make(
        self,
        machine: ConcreteMachine,
        name: str,
        shape: tuple[int, ...] | None,
        dtype: str,
        array: Array | None,
        span: Span,
    ) -> Address | Pointer:
        """A buffer; what the kernel gets is the address of its first byte, or a pointer to it.

        Without a ``shape`` it is as large as need be.
        """
        storage = tpu.buffer(machine, name, shape, dtype, array, span)
        self.buffers.append(storage)
        if machine.api == "okk":
            return start_of(storage)
        elements = None if shape is None else math.prod(shape)
        return Pointer(Pointee(name, dtype, elements, storage))

    def results(self) -> Iterator[BufferStorage]:
        """Those that were written."""
        return (storage for storage in self.buffers if tpu.written(storage))


def launch(
    machine: ConcreteMachine,
    programs: list[Program],
    work: Callable[[], Any],
) -> Any:
    """Run the cores of a launch: each in turn up to where they wait for each other (``sync``).

    A core that has ended does not keep the others waiting.
    """
    shared: dict[object, object] = {}
    cores: list[Core] = []
    for number, program in enumerate(programs):
        state = {**machine.state, "shared": shared}
        core = Core(machine, program, machine.order + number * _APART, state, work)
        state["barrier"] = core.pause
        cores.append(core)
    try:
        while not all(core.done for core in cores):
            for core in cores:
                if not core.done:
                    core.resume()
    finally:
        for core in cores:
            core.stop()
    return cores[0].result


def programs_of(
    machine: ConcreteMachine, grid: tuple[int, ...], make: Callable[..., Program]
) -> list[Program]:
    """The instances of a launch on ``(groups, cores)`` (PPL-A01).

    Raises:
        MisuseError: the chip has fewer cores.
    """
    cores = grid[1] if len(grid) > 1 else 1
    if cores > machine.chip.cores:
        raise MisuseError(
            f"{machine.chip.name} has {machine.chip.cores} core"
            f"{'' if machine.chip.cores == 1 else 's'}, not {cores}"
        )
    return [make(index, grid) for index in itertools.product(*(range(n) for n in grid))]


def array_of(storage: BufferStorage) -> Array:
    """What a buffer holds now, as an array of its shape."""
    memory = storage.bytes
    assert memory is not None
    name = storage.dtype.name
    assert name is not None
    shape = tuple(extent.const for extent in storage.shape)
    size = int(np.prod(shape)) * NUMPY[name].itemsize
    data: Any = memory.materialise()[:size]
    return np.asarray(data.view(NUMPY[name]).reshape(shape).copy())


def extents(storage: BufferStorage) -> tuple[int, ...]:
    return tuple(extent.const for extent in storage.shape)


#: rules of the whole trace that are judged as operations are performed, or cannot be here
_JUDGED: Final = frozenset({"okk-uninitialised-read", "uninitialised-read", "okk-assert-logs"})
#: of the rest, those that speak of contracts: a run without one does not break them
_CONTRACTED: Final = frozenset({"okk-output-coverage"})


def finish(machine: ConcreteMachine, given: Given, span: Span) -> None:
    """Judge what shows at the end only."""
    wanted = machine.options.about
    if len(machine.trace) < tpu.TRACED:
        trace = Trace(machine.kernel, span.path, span, machine.api, machine.dialect.name)
        trace.operations = machine.trace
        trace.returns.append(((), (), span))
        for rule in machine.rules.trace:
            if rule.id in _JUDGED or (wanted is not None and rule.id != wanted):
                continue
            if wanted is None and rule.id in _CONTRACTED:
                continue
            for check in rulebase.run(rule, machine.hardware, trace):
                machine.judge(rule, check)
    if not any(True for _ in given.results()):
        for name in ("no-output", "okk-early-return"):
            machine.violate(
                name,
                span,
                f"`{machine.kernel}` writes to a buffer",
                f"`{machine.kernel}` writes to none of its buffers: its work is lost",
            )
