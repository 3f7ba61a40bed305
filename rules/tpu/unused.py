"""Results in local memory, and what was loaded there, that no store hangs on
(:mod:`rules.tpu.useless`, by their places).

What a read is about is the last write before it that surely has all of it: what stands before that
one is read no more there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product

from rules.memory.cases import common_loops
from rules.tpu import flow, kit
from rules.tpu.flow import Use
from rules.tpu.kit import function, words
from rules.tpu.local_steps import LocalSteps
from rules.tpu.lost_rounds import Lost, lost_rounds
from rules.tpu.results import Results
from rules.tpu.unfinished import Unfinished, Where, unfinished
from rules.tpu.useless import useless
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.lanes import LocalTensor, SystemTensor
from verifier.symbolic.memory.lives import exclusive
from verifier.symbolic.trace import Operation, Trace


def unused(trace: Trace, results: Results, *, run: bool = False) -> Iterator[Check]:
    """One check per place that makes results of which nothing that is stored is made.

    ``run``: or the last of them alone, in a place where there were the others before.
    """
    operations = flow.in_order(trace)
    stores = {id(op) for op in operations if _is_seen(op)}
    # (an operand may be loaded for calls that do not use it, as a bias; what takes something that
    # was never written instead is told)
    idle = any(map(kit.leaves_out, operations)) or not all(map(results.means, results.table.writes))
    made = {
        id(write.operation): write
        for write in results.made
        if kit.loaded(write.operation) is None or not (idle or _once_more(write, results.table))
    }
    if not any(_stores(op) for op in operations):  # that is told of the kernel
        return

    def in_place(found: Sequence[Operation]) -> bool:
        writes = [made[id(op)] for op in found]
        return run and all(
            a.tensor.address is b.tensor.address and not results.repeats(a, b)
            for a, b in pairwise(writes)
        )

    flow_ = _Flow(results)
    lost = list(useless(operations, flow_.finds, stores, set(made), in_place))
    for op in lost:
        yield _told(made[id(op)])
    ended = [] if lost else list(unfinished(operations, flow_, stores, set(made)))
    for found in ended:
        yield _last_lost(made[id(found.adds)], found)
    writes = {id(write.operation): write for write in results.table.writes}
    every = {id(write.operation) for write in results.made}
    every -= {id(op) for op in (*lost, *(each.adds for each in ended))}
    if not run:
        places = LocalSteps(results.chip, results.demands, stores)
        for one in lost_rounds(operations, places, every):
            yield from _lost_in_rounds(writes[id(one.lost)], one)


class _Flow:
    """Whether one operation may read what another one leaves: each two are asked once."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._reads = _by_operation(results.table.reads)
        self._writes = _by_operation(results.table.writes)
        self._last: dict[int, Use | None] = {}
        self._found: dict[tuple[int, int], bool] = {}

    def finds(self, one: Operation, other: Operation) -> bool:
        """Whether the second may read what the first leaves, in whichever rounds they are."""
        key = id(one), id(other)
        if key not in self._found:
            pairs = product(self._writes.get(id(one), ()), self._reads.get(id(other), ()))
            self._found[key] = any(self._may_find(write, read) for write, read in pairs)
        return self._found[key]

    def _may_find(self, write: Use, read: Use) -> bool:
        """Whether a read may find something of a write, in whichever rounds they are."""
        results = self._results
        if self._replaced(write, read):
            return False
        last = self._filled(read)
        # what fills it in a round of its own leaves nothing of earlier ones
        kept = 0 if last is None or results.repeats(write, last) else len(last.loops)
        beside = results.unordered(write.operation, read.operation)
        before = flow.earlier(write, read, kept, beside)
        return any(not results.apart(read, each) for each in before)

    def _filled(self, read: Use) -> Use | None:
        if id(read) not in self._last:
            self._last[id(read)] = _last(self._results, read)
        return self._last[id(read)]

    def _replaced(self, write: Use, read: Use) -> bool:
        last = self._filled(read)
        return (
            last is not None and write.order < last.order and not self._results.repeats(write, last)
        )

    def _pairs(self, one: Operation, other: Operation) -> Iterator[tuple[Use, Use]]:
        return product(self._writes.get(id(one), ()), self._reads.get(id(other), ()))

    def at_last(self, one: Operation, other: Operation, depth: int, put: E.Substitution) -> bool:
        """Whether the second may read what the first leaves in the last round of its loops from
        ``depth`` on."""
        return any(self._at_last(a, b, depth, put) for a, b in self._pairs(one, other))

    def _at_last(self, write: Use, read: Use, depth: int, put: E.Substitution) -> bool:
        results = self._results
        common = common_loops(write.loops, read.loops)
        if any(self._from_before(write, read, level) for level in range(min(common, depth))):
            return True
        if self._replaced(write, read) or exclusive(write.path, read.path):
            return False
        if common <= depth:
            found = flow.anywhere(read, common) if read.order > write.order else None
        elif common == depth + 1 and read.order < write.order:
            return False
        else:
            found = flow.at(read, put)
        return found is not None and not results.apart(write, found)

    def carries(self, one: Operation, other: Operation, depth: int) -> bool:
        """Whether the second may find what the first has left in an earlier round of a loop."""
        return any(self._from_before(a, b, depth) for a, b in self._pairs(one, other))

    def _from_before(self, write: Use, read: Use, level: int) -> bool:
        if common_loops(write.loops, read.loops) <= level:
            return False
        last = self._filled(read)
        if (last is not None and len(last.loops) > level) or self._begun(read, level):
            return False
        found = flow.anywhere(read, level)
        return found is not None and not self._results.apart(write, found)

    def _begun(self, read: Use, level: int) -> bool:
        """Whether the first rounds of the loops in a round of one fill all that is read there."""
        first = E.Substitution({loop.symbol: E.const(0) for loop in read.loops[level + 1 :]})
        if not any(first.bool(fact) is E.FALSE for fact in read.path):
            return False
        held = {id(E.TRUE), *map(id, read.path)}
        return any(
            len(write.loops) > level
            and write.loops == read.loops[: len(write.loops)]
            and all(id(first.bool(fact)) in held for fact in write.path)
            and kit.fills_all(self._results.chip, kit.moved(write.tensor, first), read.tensor)
            for write in self._results.table.writes
        )

    def taken(self, op: Operation) -> Where | None:
        """The part of an input that it takes, if it is a load."""
        tensor = kit.loaded(op)
        if tensor is None:
            return None
        where = (tensor.address.offset, *tensor.shape, *tensor.strides)
        return id(tensor.address.storage), where

    def left(self, op: Operation) -> Sequence[Where]:
        """The places that it writes."""
        out: list[Where] = []
        for tensor in (touch.tensor for touch in op.touches if touch.writes):
            terms = (*tensor.shape, *tensor.strides)
            if isinstance(tensor, SystemTensor):
                out.append((id(tensor.address.storage), (tensor.address.offset, *terms)))
            else:
                out.append((0, (tensor.address, *terms)))
        return out


def _by_operation(uses: Iterable[Use]) -> dict[int, list[Use]]:
    out: dict[int, list[Use]] = {}
    for use in uses:
        out.setdefault(id(use.operation), []).append(use)
    return out


def _once_more(write: Use, table: flow.Uses) -> bool:
    """Whether a load that is done once brings what another one brings: what is loaded ahead may be
    loaded again behind the last round."""
    mine = kit.loaded(write.operation)
    others = (kit.loaded(w.operation) for w in table.writes if w.operation is not write.operation)
    return (
        mine is not None
        and all(E.le(loop.trips, 1) is E.TRUE for loop in write.loops)
        and any(
            other is not None and other.address.storage is mine.address.storage for other in others
        )
    )


def _stores(op: Operation) -> bool:
    return any(touch.writes and isinstance(touch.tensor, SystemTensor) for touch in op.touches)


def _is_seen(op: Operation) -> bool:
    """Whether others than the kernel may see something of an operation."""
    return _stores(op) or not any(
        touch.writes and isinstance(touch.tensor, LocalTensor) for touch in op.touches
    )


def _last(results: Results, read: Use) -> Use | None:
    """The last write before a read in its own round that surely has all that is read."""
    held = {id(fact) for fact in read.path}
    for write in reversed(results.table.writes):
        if (
            write.order < read.order
            and write.loops == read.loops[: len(write.loops)]
            and all(id(fact) in held for fact in write.path)
            and flow.reaches(write, read) is E.TRUE
            and kit.fills_all(results.chip, write.tensor, read.tensor)
            and not results.unordered(write.operation, read.operation)
        ):
            return write
    return None


def _told(write: Use) -> Check:
    what = f"{words(write.touch.role)} of `{function(write.operation)}`"
    return Check(
        predicate=E.FALSE,
        span=write.span,
        text=f"something that is stored is made of {what}",
        message=f"nothing that is stored hangs on {what}",
        facts=("OKK-X07", "ADR-11"),
        help=("use the result, or leave the operation out",),
        path=write.path,
        order=write.order,
    )


def _last_lost(write: Use, found: Unfinished) -> Check:
    what = f"{words(write.touch.role)} of `{function(write.operation)}`"
    return found.told(
        _told(write),
        f"what is stored has all that {what} adds up",
        f"{what} goes on with a sum after that was stored for the last time: the last part comes "
        "to no store",
    )


def _lost_in_rounds(write: Use, found: Lost) -> Iterator[Check]:
    what = f"{words(write.touch.role)} of `{function(write.operation)}`"
    by = None if found.again is None else function(found.again)
    return found.told(_told(write), what, by)


__all__ = ["unused"]
