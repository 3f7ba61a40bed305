"""What orders the accesses of program instances that run side by side.

Two accesses of one element by different instances, one of which writes, need an order: a barrier
between them that both instances go through. Instances count the barriers that they have gone
through: two accesses are ordered exactly when the counts differ. (Two sums that the memory makes,
and two writes of one value, need none.)

An exchange in which each of two cores sends to the other is a barrier, too: neither goes on before
the other has come. What other exchanges order is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rules.memory.cases import apart, common_loops, copy
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.memory.content import constant, folded, moved
from verifier.symbolic.memory.index import Access, Index, Uses, tensor
from verifier.symbolic.tensors import Loop, LoopKind
from verifier.symbolic.trace import Operation, Trace


@dataclass(frozen=True, slots=True)
class Barriers:
    """The barriers of a kernel; ``grid``: the loops over its instances."""

    operations: tuple[Operation, ...]
    grid: tuple[Loop, ...]
    #: whether there is something of which is not known what it orders
    unclear: bool = False

    @staticmethod
    def of(trace: Trace) -> Barriers:
        sent = exchanges(trace)
        mutual = tuple(op for op in sent if _mutual(op, trace.grid))
        unclear = len(mutual) < len(sent)
        return Barriers((*barriers(trace), *mutual), trace.grid, unclear)

    def tied(self, first: Access, second: Access) -> tuple[Access, Access, bool] | None:
        """The accesses where no barrier is between them; None: there is one, always.

        The last value: whether how many barriers come before each of them is known.
        """
        if not self.operations:
            return first, second, not self.unclear
        known = not self.unclear
        mine, its = E.const(0), E.const(0)
        for barrier in self.operations:
            before = self._count(barrier, first), self._count(barrier, second)
            if before[0] is None or before[1] is None:
                known = False
                continue
            mine, its = mine + before[0], its + before[1]
        # the symbols of loops stand for other iterations on each side
        if known and mine.is_const and its.is_const and mine is not its:
            return None
        if mine is E.const(0) and its is E.const(0):
            return first, second, known
        count = E.fresh("barriers before", 0, None, E.Origin.POINT)
        return _where(first, E.eq(count, mine)), _where(second, E.eq(count, its)), known

    def _count(self, barrier: Operation, access: Access) -> Expr | None:
        """How often an instance has gone through a barrier when an access happens."""
        own = {loop.symbol for loop in self.grid}
        around = [loop for loop in barrier.loops if loop not in self.grid]
        symbols = own | {loop.symbol for loop in around}
        terms: list[Expr | Bool] = [*barrier.path, *(loop.trips for loop in around)]
        if any(symbols & set(term.free()) for term in terms):
            return None
        there = [loop for loop in access.loops if loop not in self.grid]
        shared = common_loops(around, there)
        times = E.const(1)
        for loop in around[shared:]:
            times = times * loop.trips
        before = E.const(0)
        for loop in around[:shared]:
            before = before * loop.trips + loop.index
        before = before * times
        if barrier.order < access.order:
            before = before + times
        return E.ite(E.and_(*barrier.path), before, 0)


def barriers(trace: Trace) -> tuple[Operation, ...]:
    """The operations in which instances wait for each other."""
    return tuple(op for op in trace.operations if _waits(op) and _for_all(op))


def exchanges(trace: Trace) -> tuple[Operation, ...]:
    """The operations in which cores wait for what others send."""
    return tuple(op for op in trace.operations if _exchanges(op))


def _waits(operation: Operation) -> bool:
    return operation.instruction is not None and operation.instruction.waits


def _exchanges(operation: Operation) -> bool:
    """Whether cores wait for what others send."""
    instruction = operation.instruction
    return instruction is not None and bool(instruction.footprint.orders) and not instruction.waits


def _mutual(operation: Operation, grid: tuple[Loop, ...]) -> bool:
    """Whether each of two cores sends to the other one, and waits for it."""
    assert operation.instruction is not None
    others = [operation.value(role) for role in operation.instruction.footprint.orders]
    return len(grid) == 1 and all(
        isinstance(other, Expr) and other + grid[0].index is E.const(1) for other in others
    )


def _for_all(operation: Operation) -> bool:
    cores = operation.value("cores")
    return not isinstance(cores, tuple) or len(cores) > 1


def _where(access: Access, condition: Bool) -> Access:
    return replace(access, given=(*access.given, condition), reaches={})


def repeatable(operation: Operation) -> bool:
    """Whether several instances may do it to the same elements, in any order."""
    instruction = operation.instruction
    return instruction is not None and Trait.REPEATABLE in instruction.traits


def same_value(table: Index, first: Access, second: Access) -> bool:
    """Whether both write one and the same number everywhere."""
    value = _number(table, first.operation)
    return value is not None and value == _number(table, second.operation)


def _number(table: Index, operation: Operation, *, through: bool = True) -> int | float | None:
    """The number that an operation writes, itself or by moving what holds nothing else."""
    if not operation.reads:
        return constant(operation)
    if not through or moved(operation) is None:
        return None
    ((_, view),) = operation.reads
    writes = table.uses(view.storage).writes
    numbers = {_number(table, write.operation, through=False) for write in writes}
    return numbers.pop() if len(numbers) == 1 else None


def result_of(table: Index, operation: Operation, loop: Loop) -> bool:
    """Whether what is written is folded over the iterations of a loop: the same for all of them."""
    if _folds(operation, loop):
        return True
    if moved(operation) is None:
        return False
    ((_, view),) = operation.reads
    writes = table.uses(view.storage).writes
    return bool(writes) and all(_folds(write.operation, loop) for write in writes)


def _folds(operation: Operation, loop: Loop) -> bool:
    return any(index is loop.index for index in folded(operation))


@dataclass(frozen=True, slots=True, eq=False)
class Foreign:
    """A read of what another instance writes, with nothing that orders them."""

    read: Access
    write: Access
    #: it holds where nothing is wrong
    predicate: Bool
    exact: bool
    given: tuple[Bool, ...]
    #: the indices of the instance that reads, and of the one that writes
    here: tuple[Expr, ...] = ()
    there: tuple[Expr, ...] = ()


def reads_of_others(uses: Uses, barriers: Barriers) -> Iterator[Foreign]:
    """The pairs of a read and a write of another instance."""
    for read in uses.reads:
        for write in uses.writes:
            operation = write.operation
            if operation is read.operation and (operation.adds or repeatable(operation)):
                continue  # sums that the memory makes come in any order
            tied = barriers.tied(read, write)
            if tied is not None:
                yield _foreign(*tied, barriers.grid)


def _foreign(read: Access, write: Access, known: bool, grid: Sequence[Loop]) -> Foreign:
    other = copy(write, 0, instance=tensor(read.view))
    if other is None:
        return Foreign(read, write, E.TRUE, True, ())
    here, there = _indices(grid), _indices(other.private[: len(grid)])
    predicate, exact = apart(read.view, other.view)
    if predicate is E.TRUE:
        return Foreign(read, write, E.TRUE, True, ())
    others = E.or_(*(E.ne(a, b) for a, b in zip(here, there, strict=False)))
    given = (*read.ranges, *other.ranges, others)
    return Foreign(read, write, predicate, exact and known, given, here, there)


def _indices(loops: Sequence[Loop]) -> tuple[Expr, ...]:
    return tuple(loop.index for loop in loops if loop.kind is LoopKind.GRID)
