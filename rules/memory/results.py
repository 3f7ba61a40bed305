"""Results of NKI kernels that a loop makes anew before anything has come of them.

A sum that each round begins at zero again, a tile that each round allocates and only what stands
behind the loop reads, a statistic of one tile where each of many was wanted: all rounds but the
last were for nothing. What becomes of results is followed as for other dialects
(:mod:`rules.memory.losses`); asked are those of loops in which nothing but what goes on with them
reads them, since something comes of the others in their own round. Loads are asked of by
themselves (:mod:`rules.memory.overwritten`), and that nothing at all comes of some result is
advice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Final

from rules.memory import examples
from rules.memory.loaded import load_of
from rules.memory.losses import Asked, gone, lost
from rules.memory.places import ViewSteps
from rules.memory.registers import registers_of
from rules.memory.unrolled import Size
from rules.memory.words import subject
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import Monitor, On, Replayed, Rule, Shown, register
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.effects import Effect
from verifier.symbolic.memory.events import Followed
from verifier.symbolic.memory.index import Access, Index, Uses, index, is_tensor_engine
from verifier.symbolic.tensors import Loop, LoopKind, StorageKind, View
from verifier.symbolic.trace import Operation, Trace

#: operations of all rounds of a loop together that are gone through
_MOST: Final = 512


def lost_results(trace: Trace, target: Target) -> Iterable[Check]:
    """A check for each call whose results may be lost in all rounds but the last few."""
    # what is not modelled may read any of them, and so may what comes after an error
    if not trace.unmodelled and trace.completes and not trace.dies:
        yield from _lost(trace)


def lost_in_run(event: Followed, target: Target) -> Iterator[Check]:
    """As :func:`lost_results`, of a run."""
    yield from _lost(event.trace, run=True)


def _lost(trace: Trace, *, run: bool = False) -> Iterator[Check]:
    table = index(trace)
    found: dict[int, tuple[Operation, set[int]]] = {}
    for uses in table.storages:
        for op, depth in _awaited(uses, table, run=run):
            found.setdefault(id(op), (op, set()))[1].add(depth)
    if not found:
        return
    operations = sorted(trace.operations, key=lambda op: op.order)
    kept = any(map(_goes_on_from_accumulators, operations))
    stores = {id(op) for op in operations if _is_seen(op, kept)}
    asked: Asked[View] = Asked(
        operations,
        ViewSteps(trace, stores),
        stores,
        found.keys(),
        _Words(),
        [item.condition for item in trace.assumptions],
        run=run,
        never=False,
    )

    def wanted(size: Size) -> bool:
        depth = len(size.around)
        inside = [op for op in operations if op.loops[:depth] == size.around]
        about = any(
            depth in depths
            and op.loops[:depth] == size.around
            and op.loops[depth].trips is size.loop.trips
            for op, depths in found.values()
        )
        return about and sum(_times(op, depth) for op in inside) <= _MOST

    yield from lost(asked, list(gone(asked, wanted)))


def _times(op: Operation, depth: int) -> int:
    """How often an operation is done in a round of the loops up to a depth, as far as known."""
    return prod(loop.trips.const for loop in op.loops[depth:] if loop.trips.is_const)


def _awaited(uses: Uses, table: Index, *, run: bool) -> Iterator[tuple[Operation, int]]:
    """What makes results in a tensor in rounds of a loop, at a depth, in which nothing else reads
    them."""
    storage, alone = uses.storage, not table.trace.grid
    seen = storage.kind is not StorageKind.ALLOC or storage.address is not None
    if seen or not (storage.buffer.on_chip or alone):
        return
    if not (uses.reads or run or storage.returned):
        return  # nobody wants it: that is told as such
    own = {id(write.operation) for write in uses.writes}
    others = [read.operation for read in uses.reads if id(read.operation) not in own]
    for write in uses.writes:
        op = write.operation
        if not op.reads or not write.view.exact or load_of(write, table) is not None:
            continue
        around = _around(op, run)
        for depth in reversed(range(len(around))):
            if any(_around(each, run)[: depth + 1] == around[: depth + 1] for each in others):
                break
            if run or (_in_order(op.loops[depth], table.trace) and not _goes_on(op, depth, uses)):
                yield op, depth


def _around(op: Operation, run: bool) -> Sequence[object]:
    return op.rounds if run else op.loops


def _in_order(loop: Loop, trace: Trace) -> bool:
    """Whether its rounds come one after the other: of iterations that promise to be independent it
    is told if they fill one place."""
    together = trace.generation.reorders and loop.kind.unordered
    return loop.kind is not LoopKind.GRID and not together


def _goes_on(op: Operation, depth: int, uses: Uses) -> bool:
    """Whether all that a loop writes to the one tensor that it has goes on with what is there, or
    is a product, of which it is told otherwise what is over it."""
    loop, around = op.loops[depth], op.loops[: depth + 1]
    if loop in uses.storage.loops:
        return False
    inside = [each for each in uses.writes if each.operation.loops[: depth + 1] == around]
    if any(loop.symbol in term.free() for each in inside for term in each.view.instance):
        return False
    return is_tensor_engine(op) or all(_adds(each, uses) for each in inside)


def _adds(write: Access, uses: Uses) -> bool:
    op = write.operation
    return op.effect is not Effect.SETS or any(view.storage is uses.storage for _, view in op.reads)


def _goes_on_from_accumulators(op: Operation) -> bool:
    """Whether results may come to it by way of its engine's accumulators."""
    registers = registers_of(op)
    used = None if registers is None else registers.used(op)
    return registers is not None and (used is None or used.continues)


def _is_seen(op: Operation, kept: bool) -> bool:
    """Whether others than tiles get something of it: memory off chip, a register, another core,
    what lies at an address where other tiles may be, or an engine's accumulators, if what they have
    ``kept`` is used."""
    footprint = None if op.instruction is None else op.instruction.footprint
    if footprint is None or footprint.registers or footprint.orders or not op.writes:
        return True
    return (kept and footprint.accumulators is not None) or any(
        not view.storage.buffer.on_chip
        or view.storage.buffer is Buffer.REGISTER
        or view.storage.address is not None
        or view.storage.returned
        or view.storage.kind is StorageKind.INPUT
        for _, view in op.writes
    )


class _Words:
    facts: tuple[str, ...] = ()

    def function(self, op: Operation) -> str:
        return op.name.rpartition(".")[2]

    def told_of(self, op: Operation, *, writes: bool) -> tuple[str, Span]:
        return f"the result of `{self.function(op)}`", op.span

    def never(self, op: Operation) -> Check:
        _, view = op.writes[0]
        what = self.function(op)
        return Check(
            predicate=E.FALSE,
            span=op.span,
            text=f"something that is stored is made of the result of `{what}`",
            message=f"nothing that is stored hangs on the result of `{what}`, "
            f"`{view.storage.name}`",
            subject=subject(view.storage),
            help=("add up what the rounds make, or use it before the next one begins",),
            path=op.path,
            order=op.order,
        )


register(
    Rule(
        id="lost-result",
        code="MEM321",
        family="memory",
        summary="something comes of what each round of a loop computes",
        silent=True,
        reason=(
            "What each round of a loop computes of its own part of the data, and the next one "
            "begins anew or puts into another tile before anything has read it, comes to nothing: "
            "a sum that is cleared within the loop over its parts, a tile for the sum that each "
            "round allocates, a statistic that only the last block leaves. What reads it behind "
            "the loop finds the last round alone. A loop of any number of rounds is looked at "
            "with one, two and so on up to eight of them."
        ),
        facts=(),
        on=On.TRACE,
        check=lost_results,
        monitors=(Monitor(Followed, lost_in_run, meant=True),),
        replayed=Replayed(Shown.SUBJECT, whole=True),
        failing=examples.LOST_RESULT_FAILING,
        passing=examples.LOST_RESULT_PASSING,
    )
)
