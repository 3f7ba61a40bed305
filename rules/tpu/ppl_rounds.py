"""Results of a round of a loop that the next round begins by overwriting.

A tensor from outside of a loop that each round fills anew, and that nothing in the loop reads after
its last change, holds what the last round made when the loop is over: what all others made of other
data is lost. So is what they stored to one place of an output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from rules.memory.cases import contains
from rules.memory.words import subject
from rules.tpu.ppl_kit import function, is_device
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.index import Access, Uses, index
from verifier.symbolic.tensors import Loop, StorageKind, View
from verifier.symbolic.trace import Operation, Trace


class _Round(Struct, frozen=True):
    """What a round does first to a tensor, and what it changes last."""

    loop: Loop
    first: Access
    last: Access
    #: in which rounds the first one adds to what is there, and loses nothing
    adds: Bool


def lost_rounds(trace: Trace) -> Iterator[Check]:
    """One check per tensor and loop whose rounds overwrite one another's results."""
    own: dict[int, frozenset[int]] = {}
    told: set[int] = set()
    for uses in index(trace).storages:
        if not uses.writes or (not uses.storage.buffer.on_chip and _is_read(uses)):
            continue
        for loop in _around(uses, trace):
            found = _round(uses, loop)
            if found is None or id(found.last.operation) in told:
                continue
            if id(loop) not in own:
                own[id(loop)] = _changing(trace, loop) - _carried(trace, loop)
            if id(found.last.operation) in own[id(loop)]:
                told.add(id(found.last.operation))
                yield _told(found)


def _is_read(uses: Uses) -> bool:
    return bool(uses.reads or uses.targets or uses.sums)


def _around(uses: Uses, trace: Trace) -> Iterator[Loop]:
    """The loops that a tensor is used in and comes from outside of, from the inside out."""
    seen: set[int] = set()
    for write in uses.writes:
        for loop in reversed(write.operation.loops):
            outside = all(loop is not other for other in (*uses.storage.loops, *trace.grid))
            if outside and id(loop) not in seen:
                seen.add(id(loop))
                yield loop


def _within(accesses: Iterable[Access], loop: Loop) -> list[Access]:
    return [a for a in accesses if any(loop is other for other in a.operation.loops)]


def _round(uses: Uses, loop: Loop) -> _Round | None:
    writes = sorted(_within(uses.writes, loop), key=lambda a: a.order)
    reads = _within((*uses.reads, *uses.targets, *uses.sums), loop)
    first, last = writes[0], writes[-1]
    if any(read.order < first.order or read.order > last.order for read in reads):
        return None
    adds = _adds(first, reads)
    if adds is None or not _is_result(last) or first.operation.loops[-1] is not loop:
        return None
    if not _each_time(first, last, loop) or not _same_place(first.view, last.view, loop):
        return None
    return _Round(loop, first, last, adds)


def _adds(first: Access, reads: Sequence[Access]) -> Bool | None:
    """When the first access of a round reads what is there; None: whenever it takes place."""
    own = [read for read in reads if read.order == first.order]
    if any(not read.given for read in own):
        return None
    return E.or_(*(E.and_(*read.given) for read in own)) if own else E.FALSE


def _is_result(write: Access) -> bool:
    op = write.operation
    return is_device(op) and bool(op.reads) and len(op.writes) == 1


def _each_time(first: Access, last: Access, loop: Loop) -> bool:
    """Whether the first one takes place in each round in which the last one has."""
    conditions = {id(condition): condition for condition in last.path}
    return all(id(each) in conditions for each in first.path) and not any(
        loop.symbol in each.free() for each in (*conditions.values(), *last.given)
    )


def _same_place(first: View, last: View, loop: Loop) -> bool:
    """Whether what a round makes lies, as far as it is as large, where the next one begins."""
    if not contains(first, last):
        return False
    coords = (*first.coords, *last.coords, *first.instance, *last.instance)
    return not any(loop.symbol in coord.free() for coord in coords)


def _changing(trace: Trace, loop: Loop) -> frozenset[int]:
    """The operations of a loop that do not do the same in each round."""
    return frozenset(_made_of(_body(trace, loop), set(), lambda op: _moves(op, loop)))


def _moves(op: Operation, loop: Loop) -> bool:
    """Whether it takes something else in each round."""
    terms: list[Expr] = [coord for _, view in op.reads for coord in view.coords]
    terms += [each.value for each in op.operands.values() if isinstance(each.value, Expr)]
    return any(loop.symbol in term.free() for term in terms)


def _carried(trace: Trace, loop: Loop) -> frozenset[int]:
    """The operations of a loop that go on with what an earlier round has made."""
    tensors: set[int] = set()
    for uses in index(trace).storages:
        storage = uses.storage
        inside = any(loop is other for other in storage.loops)
        writes = _within(uses.writes, loop)
        if storage.kind is StorageKind.INPUT or inside or not writes:
            continue
        begun = min(write.order for write in writes)
        reads = _within((*uses.reads, *uses.targets, *uses.sums), loop)
        if any(read.order <= begun for read in reads):
            tensors.add(id(storage))
    return frozenset(_made_of(_body(trace, loop), tensors, lambda op: False))


def _body(trace: Trace, loop: Loop) -> list[Operation]:
    return [op for op in trace.operations if any(loop is other for other in op.loops)]


def _made_of(
    body: Sequence[Operation], tensors: set[int], first: Callable[[Operation], bool]
) -> set[int]:
    """The operations that read one of the tensors, or what such operations make."""
    found: set[int] = set()
    before = -1
    while len(found) != before:
        before = len(found)
        for op in body:
            reads = any(id(view.storage) in tensors for _, view in op.reads)
            if id(op) not in found and (reads or first(op)):
                found.add(id(op))
                tensors.update(id(view.storage) for _, view in op.writes)
    return found


def _told(found: _Round) -> Check:
    first, last = found.first, found.last
    name, what = last.view.storage.name, function(last.operation)
    after = E.ge(found.loop.index, 1)
    facts = [loop.within for loop in last.operation.loops]
    where = "a result that the next round of the loop overwrites is read before"
    return Check(
        predicate=found.adds,
        span=last.span,
        text=f"{where}, or added to: `{name}`",
        message=f"each round of the loop overwrites what `pl.{what}` left in `{name}` in the one "
        "before, which nothing has read",
        facts=("ADR-11",),
        subject=subject(last.view.storage),
        given=(after, *facts),
        values=(("rounds", found.loop.trips), ("round", found.loop.index)),
        notes=(Note(first.span, f"a round begins with this `pl.{function(first.operation)}`"),)
        if first is not last
        else (),
        help=(
            "add to it (`result_add=True`), give each round a place of its own, or use the "
            "result in the loop",
        ),
        path=last.path,
        order=last.order,
    )


__all__ = ["lost_rounds"]
