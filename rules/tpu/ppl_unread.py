"""Results that come to nothing: no store of the kernel hangs on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from rules.memory.cases import common_loops, contains
from rules.memory.overwritten import repeats
from rules.memory.words import subject
from rules.tpu.lost_rounds import Lost, lost_rounds
from rules.tpu.ppl_kit import function, is_device
from rules.tpu.ppl_steps import ViewSteps
from rules.tpu.unfinished import Unfinished, Where, unfinished
from rules.tpu.useless import useless
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.memory.index import Access, Uses, index, tensor
from verifier.symbolic.tensors import Loop, StorageKind, View
from verifier.symbolic.trace import Operation, Trace


def unread_results(trace: Trace) -> Iterator[Check]:
    """One check per place that makes results of which nothing that is stored is made."""
    stores = _stores(trace)
    judged = {id(op) for op in trace.operations if is_device(op) and op.reads and op.writes}
    if stores:  # else nothing is stored: that is told of the kernel
        flow = _Flow(trace)
        lost = list(useless(trace.operations, flow.finds, stores, judged))
        yield from map(_told, lost)
        operations = sorted(trace.operations, key=lambda op: op.order)
        ended = [] if lost else list(unfinished(operations, flow, stores, judged))
        yield from map(_last_lost, ended)
        judged -= {id(op) for op in (*lost, *(each.adds for each in ended))}
        rounds = lost_rounds(operations, ViewSteps(trace, stores), judged)
        for each in rounds:
            yield from _lost_in_rounds(each)


class _Flow:
    """Who finds what of whom, in the tensors of a trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._found: dict[tuple[int, int], list[tuple[Access, Access, Uses]]] = {}
        for uses in index(trace).storages:
            for write, read in product(uses.writes, (*uses.reads, *uses.targets, *uses.sums)):
                if _may_read(write, read, uses, trace):
                    key = id(write.operation), id(read.operation)
                    self._found.setdefault(key, []).append((write, read, uses))

    def finds(self, one: Operation, other: Operation) -> bool:
        """Whether the second may read what the first leaves, in whichever rounds they are."""
        return (id(one), id(other)) in self._found

    def at_last(self, one: Operation, other: Operation, depth: int, put: E.Substitution) -> bool:
        """Whether the second may read what the first leaves in the last round of its loops from
        ``depth`` on."""
        common = common_loops(one.loops, other.loops)
        for _, read, uses in self._found.get((id(one), id(other)), ()):
            if any(self._from_before(one, read, uses, each) for each in range(min(common, depth))):
                return True
            if other.order > one.order or common > depth + 1:
                facts = (*read.path, *read.given) if common > depth else ()
                if not any(put.bool(fact) is E.FALSE for fact in facts):
                    return True
        return False

    def carries(self, one: Operation, other: Operation, depth: int) -> bool:
        """Whether the second may find what the first has left in an earlier round of a loop."""
        found = self._found.get((id(one), id(other)), ())
        return any(self._from_before(one, read, uses, depth) for _, read, uses in found)

    def _from_before(self, one: Operation, read: Access, uses: Uses, level: int) -> bool:
        """Whether a read may find what was left in an earlier round of a loop around both."""
        if common_loops(one.loops, read.operation.loops) <= level:
            return False
        loop = one.loops[level]
        if any(loop is other for other in uses.storage.loops):
            return False
        inside = (w for w in uses.writes if any(loop is each for each in w.operation.loops))
        return not any(_fills_before(w, read, uses) or _begins(w, read, level) for w in inside)

    def taken(self, op: Operation) -> Where | None:
        """The part of an input that it takes, if it is a load."""
        if len(op.reads) != 1 or not op.writes or not is_device(op):
            return None
        _, view = op.reads[0]
        return None if view.storage.buffer.on_chip else _where(view)

    def left(self, op: Operation) -> Sequence[Where]:
        """The places that it writes."""
        return [_where(view) for _, view in op.writes]


def _where(view: View) -> Where:
    axes = {axis.symbol: E.const(0) for axis in view.axes}
    put = E.Substitution(axes)
    return id(view.storage), (*map(put.expr, view.coords), *(axis.size for axis in view.axes))


def _may_read(write: Access, read: Access, uses: Uses, trace: Trace) -> bool:
    """Whether something may read a result, in the same round of all loops or in a later one."""
    round_ = any(_shared(loop, write, read, trace, uses) for loop in write.operation.loops)
    return (read.order > write.order or round_) and not _replaced(write, read, uses, trace)


def _replaced(write: Access, read: Access, uses: Uses, trace: Trace) -> bool:
    """Whether something between them in the text surely fills all that is read, whatever rounds
    they are in."""
    return any(
        write.order < other.order
        and not repeats(write.operation, other.operation, trace)
        and _fills_before(other, read, uses)
        for other in uses.writes
    )


def _fills_before(write: Access, read: Access, uses: Uses) -> bool:
    """Whether a write surely fills all that is read, before it in the same round."""
    held = {id(condition) for condition in (*read.path, *read.given)}
    return (
        write.order < read.order
        and write not in uses.sums
        and write.loops == read.loops[: len(write.loops)]
        and all(id(condition) in held for condition in (*write.path, *write.given))
        and tensor(write.view) == tensor(read.view)
        and contains(write.view, read.view)
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


def _begins(write: Access, read: Access, level: int) -> bool:
    """Whether the first rounds of the loops in a round of one fill all that is read there."""
    loops, around = read.operation.loops, write.operation.loops
    first = E.Substitution({loop.symbol: E.const(0) for loop in loops[level + 1 :]})
    facts = (*read.path, *read.given)
    if not any(first.bool(fact) is E.FALSE for fact in facts):
        return False
    held = {id(E.TRUE), *map(id, facts)}
    return (
        around == loops[: len(around)]
        and all(id(first.bool(fact)) in held for fact in (*write.path, *write.given))
        and tensor(write.view) == tensor(read.view)
        and contains(write.view, read.view)
    )


def _last_lost(found: Unfinished) -> Check:
    op = found.adds
    what, name = function(op), f"`{op.writes[0][1].storage.name}`"
    return found.told(
        _told(op),
        f"what is stored of {name} has all that `pl.{what}` adds up",
        f"`pl.{what}` goes on with {name} after that was stored for the last time: the last part "
        "comes to no store",
    )


def _lost_in_rounds(found: Lost) -> Iterator[Check]:
    by = None if found.again is None else f"pl.{function(found.again)}"
    return found.told(_told(found.lost), f"the result of `pl.{function(found.lost)}`", by)


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
