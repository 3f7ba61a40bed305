"""Barriers that not all program instances come to: those that do wait for ever."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from rules.memory.order import barriers
from verifier.dialects.names import NKI, PPL
from verifier.hardware.catalogue import Hardware
from verifier.rulebase import Check, Monitor, Note, Rule, register
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.memory.events import Awaited
from verifier.symbolic.memory.lives import exclusive
from verifier.symbolic.tensors import Loop
from verifier.symbolic.trace import Operation, Trace


def divergence(trace: Trace, target: Hardware) -> Iterable[Check]:
    """Per barrier: if one instance comes to it, so does every other, or to another one instead."""
    waits = barriers(trace)
    for barrier in waits:
        yield from _reached_by_all(trace, barrier, waits)


def _reached_by_all(
    trace: Trace, barrier: Operation, waits: tuple[Operation, ...]
) -> Iterator[Check]:
    grid = trace.grid
    own = {loop.symbol for loop in grid}
    path = [fact for fact in barrier.path if not own.isdisjoint(fact.free())]
    around = [loop for loop in barrier.loops if loop not in grid]
    uneven = [loop for loop in around if not own.isdisjoint(loop.trips.free())]
    if not path and not uneven:
        return
    others = [loop.index for loop in grid]
    table = {
        loop.symbol: E.fresh(f"another {loop.name or 'core'}", 0, loop.symbol.hi, E.Origin.POINT)
        for loop in grid
    }
    there = E.Substitution(table)
    instead = E.or_(*(_comes_to(there, op) for op in waits if _instead(barrier, op)))
    predicate = E.or_(E.and_(*(there.bool(fact) for fact in path)), instead)
    predicate = E.and_(predicate, *(E.eq(there.expr(x.trips), x.trips) for x in uneven))
    if predicate is E.TRUE:
        return
    ranges = [there.bool(loop.within) for loop in grid] + [loop.within for loop in grid]
    different = E.or_(*(E.ne(there.expr(index), index) for index in others))
    yield _check(trace, barrier, predicate, (*ranges, different), grid, there)


def _instead(barrier: Operation, other: Operation) -> bool:
    """Whether another barrier is for the instances that do not come to this one."""
    return other is not barrier and exclusive(barrier.path, other.path)


def _comes_to(there: E.Substitution, barrier: Operation) -> Bool:
    return E.and_(*(there.bool(fact) for fact in barrier.path))


def _check(
    trace: Trace,
    barrier: Operation,
    predicate: Bool,
    given: tuple[Bool, ...],
    grid: tuple[Loop, ...],
    there: E.Substitution,
) -> Check:
    roles = ("core that waits", "core that does not come")
    one, another = (E.fresh(role, 0, None, E.Origin.POINT) for role in roles)
    first = grid[0]
    return replace(
        _all_come(barrier.span),
        predicate=predicate,
        facts=_facts(barrier),
        given=(*given, E.eq(one, first.index), E.eq(another, there.expr(first.index))),
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
        message="a barrier that not all program instances come to: the others wait for ever",
        help=("call it outside of conditions and loops that depend on the program index",),
    )


def never_come(event: Awaited, target: Hardware) -> Iterator[Check]:
    """A barrier of a run that some cores never come to."""
    numbers = (("cores that wait", event.cores - event.missing), ("cores in all", event.cores))
    values = tuple((name, E.const(number)) for name, number in numbers)
    yield replace(_all_come(event.span), values=values)


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
        reason=(
            "At a barrier each core waits until all have come. Under a condition on the program "
            "index, or in a loop whose trips depend on it, some do not come: the kernel hangs."
        ),
        facts=("NKI-BAR02", "PPL-B11"),
        on="trace",
        check=divergence,
        monitors=(Monitor(Awaited, never_come),),
        dialects=(NKI, PPL),
        sources=("NKI LNC guide", "NKI ISA core_barrier"),
        failing=_MEET.replace("@@", "1"),
        passing=_MEET.replace("@@", "2"),
    )
)
