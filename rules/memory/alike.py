"""What program instances compute alike: each of them writes the same numbers to the same places.

An instance is a function of its inputs. If neither what an operation is given nor whether it runs
depends on the index of the instance, and the same holds of all that made what it reads, then it
writes the same numbers in each instance, in the same iteration of the loops around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.content import PLAIN, determined, exchanged
from verifier.symbolic.memory.index import Access, Index
from verifier.symbolic.tensors import LoopKind, Storage, StorageKind, View
from verifier.symbolic.trace import Operation


class _NotKnownError(Exception):
    """Something of an operation is not known."""


def alike(table: Index, write: Access, there: Mapping[E.Sym, Expr]) -> tuple[Bool, str]:
    """When two instances write the same; ``there``: the indices of one of them as the other's.

    The text says what that rests on besides: what a collective gives an instance that takes part
    with the same as another one hangs on the other ranks, too. Where they run the same kernel,
    their instances take part with the same for the same reasons.
    """
    if table.trace.unmodelled:
        return E.FALSE, ""
    waiting = [write.operation]
    seen: set[int] = set()
    same: list[Bool] = []
    doubt = ""
    try:
        while waiting:
            operation = waiting.pop()
            if id(operation) in seen:
                continue
            seen.add(id(operation))
            if not doubt and exchanged(operation):
                name = operation.name.rpartition(".")[2]
                doubt = f"`{name}` gives each program instance the same"
            same += (_equal(term, there) for term in _terms(operation))
            for _, view in operation.reads:
                waiting += _makers(table, view.storage)
    except _NotKnownError:
        return E.FALSE, ""
    return E.and_(*same), doubt


def _makers(table: Index, storage: Storage) -> Iterator[Operation]:
    """What has written a tensor of which each instance has its own, or that nobody writes."""
    writes = table.uses(storage).writes
    given = storage.kind in (StorageKind.INPUT, StorageKind.CONSTANT) and not writes
    if not (storage.buffer.on_chip or given):
        raise _NotKnownError
    for write in writes:
        yield write.operation


def _terms(operation: Operation) -> Iterator[Expr | Bool]:
    """All that says what an operation does, where, and whether it is done."""
    if not (determined(operation) or exchanged(operation)):
        raise _NotKnownError
    yield from operation.path
    for loop in operation.loops:
        if loop.kind is not LoopKind.GRID:
            yield loop.trips
    if isinstance(operation.effect, Bool):
        yield operation.effect
    for _, view in (*operation.reads, *operation.writes):
        yield from _of_value(view)
    for operand in operation.operands.values():
        if operand.known or not exchanged(operation):  # its groups are left open anyway
            yield from _of_value(operand.value)


def _of_value(value: object) -> Iterator[Expr | Bool]:
    if isinstance(value, View):
        if not value.exact:
            raise _NotKnownError
        yield value.mask
        yield from (*value.coords, *value.instance, *value.frame, *value.shape)
    elif isinstance(value, (Expr, Bool)):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _of_value(item)
    elif not isinstance(value, PLAIN):
        raise _NotKnownError


def _equal(term: Expr | Bool, there: Mapping[E.Sym, Expr]) -> Bool:
    """Whether a term is the same for both instances, in each iteration and for each element."""
    moved = E.Substitution(there)
    if isinstance(term, Expr):
        same = E.eq(term, moved.expr(term))
    else:
        other = moved.bool(term)
        same = E.or_(E.and_(term, other), E.and_(E.not_(term), E.not_(other)))
        if term is other:
            same = E.TRUE
    if any(symbol.origin in (E.Origin.LOOP, E.Origin.AXIS) for symbol in {*same.free()} - {*there}):
        raise _NotKnownError
    return same
