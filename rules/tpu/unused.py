"""Results in local memory that no store hangs on (:mod:`rules.tpu.useless`, by their places).

What a read is about is the last write before it that surely has all of it: what stands before that
one is read no more there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product

from rules.tpu import flow, kit
from rules.tpu.flow import Use
from rules.tpu.kit import function, words
from rules.tpu.results import Results
from rules.tpu.useless import useless
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.lanes import LocalTensor, SystemTensor
from verifier.symbolic.trace import Operation, Trace


def unused(trace: Trace, results: Results, *, run: bool = False) -> Iterator[Check]:
    """One check per place that makes results of which nothing that is stored is made.

    ``run``: or the last of them alone, in a place where there were the others before.
    """
    operations = flow.in_order(trace)
    stores = {id(op) for op in operations if _is_seen(op)}
    # (an operand may be loaded for calls that do not use it, as a bias)
    computed = {id(read.operation) for read in results.table.reads}
    made = {id(w.operation): w for w in results.made if id(w.operation) in computed}
    if not any(_stores(op) for op in operations):  # that is told of the kernel
        return

    def in_place(found: Sequence[Operation]) -> bool:
        writes = [made[id(op)] for op in found]
        return run and all(
            a.tensor.address is b.tensor.address and not results.repeats(a, b)
            for a, b in pairwise(writes)
        )

    for op in useless(operations, _Finds(results), stores, set(made), in_place):
        yield _told(made[id(op)])


class _Finds:
    """Whether one operation may read what another one leaves: each two are asked once."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._reads = _by_operation(results.table.reads)
        self._writes = _by_operation(results.table.writes)
        self._last: dict[int, Use | None] = {}
        self._found: dict[tuple[int, int], bool] = {}

    def __call__(self, one: Operation, other: Operation) -> bool:
        key = id(one), id(other)
        if key not in self._found:
            pairs = product(self._writes.get(id(one), ()), self._reads.get(id(other), ()))
            self._found[key] = any(self._may_find(write, read) for write, read in pairs)
        return self._found[key]

    def _may_find(self, write: Use, read: Use) -> bool:
        """Whether a read may find something of a write, in whichever rounds they are."""
        results = self._results
        if id(read) not in self._last:
            self._last[id(read)] = _last(results, read)
        last = self._last[id(read)]
        if last is not None and write.order < last.order and not results.repeats(write, last):
            return False
        before = flow.earlier(write, read, 0, results.unordered(write.operation, read.operation))
        return any(not results.apart(read, each) for each in before)


def _by_operation(uses: Iterable[Use]) -> dict[int, list[Use]]:
    out: dict[int, list[Use]] = {}
    for use in uses:
        out.setdefault(id(use.operation), []).append(use)
    return out


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


__all__ = ["unused"]
