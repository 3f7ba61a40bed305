"""Results that come to nothing: no store of the kernel hangs on them."""

from __future__ import annotations

from collections.abc import Iterator

from rules.memory.words import subject
from rules.tpu.ppl_kit import function, is_device
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.memory.index import Access, Uses, index
from verifier.symbolic.tensors import Loop, StorageKind
from verifier.symbolic.trace import Operation, Trace


def unread_results(trace: Trace) -> Iterator[Check]:
    """One check per place that makes results of which nothing that is stored is made."""
    readers: dict[int, list[Operation]] = {}
    writes: dict[int, list[Access]] = {}
    for uses in index(trace).storages:
        for write in uses.writes:
            op = write.operation
            readers.setdefault(id(op), []).extend(_readers(write, uses, trace))
            writes.setdefault(id(op), []).append(write)
    useful = _useful(trace, readers)
    if not useful:  # nothing is stored: that is told of the kernel
        return
    by_place: dict[Span, list[tuple[Operation, bool]]] = {}
    for op in trace.operations:
        if is_device(op) and op.reads and op.writes:
            later = any(
                reader is not op and reader.order > op.order for reader in readers.get(id(op), ())
            )
            lost = id(op) not in useful and not later
            by_place.setdefault(op.span, []).append((op, lost))
    for found in by_place.values():
        if all(lost for _, lost in found):
            yield _told(found[0][0])


def _readers(write: Access, uses: Uses, trace: Trace) -> list[Operation]:
    """What may read a result, in the same round of all loops or in a later one."""
    out = []
    for read in (*uses.reads, *uses.targets, *uses.sums):
        again = any(_shared(loop, write, read, trace, uses) for loop in write.operation.loops)
        if read.order > write.order or again:
            out.append(read.operation)
    return out


def _shared(loop: Loop, write: Access, read: Access, trace: Trace, uses: Uses) -> bool:
    """Whether a tensor from outside of a loop is written and read in it."""
    outside = all(loop is not other for other in uses.storage.loops)
    return outside and any(loop is other for other in read.operation.loops)


def _useful(trace: Trace, readers: dict[int, list[Operation]]) -> set[int]:
    """The operations that a store hangs on, those included that store."""
    useful = {
        id(op)
        for op in trace.operations
        if not is_device(op)
        or not op.writes
        or any(not view.storage.buffer.on_chip for _, view in op.writes)
    }
    if not any(id(op) in useful and op.writes for op in trace.operations):
        return set()
    before = -1
    while len(useful) != before:
        before = len(useful)
        for op in reversed(trace.operations):
            if id(op) not in useful and any(id(r) in useful for r in readers.get(id(op), ())):
                useful.add(id(op))
    return useful


def _told(op: Operation) -> Check:
    what, view = function(op), op.writes[0][1]
    made = view.storage.kind is StorageKind.RESULT and not op.operands[op.writes[0][0]].given
    name = f"`{view.storage.name}`"
    named = "a tensor without a name" if made else name
    return Check(
        predicate=E.FALSE,
        span=op.span if made else op.span_of(op.writes[0][0]),
        text=f"something that is stored is made of the result of `pl.{what}`",
        message=f"nothing that is stored hangs on the result of `pl.{what}`, {named}",
        facts=("ADR-11",),
        subject=subject(view.storage),
        help=(_help(op, made),),
        path=op.path,
        order=op.order,
    )


def _help(op: Operation, made: bool) -> str:
    for name in ("num_iter", "shift", "saturation"):
        operand = op.operands.get(name)
        if made and operand is not None and operand.given:
            return (
                f"a constant that comes last is its `{name}`, and what stands first no destination "
                "then: assign the constant to a name first"
            )
    if made:
        return "give it a destination first, or a name"
    return "use the result, or leave the operation out"


__all__ = ["unread_results"]
