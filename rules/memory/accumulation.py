"""The accumulation protocol of PSUM: who starts a sum, and who starts the next one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rules.memory import examples
from rules.memory.cases import apart, before, common_loops, contains, copy, covered, dominates
from rules.memory.words import allocation_note, element
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import Check, Note, Rule, register
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.index import (
    Access,
    Uses,
    accumulates,
    index,
    is_matmul,
    is_tensor_engine,
    tensor,
)
from verifier.symbolic.memory.known import Known
from verifier.symbolic.pretty import pretty
from verifier.symbolic.trace import Trace

#: first generation on which any earlier content may be added to (NKI-MMU26)
_ANY_CONTENT_SINCE = 4


def accumulation_protocol(trace: Trace, target: Target) -> Iterable[Check]:
    """Checks per matmul into PSUM; Beta 1 sums with ``+=`` into zeros and is exempt."""
    if trace.api == "beta1":
        return
    for uses in index(trace).storages:
        if uses.storage.buffer is not Buffer.PSUM:
            continue
        for access in uses.targets:
            if is_matmul(access.operation):
                yield _started(access, uses)
        for access in uses.writes:
            if is_matmul(access.operation) and accumulates(access.operation):
                if target.generation < _ANY_CONTENT_SINCE:
                    yield from _foreign(access, uses)
                yield from _stale(access, uses)


def _sums(uses: Uses) -> list[Access]:
    return [write for write in uses.writes if is_tensor_engine(write.operation)]


def _started(access: Access, uses: Uses) -> Check:
    """NKI-MMU25: ``accumulate=True`` continues a sum that another matmul started."""
    name = uses.storage.name
    sums = _sums(uses)
    others = [w for w in sums if w.operation is not access.operation]
    exact, reason = True, ""
    predicate: Bool
    if any(dominates(w, access) and contains(w.view, access.view) for w in others):
        predicate = E.TRUE
    else:
        ways = (way for w in sums for way in before(w, access))
        predicate, exact, _ = covered(
            ways, access.view, Known((*access.path, *access.ranges), access.loops)
        )
        if not access.view.exact:
            predicate, exact = E.FALSE, False
        if not exact:
            reason = f"where `{name}` was written is not known exactly"
    where = element(access.view)
    return Check(
        predicate=predicate,
        span=access.operation.span_of("accumulate"),
        text=f"a matmul that overwrites `{name}` comes before one that adds to it",
        message=f"the first matmul into `{name}` adds to what was there before",
        facts=("NKI-MMU25",),
        given=(*access.ranges, *where.given) if predicate is not E.TRUE else (),
        values=where.values,
        notes=(allocation_note(uses.storage),),
        help=("start the sum with accumulate=False, or leave accumulate at None",),
        exact=exact,
        reason=reason,
        path=(*access.path, *access.given),
        order=access.order,
    )


def _foreign(access: Access, uses: Uses) -> Iterator[Check]:
    """NKI-MMU26: a sum never continues what something else than a matmul wrote."""
    name = uses.storage.name
    for write in uses.writes:
        if is_tensor_engine(write.operation) or write.order > access.order:
            continue
        shared = common_loops(write.loops, access.loops)
        sums = [w for w in _sums(uses) if w.order > write.order]
        other = copy(write, shared, instance=tensor(access.view))
        predicate: Bool = E.TRUE
        exact = True
        given: tuple[Bool, ...] = ()
        if other is not None:
            adds = access.operation.accumulates
            different, exact = apart(access.view, other.view)
            ways = (way for w in sums for way in before(w, access, inside=shared))
            resumed, sums_exact, _ = covered(
                ways, access.view, Known((*access.path, *access.ranges), access.loops)
            )
            predicate = E.or_(different, resumed)
            exact = exact and sums_exact and access.view.exact
            given = (*access.ranges, *other.ranges)
            if isinstance(adds, Bool):
                given = (*given, adds)
        what = write.operation.name.rpartition(".")[2]
        where = element(access.view)
        yield Check(
            predicate=predicate,
            span=access.span,
            text=f"`{name}` was last written by a matmul when a matmul adds to it",
            message=f"a matmul adds to `{name}`, which `{what}` wrote",
            facts=("NKI-MMU26",),
            given=(*given, *where.given),
            values=where.values,
            notes=(Note(write.operation.span, f"`{name}` is written by `{what}` here"),),
            help=(
                f"drop the `{what}`: the first matmul of a sum overwrites its target "
                "(accumulate=False or None)",
            ),
            exact=exact,
            reason="" if exact else f"where `{name}` was written is not known exactly",
            path=access.path,
            order=access.order,
        )


def _stale(access: Access, uses: Uses) -> Iterator[Check]:
    """NKI-MMU27: with ``accumulate=None`` a tile that is used again goes on adding."""
    if access.operation.accumulates != "first-overwrites":
        return
    storage = uses.storage
    for level in reversed(range(len(access.loops))):
        loop = access.loops[level]
        if loop.kind == "grid" or loop in storage.loops:
            continue
        inside = [
            other
            for other in (*uses.reads, *uses.writes)
            if level < len(other.loops) and other.loops[level] is loop
        ]
        resets = [
            other for other in inside if other in uses.writes and not accumulates(other.operation)
        ]
        consumers = [
            other for other in inside if other in uses.reads and other.order > access.order
        ]
        if resets or not consumers:
            continue
        yield _stale_check(access, uses, level, consumers[0])
        return


def _stale_check(access: Access, uses: Uses, level: int, consumer: Access) -> Check:
    storage = uses.storage
    name = storage.name
    loop = access.loops[level]
    index_name = loop.name or "i"
    where = {sym for coord in access.view.coords for sym in coord.free()}
    given: tuple[Bool, ...] = ()
    values: tuple[tuple[str, Expr], ...] = ((f"trips of `{index_name}`", loop.trips),)
    exact = access.view.exact
    predicate: Bool
    inner = {other.symbol for other in access.loops[level:]}
    if not (where & inner):
        predicate = E.le(loop.trips, 1)
        given = tuple(other.within for other in access.loops[:level])
        given += tuple(E.ge(other.trips, 1) for other in access.loops[level + 1 :])
        text = f"{pretty(loop.trips)} <= 1"
    else:
        other = copy(access, level, above=loop.index, instance=tensor(access.view))
        predicate = E.TRUE
        text = f"every iteration of `{index_name}` sums into another part of `{name}`"
        if other is not None:
            predicate, exact = apart(access.view, other.view)
            given = (*access.ranges, *other.ranges)
    return Check(
        predicate=predicate,
        span=access.span,
        text=text,
        message=(
            f"from the second iteration of `{index_name}` on, this matmul adds to the sum of the "
            f"iteration before: nothing resets `{name}`"
        ),
        facts=("NKI-MMU27",),
        given=given,
        values=values,
        notes=(
            Note(consumer.span, "the sum is used here"),
            Note(storage.span, f"`{name}` is allocated here, outside the loop"),
        ),
        help=(
            f"allocate `{name}` inside the loop over `{index_name}`, or pass accumulate=False to "
            "the first matmul of each sum",
        ),
        exact=exact,
        reason="" if exact else access.view.reason,
        path=access.path,
        order=access.order,
    )


register(
    Rule(
        id="psum-accumulation",
        code="MEM305",
        family="memory",
        summary="a sum in PSUM starts from nothing but what belongs to it",
        reason=(
            "The Tensor Engine keeps one flag per PSUM location: the first matmul overwrites, "
            "later ones add. A tile that is reused without accumulate=False goes on with the old "
            "sum; adding to what another engine wrote is undefined before trn3."
        ),
        facts=("NKI-MMU25", "NKI-MMU26", "NKI-MMU27", "NKI-B23"),
        on="trace",
        check=accumulation_protocol,
        failing=examples.ACCUMULATION_FAILING,
        passing=examples.ACCUMULATION_PASSING,
    )
)
