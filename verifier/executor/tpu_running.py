"""Runs of TPU kernels: buffers for arrays, what was written as results, and the final checks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct, field

from verifier import rulebase
from verifier.dialects.registry import of_generation
from verifier.executor import tpu
from verifier.executor.cores import Core
from verifier.executor.findings import MisuseError
from verifier.executor.lanes import Array, ByteMemory
from verifier.executor.races import Races
from verifier.executor.records import Address, start_of
from verifier.executor.semantics.casts import NUMPY
from verifier.executor.stores import Stores
from verifier.executor.tensors import Pointee, Pointer
from verifier.executor.tpu import BufferStorage
from verifier.hardware.memories import Buffer
from verifier.rulebase import Shown
from verifier.source.ir import Span
from verifier.symbolic.memory.events import (
    Awaited,
    CoresMet,
    Filled,
    Followed,
    LaneLife,
    LanesLived,
    Met,
    Reached,
    SharedLived,
    Stored,
    Stretch,
    UndefinedLanes,
    Wasted,
)
from verifier.symbolic.memory.sizes import lane_bytes, whole_bytes
from verifier.symbolic.memory.stages import crosses
from verifier.symbolic.tensors import Mark, Storage

if TYPE_CHECKING:
    from verifier.executor.machine import ConcreteMachine
    from verifier.executor.programs import Program

#: between the orders of events on two cores
_APART: Final = 1 << 40


class Given(Struct):
    """The buffers that a kernel is given, in the order of its inputs."""

    buffers: list[BufferStorage]
    pointees: list[Pointee] = field(default_factory=list)

    @property
    def declared(self) -> dict[str, int]:
        """Bytes of the tensors that pointers were declared to be."""
        found: dict[str, int] = {}
        for pointee in self.pointees:
            if pointee.view is not None:
                count = math.prod(extent.const for extent in pointee.view.storage.shape)
                found[pointee.name] = count * NUMPY[pointee.dtype].itemsize
        return found

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
        if of_generation(machine.api).by_address:
            return start_of(storage)
        elements = None if shape is None else math.prod(shape)
        pointee = Pointee(name, dtype, elements, storage)
        self.pointees.append(pointee)
        return Pointer(pointee)

    def tensors(self) -> Iterator[tuple[Storage, ByteMemory | None]]:
        """The buffers, as the kernel declares what pointers point at, or else as they are given."""
        for pointee in self.pointees:
            if pointee.view is not None:
                yield pointee.view.storage, pointee.storage.bytes
        if not self.pointees:
            declared = (s for s in self.buffers if s.marks.get(Mark.DECLARED))
            yield from ((storage, storage.bytes) for storage in declared)

    def results(self) -> Iterator[BufferStorage]:
        """Those that were written."""
        return (storage for storage in self.buffers if tpu.written(storage))


def launch(
    machine: ConcreteMachine,
    programs: list[Program],
    work: Callable[[], Any],
) -> Any:
    """Run the cores of a launch: each in turn up to where they wait for each other (``sync``).

    A core that has ended without waiting keeps the others waiting for ever: that is reported, and
    they go on.
    """
    shared: dict[object, object] = {}
    races = Races(machine.meet, len(programs)) if len(programs) > 1 else None
    cores: list[Core] = []
    for number, program in enumerate(programs):
        state = {**machine.state, "shared": shared, "core": number, "races": races}
        core = Core(machine, program, machine.order + number * _APART, state, work)
        state["barrier"] = core.pause
        cores.append(core)
    try:
        while not all(core.done for core in cores):
            for core in cores:
                if not core.done:
                    core.resume()
            _all_wait(machine, cores)
            if races is not None:
                races.wait()
        stores = shared.get("stores")
        lost = (CoresMet, UndefinedLanes) if races is not None and races.lost else ()
        if isinstance(stores, Stores) and stores.lost:
            lost = (*lost, Met)
        for event in lost:
            rules = machine.rules.monitors.get(event, ())
            machine.unsettled |= {rule.id for rule, _ in rules}
    finally:
        for core in cores:
            core.stop()
    return cores[0].result


def _all_wait(machine: ConcreteMachine, cores: list[Core]) -> None:
    """Report a barrier that some cores stand at while others have ended."""
    waiting = [core for core in cores if not core.done]
    place = waiting[0].state.get("waits at") if waiting else None
    if isinstance(place, Span) and len(waiting) < len(cores):
        machine.meet(Awaited(place, len(cores) - len(waiting), len(cores)))


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


def extents(storage: Storage) -> tuple[int, ...]:
    return tuple(extent.const for extent in storage.shape)


def finish(machine: ConcreteMachine, given: Given, span: Span) -> None:
    """Judge what shows at the end only.

    Of rules about the whole trace, those that have no monitor: by their checks.
    """
    wanted = machine.options.about
    trace = machine.blank_trace(span)
    trace.operations = machine.trace
    trace.storages = machine.storages
    trace.returns.append(((), (), span))
    if machine.followed:
        machine.meet(Followed(trace))
    else:
        machine.unsettled |= {rule.id for rule, _ in machine.rules.monitors.get(Followed, ())}
    for rule in machine.rules.trace:
        # in a run all sizes are numbers: it says nothing about the text
        textual = rule.replayed.shown is Shown.NEVER
        if rule.monitors:
            continue
        if not machine.traced:
            machine.unsettled |= set() if textual else {rule.id}
        elif not textual if wanted is None else rule.id == wanted:
            for check in rulebase.run(rule, machine.hardware, trace):
                machine.judge(rule, check)
    if machine.recent is not None:
        machine.recent.tell(ended=True)
        if machine.recent.lost:
            machine.unsettled |= {rule.id for rule, _ in machine.rules.monitors.get(Stretch, ())}
    if machine.progress is not None:
        machine.progress.tell()
    if machine.stores is not None:
        machine.stores.tell()
        if machine.stores.lost:
            machine.unsettled |= {rule.id for rule, _ in machine.rules.monitors.get(Stored, ())}
    capacity(machine)
    for storage, memory in given.tensors():
        _reached(machine, storage, memory)
    _filled(machine, given, span)
    if not any(True for _ in given.results()):
        # a kernel whose text writes nothing is another matter: here no write was come to
        machine.meet(Wasted(machine.kernel, span))


def _reached(machine: ConcreteMachine, storage: Storage, memory: ByteMemory | None) -> None:
    """Tell how much of a buffer is read, along each dimension of the shape that is declared."""
    if memory is None or not memory.watched:
        return
    shape, size = extents(storage), storage.dtype.itemsize.const
    if math.prod(shape) * size > memory.size:  # which is told where it is declared
        return
    taken: Any = np.zeros(shape, np.bool_)
    if memory.taken is not None:
        taken = memory.taken[: taken.size * size].reshape(*shape, size).any(-1)
    axes = range(len(shape))
    along = [taken.any(tuple(other for other in axes if other != axis)) for axis in axes]
    ends = tuple(int(there.nonzero()[0][-1]) + 1 if there.any() else 0 for there in along)
    unread = tuple(int(np.append(there, False).argmin()) for there in along)
    written = memory.touched
    machine.meet(Reached(storage, ends, ends, unread, unread, memory.consumed, written))


def _filled(machine: ConcreteMachine, given: Given, span: Span) -> None:
    """Tell of buffers that are never read, and whose size is known, what of them is written."""
    for storage in given.buffers:
        memory = storage.bytes
        if memory is None or memory.consumed:
            continue
        # what the caller passes is to be written, however much of it the kernel declares
        known = storage.marks.get(Mark.DECLARED) or storage.name in given.declared
        size = memory.size
        if not storage.marks.get(Mark.DECLARED):
            size = given.declared.get(storage.name, size)
        if not tpu.written(storage):
            if known:
                machine.meet(Filled(storage.name, span, size, size, "bytes", declared=True))
        elif memory.stored is not None and isinstance(memory.writer, Span):
            missing = size - int(memory.stored[:size].sum())
            machine.meet(Filled(storage.name, memory.writer, missing, size, "bytes", declared=True))


def capacity(machine: ConcreteMachine) -> None:
    """Judge what is live at once in each lane (PPL-B06): all at the end, part of it before."""
    machine.meet(LanesLived(_lives(machine), _lives(machine, at_most=True)))
    machine.meet(SharedLived(list(_in_shared_memory(machine))))


def _lives(machine: ConcreteMachine, at_most: bool = False) -> list[LaneLife]:
    """What is in the lanes. What passes between the stages of a pipelined loop exists twice while
    the loop runs; ``at_most``: what is made there may, by a use that this run has not come to."""
    lives: list[LaneLife] = []
    staged: dict[tuple[object, ...], list[BufferStorage]] = {}
    extents: dict[tuple[object, ...], tuple[int, int]] = {}
    for storage in machine.storages:
        if not isinstance(storage, BufferStorage) or not storage.lane_bytes:
            continue
        life = storage.life
        begin, end = life.first or storage.order, life.last or storage.order
        if storage.pipeline is not None:
            first, last = extents.get(storage.pipeline, (begin, end))
            extents[storage.pipeline] = (min(first, begin), max(last, end))
        if storage.pipeline is not None and (at_most or crosses(life.stages)):
            staged.setdefault((*storage.pipeline, storage.span), []).append(storage)
        else:
            lives.append(_life(storage, begin, end, _taken(machine, storage)))
    for group in staged.values():
        size = 2 * max(_taken(machine, storage) for storage in group)
        assert group[0].pipeline is not None
        first, last = extents[group[0].pipeline]
        last = max(last, *(storage.life.last for storage in group))
        lives.append(_life(group[0], first, last, size))
    return lives


def _in_shared_memory(machine: ConcreteMachine) -> Iterator[LaneLife]:
    """What cores share, which is there once for all of them: as the first one uses it (PPL-A07)."""
    first: tuple[int, ...] | None = None
    for storage in machine.storages:
        if not isinstance(storage, BufferStorage) or storage.buffer is not Buffer.L2:
            continue
        first = storage.core if first is None else first
        if storage.core == first:
            life = storage.life
            begin, end = life.first or storage.order, life.last or storage.order
            yield _life(storage, begin, end, whole_bytes(storage).const)


def _taken(machine: ConcreteMachine, storage: BufferStorage) -> int:
    """Bytes in a lane on the device; a run has a byte for each element that takes half of one."""
    return lane_bytes(machine.chip, storage).const


def _life(storage: BufferStorage, first: int, last: int, size: int) -> LaneLife:
    return LaneLife(storage.name, storage.span, first, last, size)
