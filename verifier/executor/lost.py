"""What a TPU makes of elements in its lanes that mean nothing.

An element is defined if it was written, with what is defined. What is not may be moved and computed
upon: then the result is not defined, and remembers a read of what was not. What is read and decides
something is the fault: :mod:`verifier.executor.flow` has the same policy for tiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from verifier.executor.footprints import Route, holds, route_to
from verifier.executor.lanes import ByteMemory, Bytes, Place, Quad
from verifier.executor.races import Races
from verifier.executor.reasons import Reasons
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.effects import Decides, Reads
from verifier.symbolic.memory.deciding import Taken, taken
from verifier.symbolic.memory.events import UndefinedLanes
from verifier.symbolic.trace import Operation

if TYPE_CHECKING:
    from verifier.executor.machine import ConcreteMachine
    from verifier.executor.tpu import Region

#: sets of first reads that are told apart; later ones count as the last of these
_MOST: Final = 255


class Used(Struct):
    """A tensor operand, and the parts of it that an operation uses."""

    role: str
    region: Region
    parts: list[tuple[ByteMemory, Place]]
    reads: bool
    writes: bool
    destroys: bool = False


class _First(Struct, frozen=True, eq=False):
    """A first read of elements that mean nothing, as in :class:`UndefinedLanes`.

    ``shared``: other cores see them, too.
    """

    operation: Operation
    role: str
    partly: bool
    spoiled: bool
    shared: bool


class Origins(Reasons[_First]):
    """The first reads of a run."""

    __slots__ = ("_firsts",)

    def __init__(self) -> None:
        super().__init__(_MOST)
        self._firsts: dict[tuple[Span, str], _First] = {}

    def first(self, read: _First) -> int:
        """The number of a read; those of one operand in a loop are one."""
        return self.number(self._firsts.setdefault((read.operation.span, read.role), read))

    def meet(self, machine: ConcreteMachine, lost: Bytes, operation: Operation, why: str) -> None:
        """An operation hangs on what is lost."""
        races = machine.state.get("races")
        for first in (first for number in np.unique(lost) for first in self.of(int(number))):
            event = UndefinedLanes(
                first.operation, first.role, first.partly, first.spoiled, operation.span, why
            )
            if first.shared and isinstance(races, Races):
                races.early(first.operation.span_of(first.role), event)
            else:
                machine.meet(event)


def _origins(machine: ConcreteMachine) -> Origins:
    found = machine.state.setdefault("first reads", Origins())
    assert isinstance(found, Origins)
    return found


class Spoilt(Struct):
    """What of the results of an operation means nothing."""

    origins: Origins
    by_role: dict[str, tuple[Used, Bytes]] = field(default_factory=dict)

    def add(self, target: Used, lost: Bytes) -> None:
        _, known = self.by_role.get(target.role, (target, lost))
        self.by_role[target.role] = target, self.origins.both(known, lost)

    def mark(self) -> None:
        """Note it, once the operation was done."""
        for target, lost in self.by_role.values():
            target.region.memory.spoil(target.region.place, lost)


def follow(
    machine: ConcreteMachine,
    operation: Operation,
    used: Sequence[Used],
    reads: Mapping[str, Sequence[tuple[ByteMemory, Place]]],
) -> Spoilt:
    """What becomes of what is read and means nothing; ``reads``: the parts that lie in memory."""
    roles = {each.role: each for each in used}
    origins = _origins(machine)
    out = Spoilt(origins)
    for role, parts in reads.items():
        if all(memory.written(place) for memory, place in parts):
            continue
        new = origins.first(_first(machine, operation, role, parts))
        fates = _fates(operation, role, roles)
        for memory, place in parts:
            lost = memory.undefined(place, new)
            for fate in fates:
                why, route = fate.why, _route(fate.entry, operation, place.shape, roles)
                sure = route is None or route.part.sure
                if not sure and not bool(lost.all()):
                    continue  # what is undefined may not be what is taken
                gone = lost if route is None else route.part.of(lost)
                if why or route is None:
                    origins.meet(machine, gone, operation, why)
                elif route.index is None and sure:
                    origins.meet(machine, gone, operation, route.why)
                else:
                    target = roles[route.to]
                    out.add(target, _carried(origins, gone, route, target.region.place.shape))
    return out


def _route(
    entry: Reads | None, operation: Operation, shape: Quad, roles: Mapping[str, Used]
) -> Route | None:
    """What becomes of what is read, if the description says it."""
    if entry is None:
        return None
    if isinstance(entry.fate, Decides):
        return route_to(entry, operation, shape, ())
    route = route_to(entry, operation, shape, roles[entry.fate.to].region.place.shape)
    if entry.fate.fits(operation) is E.FALSE:
        # of operands whose sizes do not go together something else is said
        return replace(route, part=replace(route.part, sure=False), index=None)
    return route


def _carried(origins: Origins, lost: Bytes, route: Route, shape: Quad) -> Bytes:
    """By which reads the elements of a result of that shape are undefined."""
    if route.index is None:
        return np.full(shape, lost.max(initial=0), np.uint8)
    lost = route.through_windows(lost)
    if route.folded:
        lost = origins.line(lost, route.folded)
    if lost.size == 0:
        return np.zeros(shape, np.uint8)
    # that an operand leaves its tensor is a fault of its own
    sizes = lost.shape
    there = [(np.asarray(at) < size) for at, size in zip(route.index, sizes, strict=True)]
    at = tuple(np.minimum(at, size - 1) for at, size in zip(route.index, sizes, strict=True))
    within = there[0]
    for each in there[1:]:
        within = within & each
    return np.broadcast_to(np.where(within, lost[at], 0).astype(np.uint8), shape)


def _first(
    machine: ConcreteMachine,
    operation: Operation,
    role: str,
    parts: Sequence[tuple[ByteMemory, Place]],
) -> _First:
    partly = any(memory.any_written(place) for memory, place in parts)
    spoiled = any(memory.spoiled for memory, _ in parts)
    view = operation.view(role)
    shared = view is not None and view.buffer is Buffer.L2
    return _First(operation, role, partly, spoiled, shared)


def _fates(operation: Operation, role: str, roles: Mapping[str, Used]) -> list[Taken]:
    """What becomes of what is read."""

    def sees(to: str) -> bool | None:
        target = roles.get(to)
        if target is None or len(target.parts) > 1:
            return None
        return target.region.memory.full

    return [*taken(operation, role, sees, lambda entry: holds(entry.when, operation))]
