"""Who touches which storage, in program order: computed once per trace and shared by the rules."""

from __future__ import annotations

from msgspec import Struct, field

from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.effects import Effect
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.memory.known import Known
from verifier.symbolic.tensors import Loop, LoopKind, Storage, View
from verifier.symbolic.trace import Operation, Trace


class Access(Struct, frozen=True, eq=False):
    """One view that an operation reads or writes.

    ``given`` restricts when the access happens beyond the operation's path: a target that is read
    only when the operation accumulates.
    """

    operation: Operation
    role: str
    view: View
    #: the program grid, then the loops around the operation
    loops: tuple[Loop, ...]
    given: tuple[Bool, ...] = ()
    #: the operation reads its own target, in order to add to it
    target: bool = False
    #: ``(start, end)`` by dimension, kept by what computes them
    reaches: dict[int, tuple[Expr, Expr] | None] = field(default_factory=dict)

    @property
    def order(self) -> int:
        return self.operation.order

    def follows(self, other: Access) -> bool:
        """Whether one write comes behind another in the program: of one operation's writes, as it
        lists them."""
        if self.operation is not other.operation:
            return self.order > other.order
        places = {role: place for place, (role, _) in enumerate(self.operation.writes)}
        return places.get(self.role, 0) > places.get(other.role, 0)

    @property
    def path(self) -> tuple[Bool, ...]:
        return self.operation.path

    @property
    def span(self) -> Span:
        """The operand's text, or the operation's."""
        return self.operation.span_of(self.role)

    @property
    def ranges(self) -> tuple[Bool, ...]:
        """What holds of the symbols in the view: loop ranges, axis ranges, mask, ``given``."""
        facts = [loop.within for loop in self.loops]
        facts.extend(axis.within for axis in self.view.axes)
        facts.append(self.view.mask)
        facts.extend(self.given)
        return tuple(fact for fact in facts if fact is not E.TRUE)


class Uses(Struct):
    """The accesses of one storage, each list in program order."""

    storage: Storage
    writes: list[Access] = field(default_factory=list)
    reads: list[Access] = field(default_factory=list)
    #: reads that an accumulating operation makes of its own target
    targets: list[Access] = field(default_factory=list)
    #: the targets of sums that overwrite where they begin, and add to what they have begun
    sums: list[Access] = field(default_factory=list)

    @property
    def all(self) -> list[Access]:
        return sorted((*self.writes, *self.reads), key=lambda access: access.order)


class Index(Struct):
    """The accesses of a trace by storage, and where each loop begins and ends."""

    trace: Trace
    size: tuple[int, int]
    known: dict[int, Known] = field(default_factory=dict)
    by_storage: dict[int, Uses] = field(default_factory=dict)
    #: loop identity -> (first, last) order of what happens inside
    extent: dict[int, tuple[int, int]] = field(default_factory=dict)

    def uses(self, storage: Storage) -> Uses:
        found = self.by_storage.get(id(storage))
        if found is None:
            found = self.by_storage[id(storage)] = Uses(storage)
        return found

    def assumed(self, order: int) -> Known:
        """What the kernel has demanded of its inputs up to a point of program order."""
        facts = [item.condition for item in self.trace.assumptions if item.order <= order]
        found = self.known.get(len(facts))
        if found is None:
            found = self.known[len(facts)] = Known(facts)
        return found

    @property
    def last(self) -> int:
        """The last position in program order."""
        orders = [op.order for op in self.trace.operations]
        return max((*orders, *(s.order for s in self.trace.storages)), default=0)

    @property
    def storages(self) -> list[Uses]:
        return list(self.by_storage.values())

    @property
    def returned(self) -> list[Storage]:
        """The storages that the kernel returns, each once, in order of return."""
        out: dict[int, Storage] = {}
        for _, views, _ in self.trace.returns:
            for view in views:
                out.setdefault(id(view.storage), view.storage)
        return list(out.values())


_last: Index | None = None


def index(trace: Trace) -> Index:
    """The index of a trace. The one asked for last is kept: rules run one after another on it."""
    global _last
    size = (len(trace.operations), len(trace.storages))
    if _last is None or _last.trace is not trace or _last.size != size:
        _last = _build(trace)
    return _last


def _build(trace: Trace) -> Index:
    out = Index(trace, (len(trace.operations), len(trace.storages)))
    for storage in trace.storages:
        out.uses(storage)
        _widen(out, storage.loops, storage.order)
    for operation in sorted(trace.operations, key=lambda op: op.order):
        _widen(out, operation.loops, operation.order)
        loops = (*trace.grid, *(x for x in operation.loops if x not in trace.grid))
        for role, view in operation.reads:
            if not _own_sum(operation, view) and not _gone(operation, view.storage):
                out.uses(view.storage).reads.append(Access(operation, role, view, loops))
        for role, view in operation.writes:
            uses = out.uses(view.storage)
            uses.writes.append(Access(operation, role, view, loops))
            adds = accumulation(operation)
            listed = any(name == role and other is view for name, other in operation.reads)
            if _own_sum(operation, view):
                uses.sums.append(Access(operation, role, view, loops, target=True))
            elif adds is not E.FALSE and not listed:
                given = () if adds is E.TRUE else (adds,)
                uses.targets.append(Access(operation, role, view, loops, given, target=True))
    return out


def loops_left(storage: Storage, operation: Operation) -> list[Loop]:
    """The loops that a tensor is made in, and that are over where it is used."""
    around = {loop.span for loop in operation.loops}
    return [loop for loop in storage.loops if loop.kind.scoped and loop.span not in around]


def _gone(operation: Operation, storage: Storage) -> bool:
    """Whether there is no such tensor any more: what it holds is no question, as it is rejected."""
    return operation.generation.scoped and bool(loops_left(storage, operation))


def _own_sum(operation: Operation, view: View) -> bool:
    """Whether a view is the PSUM target of a ``+=`` that stands for a sum of matmuls.

    Such a sum does not read what was there before: the first matmul of it overwrites.
    """
    return (
        sums_by_operator(operation)
        and view.buffer is Buffer.PSUM
        and any(view is target for _, target in operation.writes)
    )


def sums_by_operator(operation: Operation) -> bool:
    """Whether it is a ``+=`` by which the Tensor Engine adds to a sum: no other one can."""
    return (
        operation.generation.sums_by_operator
        and operation.effect is Effect.ADDS
        and operation.engine is Engine.TENSOR
    )


def tensor(view: View) -> tuple[Expr, ...]:
    """Which tensor of the allocation site a view is of.

    Off chip, all program instances of a grid see the same tensor.
    """
    if view.storage.buffer.on_chip or view.storage.buffer is Buffer.REGISTER:
        return view.instance
    return tuple(
        index
        for index, loop in zip(view.instance, view.storage.loops, strict=False)
        if loop.kind is not LoopKind.GRID
    )


def _widen(out: Index, loops: tuple[Loop, ...], order: int) -> None:
    for loop in loops:
        first, last = out.extent.get(id(loop), (order, order))
        out.extent[id(loop)] = (min(first, order), max(last, order))


def accumulation(operation: Operation) -> Bool:
    """When the operation reads its target and adds to it, whatever wrote there before."""
    effect = operation.effect
    return effect if isinstance(effect, Bool) else E.truth(effect is Effect.ADDS)


def is_matmul(operation: Operation) -> bool:
    """Whether it is a matrix multiplication of the Tensor Engine."""
    return operation.instruction is not None and Trait.SUMS in operation.instruction.traits


def is_tensor_engine(operation: Operation) -> bool:
    """Whether the Tensor Engine does it: matrix multiplications and transposes through it."""
    return is_matmul(operation) or operation.engine is Engine.TENSOR
