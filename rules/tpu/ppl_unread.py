"""Results that come to nothing: no store of the kernel hangs on them."""

from __future__ import annotations

from collections.abc import Iterator

from rules.memory.cases import contains
from rules.memory.overwritten import repeats
from rules.memory.words import subject
from rules.tpu.ppl_kit import function, is_device
from rules.tpu.useless import useless
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.memory.index import Access, Uses, index, tensor
from verifier.symbolic.tensors import Loop, StorageKind
from verifier.symbolic.trace import Operation, Trace


def unread_results(trace: Trace) -> Iterator[Check]:
    """One check per place that makes results of which nothing that is stored is made."""
    readers: dict[int, list[Operation]] = {}
    for uses in index(trace).storages:
        for write in uses.writes:
            op = write.operation
            readers.setdefault(id(op), []).extend(_readers(write, uses, trace))
    stores = _stores(trace)
    judged = {id(op) for op in trace.operations if is_device(op) and op.reads and op.writes}
    if stores:  # else nothing is stored: that is told of the kernel
        found = {op: set(map(id, each)) for op, each in readers.items()}

        def finds(one: Operation, other: Operation) -> bool:
            return id(other) in found.get(id(one), ())

        for op in useless(trace.operations, finds, stores, judged):
            yield _told(op)


def _readers(write: Access, uses: Uses, trace: Trace) -> list[Operation]:
    """What may read a result, in the same round of all loops or in a later one."""
    out = []
    for read in (*uses.reads, *uses.targets, *uses.sums):
        round_ = any(_shared(loop, write, read, trace, uses) for loop in write.operation.loops)
        if (read.order > write.order or round_) and not _replaced(write, read, uses, trace):
            out.append(read.operation)
    return out


def _replaced(write: Access, read: Access, uses: Uses, trace: Trace) -> bool:
    """Whether something between them in the text surely fills all that is read, whatever rounds
    they are in."""
    held = {id(condition) for condition in (*read.path, *read.given)}
    return any(
        write.order < other.order < read.order
        and other not in uses.sums
        and not repeats(write.operation, other.operation, trace)
        and other.loops == read.loops[: len(other.loops)]
        and all(id(condition) in held for condition in (*other.path, *other.given))
        and tensor(other.view) == tensor(read.view)
        and contains(other.view, read.view)
        for other in uses.writes
    )


def _shared(loop: Loop, write: Access, read: Access, trace: Trace, uses: Uses) -> bool:
    """Whether a tensor from outside of a loop is written and read in it."""
    outside = all(loop is not other for other in uses.storage.loops)
    return outside and any(loop is other for other in read.operation.loops)


def _stores(trace: Trace) -> set[int]:
    """The operations that store, and others of which others than the kernel see something; empty
    if nothing is stored."""
    out = [
        op
        for op in trace.operations
        if not is_device(op)
        or not op.writes
        or any(not view.storage.buffer.on_chip for _, view in op.writes)
    ]
    return {id(op) for op in out} if any(op.writes for op in out) else set()


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
