"""When a tensor is live, in program order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.memory.index import Access, Index, Uses, accumulates
from verifier.symbolic.tensors import Loop, LoopKind, Storage, StorageKind

#: by the loops around a site: the iteration whose tensor an access names; None: no particular one
Named: TypeAlias = tuple[Expr | None, ...]

#: what the dialect says of tensors that the compiler places all the same
_UNPLACED = frozenset({"layout"})
#: tensors of a list that one trip of a loop goes through, at most, to be told apart
_WIDEST = 256


@dataclass(frozen=True, slots=True)
class Together:
    """How many iterations of a loop may lie between two that made tensors which live at once.

    ``most`` None: any number. ``exact`` False: two so far apart may not meet, after all.
    """

    loop: Loop
    most: int | None
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Lifetime:
    """From the first write to the last use, both inclusive; ``copies`` tensors live at once.

    ``start`` and ``end`` are widened by loops that come round again; without them the tensor lives
    from ``first`` to ``last``. ``widened``: if a loop has a second trip, from when to when.
    """

    storage: Storage
    start: int
    end: int
    copies: Expr
    first: int
    last: int
    widened: tuple[tuple[Bool, int, int], ...] = ()
    #: the loops around the site of which tensors of several iterations live at once
    together: tuple[Together, ...] = ()
    #: by the loops around the site: of which iteration the tensors are; None: of any
    named: Named = ()
    #: until when it is certain that they live, so many at once
    certain: int = -1

    def surely(self, point: int) -> bool:
        """Whether it is certain, where the lifetime is said to have that point, that it does."""
        return point <= self.certain

    def certain_to(self, end: int) -> int:
        """Until when it is certain to live if it lives until ``end``, as certainly as before."""
        return end if self.certain >= self.end else self.certain

    def at(self, point: int) -> Bool:
        """Whether it lives then: always, never, or if loops come round again."""
        if self.first <= point <= self.last:
            return E.TRUE
        if point < self.first:
            return E.or_(*(again for again, start, _ in self.widened if start <= point))
        return E.or_(*(again for again, _, end in self.widened if point <= end))

    def overlaps(self, other: Lifetime) -> bool:
        return self.start <= other.end and other.start <= self.end


def lifetime(table: Index, uses: Uses, named: Named = ()) -> Lifetime:
    """When the tensors of an allocation site hold something that is needed.

    ``named``: of which iterations they are, where the accesses name one.

    A value that is read at the top of a loop body before the body writes it lives through the whole
    loop; so does one that the loop fills and something after it reads. A site inside a loop whose
    tensors are used beyond their own iteration counts once per iteration; if only the last few are
    used, as in a pipeline that loads ahead, once for each of these.
    """
    storage = uses.storage
    accesses = uses.all
    orders = [access.order for access in accesses]
    once = min(orders, default=storage.order), max(orders, default=storage.order)
    span = _Span(*once)
    around = _loops(accesses, storage.loops)
    for loop in around:
        span.widen(_second(loop), *_around(uses, accesses, loop, table.extent[id(loop)], span))
    copies = E.const(1)
    together: list[Together] = []
    exact = True
    for position, loop in enumerate(storage.loops):
        if loop.kind is LoopKind.GRID or (named and named[position] is not None):
            continue  # a program instance sees its own tensors only
        visited = _visited(uses, position)
        if visited is not None:
            exact = exact and visited.exact
            copies = copies * E.minimum(loop.trips, visited.copies)
            if visited.most > 0:
                together.append(Together(loop, visited.most, visited.exact))
            continue
        ages = [_age(access, position, loop) for access in accesses]
        oldest = max((age for age in ages if age is not None), default=0)
        if None in ages or oldest or any(loop not in a.operation.loops for a in accesses):
            kept = loop.trips if None in ages else E.minimum(loop.trips, oldest + 1)
            copies = copies * kept
            first, last = table.extent[id(loop)]
            span.widen(_second(loop), min(span.start, first), max(span.end, last))
        if None in ages:
            exact = exact and _all_visited(accesses, position, loop)
            together.append(Together(loop, None, _all_used(accesses, position, loop)))
        elif oldest:
            most = _apart(ages, accesses, oldest, span.start)
            if most:
                together.append(Together(loop, most))
    return Lifetime(
        storage,
        span.start,
        span.end,
        copies,
        *once,
        widened=tuple(span.widened),
        together=tuple(together),
        named=named,
        certain=_last_for_certain(storage, accesses, around, span.end) if exact else -1,
    )


@dataclass(slots=True)
class _Span:
    """From when to when, made wider by loops that come round again."""

    start: int
    end: int
    widened: list[tuple[Bool, int, int]] = field(default_factory=list)

    def widen(self, again: Bool, start: int, end: int) -> None:
        if (start, end) != (self.start, self.end):
            self.widened.append((again, start, end))
            self.start, self.end = start, end


def _around(
    uses: Uses, accesses: list[Access], loop: Loop, extent: tuple[int, int], span: _Span
) -> tuple[int, int]:
    """From when to when a tensor lives if a loop that does not make it comes round again."""
    first, last = extent
    inside = [access for access in accesses if loop in access.operation.loops]
    head = min(inside, key=lambda access: access.order)
    written = any(access in uses.writes for access in inside)
    carried = head not in uses.writes or accumulates(head.operation)
    low = min(span.start, first) if written and (carried or span.end > last) else span.start
    return low, max(span.end, last) if carried else span.end


def _apart(ages: list[int | None], accesses: list[Access], oldest: int, start: int) -> int:
    """How many iterations lie at most between two that made tensors which live at once."""
    aged = list(zip(ages, accesses, strict=True))
    made = min((access.order for age, access in aged if age == 0), default=start)
    used = max(access.order for age, access in aged if age == oldest)
    return oldest if made <= used else oldest - 1


def _last_for_certain(storage: Storage, accesses: list[Access], loops: list[Loop], end: int) -> int:
    """Until when no branch, and no trip of a loop that does not make it, does without a tensor.

    ``end``: until when it lives at most.
    """
    certain = [access.order for access in accesses if set(access.path) <= set(storage.path)]
    late = max(certain, default=storage.order)
    turns = {loop.symbol for loop in loops}
    passing = any(
        not turns.isdisjoint(condition.free()) for access in accesses for condition in access.path
    )
    return late if passing or any(access.order > late for access in accesses) else end


def _all_visited(accesses: list[Access], position: int, loop: Loop) -> bool:
    """Whether a loop behind the one that makes tensors uses each of them."""
    for access in accesses:
        if loop in access.operation.loops or position >= len(access.view.instance):
            continue
        made = access.view.instance[position]
        for visitor in access.operation.loops:
            if visitor.trips is loop.trips and made in (
                visitor.index,
                loop.trips - 1 - visitor.index,
            ):
                return True
    return False


def _all_used(accesses: list[Access], position: int, loop: Loop) -> bool:
    """Whether what is used outside of the loop that makes tensors is no particular one of them."""
    outside = [access for access in accesses if loop not in access.operation.loops]
    return bool(outside) and not any(
        position >= len(access.view.instance) or access.view.instance[position].is_const
        for access in outside
    )


@dataclass(frozen=True, slots=True)
class _Visits:
    """So many tensors of a site are live at once while a loop visits one after the other."""

    copies: int
    #: how far apart two of them may be
    most: int
    exact: bool


def _visited(uses: Uses, position: int) -> _Visits | None:
    """How a loop that does not make the tensors visits them; None if it is not that plain.

    Each access names the tensor ``step * i + offset`` of the loop's index: a tensor is touched in
    the trips from its least offset to its greatest. What lies around that loop must not carry a
    value into its next iteration.
    """
    found: tuple[Loop, int] | None = None
    orders: dict[int, list[int]] = {}
    for access in uses.all:
        visit = _visit(access, position)
        if visit is None or found not in (None, visit[:2]):
            return None
        found = visit[:2]
        for offset in range(visit[2], visit[3] + 1):
            orders.setdefault(offset, []).append(access.order)
    if found is None:
        return None
    visitor, step = found
    if any(_carried_around(uses, access, visitor) for access in uses.all):
        return None
    rests = {offset % step for offset in orders}
    groups = [[o for o in orders if o % step == rest] for rest in rests]
    copies = sum((max(group) - min(group)) // abs(step) + 1 for group in groups)
    low, high = min(orders), max(orders)
    begun, ended = (high, low) if step > 0 else (low, high)
    most = high - low
    if most and min(orders[begun]) > max(orders[ended]):
        most -= 1  # the last use of one comes before the first of the other
    return _Visits(copies, most, abs(step) == 1)


def _visit(access: Access, position: int) -> tuple[Loop, int, int, int] | None:
    """The outermost loop of those that say which tensor, its step, and the least and greatest
    offset that the others add."""
    if position >= len(access.view.instance):
        return None
    term = access.view.instance[position]
    loops = {loop.symbol: loop for loop in access.operation.loops}
    visitor: tuple[Loop, int] | None = None
    low = high = term.const
    steps = {mono[0]: step for mono, step in term.terms if len(mono) == 1}
    if len(steps) != len(term.terms) or not steps.keys() <= loops.keys():
        return None
    for symbol, loop in loops.items():  # outermost first
        step = steps.get(symbol)
        if step is None:
            continue
        if loop in access.view.storage.loops:
            return None
        if visitor is None:
            visitor = loop, step
            continue
        if not loop.trips.is_const or loop.trips.const < 1:
            return None
        far = step * (loop.trips.const - 1)
        low, high = low + min(far, 0), high + max(far, 0)
    return None if visitor is None or high - low > _WIDEST else (*visitor, low, high)


def _carried_around(uses: Uses, access: Access, visitor: Loop) -> bool:
    """Whether a loop around the one that visits brings a tensor back with what it held."""
    around = access.operation.loops[: access.operation.loops.index(visitor)]
    named = {symbol for term in access.view.instance for symbol in term.free()}
    for loop in around:
        if loop in uses.storage.loops or loop.symbol in named:
            continue
        inside = [other for other in uses.all if loop in other.operation.loops]
        head = min(inside, key=lambda other: other.order)
        if head not in uses.writes or accumulates(head.operation):
            return True
    return False


def lives(table: Index, uses: Uses) -> list[Lifetime]:
    """The lifetimes of the tensors of a site: those of any iteration, and each that is named."""
    groups: dict[Named, Uses] = {}
    for access in uses.all:
        part = groups.setdefault(_named(uses.storage, access), Uses(uses.storage))
        (part.writes if access in uses.writes else part.reads).append(access)
    found = {named: _stages(table, part, named) for named, part in groups.items()}
    return [_kept(table, life, found) for stages in found.values() for life in stages]


def _stages(table: Index, uses: Uses, named: Named) -> list[Lifetime]:
    """The lifetimes of tensors of which more live in the loop that makes them than behind it."""
    for position, loop in enumerate(uses.storage.loops):
        if loop.kind is LoopKind.GRID or named[position] is not None:
            continue
        inside, outside = (
            Uses(
                uses.storage,
                [a for a in uses.writes if (loop in a.operation.loops) is there],
                [a for a in uses.reads if (loop in a.operation.loops) is there],
            )
            for there in (True, False)
        )
        ages = [[_age(a, position, loop) for a in part.all] for part in (inside, outside)]
        if not all(ages) or None in ages[0] or None in ages[1]:
            continue
        if max(filter(None, ages[0]), default=0) <= max(filter(None, ages[1]), default=0):
            continue
        end = table.extent[id(loop)][1]
        during, after = lifetime(table, inside, named), lifetime(table, outside, named)
        during = replace(
            during,
            end=max(during.end, end),
            last=max(during.last, end),
            certain=during.certain_to(max(during.end, end)),
        )
        widened = tuple((again, max(low, end + 1), high) for again, low, high in after.widened)
        return [during, replace(after, start=end + 1, first=end + 1, widened=widened)]
    return [lifetime(table, uses, named)]


def _named(storage: Storage, access: Access) -> Named:
    """Which iterations of the loops around its tensor an access names by their numbers."""
    instance = access.view.instance
    return tuple(
        instance[k]
        if k < len(instance) and loop.kind is not LoopKind.GRID and instance[k].is_const
        else None
        for k, loop in enumerate(storage.loops)
    )


def _kept(table: Index, life: Lifetime, found: Mapping[Named, Sequence[Lifetime]]) -> Lifetime:
    """The lifetime of a named tensor that is one of any iteration's too, as in its own iteration.

    While its iteration goes on it counts as that iteration's. In those after it, it is there
    besides theirs.
    """
    any_ = [
        other
        for named, stages in found.items()
        if named != life.named
        and all(n is None or n is m for n, m in zip(named, life.named, strict=True))
        for other in stages
    ]
    if not any_:
        return life
    made = [
        (loop, number)
        for loop, number in zip(life.storage.loops, life.named, strict=True)
        if number is not None
    ]
    later = E.or_(*(E.gt(loop.trips, number + 1) for loop, number in made))
    start = min(life.start, *(table.extent[id(loop)][0] for loop, _ in made))
    own = max(other.last for other in any_)
    return replace(
        life,
        start=start,
        first=own + 1,
        last=max(own, life.last),
        widened=(*life.widened, (later, start, life.end)),
    )


def _second(loop: Loop) -> Bool:
    """Whether a loop has a second trip; so it is taken to be if that differs from time to time."""
    if any(symbol.origin is E.Origin.LOOP for symbol in loop.trips.free()):
        return E.TRUE
    return E.ge(loop.trips, 2)


def _loops(accesses: list[Access], own: tuple[Loop, ...]) -> list[Loop]:
    """The loops around accesses that do not make the tensor anew, innermost last."""
    found: dict[int, Loop] = {}
    for access in accesses:
        for loop in access.operation.loops:
            if loop not in own:
                found.setdefault(id(loop), loop)
    return list(found.values())


def _age(access: Access, position: int, loop: Loop) -> int | None:
    """How many iterations before the access its tensor was made; None if that is not constant.

    After the loop, the tensor of the last iteration has the age 0.
    """
    instance = access.view.instance
    inside = loop in access.operation.loops
    now = loop.index if inside else loop.trips - 1
    made = instance[position] if position < len(instance) else now if inside else None
    age = None if made is None else now - made
    return age.const if age is not None and age.is_const and age.const >= 0 else None


def pipelined(table: Index) -> dict[int, Loop]:
    """The loops whose iterations overlap, a stage each of loading, computing and storing (PPL)."""
    return {
        id(operation.loops[-1]): operation.loops[-1]
        for operation in table.trace.operations
        if operation.loops
        and operation.instruction is not None
        and Trait.PIPELINES in operation.instruction.traits
    }


def crosses_stages(accesses: list[Access]) -> bool:
    """Whether transfers and computation both touch a tensor."""
    engines = {access.operation.engine for access in accesses}
    return Engine.TIU in engines and bool(engines & {Engine.DMA, Engine.SDMA})


def staged(table: Index, pipelines: dict[int, Loop], uses: Uses, life: Lifetime) -> Lifetime:
    """The lifetime in a pipeline: what is handed from stage to stage exists twice throughout, so
    that one can be filled while the other is used (PPL-B06)."""
    loop = next((x for x in uses.storage.loops if id(x) in pipelines), None)
    if loop is None or not crosses_stages(uses.all):
        return life
    first, last = table.extent[id(loop)]
    start, end = min(life.start, first), max(life.end, last)
    certain = life.certain_to(end)
    return Lifetime(life.storage, start, end, life.copies * 2, start, end, certain=certain)


def lifetimes(table: Index, buffer: Buffer) -> list[Lifetime]:
    """The lifetimes of what the compiler places in a buffer, in order of their beginning."""
    pipelines = pipelined(table)
    found = [
        staged(table, pipelines, uses, life)
        for uses in table.storages
        if uses.storage.buffer is buffer
        and uses.storage.kind in (StorageKind.ALLOC, StorageKind.RESULT, StorageKind.CONSTANT)
        and uses.storage.address is None
        and uses.storage.placement.keys() <= _UNPLACED
        and (uses.reads or uses.writes)
        for life in lives(table, uses)
    ]
    return sorted(found, key=lambda life: (life.start, life.storage.order, life.storage.id))


def exclusive(a: tuple[Bool, ...], b: tuple[Bool, ...]) -> bool:
    """Whether two paths cannot both be taken, judged by their conditions alone."""
    held = {id(condition) for condition in a}
    return any(id(E.not_(condition)) in held for condition in b)
