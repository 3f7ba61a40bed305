"""Products and loads that are overwritten before anything has read them.

What the Tensor Engine has computed and later writes over all of its place destroy, unread, was
computed for nothing: a product that begins anew in each trip of a loop over a contraction, two
products in one tile. Repeating the very same product is none: that it makes the same is known.
A product is what one operation leaves in its place, in one of several tiles or a part of one; it is
lost when the last of it is overwritten, by one write or by several, and nothing has read any of it.

So it is of what a tile was loaded with and another load replaces: a pipeline whose stages take one
buffer, or the wrong one in turn. What is loaded ahead for a round that does not come, and is
brought once more then, is no loss; nor is what a round does not read under its own condition, but
where a loop begins with rounds that do nothing else (:mod:`rules.memory.idle`); nor a tile that
nobody reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from rules.memory.idle import idle_loads
from rules.memory.loaded import Load, brought_again, is_linear, load_of
from rules.memory.places import put_in
from rules.memory.reading import regions
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
    Index,
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
    for uses in _placed_by_nobody(trace, Buffer.PSUM):
        for write in uses.writes:
            if is_tensor_engine(write.operation) and write.view.exact and not write.view.indirect:
                for later in _over(write, uses, trace, _itself):
                    yield _read_before(write, later, uses)


def overwritten_loads(trace: Trace, target: Target) -> Iterable[Check]:
    """A check for each load and each other one that may be over all of it."""
    table = index(trace)

    def maker(access: Access) -> Operation | None:
        # (what is made or cleared in its place may be another use of the tile)
        found = load_of(access, table)
        return None if found is None else found.operation

    if not trace.completes or trace.dies:
        return  # what comes after an error may read any of them
    for uses in _placed_by_nobody(trace, Buffer.SBUF):
        if not uses.reads:
            continue  # nobody wants it: that is told as such
        for write in uses.writes:
            load = load_of(write, table)
            if load is None or not write.view.exact or write.view.indirect:
                continue
            for later in _over(write, uses, trace, maker):
                if _is_meant_for(later.write, write) and not _told_of_order(write, later, trace):
                    yield from _read_or_brought(load, later, uses, table)
    yield from _for_nothing(trace)


def _for_nothing(trace: Trace) -> Iterator[Check]:
    """A check for each load in rounds that do nothing else, all of which is lost."""
    found = [
        uses.storage
        for uses in _placed_by_nobody(trace, Buffer.SBUF)
        if any(read.path or read.operation.rounds for read in uses.reads)
    ]
    for lost in idle_loads(trace, found) if found else ():
        yield replace(
            _told(lost.storage, lost.operation),
            predicate=lost.fine,
            given=lost.given,
            path=(),
            order=max(lost.operation.order, lost.again.order),
            notes=(
                Note(lost.again.span, "it is overwritten here in a later round"),
                Note(lost.operation.span, "the rounds before do nothing else"),
            ),
        )


def _placed_by_nobody(trace: Trace, buffer: Buffer) -> Iterator[Uses]:
    """The tensors of a memory that nobody has placed by hand, over others maybe."""
    if trace.unmodelled:  # it may read any of them
        return
    for uses in index(trace).storages:
        if uses.storage.buffer is buffer and uses.storage.address is None:
            yield uses


def _itself(access: Access) -> Operation:
    return access.operation


def _over(
    write: Access, uses: Uses, trace: Trace, maker: Callable[[Access], Operation | None]
) -> Iterator[_Over]:
    """What fills the whole place of a result anew, in all rounds of the loops around it.

    ``maker``: the operation that makes what is written; None: it is none of those that count.
    """
    anew, made = _begins(uses), maker(write)
    taken = _taken_at_once(write, uses)
    for other in anew:
        again = maker(other)
        if made is None or again is None:
            continue
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
            changed = over
            if over is not E.FALSE:
                changed = _makes_new(way, other, level, trace, (made, again))
            when = E.and_(sets, over, changed)
            if when is not E.FALSE and not _open(when):
                yield _Over(other, way, level, when)


def _begins(uses: Uses) -> list[Access]:
    """What sets its place anew, whatever was there."""
    own = {id(target.operation) for target in uses.sums}
    return [
        part.access
        for each in uses.writes
        if each.operation.effect is not Effect.FIRST_SETS
        and id(each.operation) not in own
        and accumulation(each.operation) is not E.TRUE
        and each.view.exact
        and not each.view.indirect
        for part in regions(each)
        if not part.partial
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


def _makes_new(
    way: Copy, other: Access, level: int, trace: Trace, makers: tuple[Operation, Operation]
) -> Bool:
    """When a write makes something else than the result that it is over: of other parts, or of what
    was written in between. Rounds of which each does the same make nothing new. ``makers``: what
    makes both."""
    made, again = makers
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


def _is_meant_for(over: Access, write: Access) -> bool:
    """Whether no option decides that a write takes the place of a result: it may be there for those
    without it."""
    held = {id(condition) for condition in (*write.path, *write.given)}
    indices = {loop.symbol for loop in over.loops}
    return all(
        id(condition) in held or any(symbol in indices for symbol in condition.free())
        for condition in (*over.path, *over.given)
    )


def _told_of_order(write: Access, later: _Over, trace: Trace) -> bool:
    """Whether iterations that promise to be independent fill one place: that is told of these."""
    if later.level >= common_loops(write.loops, later.write.loops):
        return False
    return trace.generation.reorders and write.loops[later.level].kind.unordered


def _read_or_brought(load: Load, later: _Over, uses: Uses, table: Index) -> Iterator[Check]:
    """As :func:`_read_before`, of a load, some of which nothing else brings.

    What its own round does not read under a condition, or in a loop without rounds, is not needed
    then; and what nothing reads of a tile of an option is not needed with the others.
    """
    write, level = load.write, later.level
    turn = level < common_loops(write.loops, later.write.loops)
    meant = (_in_its_round(read, later, table) for read in _readers(uses)) if turn else ()
    spare = E.or_(*meant, brought_again(load, later.way, level, table))
    found = _read_before(write, later, uses)
    predicate = E.or_(found.predicate, spare)
    if predicate is E.TRUE or not all(map(is_linear, (predicate, *found.given))):
        return
    read = E.or_(*(E.and_(*_wanted(each)) for each in _readers(uses)))
    elements = (axis.within for axis in load.source.axes)
    yield replace(
        found,
        predicate=predicate,
        given=(*found.given, *elements, read),
        follows=(later.write.operation.span, write.operation.span),
    )


def _in_its_round(read: Access, later: _Over, table: Index) -> Bool:
    """When a read takes any of a result in the round in which that was made, if it is come to.

    One that takes another tile otherwise is come to anyhow.
    """
    write = later.way.access
    depth = len(write.loops)
    if read.order < write.order or common_loops(read.loops, write.loops) < depth:
        return E.FALSE
    if _takes_others(read, table):
        return E.FALSE
    begin = E.Substitution(
        {loop.symbol: E.const(0) for loop in read.loops[depth:]}
        | dict(zip((x.symbol for x in write.loops[later.level :]), later.way.at, strict=True))
    )
    mine = put_in(read.view, begin)
    same = [E.eq(a, b) for a, b in zip(tensor(mine), tensor(later.way.view), strict=True)]
    one, made = same_frame(mine, later.way.view)
    if not one.exact or not made.exact or one.indirect:
        return E.and_(*same)
    formula, exact = coverage(
        one, made.coords, [(a.symbol, a.size) for a in made.axes], (made.mask,)
    )
    return E.and_(*same, formula) if exact else E.and_(*same)


def _takes_others(read: Access, table: Index) -> bool:
    """Whether the call of a read takes one of several tiles, by conditions."""
    call, storage = read.operation.call, read.view.storage
    return bool(read.path) and any(
        view.storage is not storage
        for other in table.trace.operations
        if other is not read.operation and other.call == call
        for role, view in other.reads
        if role == read.role
    )


def _wanted(read: Access) -> Iterator[Bool]:
    """What says, of all inputs, that a read is come to: not what its iteration decides."""
    indices = {loop.symbol for loop in read.loops}
    told = (*read.path, *read.given, *(E.ge(loop.trips, 1) for loop in read.loops))
    yield from (fact for fact in told if not any(symbol in indices for symbol in fact.free()))


def _told(storage: Storage, made: Operation) -> Check:
    """What there is to say of a result that is lost, however it is found."""
    name = storage.name
    what = made.name.rpartition(".")[2]
    if not is_tensor_engine(made):
        return Check(
            predicate=E.FALSE,
            span=made.span,
            text=f"something reads what `{what}` loads into `{name}` before it is overwritten",
            message=f"what `{what}` loads into `{name}` is overwritten before anything has read it",
            help=("read it first, or give each load that is in use a tile of its own",),
            subject=subject(storage),
        )
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


def product_in_run(event: Overwritten, target: Target) -> Iterator[Check]:
    """As :func:`overwritten_products`, of a result of a run."""
    if is_tensor_engine(event.operation):
        yield from _lost_in_run(event)


def load_in_run(event: Overwritten, target: Target) -> Iterator[Check]:
    """As :func:`overwritten_loads`, of a load of a run."""
    if not is_tensor_engine(event.operation):
        yield from _lost_in_run(event)


def _lost_in_run(event: Overwritten) -> Iterator[Check]:
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
        monitors=(Monitor(Overwritten, product_in_run, meant=True),),
        replayed=Replayed(Shown.SUBJECT, whole=True),
        failing=examples.LOST_FAILING,
        passing=examples.LOST_PASSING,
    )
)

register(
    Rule(
        id="lost-load",
        code="MEM319",
        family="memory",
        summary="what a tile is loaded with is read before the tile is filled again",
        silent=True,
        reason=(
            "A load that another one overwrites before anything has read it is missing where it "
            "was wanted, and what reads the tile then finds the next part twice: a ring of buffers "
            "that are all one tile, a pipeline that takes them in the wrong turn, or that goes on "
            "with a name instead of the data. So is what the first rounds of a loop do nothing but "
            "load, if the next ones load over it before any round reads it: a ring that is too "
            "short. Loading the very same again is none, nor is what something else brings as well."
        ),
        facts=(),
        on=On.TRACE,
        check=overwritten_loads,
        monitors=(Monitor(Overwritten, load_in_run, meant=True),),
        replayed=Replayed(Shown.SUBJECT, whole=True),
        failing=examples.LOST_LOAD_FAILING,
        passing=examples.LOST_LOAD_PASSING,
    )
)
