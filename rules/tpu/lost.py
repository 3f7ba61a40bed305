"""Results in local memory, and what was loaded there, of which nothing comes to what is stored
(:mod:`rules.memory.losses`), and parts of inputs that a pipeline takes another way than the others
(:mod:`rules.tpu.rounds`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rules.memory.losses import Asked
from rules.memory.steps import path_of
from rules.tpu import flow, kit
from rules.tpu.examples import pair
from rules.tpu.flow import Use
from rules.tpu.kit import function, words
from rules.tpu.local_steps import LocalSteps
from rules.tpu.results import Results
from rules.tpu.rounds import lost_or_astray
from verifier.dialects.names import OKK
from verifier.hardware.chips import Chip
from verifier.rulebase import Monitor, On, Rule, register
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Expr
from verifier.symbolic.lanes import LocalTensor, SystemTensor
from verifier.symbolic.memory.events import Followed
from verifier.symbolic.trace import Operation, Trace


def lost_results(trace: Trace, chip: Chip) -> Iterable[Check]:
    """One check per place that makes results of which nothing that is stored is made, and one per
    loop in which parts go astray."""
    # an operation that is not modelled may read any of them, and so may what comes after an error
    if not trace.unmodelled and trace.completes and not trace.dies:
        yield from _lost(trace, chip)


def lost_in_run(event: Followed, chip: Chip) -> Iterator[Check]:
    """As :func:`lost_results`, of a run."""
    yield from _lost(event.trace, chip, run=True)


def _lost(trace: Trace, chip: Chip, *, run: bool = False) -> Iterator[Check]:
    """``run``: the trace is one of a run."""
    operations, results = flow.in_order(trace), Results(trace, chip)
    # (an operand may be loaded for calls that do not use it, as a bias; what takes something that
    # was never written instead is told)
    idle = any(map(kit.leaves_out, operations)) or not all(map(results.means, results.table.writes))
    made = {id(write.operation): write for write in results.made}
    spare = {
        number: not idle
        for number, write in made.items()
        if kit.loaded(write.operation) is not None and (idle or _once_more(write, results.table))
    }
    stores = {id(op) for op in operations if _is_seen(op)}
    # (that nothing is stored at all is told of the kernel)
    judged = made.keys() if any(map(_stores, operations)) else ()
    places, demands = LocalSteps(chip, results.demands, stores), results.demands
    asked = Asked(operations, places, stores, set(judged), _Words(), demands, spare, run)
    yield from lost_or_astray(asked)


def _once_more(write: Use, table: flow.Uses) -> bool:
    """Whether a load that is done once brings what another one brings: from where that begins, too,
    or what a loop before it brings, as what is loaded ahead may be loaded again behind the last
    round."""
    mine = kit.loaded(write.operation)
    in_rounds = any(E.le(loop.trips, 1) is not E.TRUE for loop in write.loops)
    if mine is None or in_rounds or write.operation.rounds:
        return False
    for other in table.writes:
        brings = kit.loaded(other.operation) if other.operation is not write.operation else None
        if brings is not None and brings.address.storage is mine.address.storage:
            in_loop = bool(other.loops or other.operation.rounds)
            ahead = in_loop and other.order < write.order
            if (ahead and not _is_beside(mine, brings, other)) or (
                brings.address.offset is mine.address.offset
            ):
                return True
    return False


def _is_beside(mine: SystemTensor, brings: SystemTensor, other: Use) -> bool:
    """Whether a load that is done once brings none of what another one brings in any round: where
    the loop begins and ends tell it, as of a rest behind the last whole part."""
    (begin, end), (low, high) = kit.system_block(mine), kit.system_block(brings)
    behind = (E.le(most, begin) for most in _reached(high, other, last=True))
    before = (E.le(end, least) for least in _reached(low, other, last=False))
    return any(fact is E.TRUE for fact in (*behind, *before))


def _reached(term: Expr, use: Use, *, last: bool) -> list[Expr]:
    """What a term of the indices of loops is at most (else at least) in all rounds that an
    operation is in; empty: that is not known."""
    found = [term]
    for loop in reversed(use.loops):
        limits = [loop.trips - 1] if last else [E.const(0)]
        for fact in path_of(use.operation) if last else ():
            if fact.kind is E.BoolKind.LE and fact.expr is not None:
                rest = fact.expr - loop.index
                if loop.symbol in fact.expr.free() and loop.symbol not in rest.free():
                    limits.append(rest * -1)
        out: list[Expr] = []
        for each in found:
            slope = E.Substitution({loop.symbol: loop.index + 1}).expr(each) - each
            if loop.symbol not in slope.free() and E.ge(slope, 0) is E.TRUE:
                out += (E.Substitution({loop.symbol: limit}).expr(each) for limit in limits)
        found = out
    return found


def _stores(op: Operation) -> bool:
    return any(touch.writes and isinstance(touch.tensor, SystemTensor) for touch in op.touches)


def _is_seen(op: Operation) -> bool:
    """Whether others than the kernel may see something of an operation."""
    return _stores(op) or not any(
        touch.writes and isinstance(touch.tensor, LocalTensor) for touch in op.touches
    )


class _Words:
    facts: tuple[str, ...] = ("OKK-X07", "ADR-11")

    def function(self, op: Operation) -> str:
        return function(op)

    def told_of(self, op: Operation, *, writes: bool) -> tuple[str, Span]:
        role = next(
            touch.role
            for touch in op.touches
            if isinstance(touch.tensor, LocalTensor)
            if (touch.writes and not touch.destroys if writes else touch.reads)
        )
        return f"{words(role)} of `{function(op)}`", kit.span_of(op, role)

    def never(self, op: Operation) -> Check:
        what, span = self.told_of(op, writes=True)
        return Check(
            predicate=E.FALSE,
            span=span,
            text=f"something that is stored is made of {what}",
            message=f"nothing that is stored hangs on {what}",
            facts=self.facts,
            help=("use the result, or leave the operation out",),
            path=op.path,
            order=op.order,
        )


_PAIR = pair(
    "rectified",
    "blocks: int, x: okk.SystemAddr, y: okk.SystemAddr",
    """\
assert 1 <= blocks <= 50
okk.initialize()
shape = okk.dim4(1, 40, 3, 70)
size = 40 * 3 * 70 * 4
for step in range(blocks + 1):
    if step < blocks:
        okk.gdma_32bit_cpy_S2L(step % 2 * 4096, x + step * size, shape, None, None)
    if step > 0:
        okk.gdma_32bit_cpy_L2S(y + (step - 1) * size, (step - 1) % 2 * 4096, shape, None, None)
    if step < blocks:
        okk.bdc_relu(step % 2 * 4096, step % 2 * 4096, shape, None, None)
        @@
okk.poll()
""",
    "okk.gdma_32bit_cpy_S2L(step % 2 * 4096, x + step * size, shape, None, None)",
    "okk.bdc_mul_C(step % 2 * 4096, step % 2 * 4096, 0.5, shape, None, None)",
)

register(
    Rule(
        id="okk-lost-result",
        code="OKK303",
        family=OKK,
        summary="a result is read before its place is filled again",
        silent=True,
        reason=(
            "In a pipeline each buffer is filled anew every few steps. Where that comes before the "
            "result of the last step was stored or used, the step was for nothing, and what reads "
            "the place next finds other data than it was written for: a load that overwrites what "
            "was computed sends what was never computed. A sum that a round clears before anything "
            "has read it is lost, too, and so is what was loaded and nothing uses that is stored. "
            "Repeating the very same operation, constants, and results that only some iterations "
            "need are fine."
        ),
        facts=("OKK-X07", "ADR-11"),
        on=On.TRACE,
        check=lost_results,
        monitors=(Monitor(Followed, lost_in_run, meant=True),),
        dialects=(OKK,),
        sources=("OKKernel manual, programming_device",),
        failing=_PAIR[0],
        passing=_PAIR[1],
    )
)
