"""Products that are overwritten before anything has read them.

What the Tensor Engine has computed and the next write over all of its place destroys, unread, was
computed for nothing: a product that begins anew in each trip of a loop over a contraction, two
products in one tile. Repeating the very same product is none: that it makes the same is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from rules.memory import examples
from rules.memory.cases import common_loops, contains, same_elements
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
from verifier.symbolic.tensors import Loop, LoopKind, Storage
from verifier.symbolic.trace import Operation, Trace
from verifier.symbolic.views.common import conjuncts


class _Later(Struct, frozen=True):
    """A write over a result, in the same trip of the loops around both, or in the next one of
    ``loop``; ``facts``: where it is done. ``depth``: how many loops say where."""

    write: Access
    loop: Loop | None
    depth: int
    facts: tuple[Bool, ...]


def overwritten_products(trace: Trace, target: Target) -> Iterable[Check]:
    """A check for each product and each write that may be the next over all of it."""
    if trace.unmodelled:  # it may read any of them
        return
    for uses in index(trace).storages:
        if uses.storage.buffer is not Buffer.PSUM or uses.storage.address is not None:
            continue
        for write in uses.writes:
            if is_tensor_engine(write.operation) and write not in uses.sums and write.view.exact:
                for later in _over(write, uses, trace):
                    yield _read_before(write, later, uses)


def _over(write: Access, uses: Uses, trace: Trace) -> Iterator[_Later]:
    """What fills the whole place of a result anew."""
    own = {id(target.operation) for target in uses.sums}
    for other in uses.writes:
        begins = other.operation.effect is not Effect.FIRST_SETS and id(other.operation) not in own
        if not begins or not contains(other.view, write.view):
            continue
        shared = common_loops(write.loops, other.loops)
        if other.order > write.order and not repeats(write.operation, other.operation, trace):
            facts = _happens(other, shared, None)
            if facts:
                yield _Later(other, None, shared, facts)
        for level in reversed(range(shared)):
            loop = write.loops[level]
            if not _stays(write, other, level) or not _goes_on(write, other, loop, trace):
                continue
            facts = _happens(other, level + 1, loop)
            if facts and loop.kind is not LoopKind.GRID:
                yield _Later(other, loop, level + 1, facts)


def _stays(write: Access, other: Access, level: int) -> bool:
    """Whether all trips of a loop, and of those in it, come to one place."""
    storage = write.view.storage
    if any(loop in storage.loops for loop in write.loops[level : level + 1]):
        return False
    inner = {loop.symbol for loop in (*write.loops[level:], *other.loops[level:])}
    terms: list[Expr | Bool] = [other.view.mask]
    for view in (write.view, other.view):
        terms += [*view.coords, *view.instance, *(axis.size for axis in view.axes)]
    return not any(inner & {*term.free()} for term in terms)


def _happens(access: Access, depth: int, loop: Loop | None) -> tuple[Bool, ...]:
    """When a write surely sets its target in the trip at hand, or the next one of ``loop``, as the
    first trip of the loops further in; none: never, or only the device knows."""
    inner = access.loops[depth:]
    put: dict[E.Sym, Expr] = {each.symbol: E.const(0) for each in inner}
    if loop is not None:
        put[loop.symbol] = loop.index + 1
    at = E.Substitution(put)
    facts = [*access.path, *access.given, E.not_(accumulation(access.operation))]
    facts += [E.ge(each.trips, 1) for each in inner]
    if loop is not None:
        facts.append(E.lt(loop.index, loop.trips))  # in the next trip
    found = tuple(map(at.bool, facts))
    known = all(symbol.origin not in E.OPEN for fact in found for symbol in fact.free())
    return found if known and E.and_(*found) is not E.FALSE else ()


def _goes_on(write: Access, other: Access, loop: Loop, trace: Trace) -> bool:
    """Whether the trips of a loop make something new: of parts that it goes through, or of what is
    written in it."""
    if write.operation is not other.operation:
        return True
    filled = {
        id(view.storage) for op in trace.operations if loop in op.loops for _, view in op.writes
    }
    return any(
        id(view.storage) in filled
        or any(loop.symbol in term.free() for term in (*view.coords, *view.instance))
        for _, view in write.operation.reads
        if view.storage is not write.view.storage
    )


def repeats(first: Operation, second: Operation, trace: Trace) -> bool:
    """Whether the very same is done twice, of the same data."""
    if first.name != second.name or len(first.reads) != len(second.reads):
        return False
    plain = [
        {role: given.value for role, given in op.operands.items() if given.view is None}
        for op in (first, second)
    ]
    if plain[0] != plain[1]:
        return False
    pairs: Iterator[bool] = (
        role == other
        and tensor(one) == tensor(two)
        and one.storage is two.storage
        and same_elements(one, two) is not None
        for (role, one), (other, two) in zip(first.reads, second.reads, strict=True)
    )
    if not all(pairs):
        return False
    sources = {id(view.storage) for _, view in first.reads}
    between = (op for op in trace.operations if first.order < op.order < second.order)
    return not any(id(view.storage) in sources for op in between for _, view in op.writes)


def _read_before(write: Access, later: _Later, uses: Uses) -> Check:
    """Something may read the result before the later write comes."""
    read = E.or_(*(found for each in _readers(uses) for found in _may_happen(each, write, later)))
    loop = later.loop
    called = f"in the next trip of `{loop.name or 'the loop'}`" if loop is not None else ""
    return replace(
        _told(uses.storage, write.operation),
        predicate=E.implies(E.and_(*later.facts), read),
        given=tuple(each.within for each in write.loops),
        path=(*write.path, *write.given),
        order=max(write.order, later.write.order),
        values=() if loop is None else ((f"trips of `{loop.name}`", loop.trips),),
        notes=(Note(later.write.span, f"it is overwritten here {called}".rstrip()),),
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


def _may_happen(read: Access, write: Access, later: _Later) -> Iterator[Bool]:
    """When a read may come after a result and before what overwrites it."""
    depth = later.depth
    if common_loops(read.loops, write.loops) < depth:
        return
    behind = read.order > write.order or common_loops(read.loops, write.loops) > depth
    own = read.operation is later.write.operation  # what writes over it may take it first
    before = read.order < later.write.order or own
    if later.loop is None:
        if behind and before:
            yield _possible(read, depth, None)
        return
    if behind:
        yield _possible(read, depth, None)
    if before:
        yield _possible(read, depth, later.loop)


def _possible(read: Access, depth: int, loop: Loop | None) -> Bool:
    """Whether it may be done in the trip at hand, or the next one of ``loop``: in some trip of the
    loops further in."""
    inner = {each.symbol for each in read.loops[depth:]}
    put = E.Substitution({} if loop is None else {loop.symbol: loop.index + 1})
    facts = [part for fact in (*read.path, *read.given) for part in conjuncts(fact)]
    facts += [E.ge(each.trips, 1) for each in read.loops[depth:]]
    return E.and_(*(put.bool(fact) for fact in facts if inner.isdisjoint(fact.free())))


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
