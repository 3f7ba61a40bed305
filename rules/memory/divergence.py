"""Barriers and exchanges that not all cores come to: those that do wait for ever."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from rules.memory.crossings import crossed
from rules.memory.exchanges import all_answer, answered
from rules.memory.order import barriers, waits
from rules.memory.passes import Passes
from verifier.hardware.catalogue import Hardware
from verifier.rulebase import Monitor, On, Rule, Whose, register
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool
from verifier.symbolic.memory.events import Awaited, Unanswered
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Operation, Trace


def divergence(trace: Trace, target: Hardware) -> Iterable[Check]:
    """Per barrier: no instance that comes to it goes through more of them than another one does.

    Per exchange: the core that it receives from sends to it as often, and the same shape. And all
    of them come to these in one order.
    """
    yield from _as_often(trace)
    yield from answered(trace)
    first = crossed(trace)
    if first is not None:
        asked = _all_come(first.span) if waits(first) else all_answer(first.span)
        reason = "whether cores come to barriers and exchanges in one order is not known"
        yield replace(asked, exact=False, reason=reason, path=first.path, order=first.order)


def _as_often(trace: Trace) -> Iterator[Check]:
    """All instances go through the same number of barriers."""
    passes = Passes(trace.grid)
    uneven = [barrier for barrier in barriers(trace) if passes.uneven(barrier)]
    counts = [passes.count(barrier.path, barrier.loops) for barrier in uneven]
    known = [count for count in counts if count is not None]
    exact = passes.exact and len(known) == len(counts)
    table = {
        loop.symbol: E.fresh(f"another {loop.name or 'core'}", 0, loop.symbol.hi, E.Origin.POINT)
        for loop in trace.grid
    }
    there = E.Substitution(table)
    total = sum(known, E.const(0))
    for position, barrier in enumerate(uneven):
        if any(_same_way(barrier, later) for later in uneven[position + 1 :]):
            continue  # said at the last of them
        predicate = E.ge(there.expr(total), total)
        certain = exact
        if len(known) < len(counts):
            beside = [op for op in uneven if op.loops == barrier.loops]
            predicate = _in_each_iteration(beside, there, passes.own)
            certain = passes.one_way([(op.path, op.loops) for op in beside])
        if predicate is E.TRUE:
            continue
        found = _check(trace, barrier, predicate, trace.grid, there)
        reason = "" if certain else "how often each instance comes to its barriers is not known"
        yield replace(found, exact=certain, reason=reason)


def _same_way(barrier: Operation, other: Operation) -> bool:
    """Whether an instance comes to both or to none of them."""
    return barrier.loops == other.loops and set(barrier.path) == set(other.path)


def _in_each_iteration(beside: list[Operation], there: E.Substitution, own: set[E.Sym]) -> Bool:
    """In one iteration of the loops around, another instance goes through as many barriers."""
    total = sum((E.ite(E.and_(*barrier.path), 1, 0) for barrier in beside), E.const(0))
    trips = (loop.trips for loop in beside[0].loops if not own.isdisjoint(loop.trips.free()))
    same = (E.eq(there.expr(count), count) for count in trips)
    return E.and_(E.ge(there.expr(total), total), *same)


def _check(
    trace: Trace,
    barrier: Operation,
    predicate: Bool,
    grid: tuple[Loop, ...],
    there: E.Substitution,
) -> Check:
    ranges = [there.bool(loop.within) for loop in grid] + [loop.within for loop in grid]
    different = E.or_(*(E.ne(there.expr(loop.index), loop.index) for loop in grid))
    roles = ("core that waits", "core that does not come")
    one, another = (E.fresh(role, 0, None, E.Origin.POINT) for role in roles)
    first = grid[0]
    return replace(
        _all_come(barrier.span),
        predicate=predicate,
        facts=_facts(barrier),
        given=(*ranges, different, E.eq(one, first.index), E.eq(another, there.expr(first.index))),
        values=((roles[0], one), (roles[1], another)),
        notes=(Note(first.span, "the program index"),),
        path=barrier.path,
        order=barrier.order,
    )


def _facts(barrier: Operation) -> tuple[str, ...]:
    return barrier.instruction.facts if barrier.instruction is not None else ()


def _all_come(span: Span) -> Check:
    """All instances come to a barrier as often."""
    return Check(
        predicate=E.FALSE,
        span=span,
        text="every program instance comes to the barrier as often",
        message="not all program instances come to the barrier: the others wait for ever",
        help=("call it outside of conditions and loops that depend on the program index",),
    )


def never_come(event: Awaited, target: Hardware) -> Iterator[Check]:
    """A barrier of a run that some cores never come to."""
    numbers = (("cores that wait", event.cores - event.missing), ("cores in all", event.cores))
    values = tuple((name, E.const(number)) for name, number in numbers)
    yield replace(_all_come(event.span), values=values)


def never_sent(event: Unanswered, target: Hardware) -> Iterator[Check]:
    """An exchange of a run in which nothing that fits is ever sent."""
    yield all_answer(event.span)


_MEET = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def meet(x):
    assert x.shape == (2, 64, 90)
    core = nl.program_id(0)
    assert nl.num_programs(0) == 2
    out = nl.ndarray((2, 64, 90), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((64, 90), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[core])
    nisa.dma_copy(dst=out[core], src=tile)
    if core < @@:
        nisa.core_barrier(data=out, cores=(0, 1))
    return out
"""

register(
    Rule(
        id="core-barrier-divergence",
        code="MEM312",
        family="memory",
        summary="every core comes to a barrier that one core comes to",
        silent=True,
        reason=(
            "At a barrier each core waits until all have come. Under a condition on the program "
            "index, or in a loop whose trips depend on it, some do not come: the kernel hangs. "
            "A core that receives in a sendrecv waits in the same way for the one that sends."
        ),
        facts=("NKI-BAR02", "NKI-SRV02", "NKI-SRV04", "NKI-L64", "PPL-B11"),
        on=On.TRACE,
        check=divergence,
        monitors=(Monitor(Awaited, never_come), Monitor(Unanswered, never_sent)),
        whose=Whose.OF_TENSORS,
        sources=("NKI LNC guide", "NKI ISA core_barrier", "NKI ISA sendrecv"),
        failing=_MEET.replace("@@", "1"),
        passing=_MEET.replace("@@", "2"),
    )
)
