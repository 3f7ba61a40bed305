"""Doing one operation of a TPU: what it reads, computes, writes and destroys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from verifier.executor.findings import UnsupportedError
from verifier.executor.lanes import (
    Array,
    ByteMemory,
    OutsideError,
    Place,
    Quad,
    inside,
    local_place,
    system_place,
)
from verifier.executor.lost import Spoilt, Used, follow
from verifier.executor.pipelines import Pipelines
from verifier.executor.races import Access, Races
from verifier.executor.semantics.casts import NUMPY
from verifier.executor.semantics.tpu import MEANINGS, SemanticsMissing
from verifier.executor.semantics.tpu.base import Function
from verifier.executor.stores import Part, Stores, several
from verifier.executor.tpu import (
    BufferStorage,
    Region,
    local_memory,
    number,
    parts,
    plain,
    region,
    system_bytes,
    view_region,
)
from verifier.hardware.chips import Chip
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic.effects import Effect
from verifier.symbolic.instruction import Trait
from verifier.symbolic.lanes import SystemAddress
from verifier.symbolic.memory.content import combines
from verifier.symbolic.memory.events import StagesShared
from verifier.symbolic.memory.stages import stage_of
from verifier.symbolic.tensors import Storage, View
from verifier.symbolic.trace import Operation

if TYPE_CHECKING:
    from verifier.executor.machine import ConcreteMachine


class LaneOperands:
    """:class:`verifier.executor.semantics.tpu.base.LaneIO` over lanes and buffers."""

    __slots__ = ("machine", "operation", "regions")

    def __init__(
        self, machine: ConcreteMachine, operation: Operation, regions: dict[str, Region]
    ) -> None:
        self.machine = machine
        self.operation = operation
        self.regions = regions

    @property
    def chip(self) -> Chip:
        return self.machine.chip

    def has(self, role: str) -> bool:
        return role in self.regions or self.operation.value(role) is not None

    def is_tensor(self, role: str) -> bool:
        return role in self.regions

    def value(self, role: str) -> Any:
        return plain(self.operation.value(role))

    def address(self, role: str) -> int:
        value = plain(self.operation.value(role))
        assert isinstance(value, int)
        return value

    def read(self, role: str) -> Array:
        found = self.regions[role]
        return found.memory.read(found.place, found.kind)

    def write(self, role: str, array: Array) -> None:
        found = self.regions[role]
        found.memory.write(found.place, _as(np.asarray(array), found.kind))

    def shape(self, role: str) -> Quad:
        return self.regions[role].place.shape

    def dtype(self, role: str) -> str:
        return self.regions[role].dtype

    def _at(
        self, role: str, shape: Quad, strides: Quad, dtype: str, offset: int, lane: int
    ) -> Region:
        value = self.operation.value(role)
        size = NUMPY[dtype].itemsize
        if isinstance(value, SystemAddress):
            memory, start = system_bytes(value)
            return Region(memory, system_place(start + offset, shape, strides, size), dtype)
        chip = self.machine.chip
        address = self.address(role) + lane * chip.local_bytes + offset
        place = local_place(chip.lanes, chip.local_bytes, address, shape, strides, size)
        return Region(local_memory(self.machine), place, dtype)

    def read_as(
        self, role: str, shape: Quad, strides: Quad, dtype: str, *, offset: int = 0, lane: int = 0
    ) -> Array:
        found = self._at(role, shape, strides, dtype, offset, lane)
        return found.memory.read(found.place, found.kind)

    def write_as(
        self,
        role: str,
        array: Array,
        strides: Quad,
        dtype: str,
        *,
        offset: int = 0,
        lane: int = 0,
    ) -> None:
        n, c, h, w = array.shape
        found = self._at(role, (n, c, h, w), strides, dtype, offset, lane)
        found.memory.write(found.place, _as(array, found.kind))


def _as(array: Array, kind: np.dtype[Any]) -> Array:
    """Bits of one type as another of the same size."""
    return array if array.dtype == kind else array.view(kind)


# ------------------------------------------------------------------------ one operation


def execute(machine: ConcreteMachine, operation: Operation) -> None:
    """Check what an operation reads, compute it, and note what it wrote.

    Raises:
        UnsupportedError: an operand lies outside of memory.
        SemanticsMissing: the operation has no meaning here.
    """
    machine.performed += 1
    pipelines = machine.state.get("pipelines")
    if isinstance(pipelines, Pipelines):
        pipelines.passed(operation.span)
    instruction = operation.instruction
    if operation.engine is Engine.CONTROL and instruction is not None:
        if Trait.PIPELINES in instruction.traits:
            known = machine.state.setdefault("pipelines", Pipelines())
            assert isinstance(known, Pipelines)
            known.mark(operation.span)
        barrier = machine.state.get("barrier")
        if instruction.waits and callable(barrier):
            machine.state["waits at"] = operation.span
            machine.program.waited += 1
            barrier()
        return
    try:
        used = list(_used(machine, operation))
        spoilt = _before(machine, operation, used)
        shared = _parts_of(operation, used) if several(machine.program) else []
        held = _stores(machine).before(shared) if shared else []
        if machine.options.shapes_only:
            for each in used:
                for memory, place in each.parts if each.writes else ():
                    memory.mark(_there(machine, memory, place))
        else:
            function = MEANINGS.get(operation.name)
            if function is None:
                raise SemanticsMissing(operation.name)
            regions = {each.role: each.region for each in used}
            _computed(function, operation, LaneOperands(machine, operation, regions))
        if shared:
            _stores(machine).after(machine.program, operation, shared, held)
        _destroyed(machine, used)
        spoilt.mark()
    except OutsideError as error:
        if _reported(machine):
            return
        raise UnsupportedError(
            f"`{operation.call_text}` reaches outside of memory: {error}", operation.span
        ) from None


def _stores(machine: ConcreteMachine) -> Stores:
    """What the cores of a launch have stored to memory that they share."""
    shared = machine.state.setdefault("shared", {})
    assert isinstance(shared, dict)
    found = shared.setdefault("stores", Stores(machine.meet, not machine.options.shapes_only))
    assert isinstance(found, Stores)
    return found


def _parts_of(operation: Operation, used: list[Used]) -> list[Part]:
    """The operands of an operation of one of several cores."""
    found = []
    for each in used:
        view = operation.view(each.role)
        shared = view is not None and not view.buffer.on_chip
        name = view.storage.name if view is not None else each.role
        span = operation.span_of(each.role)
        found += [
            Part(each.role, name, memory, place, span, each.reads, each.writes, shared)
            for memory, place in each.parts
        ]
    return found


def _computed(function: Function, operation: Operation, operands: LaneOperands) -> None:
    """Do what an operation means.

    Raises:
        UnsupportedError: it means nothing for operands of these shapes and types.
    """
    try:
        function(operation, operands)
    except (ValueError, TypeError, IndexError, KeyError) as error:
        name = operation.name
        raise UnsupportedError(
            f"{name} has no meaning for these operands ({error})", operation.span
        ) from None


def _before(machine: ConcreteMachine, operation: Operation, used: list[Used]) -> Spoilt:
    """Note who writes where, and report what is read, means nothing and decides something."""
    _share(machine, operation, used)
    reads = {}
    for each in used:
        if each.writes:
            each.region.memory.writer = operation.span_of(each.role)
        if each.reads:
            parts = [(memory, _there(machine, memory, place)) for memory, place in each.parts]
            for memory, place in parts:
                memory.take(place)
            reads[each.role] = parts
    return follow(machine, operation, used, reads)


def _share(machine: ConcreteMachine, operation: Operation, used: list[Used]) -> None:
    """Note what a core does to memory that others see."""
    races, core = machine.state.get("races"), machine.state.get("core")
    if not isinstance(races, Races) or not isinstance(core, int):
        return
    for each in used:
        view = operation.view(each.role)
        if view is None or view.buffer.on_chip:
            continue
        span = operation.span if each.writes else operation.span_of(each.role)
        adds = combines(operation) if each.writes else ""
        access = Access(core, view.name, span, adds)
        for memory, place in each.parts:
            if each.reads:
                races.read(access, memory, place)
            if each.writes:
                races.write(access, memory, place)


def _reported(machine: ConcreteMachine) -> bool:
    """Whether what reaches outside of a memory was reported: there are no bytes to go wrong."""
    return machine.options.shapes_only and not machine.clean


def _destroyed(machine: ConcreteMachine, used: list[Used]) -> None:
    """Work tensors mean nothing any more; a result that lies over one is its own fault."""
    for each in used:
        for memory, place in each.parts if each.destroys else ():
            memory.unmark(_there(machine, memory, place))
    if any(each.destroys for each in used):
        for each in used:
            for memory, place in each.parts if each.writes and not each.destroys else ():
                memory.mark(_there(machine, memory, place))


def _there(machine: ConcreteMachine, memory: ByteMemory, place: Place) -> Place:
    """The elements of a place; where it was reported that it reaches outside: those inside."""
    if memory.inside(place) or not _reported(machine):
        return place
    return inside(place, memory.size)


def _lives(operation: Operation, storage: Storage, writes: bool) -> None:
    if isinstance(storage, BufferStorage) and storage.buffer in (Buffer.LOCAL, Buffer.L2):
        storage.life.used(operation.order, stage_of(operation.engine, writes=writes))


def _handed(
    machine: ConcreteMachine, operation: Operation, role: str, storage: Storage, writes: bool
) -> None:
    """Tell of a tensor that the stages of a pipelined loop share."""
    pipelines = machine.state.get("pipelines")
    if not isinstance(pipelines, Pipelines) or storage.buffer is not Buffer.LOCAL:
        return
    span = operation.span_of(role)
    found = pipelines.used(storage.id, storage.span, operation.engine, span, writes=writes)
    if found is not None and found.shared:
        machine.meet(StagesShared(storage.name, storage.span, found.span))


def _used(machine: ConcreteMachine, operation: Operation) -> Iterator[Used]:
    for touch in operation.touches:
        found = region(machine, touch.tensor)
        yield Used(
            touch.role,
            found,
            list(parts(machine, operation, touch)),
            touch.reads,
            touch.writes,
            touch.destroys,
        )
    views = {**dict(operation.reads), **dict(operation.writes)}
    for role, accessed in views.items():
        view = operation.view(role) or accessed
        found = view_region(machine, view)
        writes = any(name == role for name, _ in operation.writes)
        _lives(operation, view.storage, writes)
        reads = any(name == role for name, _ in operation.reads)
        reads = reads or (writes and operation.effect is Effect.ADDS)
        _handed(machine, operation, role, view.storage, writes)
        # of a source that is larger than what is made of it, only so much is used
        part = view_region(machine, _within_frame(accessed if view.exact else view))
        yield Used(role, found, [(part.memory, part.place)], reads, writes)


def _within_frame(view: View) -> View:
    """The elements of a view that its tensor has: that it leaves the tensor is a fault of its own.

    As it is where its dimensions do not go along with axes of it, one by one.
    """
    if not view.exact or view.strides is not None or len(view.axes) != len(view.coords):
        return view
    axes = []
    for axis, coord, extent in zip(view.axes, view.coords, view.frame, strict=True):
        if coord - axis.index is not E.const(coord.const) or not extent.is_const:
            return view
        left = max(0, extent.const - coord.const)
        axes.append(replace(axis, size=E.const(min(number(axis.size), left))))
    return replace(view, axes=tuple(axes))
