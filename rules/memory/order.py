"""What orders the accesses of program instances that run side by side.

Two accesses of one element by different instances, one of which writes, need an order: a barrier
between them that both instances go through. Instances count the barriers that they have gone
through: two accesses are ordered exactly when the counts differ (:func:`ordered`). Whether it
matters which comes first, what they do says (:meth:`Deed.needs_order`). A barrier that names a
tensor is one for the accesses of that tensor: it holds up but the engine that it is on. The
symbolic check asks this of the accesses in the text, the monitor of those of a run.

An exchange in which each of two cores sends to the other is a barrier, too: neither goes on before
the other has come. What other exchanges order is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from rules.memory.cases import Copy, apart, common_loops, copy
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.content import combines, constant, folded, moved
from verifier.symbolic.memory.events import Deed, Met, Visit
from verifier.symbolic.memory.index import Access, Index, Uses, tensor
from verifier.symbolic.tensors import Loop, LoopKind
from verifier.symbolic.trace import Operation, Trace


def ordered(mine: Expr, its: Expr) -> Bool:
    """Whether a barrier is between two accesses, each of which so many barriers come before."""
    return E.ne(mine, its)


def reader(met: Met) -> tuple[Visit, Visit]:
    """The visit that reads, itself or what it adds to, and the other one."""
    first, second = sorted((met.first, met.second), key=lambda visit: visit.instance)

    def reads(visit: Visit) -> int:
        return 2 if not visit.deed.writes else 1 if visit.deed.combines else 0

    return (second, first) if reads(second) > reads(first) else (first, second)


def disordered(met: Met) -> bool:
    """Whether two accesses of a run need an order that they do not have."""
    first, second = met.first, met.second
    if first.instance == second.instance or not first.deed.needs_order(second.deed):
        return False
    return ordered(E.const(first.waited), E.const(second.waited)) is not E.TRUE


class Barriers(Struct, frozen=True):
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
            meant = orders(barrier, first)
            if meant is False:
                continue
            if meant is None:
                known = False
                continue
            before = self._count(barrier, first), self._count(barrier, second)
            if before[0] is None or before[1] is None:
                known = False
                continue
            mine, its = mine + before[0], its + before[1]
        # the symbols of loops stand for other iterations on each side
        constant = mine.is_const and its.is_const
        if known and constant and ordered(mine, its) is E.TRUE:
            return None
        if mine is E.const(0) and its is E.const(0):
            return first, second, known
        count = E.fresh("barriers before", 0, None, E.Origin.POINT)
        return _where(first, E.eq(count, mine)), _where(second, E.eq(count, its)), known

    def _count(self, barrier: Operation, access: Access) -> Expr | None:
        """How often an instance has gone through a barrier when an access happens."""
        around = [loop for loop in barrier.loops if loop not in self.grid]
        symbols = {loop.symbol for loop in around}
        terms: list[Expr | Bool] = [*barrier.path, *(loop.trips for loop in around)]
        if any(symbols & set(term.free()) for term in terms):
            return None
        there = [loop for loop in access.loops if loop not in self.grid]
        before = times_before(around, barrier.order < access.order, there)
        return E.ite(E.and_(*barrier.path), before, 0)


def times_before(around: Sequence[Loop], earlier: bool, there: Sequence[Loop]) -> Expr:
    """How often something in all rounds of loops has happened when one comes to another place.

    ``there``: the loops around the other place; ``earlier``: it is the later one in the text.
    """
    shared = common_loops(around, there)
    times = E.const(1)
    for loop in around[shared:]:
        times = times * loop.trips
    before = E.const(0)
    for loop in around[:shared]:
        before = before * loop.trips + loop.index
    return before * times + (times if earlier else 0)


def barriers(trace: Trace) -> tuple[Operation, ...]:
    """The operations in which instances wait for each other."""
    return tuple(op for op in trace.operations if waits(op) and _for_all(op))


def exchanges(trace: Trace) -> tuple[Operation, ...]:
    """The operations in which cores wait for what others send."""
    return tuple(op for op in trace.operations if _exchanges(op))


def waits(operation: Operation) -> bool:
    """Whether all instances wait for each other there; what it names it does not read."""
    return operation.instruction is not None and operation.instruction.waits


def orders(operation: Operation, access: Access) -> bool | None:
    """Whether an access of a tensor is among those that are put in order there."""
    assert operation.instruction is not None
    named = operation.instruction.footprint.ordered
    if not named:
        return True
    view = operation.view(named)
    if view is None:
        return None
    if view.storage is not access.view.storage:
        return False
    # of a tensor of its own in each iteration it is that of the same iteration, or a certain one
    shared = [loop.index for loop in operation.loops[: common_loops(operation.loops, access.loops)]]
    known: bool | None = True
    for mine, its in zip(tensor(view), tensor(access.view), strict=True):
        if mine.is_const and its.is_const and mine is not its:
            return False
        if mine is not its or not (mine.is_const or mine in shared):
            known = None
    return known


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


def behind_barrier(trace: Trace, later: Access, earlier: Access) -> tuple[Copy | None, bool]:
    """``later`` in any instance, where all wait between ``earlier`` and it.

    The last value: whether it may come after it in another instance in ways that this leaves out.
    Without a barrier the two are a race, which is told as one.
    """
    found = [op for op in (*barriers(trace), *exchanges(trace)) if orders(op, earlier) is not False]
    sure = [op for op in found if waits(op) and orders(op, earlier)]
    if not trace.grid or not found:
        return None, False
    held = {id(condition) for condition in later.path}
    among = [b for b in found if earlier.order < b.order < later.order]
    if common_loops(earlier.loops, later.loops) > len(trace.grid):
        return None, True
    if not any(
        barrier in sure
        and barrier.loops == trace.grid[: len(barrier.loops)]
        and all(id(condition) in held for condition in barrier.path)
        for barrier in among
    ):
        return None, bool(among)
    return copy(later, 0, instance=tensor(earlier.view)), False


def _where(access: Access, condition: Bool) -> Access:
    return replace(access, given=(*access.given, condition), reaches={})


def writing(table: Index, write: Access) -> Deed:
    """What a write does, as far as the text says it."""
    operation = write.operation
    return Deed(True, combines(operation), _number(table, operation))


def _reading(read: Access) -> Deed:
    """What a read does: that of what is added to is a part of the sum."""
    own = any(role == read.role for role, _ in read.operation.writes)
    adds = combines(read.operation) if own else ""
    return Deed(bool(adds), adds)


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


class Foreign(Struct, frozen=True, eq=False):
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


def reads_of_others(table: Index, uses: Uses, barriers: Barriers) -> Iterator[Foreign]:
    """The pairs of a read and a write of another instance; a sum reads what it adds to."""
    written = [(write, writing(table, write)) for write in uses.writes]
    for read in (*uses.reads, *uses.targets):
        deed = _reading(read)
        for write, its in written:
            if not deed.needs_order(its):
                continue
            tied = barriers.tied(read, write)
            if tied is not None:
                yield _foreign(*tied, barriers.grid)


def _foreign(read: Access, write: Access, known: bool, grid: Sequence[Loop]) -> Foreign:
    other = copy(write, 0, instance=tensor(read.view))
    if other is None:
        return Foreign(read, write, E.TRUE, True, ())
    # where the tensor that is read says which instance has written it, its index has that value
    places = zip(write.loops, other.at, strict=True)
    here = tuple(loop.index for loop in grid)
    there = tuple(at for loop, at in places if loop.kind is LoopKind.GRID)
    predicate, exact = apart(read.view, other.view)
    if predicate is E.TRUE:
        return Foreign(read, write, E.TRUE, True, ())
    others = E.or_(*(E.ne(a, b) for a, b in zip(here, there, strict=True)))
    given = (*read.ranges, *other.ranges, others)
    return Foreign(read, write, predicate, exact and known, given, here, there)
