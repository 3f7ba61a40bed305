"""What an operation makes of elements that mean nothing.

An element is defined if it was written, with what is defined. What is not may be moved and computed
upon: the result is not defined then, and remembers the first read of what was not. A read that
decides something by it is the fault. Footprints are evaluated when the first undefined element is
met, once for operands of one layout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct, field

from verifier.executor.contents import SUM
from verifier.executor.footprints import Lost, Mask, Part, Route, routes_of, written_part
from verifier.executor.memory import Bound, Memory
from verifier.executor.reasons import Reasons
from verifier.executor.regions import Gather, Geometry
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic.effects import ACCUMULATORS, AccumulatorFile
from verifier.symbolic.memory.content import stored_to
from verifier.symbolic.memory.events import Origin, UndefinedRead
from verifier.symbolic.roles import INDEX
from verifier.symbolic.tensors import StorageKind
from verifier.symbolic.trace import Operation

#: computes the operation on these operands; False: nothing was done, the semantics have to
Direct: TypeAlias = Callable[[Mapping[str, Bound]], bool]


#: moves numbers instead of the elements of an operand, as an operation moves these: where they
#: come to in another operand, if that can be told
Moves: TypeAlias = Callable[[str, Lost, str], "Lost | None"]
#: whether another program instance may yet write what is read there
Postponed: TypeAlias = Callable[[Bound, Origin], bool]


class Origins(Reasons[Origin]):
    """The first reads of what is not defined, and what hangs on them."""

    __slots__ = ("_meet", "_stored")

    def __init__(self, meet: Callable[[object], bool]) -> None:
        super().__init__()
        self._meet = meet
        #: tensors of the caller's, and where something that these reads make undefined was stored
        self._stored: dict[int, tuple[Memory, dict[Origin, Span]]] = {}

    def blame(self, lost: Lost, use: Span, why: str) -> None:
        """Something hangs on elements that are undefined by these reads."""
        for number in np.unique(lost):
            for origin in self.of(int(number)):
                self._meet(UndefinedRead(origin, use, why))

    def keep(self, memory: Memory, lost: Lost, use: Span) -> None:
        """Elements that are undefined by these reads are stored; they may yet be overwritten."""
        _, uses = self._stored.setdefault(id(memory), (memory, {}))
        for number in np.unique(lost[lost > 0]):
            for origin in self.of(int(number)):
                uses.setdefault(origin, use)

    def told(self, memory: Memory) -> bool:
        """Whether :meth:`ended` says what is undefined in a tensor."""
        return id(memory) in self._stored

    def ended(self) -> None:
        """What was stored and is there at the end counts."""
        for memory, uses in self._stored.values():
            whole = memory.template.whole
            lost = np.where(memory.undefined(whole), memory.reads(whole), 0)
            why = stored_to(memory.name)
            for number in np.unique(lost[lost > 0]):
                for origin in self.of(int(number)):
                    if origin in uses:
                        self._meet(UndefinedRead(origin, uses[origin], why))

    def decided(self, operation: Operation, role: str, found: Bound, why: str) -> None:
        """A read of which nothing may be undefined."""
        memory = found.memory
        missing = memory.undefined(found.place)
        reads = np.where(missing, memory.reads(found.place), 0)
        self.blame(reads, operation.span, why)
        if bool((missing & (reads == 0)).any()):
            origin = first_read(memory, operation.span_of(role))
            self._meet(UndefinedRead(origin, operation.span, why))


def first_read(memory: Memory, span: Span) -> Origin:
    """A read of a tensor that was not written, or not everywhere."""
    partly = memory.bits is not None and bool(memory.bits.any())
    return Origin(memory.name, memory.span, span, partly)


class Steps(Struct):
    """What running an operation takes, as far as the templates of its tensors settle it."""

    operation: Operation
    #: roles: what is read and what is written
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    #: roles on chip, in the order in which they are used
    used: tuple[str, ...]
    #: roles in PSUM: what is read, what is written, and of that what the protocol of sums governs
    consumed: tuple[str, ...]
    started: tuple[str, ...]
    sums: tuple[str, ...]
    #: of Beta 1: the sum in PSUM that the first term overwrites
    own_sum: str | None
    #: sums that are gone on with, and whether they say themselves where they begin
    kept: tuple[tuple[str, bool], ...]
    #: whether the Tensor Engine writes, and whether that begins a sum; what others leave in PSUM
    tensor: bool
    resets: bool
    holds: int
    #: operands that name other cores: of what does nothing but to wait for them, and of an exchange
    waits: tuple[str, ...]
    joins: tuple[str, ...]
    #: the operand whose tensor the cores then have in order; empty: all
    ordered: str
    #: accumulators that outlive it
    accumulators: AccumulatorFile | None
    #: roles in SBUF: what is read, and what is written; and what is passed on as it is
    tiles_read: tuple[str, ...]
    tiles_written: tuple[str, ...]
    moves: str
    #: roles of tensors of the caller's: what is read, and what is written
    taken: tuple[str, ...]
    given: tuple[str, ...]
    #: constants, as the semantics asked for them
    values: dict[str, Any] = field(default_factory=dict)
    #: how a plan computes it, where that takes no more than one call of NumPy
    direct: Direct | None = None
    #: what becomes of the operands, and which part of them is written, as that was asked for
    routes: dict[str, list[Route]] = field(default_factory=dict)
    parts: dict[str, Part] = field(default_factory=dict)
    #: contents of PSUM that it may be added to
    fine: set[int] = field(default_factory=set)

    def written(self, bounds: Mapping[str, Bound], role: str) -> Part:
        """The part of an operand that is written."""
        found = self.parts.get(role)
        if found is None:
            found = self.parts[role] = written_part(self.operation, bounds, role)
        return found


class Flow:
    """What one operation makes undefined: collected before it runs, noted down after."""

    __slots__ = ("_bounds", "_lost", "_moves", "_origins", "_postponed", "_steps")

    def __init__(
        self,
        origins: Origins,
        postponed: Postponed,
        moves: Moves,
        steps: Steps,
        bounds: Mapping[str, Bound],
    ) -> None:
        self._origins = origins
        self._postponed = postponed
        self._moves = moves
        self._steps = steps
        self._bounds = bounds
        self._lost: dict[str, Lost] = {}

    def read(self, role: str) -> None:
        """An operand is read of which something may be undefined."""
        found = self._bounds[role]
        missing = found.memory.undefined(found.place)
        if not bool(missing.any()):
            return
        lost = self._reads(role, missing)
        for route in self._routes(role):
            part = route.part.of(lost)
            if not bool(part.any()):
                continue
            whole = bool(missing.sum() == _taking_part(found.place))
            moved = None
            if route.moved and route.index is None and not whole:
                moved = self._moves(role, part, route.to)
            if moved is not None:
                self._carry(route.to, moved, _leaves(self._bounds[route.to].memory))
            elif route.part.sure or whole:
                self._follow(role, route, part, whole)
            elif (taken := self._taken(role, route, part)) is not None:
                self._carry(route.to, taken, _leaves(self._bounds[route.to].memory))

    def keep(self, role: str, begun: bool) -> None:
        """A sum is gone on with; ``begun``: it says itself where it begins."""
        found = self._bounds[role]
        memory, place = found.memory, found.place
        lost = np.where(memory.undefined(place), memory.reads(place), 0)
        if begun:
            lost = np.where(memory.content.at(place) >= SUM, lost, 0)
        self._add(role, lost)

    def traded(self, role: str, exchange: Callable[[Lost], Lost]) -> None:
        """What is written comes from another core, to which this one sends as much."""
        shape = self._bounds[role].place.shape
        sent = self._lost.get(role, np.zeros(shape, np.int32))
        self._lost[role] = exchange(sent).reshape(shape)

    def done(self) -> None:
        """The operation has written what it writes."""
        spoiled: set[int] = set()
        for role in self._steps.writes:
            found = self._bounds[role]
            part = self._steps.written(self._bounds, role)
            lost = self._lost.get(role)
            if lost is None:
                place = found.place
                if (
                    part.mask is None
                    and isinstance(place, Geometry)
                    and id(found.memory) in spoiled
                ):
                    found.memory.mark(place)  # what is written last stands
                continue
            spoiled.add(id(found.memory))
            lost = part.of(lost)
            if isinstance(found.place, Gather) and found.place.mask is not None:
                lost = np.where(found.place.mask, lost, 0)
            found.memory.lose(found.place, lost)

    # -- the reads of undefined elements ------------------------------------------------

    def _routes(self, role: str) -> list[Route]:
        routes = self._steps.routes
        if role not in routes:
            routes[role] = routes_of(self._steps.operation, self._bounds, role)
        return routes[role]

    def _reads(self, role: str, missing: Mask) -> Lost:
        found = self._bounds[role]
        lost = np.where(missing, found.memory.reads(found.place), 0)
        new = missing & (lost == 0)
        if role != self._steps.own_sum and bool(new.any()):
            span = self._steps.operation.span_of(role.partition(INDEX)[0].partition("[")[0])
            origin = first_read(found.memory, span)
            if not self._postponed(found, origin):
                lost = np.where(new, self._origins.number(origin), lost)
        return lost.astype(np.int32)

    def _taken(self, role: str, route: Route, part: Lost) -> Lost | None:
        """What of a part is taken that the data say: where the result is another one without it;
        None: that cannot be told."""
        if route.index is None or route.folded or route.to not in self._bounds:
            return None
        part = part.astype(np.int32)
        found = [self._moves(role, given, route.to) for given in (part, np.zeros_like(part))]
        if found[0] is None or found[1] is None:
            return None
        shape = self._bounds[route.to].place.shape
        there = np.broadcast_to(route.through_windows(part)[route.index], shape)
        lost: Lost = np.where((found[0] != found[1]).reshape(shape), there, 0).astype(np.int32)
        return lost

    def _follow(self, role: str, route: Route, part: Lost, whole: bool) -> None:
        if not route.to:
            self._fault(part, route.why)
            return
        if route.to == ACCUMULATORS:
            self._accumulate(role, route, part, whole)
            return
        target = self._bounds[route.to]
        kept = self._steps.written(self._bounds, route.to)
        if not kept.sure and not whole:
            return  # what is undefined may not be what is written
        outward = _leaves(target.memory)
        if target.memory.beyond and not outward:
            return  # its elements are not followed
        if route.index is None and outward and route.part.sure:
            self._fault(part, stored_to(target.memory.name))
            return
        if route.index is None:
            if not whole:
                return  # what is undefined may not be what is taken
            self._carry(route.to, np.full(target.place.shape, part.max(), np.int32), outward)
            return
        if route.folded:
            there = _there(self._bounds[role].place)
            part = np.where(there, part, 0)
            if route.why:
                every = (part > 0) | ~there
                gone = every.all(axis=route.folded, keepdims=True)
                broken = np.where(gone, 0, part)
                if bool(broken.any()):
                    self._fault(broken, route.why)
                part = np.where(gone, part, 0)
            if route.prefix and part.size == prod(target.place.shape):
                self._carry(route.to, self._so_far(part).reshape(target.place.shape), outward)
                return
            part = self._origins.line(part, route.folded)
        part = route.through_windows(part)
        self._carry(route.to, np.broadcast_to(part[route.index], target.place.shape), outward)

    def _accumulate(self, role: str, route: Route, part: Lost, whole: bool) -> None:
        """What is undefined goes into the accumulators of its lanes."""
        assert self._steps.accumulators is not None
        lanes = self._bounds[self._steps.accumulators.lanes].place.shape[:1] or (1,)
        if route.index is None:
            if whole:
                self._add(ACCUMULATORS, np.full(lanes, part.max(), np.int32))
            return
        if route.folded:
            part = np.where(_there(self._bounds[role].place), part, 0)
            part = self._origins.line(part, route.folded)
        part = route.through_windows(part)
        self._add(ACCUMULATORS, np.broadcast_to(part[route.index], lanes))

    @property
    def accumulated(self) -> Lost | None:
        """What goes into accumulators that is undefined, by lane."""
        return self._lost.get(ACCUMULATORS)

    def read_out(self, to: str, lost: Lost) -> None:
        """Accumulators that hold what is undefined are read out into an operand."""
        target = self._bounds[to]
        rows = lost.reshape((-1,) + (1,) * (len(target.place.shape) - 1))
        shape = target.place.shape
        if rows.shape[0] in (1, shape[0]):
            self._carry(to, np.broadcast_to(rows, shape), _leaves(target.memory))

    def _carry(self, to: str, lost: Lost, outward: bool) -> None:
        place = self._bounds[to].place
        if isinstance(place, Gather) and place.mask is not None:
            lost = np.where(place.mask, lost, 0)
        memory = self._bounds[to].memory
        if not outward:
            self._add(to, lost)
        elif bool(lost.any()) and _may_be_overwritten(memory):
            self._origins.keep(memory, lost, self._steps.operation.span)
            self._add(to, lost)
        elif bool(lost.any()):
            self._fault(lost, stored_to(memory.name))

    def _add(self, role: str, lost: Lost) -> None:
        known = self._lost.get(role)
        self._lost[role] = lost if known is None else self._origins.both(known, lost)

    def _so_far(self, part: Lost) -> Lost:
        """The same of what is made of an element and all that stream by before it."""
        rows = part.reshape(part.shape[0], -1)
        total = np.zeros_like(rows)
        for number in np.unique(rows[rows > 0]):
            reached = np.logical_or.accumulate(rows == number, axis=1)
            total = self._origins.both(total, np.where(reached, number, 0).astype(np.int32))
        return total

    def _fault(self, lost: Lost, why: str) -> None:
        self._origins.blame(lost, self._steps.operation.span, why)


def _leaves(memory: Memory) -> bool:
    """Whether others than this kernel read a tensor: what is stored there counts."""
    template = memory.template
    return template.buffer is Buffer.SHARED_HBM or template.kind is StorageKind.INPUT


def _may_be_overwritten(memory: Memory) -> bool:
    """Whether the caller sees a tensor when all is over, and its elements are followed."""
    return memory.template.kind is StorageKind.ALLOC and not (memory.beyond or memory.untracked)


def _there(place: Geometry | Gather) -> Mask:
    """The elements of a view that take part."""
    if isinstance(place, Gather) and place.mask is not None:
        return place.mask
    return np.ones(place.shape, np.bool_)


def _taking_part(place: Geometry | Gather) -> int:
    return int(_there(place).sum())
