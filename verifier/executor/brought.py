"""What loads and products leave in tiles: whether it is read before it is gone, and whether more is
read than was brought last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verifier.executor.contents import SUM
from verifier.executor.flow import Steps
from verifier.executor.memory import Bound
from verifier.executor.products import Brought, Products
from verifier.executor.regions import Gather, Geometry
from verifier.hardware.memories import Buffer
from verifier.symbolic.memory.events import Overwritten, Rested
from verifier.symbolic.tensors import StorageKind
from verifier.symbolic.trace import Operation

if TYPE_CHECKING:
    from verifier.executor.machine import ConcreteMachine


def note_reads(machine: ConcreteMachine, steps: Steps, bounds: dict[str, Bound]) -> None:
    """Tiles are about to be read."""
    for role in steps.consumed:
        found = bounds[role]
        found.memory.content.use(found.place)
        if found.memory.products is not None:
            found.memory.products.read(found.place)
    for role in steps.tiles_read:
        memory, place = bounds[role].memory, bounds[role].place
        if memory.products is not None:
            memory.products.read(place)
        last = memory.brought
        if last is not None and last.operation is not None and last.rests(place):
            span = steps.operation.span_of(role)
            machine.meet(Rested(memory.storage, last.operation, span, last.loaded))


def note_writes(machine: ConcreteMachine, steps: Steps, bounds: dict[str, Bound]) -> None:
    """Tiles were written."""
    for role in steps.started:
        _check_lost(machine, steps, bounds[role])
        _started(bounds[role], steps)
    for role in steps.tiles_written:
        found = bounds[role]
        if not steps.operation.adds:
            _check_lost(machine, steps, found)
        source = bounds.get(steps.moves) if steps.moves else None
        if source is not None and _is_loaded(source):
            found.memory.products = found.memory.products or Products(found.memory)
            found.memory.products.made(steps.operation, found.place)
            _bring(found, steps.operation, loaded=True)
        elif any(bounds[read].memory is found.memory for read in steps.tiles_read):
            continue
        elif steps.reads and not steps.operation.adds:
            _bring(found, steps.operation, loaded=False)
        elif found.memory.brought is not None:
            found.memory.brought.fill(found.place)


def _check_lost(machine: ConcreteMachine, steps: Steps, found: Bound) -> None:
    """What a write overwrites: the last of products and loads that nothing has read."""
    products = found.memory.products
    for made in products.overwritten(found.place) if products is not None and steps.resets else ():
        machine.meet(Overwritten(made, found.memory.storage, steps.operation.span))


def _started(found: Bound, steps: Steps) -> None:
    memory = found.memory
    if steps.tensor:
        memory.products = memory.products or Products(memory)
        memory.products.made(steps.operation, found.place)
    if not steps.tensor:
        memory.writer = steps.operation.name.rpartition(".")[2]
        memory.content.put(found.place, steps.holds)
    elif steps.resets:
        memory.content.put(found.place, SUM)
    else:
        memory.content.add(found.place)


def _is_loaded(source: Bound) -> bool:
    """Whether what is moved comes from off chip, or is the value that a load has made."""
    template = source.memory.template
    if not template.on_chip:
        return True
    made = template.kind is StorageKind.RESULT and template.buffer is Buffer.SBUF
    return made and source.memory.brought is not None and source.memory.brought.loaded


def _bring(found: Bound, operation: Operation, *, loaded: bool) -> None:
    memory, place = found.memory, found.place
    last, ends = memory.brought, _ends(place)
    if last is None or not any(a == b for a, b in zip(last.ends, ends, strict=True)):
        last = memory.brought = Brought(memory)
    last.bring(operation, place, ends, loaded=loaded)


def _ends(place: Geometry | Gather) -> tuple[int, int]:
    """The first element and the last one."""
    if isinstance(place, Geometry):
        steps = zip(place.shape, place.strides, strict=True)
        return place.offset, place.offset + sum((size - 1) * stride for size, stride in steps)
    chosen = place.positions if place.mask is None else place.positions[place.mask]
    return (int(chosen.flat[0]), int(chosen.flat[-1])) if chosen.size else (0, 0)


__all__ = ["note_reads", "note_writes"]
