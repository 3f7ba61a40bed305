"""What program instances compute alike: each of them writes the same numbers to the same places.

An instance is a function of its inputs. If neither what an operation is given nor whether it runs
depends on the index of the instance, and the same holds of all that made what it reads, then it
writes the same numbers in each instance, in the same iteration of the loops around it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping

from msgspec import Struct

from rules.memory.cases import common_loops, contains, dominates
from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.content import PLAIN, determined, exchanged
from verifier.symbolic.memory.index import Access, Index
from verifier.symbolic.memory.lives import exclusive
from verifier.symbolic.tensors import LoopKind, StorageKind, View
from verifier.symbolic.trace import Operation


class _NotKnownError(Exception):
    """Something of an operation is not known."""


def alike(
    table: Index,
    first: Operation,
    second: Operation,
    there: Mapping[E.Sym, Expr],
    turn: Mapping[E.Sym, Expr],
) -> tuple[Bool, str]:
    """When one instance writes by ``first`` what another writes by ``second``.

    ``there``: the indices of the second instance; ``turn``: its iteration. The text says what that
    rests on besides: what a collective gives an instance that takes part with the same as another
    one hangs on the other ranks, too. Where they run the same kernel, their instances take part
    with the same for the same reasons.
    """
    if table.trace.unmodelled or first.loops != second.loops:
        return E.FALSE, ""
    try:
        return _Pairs(table, there, turn).of(first, second)
    except _NotKnownError:
        return E.FALSE, ""


class _Pairs(Struct):
    """The operations that make what is written, one of each instance."""

    table: Index
    there: Mapping[E.Sym, Expr]
    turn: Mapping[E.Sym, Expr]

    def of(self, first: Operation, second: Operation) -> tuple[Bool, str]:
        # with the loops whose iteration is that of the root, of which what is made is made
        waiting = [(first, second, frozenset(loop.symbol for loop in first.loops))]
        seen: set[tuple[int, int, frozenset[E.Sym]]] = set()
        same: list[Bool] = []
        doubt = ""
        paths = _ids(first.path), _ids(second.path)
        while waiting:
            one, other, now = waiting.pop()
            if (id(one), id(other), now) in seen:
                continue
            seen.add((id(one), id(other), now))
            if not doubt and exchanged(one):
                name = one.name.rpartition(".")[2]
                doubt = f"`{name}` gives each program instance the same"
            held = paths if first is not second else (set(), set())
            if not now:  # it is made in all iterations up to the same one
                same += [E.eq(E.from_atom(symbol), its) for symbol, its in self.turn.items()]
            same += self._same(one, other, held, now)
            for (_, mine), (_, its) in zip(one.reads, other.reads, strict=True):
                made = self._makers((first, second), (one, other), (mine, its))
                waiting += [(a, b, now if fresh else frozenset()) for a, b, fresh in made]
        return E.and_(*same), doubt

    def _same(
        self,
        one: Operation,
        other: Operation,
        held: tuple[set[int], set[int]],
        now: frozenset[E.Sym],
    ) -> Iterator[Bool]:
        """That two operations do the same; what is ``held`` need not be looked at.

        ``now``: the indices of the iteration that is looked at.
        """
        roles = [[role for role, _ in (*op.reads, *op.writes)] for op in (one, other)]
        if one.name != other.name or roles[0] != roles[1] or one.loops != other.loops:
            raise _NotKnownError
        axes: dict[E.Sym, Expr] = {**self.there, **(self.turn if now else {})}
        if one is not other:
            for (_, mine), (_, its) in zip(
                (*one.reads, *one.writes), (*other.reads, *other.writes), strict=True
            ):
                if len(mine.axes) != len(its.axes) or mine.dtype is not its.dtype:
                    raise _NotKnownError
                pairs = zip(its.axes, mine.axes, strict=True)
                axes.update((theirs.symbol, own.index) for theirs, own in pairs)
        terms = [list(_terms(op, ids, now)) for op, ids in zip((one, other), held, strict=True)]
        if len(terms[0]) != len(terms[1]):
            raise _NotKnownError
        for term, its in zip(*terms, strict=True):
            yield _equal(term, its, axes, now.union(*(at.free() for at in self.turn.values())))

    def _makers(
        self,
        roots: tuple[Operation, Operation],
        readers: tuple[Operation, Operation],
        views: tuple[View, View],
    ) -> Iterator[tuple[Operation, Operation, bool]]:
        """What has written tensors of which each instance has its own, or that nobody writes, and
        whether that was in the same iteration of all loops around."""
        kinds = (StorageKind.INPUT, StorageKind.CONSTANT)
        on_cores = self.table.trace.generation.on_cores
        makers: list[list[Operation]] = []
        fresh = True
        for root, reader, view in zip(roots, readers, views, strict=True):
            storage = view.storage
            writes, now = self._since_all_was_set(reader, view)
            fresh = fresh and now
            given = storage.kind in kinds and not self.table.uses(storage).writes
            own = storage.buffer.on_chip and storage.buffer is not Buffer.L2
            if not on_cores and storage.kind not in kinds:  # the device's memory may be private
                own = own or storage.buffer is Buffer.HBM
            if not own and views[0].storage is not views[1].storage:
                raise _NotKnownError
            if on_cores and not own and readers[0] is readers[1]:
                return  # all find the same there, or there is a race, which is told
            if not (own or given):
                raise _NotKnownError
            made = [write.operation for write in writes]
            if roots[0] is not roots[1]:
                made = list(_before(made, root, reader))
            makers.append(made)
        if len(makers[0]) != len(makers[1]):
            raise _NotKnownError
        for mine, its in zip(*makers, strict=True):
            yield mine, its, fresh

    def _since_all_was_set(self, reader: Operation, view: View) -> tuple[list[Access], bool]:
        """The writes to a tensor from the last one on that certainly set all that is read, and
        whether that one is all there is and in the same iteration of all loops."""
        uses = self.table.uses(view.storage)
        read = next((a for a in uses.reads if a.operation is reader and a.view is view), None)
        if read is None:
            return uses.writes, False
        for write in reversed(uses.writes):
            sets = not write.operation.adds and dominates(write, read)
            if sets and contains(write.view, view):
                since = [w for w in uses.writes if _follows(w, write, read)]
                return since, since == [write] and write.loops == read.loops
        return uses.writes, False


def _follows(write: Access, last: Access, read: Access) -> bool:
    """Whether a write may come between the one that certainly set all, or is it, and a read."""
    if last.order <= write.order < read.order:
        return True
    return common_loops(write.loops, read.loops) > len(last.loops)


def _before(makers: Iterable[Operation], root: Operation, reader: Operation) -> Iterator[Operation]:
    """What may have made what is read, on the way to ``root``."""
    for op in (op for op in makers if not exclusive(op.path, root.path)):
        if op.order < reader.order:
            yield op
        elif any(loop in reader.loops for loop in op.loops if loop.kind is not LoopKind.GRID):
            raise _NotKnownError  # of the round before


def _ids(path: Iterable[Bool]) -> set[int]:
    return {id(fact) for fact in path}


def _terms(
    operation: Operation, held: set[int], now: frozenset[E.Sym]
) -> Iterator[Expr | Bool | Hashable]:
    """All that says what an operation does, where, and whether it is done: how many iterations
    there are does not, of that which is looked at (``now``)."""
    if not (determined(operation) or exchanged(operation)):
        raise _NotKnownError
    yield from (fact for fact in operation.path if id(fact) not in held)
    for loop in operation.loops:
        if loop.kind is not LoopKind.GRID and loop.symbol not in now:
            yield loop.trips
    if isinstance(operation.effect, Bool):
        yield operation.effect
    for _, view in (*operation.reads, *operation.writes):
        yield from _of_value(view)
    for role, operand in operation.operands.items():
        yield role
        if operand.known or not exchanged(operation):  # its groups are left open anyway
            yield from _of_value(operand.value)


def _of_value(value: object) -> Iterator[Expr | Bool | Hashable]:
    if isinstance(value, View):
        if not value.exact:
            raise _NotKnownError
        yield value.mask
        yield ("made in", *value.instance)  # a tensor of the iteration's own, in each iteration
        yield from (*value.coords, *value.frame, *value.shape)
    elif isinstance(value, (Expr, Bool)):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _of_value(item)
    elif isinstance(value, PLAIN):
        yield value
    else:
        raise _NotKnownError


def _equal(
    term: Expr | Bool | Hashable,
    its: Expr | Bool | Hashable,
    there: Mapping[E.Sym, Expr],
    now: frozenset[E.Sym],
) -> Bool:
    """Whether a term is the same for both instances, for each element, and in each iteration of all
    loops but those whose iteration is known ``now``."""
    moved = E.Substitution(there)
    if isinstance(term, Expr) and isinstance(its, Expr):
        same = E.eq(term, moved.expr(its))
    elif isinstance(term, Bool) and isinstance(its, Bool):
        other = moved.bool(its)
        same = E.or_(E.and_(term, other), E.and_(E.not_(term), E.not_(other)))
        if term is other:
            same = E.TRUE
    elif type(term) is type(its) and term == its:
        return E.TRUE
    else:
        raise _NotKnownError
    open_ = {*same.free()} - {*there} - now
    if any(symbol.origin in (E.Origin.LOOP, E.Origin.AXIS) for symbol in open_):
        raise _NotKnownError
    return same
