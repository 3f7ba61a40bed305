"""Barriers and exchanges to which cores come in other orders.

Two cores that go through as many barriers and exchanges still wait for each other for ever where
one of them first comes to what the other one comes to last. That they do not is known where all
of them come to the same places in one order; where each goes a way of its own, it is not known:
which of the waits hold up what stands behind them, the engines and the data decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from rules.memory.order import barriers, exchanges, waits
from rules.memory.passes import MOST
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.index import tensor
from verifier.symbolic.tensors import Loop, Storage
from verifier.symbolic.trace import Operation, Trace


class Stop(Struct, frozen=True):
    """What one core waits at: the barrier of a tensor, or a pipe; in which loops, and when."""

    #: of which tensor the barrier is; None: an exchange, or a barrier of all
    storage: Storage | None
    #: which tensor of its site, or the number of the pipe; None: that is not known
    number: tuple[Expr, ...] | None
    exchange: bool
    loops: tuple[Loop, ...]
    path: tuple[Bool, ...]

    def same(self, other: Stop, turns: E.Substitution) -> bool:
        """Whether two cores wait there for each other; ``turns``: the other one's loops for own."""
        if self.storage is not other.storage or self.exchange != other.exchange:
            return False
        if self.number is None or other.number is None:
            return False
        pairs = zip(self.loops, other.loops, strict=True)
        return (
            all(turns.expr(mine.trips) is its.trips for mine, its in pairs)
            and tuple(map(turns.expr, self.number)) == other.number
            and set(map(turns.bool, self.path)) == set(other.path)
        )


def _place(operation: Operation) -> tuple[Storage | None, tuple[Expr, ...] | None]:
    """Where an operation waits: the tensor that it names, or the pipe."""
    assert operation.instruction is not None
    named = operation.instruction.footprint.ordered
    if named:
        view = operation.view(named)
        return (None, None) if view is None else (view.storage, tensor(view))
    if waits(operation):
        return None, ()
    pipe = operation.value("pipe_id")
    return None, (pipe,) if isinstance(pipe, Expr) else None


def crossed(trace: Trace) -> Operation | None:
    """Where cores may first come to barriers and exchanges in other orders, if they may."""
    found = sorted((*barriers(trace), *exchanges(trace)), key=lambda op: op.order)
    if not found or not any(_own(op, trace.grid) for op in found):
        return None
    if len({_key(op) for op in found}) == 1 and not _apart(found[0], trace.grid):
        return None  # they stand at one place only: how often is all that counts
    first = next(op for op in found if _own(op, trace.grid))
    if len(trace.grid) != 1:
        return first
    (grid,) = trace.grid
    cores = _instances(found, grid)
    if cores is None:
        return first
    ways = [_way(found, grid, core) for core in range(cores)]
    in_order = all(_alike(ways[0], way) for way in ways[1:])
    return None if in_order or _told(ways) else first


def _own(operation: Operation, grid: Sequence[Loop]) -> bool:
    """Whether when or where a core waits depends on which one it is."""
    terms: list[Expr | Bool] = [*operation.path, *(loop.trips for loop in operation.loops)]
    symbols = {loop.symbol for loop in grid}
    return _apart(operation, grid) or any(symbols & set(term.free()) for term in terms)


def _apart(operation: Operation, grid: Sequence[Loop]) -> bool:
    """Whether cores may wait at different places there."""
    _, number = _place(operation)
    symbols = {loop.symbol for loop in grid}
    return number is None or any(symbols & set(term.free()) for term in number)


def _key(operation: Operation) -> tuple[object, ...]:
    storage, number = _place(operation)
    return waits(operation), storage, number


def _instances(found: Sequence[Operation], grid: Loop) -> int | None:
    """How many cores wait for each other, where they are few and their number is known."""
    named = [op.value("cores") for op in found]
    two = all(isinstance(cores, tuple) and len(cores) == 2 for cores in named)
    if two or not all(map(waits, found)):
        return 2
    known = grid.trips.is_const and grid.trips.const <= MOST
    return grid.trips.const if known else None


def _way(found: Sequence[Operation], grid: Loop, core: int) -> list[Stop]:
    """What a core waits at, one after the other; loops of few iterations are gone through."""
    around = [tuple(loop for loop in op.loops if loop is not grid) for op in found]
    return list(
        _rounds(list(zip(found, around, strict=True)), {grid.symbol: E.const(core)}, (), MOST)
    )


def _rounds(
    within: Sequence[tuple[Operation, tuple[Loop, ...]]],
    at: dict[E.Sym, Expr],
    open_: tuple[Loop, ...],
    most: int,
) -> Iterator[Stop]:
    """What operations, each ``within`` its other loops, are in one iteration of those outside.

    ``at``: which one that is; ``open_``: the loops of which it stands for all iterations.
    """
    put = E.Substitution(at)
    for loop, group in groupby(within, key=lambda each: each[1][0] if each[1] else None):
        if loop is None:
            yield from (stop for op, _ in group if (stop := _stop(op, put, open_)) is not None)
            continue
        inner = [(op, loops[1:]) for op, loops in group]
        own = loop.of(put.expr(loop.trips))
        if not own.trips.is_const or own.trips.const > most:
            yield from _rounds(inner, at, (*open_, own), most)
            continue
        for turn in range(own.trips.const):
            then = {**at, loop.symbol: E.const(turn)}
            yield from _rounds(inner, then, open_, most // own.trips.const)


def _stop(op: Operation, put: E.Substitution, loops: tuple[Loop, ...]) -> Stop | None:
    """Where a core waits in an operation; None: it does not come to it."""
    path = tuple(fact for fact in map(put.bool, op.path) if fact is not E.TRUE)
    if E.FALSE in path:
        return None
    storage, number = _place(op)
    at = None if number is None else tuple(map(put.expr, number))
    return Stop(storage, at, not waits(op), loops, path)


def _told(ways: Sequence[Sequence[Stop]]) -> bool:
    """Whether some core certainly comes to them more often than another one, which is told."""
    if any(stop.loops or stop.path for way in ways for stop in way):
        return False
    counts = [Counter(stop.number if stop.exchange else None for stop in way) for way in ways]
    return any(count != counts[0] for count in counts)


def _alike(one: Sequence[Stop], other: Sequence[Stop]) -> bool:
    """Whether two cores wait at the same places, in the same order."""
    if [len(stop.loops) for stop in one] != [len(stop.loops) for stop in other]:
        return False
    pairs = zip(one, other, strict=True)
    loops = {p for mine, its in pairs for p in zip(mine.loops, its.loops, strict=True)}
    here, there = {mine for mine, _ in loops}, {its for _, its in loops}
    if not len(here) == len(there) == len(loops):
        return False  # what one does in one loop, the other one does in two
    turns = E.Substitution({mine.symbol: its.index for mine, its in loops})
    return all(mine.same(its, turns) for mine, its in zip(one, other, strict=True))


__all__ = ["crossed"]
