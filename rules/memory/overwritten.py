"""Products that are overwritten before anything has read them.

What the Tensor Engine has computed and later writes over all of its place destroy, unread, was
computed for nothing: a product that begins anew in each trip of a loop over a contraction, two
products in one tile. Repeating the very same product is none: that it makes the same is known.
A product is what one operation leaves in its place, in one of several tiles or a part of one; it is
lost when the last of it is overwritten, by one write or by several, and nothing has read any of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rules.memory import examples
from rules.memory.cases import (
    Copy,
    between,
    common_loops,
    contains,
    copy,
    covered,
    preceding,
)
from rules.memory.words import subject
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import Monitor, On, Replayed, Rule, Shown, register
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.effects import Effect
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.events import Overwritten
from verifier.symbolic.memory.index import (
    Access,
    Uses,
    accumulation,
    index,
    is_tensor_engine,
    tensor,
)
from verifier.symbolic.memory.known import Known
from verifier.symbolic.regions import coverage, same_frame
from verifier.symbolic.tensors import Storage, View
from verifier.symbolic.trace import Operation, Trace
from verifier.symbolic.views.common import conjuncts

#: so many writes together are looked at, that are over a result
_MOST_PARTS: Final = 4


class _Over(Struct, frozen=True):
    """A write over a result: ``way`` is the copy of what made it, ``level`` how many outer loops
    share their iteration. ``when``: it is over all of the result, and makes something new."""

    write: Access
    way: Copy
    level: int
    when: Bool


def overwritten_products(trace: Trace, target: Target) -> Iterable[Check]:
    """A check for each product and each write that may be over all of it."""
    if trace.unmodelled:  # it may read any of them
        return
    for uses in index(trace).storages:
        if uses.storage.buffer is not Buffer.PSUM or uses.storage.address is not None:
            continue
        for write in uses.writes:
            if is_tensor_engine(write.operation) and write.view.exact and not write.view.indirect:
                for later in _over(write, uses, trace):
                    yield _read_before(write, later, uses)


def _over(write: Access, uses: Uses, trace: Trace) -> Iterator[_Over]:
    """What fills the whole place of a result anew, in all rounds of the loops around it."""
    anew = _begins(uses)
    taken = _taken_at_once(write, uses)
    for other in anew:
        if taken is not None and not write.order < other.order < taken:
            continue
        facts = [*other.path, *other.given, *(loop.within for loop in other.loops)]
        if any(map(_open, facts)):
            continue  # only the device knows whether it is done
        sets = E.not_(accumulation(other.operation))
        known = Known((*facts, sets), other.loops)
        for level, way in preceding(write, other):
            turn = level < common_loops(write.loops, other.loops)
            if (turn and taken is not None) or any(map(_open, way.ranges)):
                continue
            if any(known.decide(E.not_(fact)) is True for fact in (*way.ranges, sets)):
                continue
            over = _all_of(other, way, level, anew, known)
            changed = over if over is E.FALSE else _makes_new(way, other, level, trace)
            when = E.and_(sets, over, changed)
            if when is not E.FALSE and not _open(when):
                yield _Over(other, way, level, when)


def _begins(uses: Uses) -> list[Access]:
    """What sets its place anew, whatever was there."""
    own = {id(target.operation) for target in uses.sums}
    return [
        each
        for each in uses.writes
        if each.operation.effect is not Effect.FIRST_SETS
        and id(each.operation) not in own
        and accumulation(each.operation) is not E.TRUE
        and each.view.exact
        and not each.view.indirect
    ]


def _taken_at_once(write: Access, uses: Uses) -> int | None:
    """Where the first read stands that surely comes to a result in its own round; None: nowhere."""
    held = {id(condition) for condition in (*write.path, *write.given)}
    for read in _readers(uses):
        if read.order <= write.order or read.loops != write.loops:
            continue
        if any(id(condition) not in held for condition in (*read.path, *read.given)):
            continue
        if contains(read.view, write.view) or contains(write.view, read.view):
            return read.order
    return None


def _all_of(other: Access, way: Copy, level: int, anew: Sequence[Access], known: Known) -> Bool:
    """When a write is over all of a result, alone or as the last of several."""
    made = way.view
    if contains(other.view, made):
        return E.TRUE
    outer, inner = other.view.box, made.box
    plain = other.view.mask is E.TRUE and _same_kind(other.view, made)
    if plain and outer is not None and inner is not None:
        alone = E.and_(
            *(
                fact
                for (start, size), (lo, extent) in zip(outer, inner, strict=True)
                for fact in (E.le(start, lo), E.le(lo + extent, start + size))
            )
        )
        beside = (
            E.or_(E.le(start + size, lo), E.le(lo + extent, start))
            for (start, size), (lo, extent) in zip(outer, inner, strict=True)
        )
        if alone is not E.FALSE or any(each is E.TRUE for each in beside):
            return alone
    itself = copy(other, len(other.loops), instance=tensor(made))
    if itself is None:
        return E.FALSE
    sure = (each for each in anew if accumulation(each.operation) is E.FALSE)
    ways = [itself, *(w for each in sure for w in between(each, way, level, other))]
    inside = known.also(way.ranges, way.private)
    over, _, _ = covered(ways, made, inside)
    return E.truth(_holds(over, inside, _MOST_PARTS))


def _holds(formula: Bool, known: Known, most: int) -> bool:
    """Whether one of several always holds: where one fails, the others do."""
    if known.decide(formula):
        return True
    if formula.kind is not E.BoolKind.OR or not most:
        return False
    first, others = formula.args[0], E.or_(*formula.args[1:])
    failing = (part for part in conjuncts(first) if known.decide(part) is not True)
    return all(_holds(others, known.also((E.not_(part),), ()), most - 1) for part in failing)


def _same_kind(first: View, second: View) -> bool:
    """Whether places in two views are named alike."""
    return first.frame == second.frame and first.dtype.itemsize is second.dtype.itemsize


def _makes_new(way: Copy, other: Access, level: int, trace: Trace) -> Bool:
    """When a write makes something else than the result that it is over: of other parts, or of what
    was written in between. Rounds of which each does the same make nothing new."""
    made, again = way.access.operation, other.operation
    turn = level < common_loops(way.access.loops, other.loops)
    if not turn:
        return _differs(made, again, _filled(trace, made.order, again.order), {})
    loop = other.loops[level]
    around = (op for op in trace.operations if loop in op.loops)
    filled = {id(view.storage) for op in around for _, view in op.writes}
    reads = [view for op in (made, again) for _, view in op.reads]
    moves = (t for view in reads for t in (*view.coords, *view.instance) if loop.symbol in t.free())
    if not any(id(view.storage) in filled for view in reads) and next(moves, None) is None:
        return E.FALSE
    rounds = zip(way.access.loops[level:], way.at, strict=True)
    return _differs(made, again, filled, {loop.symbol: index for loop, index in rounds})


def _filled(trace: Trace, first: int, last: int) -> set[int]:
    """What is written between two operations."""
    inside = (op for op in trace.operations if first < op.order < last)
    return {id(view.storage) for op in inside for _, view in op.writes}


def repeats(first: Operation, second: Operation, trace: Trace) -> bool:
    """Whether the very same is done twice, of the same data."""
    filled = _filled(trace, first.order, second.order)
    return _differs(first, second, filled, {}) is E.FALSE


def _differs(
    first: Operation, second: Operation, filled: set[int], rounds: Mapping[E.Sym, Expr]
) -> Bool:
    """When two operations, the first in other ``rounds`` of its loops, do not do the very same, or
    not of the same data: some is ``filled`` in between."""
    if first.name != second.name or len(first.reads) != len(second.reads):
        return E.TRUE
    plain = [
        {role: given.value for role, given in op.operands.items() if given.view is None}
        for op in (first, second)
    ]
    if plain[0] != plain[1]:
        return E.TRUE
    differ: list[Bool] = []
    for (role, one), (its, two) in zip(first.reads, second.reads, strict=True):
        whole = one.exact and two.exact and one.mask is two.mask is E.TRUE
        if role != its or one.storage is not two.storage or id(one.storage) in filled or not whole:
            return E.TRUE
        if not _same_kind(one, two) or len(one.axes) != len(two.axes):
            return E.TRUE
        axes = {a.symbol: b.index for a, b in zip(one.axes, two.axes, strict=True)}
        put = E.Substitution({**rounds, **axes})
        mine, theirs = (
            (*view.coords, *view.instance, *(axis.size for axis in view.axes))
            for view in (one, two)
        )
        differ += (E.ne(put.expr(a), b) for a, b in zip(mine, theirs, strict=True))
    return E.or_(*differ)


def _read_before(write: Access, later: _Over, uses: Uses) -> Check:
    """Something reads of the result before the later write comes."""
    over, level = later.write, later.level
    read = E.or_(*(_touched(each, later) for each in _reads_between(later, uses)))
    turn = level < common_loops(write.loops, over.loops)
    loop = over.loops[level] if turn else None
    called = f"in a later trip of `{loop.name or 'the loop'}`" if loop is not None else ""
    return replace(
        _told(uses.storage, write.operation),
        predicate=E.implies(later.when, read),
        given=(*(each.within for each in over.loops), *later.way.ranges),
        path=(*over.path, *over.given),
        order=max(write.order, over.order),
        values=() if loop is None else ((f"trips of `{loop.name}`", loop.trips),),
        notes=(Note(over.span, f"it is overwritten here {called}".rstrip()),),
    )


def _told(storage: Storage, made: Operation) -> Check:
    """What there is to say of a result that is lost, however it is found."""
    name = storage.name
    what = made.name.rpartition(".")[2]
    return Check(
        predicate=E.FALSE,
        span=made.span,
        text=f"something reads the result of `{what}` in `{name}` before it is overwritten",
        message=f"the result of `{what}` in `{name}` is overwritten before anything has read it",
        facts=("NKI-MMU25",),
        help=(
            "add to it with accumulate=True, read it first, or give each result a tile of its own",
        ),
        subject=subject(storage),
    )


def _readers(uses: Uses) -> Iterator[Access]:
    """What takes results out; a product that adds to another one goes on with it."""
    yield from uses.reads
    yield from (each for each in uses.targets if not is_tensor_engine(each.operation))


def _reads_between(later: _Over, uses: Uses) -> Iterator[Copy]:
    """The reads that come after a result and before what is over it, or of that itself."""
    for read in _readers(uses):
        yield from between(read, later.way, later.level, later.write)
        if read.operation is later.write.operation:
            own = copy(read, len(read.loops), instance=tensor(later.write.view))
            if own is not None:
                yield own


def _touched(read: Copy, later: _Over) -> Bool:
    """When a read takes any of a result; where that cannot be said, it does."""
    mine, made = same_frame(read.view, later.way.view)
    if not mine.exact or not made.exact or mine.indirect:
        return E.TRUE
    axes = [(axis.symbol, axis.size) for axis in made.axes]
    surely = [fact for fact in read.constraints if not _open(fact)]
    if any(_open(loop.within) for loop in read.private):
        return E.TRUE
    formula, exact = coverage(mine, made.coords, (*read.private, *axes), (*surely, made.mask))
    return formula if exact and not _open(formula) else E.TRUE


def _open(fact: Bool) -> bool:
    """Whether only the device knows it."""
    return any(symbol.origin in E.OPEN for symbol in fact.free())


def lost_in_run(event: Overwritten, target: Target) -> Iterator[Check]:
    """As :func:`overwritten_products`, of a result of a run."""
    yield replace(
        _told(event.storage, event.operation), notes=(Note(event.span, "it is overwritten here"),)
    )


register(
    Rule(
        id="lost-product",
        code="MEM318",
        family="memory",
        summary="a product is read before its tile is filled again",
        silent=True,
        reason=(
            "A product that the next one overwrites before anything has read it was computed for "
            "nothing, and what reads the tile in the end finds the last one alone. So it is where "
            "each trip of a loop over a contraction begins a new sum, and where two results share "
            "a tile. Computing the very same again is none."
        ),
        facts=("NKI-MMU25",),
        on=On.TRACE,
        check=overwritten_products,
        monitors=(Monitor(Overwritten, lost_in_run, meant=True),),
        replayed=Replayed(Shown.SUBJECT, whole=True),
        failing=examples.LOST_FAILING,
        passing=examples.LOST_PASSING,
    )
)
