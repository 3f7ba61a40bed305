"""Footprints on numbers: which elements of an operand an operation reads and writes, and what goes
where. For operands of one layout the answers are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from verifier.executor.access import NotConcreteError, truth, value
from verifier.executor.memory import Bound
from verifier.hardware.capabilities import Capability
from verifier.hardware.engines import Engine
from verifier.symbolic import expr as E
from verifier.symbolic.effects import (
    ACCUMULATORS,
    Among,
    Carried,
    Decides,
    Index,
    Line,
    Reads,
    When,
    Where,
    Writes,
)
from verifier.symbolic.expr import Expr
from verifier.symbolic.memory.deciding import undescribed
from verifier.symbolic.roles import INDEX
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation

#: for each element, the number of the read that it is undefined by, or 0
Lost = NDArray[np.int32]
Mask = NDArray[np.bool_]


class _Call(Struct, frozen=True):
    """An operation, seen by a description whose operand is one of a list of tensors."""

    operation: Operation
    role: str
    item: View

    @property
    def api(self) -> str:
        return self.operation.api

    @property
    def engine(self) -> Engine:
        return self.operation.engine

    def has(self, capability: Capability) -> bool:
        return self.operation.has(capability)

    def view(self, role: str) -> View | None:
        return self.item if role == self.role else self.operation.view(role)

    def value(self, role: str) -> object:
        return self.operation.value(role)


class Part(Struct, frozen=True):
    """A part of an operand. ``mask`` None: all; ``sure`` False: at most these elements."""

    mask: Mask | None
    sure: bool

    def of(self, lost: NDArray[Any]) -> NDArray[Any]:
        return lost if self.mask is None else np.where(self.mask, lost, 0)


_WHOLE: Final = Part(None, True)


class Route(Struct, frozen=True):
    """What becomes of what is read of an operand, on operands of one layout.

    ``index``: for the elements of the operand ``to``, the coordinates of what goes into them, 0
    along the axes ``folded``; None: not known. ``moved``: as they are. ``why``: of a read that
    decides; of a folded one: why an undefined part of a line does. ``prefix``: each with what
    streams by before it. ``windows``: by axis, which places of the operand go into one of the
    result together.
    """

    part: Part
    why: str
    to: str = ""
    index: tuple[Any, ...] | None = None
    folded: tuple[int, ...] = ()
    moved: bool = False
    prefix: bool = False
    windows: tuple[tuple[int, Mask], ...] = ()

    def through_windows(self, lost: NDArray[Any]) -> NDArray[Any]:
        """What is lost of the operand, by the places of the result along the axes of windows."""
        for axis, mask in self.windows:
            made = [lost.compress(row, axis).max(axis, initial=0) for row in mask]
            shape = (*lost.shape[:axis], 0, *lost.shape[axis + 1 :])
            lost = np.stack(made, axis) if made else np.zeros(shape, lost.dtype)
        return lost


# ------------------------------------------------------------------------ footprints on numbers


def _axes(shape: tuple[int, ...]) -> tuple[tuple[Expr, ...], dict[str, Any]]:
    """Symbols for the coordinates of an element, and the numbers that they go through."""
    symbols = tuple(E.symbol(f"@axis{k}", 0, origin=E.Origin.AXIS) for k in range(len(shape)))
    numbers: dict[str, Any] = {}
    for k, size in enumerate(shape):
        along = [1] * len(shape)
        along[k] = size
        numbers[f"@axis{k}"] = np.arange(size, dtype=np.int64).reshape(along)
    return symbols, numbers


def holds(when: When, operation: Operation) -> bool:
    return when.holds(operation) is not E.FALSE


def part_of(where: Where, call: Operation | _Call, shape: tuple[int, ...]) -> Part:
    """A region on an operand of that shape."""
    index, numbers = _axes(shape)
    found = where.holds(call, index)
    if found is None:
        return Part(None, False)
    if found is E.TRUE:
        return Part(None, where.exact)
    try:
        mask = np.broadcast_to(np.asarray(truth(found, numbers), np.bool_), shape)
    except (NotConcreteError, KeyError):
        return Part(None, False)
    return Part(mask, where.exact)


def _numbers(line: Index | Line | None, numbers: dict[str, Any]) -> tuple[Any, ...] | None:
    if line is None:
        return None
    try:
        return tuple(0 if at is None else value(at, numbers) for at in line)
    except (NotConcreteError, KeyError):
        return None


def route_to(
    read: Reads, call: Operation | _Call, shape: tuple[int, ...], target: tuple[int, ...]
) -> Route:
    """The route of an operand of the one shape to one of the other."""
    part = part_of(read.where, call, shape)
    fate = read.fate
    if isinstance(fate, Decides):
        return Route(part, fate.why)
    index, numbers = _axes(target)
    if isinstance(fate, Carried):
        found = _numbers(fate.source(call, index), numbers)
        why = "which element of it is taken is not known"
        return Route(part, why, fate.to, found, moved=fate.moved)
    line = fate.line(call, index)
    folded = () if line is None else tuple(k for k, at in enumerate(line) if at is None)
    found = _numbers(line, numbers)
    windows: tuple[tuple[int, Mask], ...] | None = ()
    if found is not None and fate.among is not None:
        windows = _windows(fate.among, call, folded, shape, target)
        own = [numbers[f"@axis{k}"] if k in folded else at for k, at in enumerate(found)]
        found, folded = (None if windows is None else tuple(own)), ()
    why = "it is put together with others" if fate.kept or found is None else ""
    return Route(part, why, fate.to, found, folded, prefix=fate.prefix, windows=windows or ())


def _windows(
    among: Among,
    call: Operation | _Call,
    axes: tuple[int, ...],
    shape: tuple[int, ...],
    target: tuple[int, ...],
) -> tuple[tuple[int, Mask], ...] | None:
    own, made = (E.symbol(name, 0, origin=E.Origin.AXIS) for name in ("@own", "@made"))
    found: list[tuple[int, Mask]] = []
    for axis in axes:
        joins = among(call, axis, own, made)
        numbers = {"@own": np.arange(shape[axis]), "@made": np.arange(target[axis])[:, None]}
        try:
            mask = None if joins is None else np.asarray(truth(joins, numbers), np.bool_)
        except (NotConcreteError, KeyError):
            mask = None
        if mask is None:
            return None
        found.append((axis, np.broadcast_to(mask, (target[axis], shape[axis]))))
    return tuple(found)


def routes_of(operation: Operation, bounds: Mapping[str, Bound], role: str) -> list[Route]:
    """What becomes of an operand."""
    instruction = operation.instruction
    if instruction is None or INDEX in role:
        return [Route(_WHOLE, undescribed(role))]
    base, item, _ = role.partition("[")
    call: Operation | _Call = operation
    if item:
        view = bounds[role].view
        call = operation if view is None else _Call(operation, base, view)
    shape = bounds[role].place.shape
    registers = instruction.footprint.accumulators
    found: list[Route] = []
    for read in instruction.footprint.reads_of(role):
        if not holds(read.when, operation):
            continue
        if isinstance(read.fate, Decides):
            found.append(route_to(read, call, shape, ()))
            continue
        if read.fate.to in bounds:
            found.append(route_to(read, call, shape, bounds[read.fate.to].place.shape))
        if registers is not None and registers.takes(operation, read):
            lanes = bounds[registers.lanes].place.shape[:1]
            route = route_to(read, call, shape, lanes or (1,))
            found.append(replace(route, to=ACCUMULATORS, why="", moved=False))
    if not found and instruction.footprint.writes_of(role):
        # what is added to
        index, numbers = _axes(bounds[role].place.shape)
        found = [Route(_WHOLE, "", role, _numbers(index, numbers))]
    return found


def written_part(operation: Operation, bounds: Mapping[str, Bound], role: str) -> Part:
    """What of an operand is written."""
    instruction = operation.instruction
    writes: list[Writes] = (
        []
        if instruction is None
        else [
            write for write in instruction.footprint.writes_of(role) if holds(write.when, operation)
        ]
    )
    if len(writes) != 1 or "[" in role:
        return _WHOLE
    return part_of(writes[0].where, operation, bounds[role].place.shape)


def replaced(operation: Operation, role: str, bound: Bound) -> bool:
    """Whether an operation leaves nothing of what a tensor held that it writes."""
    instruction, place = operation.instruction, bound.place
    if instruction is None or operation.adds or place != bound.memory.template.whole:
        return False
    index, _ = _axes(place.shape)
    return any(
        write.when.holds(operation) is E.TRUE
        and write.where.holds(operation, index) is E.TRUE
        and write.where.exact
        and not write.keeps
        for write in instruction.footprint.writes_of(role)
    )


def copied(operation: Operation, bounds: Mapping[str, Bound]) -> str | None:
    """The operand that goes into ``dst`` as it is, if that is all that an operation does."""
    instruction = operation.instruction
    if instruction is None or instruction.footprint.orders:
        return None
    reads = [
        r for r in instruction.footprint.reads if r.role in bounds and holds(r.when, operation)
    ]
    writes = [w for w in instruction.footprint.writes if holds(w.when, operation)]
    if len(reads) != 1 or len(writes) != 1 or bounds.keys() != {reads[0].role, "dst"}:
        return None
    (read,), (write,) = reads, writes
    shape = bounds["dst"].place.shape
    index, _ = _axes(shape)
    fate = read.fate
    if not isinstance(fate, Carried) or not fate.moved or operation.adds:
        return None
    if read.where.holds(operation, index) is not E.TRUE or not read.where.exact:
        return None
    if write.where.holds(operation, index) is not E.TRUE or not write.where.exact:
        return None
    source = fate.source(operation, index)
    same = (
        source is not None
        and len(source) == len(shape)
        and all(size == 1 or at is own for size, at, own in zip(shape, source, index, strict=True))
    )
    return read.role if same else None
