"""When a tensor is live, in program order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec
from msgspec import Struct

from verifier.symbolic import expr as E
from verifier.symbolic.effects import Effect
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.index import Access, Index, Uses
from verifier.symbolic.memory.presence import Touch, Turn, held, in_any_trip, needed
from verifier.symbolic.tensors import Loop, LoopKind, Storage
from verifier.symbolic.views.common import is_whole

#: by the loops around a site: the iteration whose tensor an access names; None: no particular one
Named: TypeAlias = tuple[Expr | None, ...]

#: tensors of a list that one trip of a loop goes through, at most, to be told apart
_WIDEST = 256


class Together(Struct, frozen=True):
    """How many iterations of a loop may lie between two that made tensors which live at once.

    ``most`` None: any number. ``exact`` False: two so far apart may not meet, after all. ``kept``:
    when the tensor of the iteration that the loop's index names lives longer than its iteration.
    """

    loop: Loop
    most: int | None
    exact: bool = True
    kept: Bool = E.TRUE


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
    #: of one tensor: all that is done to it; of several it is only known until when
    touches: tuple[Touch, ...] = ()
    #: of one that is named: all that is done to it, where its first use may not be its own
    done: tuple[Touch, ...] = ()
    #: of several: whether one may be written anew when nobody needs any longer what it holds
    renewed: bool = False
    #: that there is such a tensor
    needs: Bool = E.TRUE
    #: the iterations that made it, where they are not those that go on
    made: tuple[tuple[E.Sym, Expr], ...] = ()
    #: when it is held, by where a point lies among what is done to it
    _found: dict[object, Bool] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def names_iterations(self) -> bool:
        """Whether the tensors are those of particular iterations."""
        return any(number is not None for number in self.named)

    @property
    def path(self) -> tuple[Bool, ...]:
        """The branches that it is made in."""
        if not self.made:
            return self.storage.path
        return tuple(map(E.Substitution(dict(self.made)).bool, self.storage.path))

    @property
    def begins(self) -> set[int]:
        """Points at one of which it begins to live, whichever branches are taken."""
        found = {self.start, self.first}
        first: list[Touch] = []
        for touch in sorted(self.touches, key=lambda touch: touch.order):
            if not any(earlier.comes_with(touch) for earlier in first):
                first.append(touch)
                if self.start <= touch.order <= self.end:
                    found.add(touch.order)
        return found

    def surely(self, point: int) -> bool:
        """Whether it is certain, where the lifetime is said to have that point, that it does."""
        return bool(self.touches) or point <= self.certain

    def held(self, point: int) -> Bool:
        """When it lives then, in a trip of the loops there that suits, given :meth:`at`."""
        if not self.touches:
            return E.TRUE
        again = not self.first <= point <= self.last
        place = again, *(touch.seen_from(point) for touch in self.touches)
        known = self._found.get(place)
        if known is None:
            known = E.and_(self.needs, held(self.touches, point, again=again))
            self._found[place] = known
        return known

    @property
    def filled(self) -> set[int]:
        """Points at which it is written to."""
        known = self.touches or self.done
        filling = {touch.order for touch in known if touch.writes and not touch.elsewhere}
        return filling if known else {self.first}

    def written(self, point: int) -> Bool:
        """When it is certain that it is written to at a point of :attr:`filled`."""
        known = self.touches or self.done
        if not known:
            return E.truth(point == self.first <= self.certain)
        here = (x.path for x in known if x.order == point and x.writes and not x.elsewhere)
        return E.and_(self.needs, E.or_(*here))

    def needed(self, point: int) -> Bool:
        """When it is certain, given :meth:`at`, that what it holds then is read later."""
        again = not self.first <= point <= self.last
        known = self.touches or self.done
        if known:
            return E.and_(self.needs, needed(known, point, again=again))
        return E.truth(point <= self.certain and not (self.renewed or again))

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


def lifetime(table: Index, uses: Uses, named: Named = ()) -> Lifetime:
    """When the tensors of an allocation site hold something that is needed.

    ``named``: of which iterations they are, where the accesses name one.

    What a loop touches and does not make itself lives through the whole loop. A site inside a loop
    whose tensors are used beyond their own iteration counts once per iteration; if only the last
    few are used, as in a pipeline that loads ahead, once for each of these.
    """
    storage = uses.storage
    accesses = uses.all
    told = any(number is not None for number in named)
    once = _ends(accesses, storage.order)
    span = Span(*once)
    around = loops_around(accesses, storage.loops)
    turns = {id(loop): turn_of(table, uses, accesses, loop) for loop in around}
    for turn in turns.values():
        span.turn(turn)
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
        ages = [age_of(access, position, loop) for access in accesses]
        oldest = max((age for age in ages if age is not None), default=0)
        if None in ages or oldest or any(loop not in a.operation.loops for a in accesses):
            kept = loop.trips if None in ages else E.minimum(loop.trips, oldest + 1)
            copies = copies * kept
            span.widen(loop, *table.extent[id(loop)])
        if None in ages:
            exact = exact and all_visited(accesses, position, loop)
            together.append(_of_any(uses, position, loop, turns))
        elif oldest:
            most = _apart(ages, accesses, oldest, span.start)
            if most:
                together.append(Together(loop, most))
    done = () if together else _touches(storage, accesses, turns)
    return Lifetime(
        storage,
        span.start,
        span.end,
        copies,
        *once,
        widened=tuple(span.widened),
        together=_of_pairs(together, storage, accesses),
        named=named,
        certain=_last_for_certain(storage, accesses, around, span.end) if exact else -1,
        touches=() if told else done,
        done=done if told else (),
        renewed=_renewed(uses, turns),
    )


def _ends(accesses: list[Access], made: int) -> tuple[int, int]:
    """The first and the last use; of what is not used, where it is made."""
    orders = [access.order for access in accesses]
    return min(orders, default=made), max(orders, default=made)


def _renewed(uses: Uses, turns: Mapping[int, Turn]) -> bool:
    """Whether a write may come behind a read, in one trip of the loops or in a later one."""
    first = min((access.order for access in uses.reads), default=None)
    if first is None:
        return True
    late = any(access.order > first and not access.operation.adds for access in uses.writes)
    return late or any(turn.written for turn in turns.values())


def _of_pairs(
    together: Sequence[Together], storage: Storage, accesses: list[Access]
) -> tuple[Together, ...]:
    """Tensors that several loops make: which of two lives on is not told by one number."""
    if len(together) < 2:
        return tuple(together)
    known = (
        each.most is not None or all_visited(accesses, storage.loops.index(each.loop), each.loop)
        for each in together
    )
    return tuple(
        each if exact else msgspec.structs.replace(each, exact=False)
        for each, exact in zip(together, known, strict=True)
    )


def _of_any(uses: Uses, position: int, loop: Loop, turns: Mapping[int, Turn]) -> Together:
    """Tensors of a loop that are used behind it, or in iterations that are not told apart.

    Those that are used behind it are told by their numbers if each of them begins in its own
    iteration; in the others it is used in no other.
    """
    behind: list[Bool] = []
    begun = False
    for access in uses.all:
        age = age_term(access, position, loop)
        if loop in access.operation.loops:
            if age is not E.const(0):
                return Together(loop, None, all_visited(uses.all, position, loop))
            begun = begun or (set(access.path) <= set(uses.storage.path) and not access.given)
            continue
        if age is None:
            return Together(loop, None, exact=False)
        path = E.and_(E.eq(loop.trips - 1 - age, loop.index), *access.path, *access.given)
        around = (turns.get(id(each)) for each in access.operation.loops)
        behind.append(in_any_trip(path, [turn for turn in around if turn is not None]))
    return Together(loop, None, begun, E.or_(*behind))


def _touches(
    storage: Storage, accesses: Sequence[Access], turns: Mapping[int, Turn]
) -> tuple[Touch, ...]:
    """What is done to the one tensor that each iteration makes; nothing where that is not so."""
    out: list[Touch] = []
    own = {loop.symbol for loop in storage.loops if loop.kind is not LoopKind.GRID}
    for access in accesses:
        path = E.and_(*(c for c in (*access.path, *access.given) if c not in storage.path))
        inside = all(loop in access.operation.loops for loop in storage.loops)
        if not inside and not own.isdisjoint(path.free()):
            return ()  # it is of the last iteration
        around = (turns.get(id(loop)) for loop in access.operation.loops)
        turning = tuple(turn for turn in around if turn is not None)
        out.append(touch_of(access, access.order, path, turning))
    return tuple(out)


def touch_of(access: Access, order: int, path: Bool, turns: tuple[Turn, ...]) -> Touch:
    """An access as what is done to its tensor; a sum reads what it adds to."""
    effect = access.operation.effect
    writes = any(view is access.view for _, view in access.operation.writes)
    return Touch(
        order,
        path,
        turns,
        writes=writes,
        reads=not writes or effect is Effect.ADDS,
        renews=writes and effect is not Effect.ADDS,
        whole=writes and effect is Effect.SETS and is_whole(access.view),
    )


class Span(Struct):
    """From when to when, made wider by loops that come round again, each on its own: one that lies
    within another may have a second trip where that one has none."""

    first: int
    last: int
    widened: list[tuple[Bool, int, int]] = msgspec.field(default_factory=list)

    def widen(self, loop: Loop, first: int, last: int) -> None:
        """From ``first`` or to ``last``, if that is wider, where the loop has a second trip."""
        start, end = min(self.first, first), max(self.last, last)
        if (start, end) != (self.first, self.last):
            self.widened.append((second_trip(loop), start, end))

    @property
    def start(self) -> int:
        return min((start for _, start, _ in self.widened), default=self.first)

    @property
    def end(self) -> int:
        return max((end for _, _, end in self.widened), default=self.last)

    def turn(self, turn: Turn) -> None:
        """Made wider by what a loop does that does not make the tensor."""
        self.widen(turn.loop, turn.first if turn.written else self.first, turn.last)


def turn_of(table: Index, uses: Uses, accesses: Sequence[Access], loop: Loop) -> Turn:
    """What a loop that does not make a tensor does to it when it comes round again."""
    first, last = table.extent[id(loop)]
    inside = [access for access in accesses if loop in access.operation.loops]
    return Turn(loop, first, last, any(access in uses.writes for access in inside))


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


def all_visited(accesses: list[Access], position: int, loop: Loop) -> bool:
    """Whether a loop behind the one that makes tensors uses each of them."""
    for access in accesses:
        if loop in access.operation.loops or position >= len(access.view.instance):
            continue
        if access.given or not set(access.path) <= set(access.view.storage.path):
            continue
        made = access.view.instance[position]
        for visitor in access.operation.loops:
            if visitor.trips is loop.trips and made in (
                visitor.index,
                loop.trips - 1 - visitor.index,
            ):
                return True
    return False


class _Visits(Struct, frozen=True):
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
        if head not in uses.writes or head.operation.adds:
            return True
    return False


def second_trip(loop: Loop) -> Bool:
    """Whether a loop has a second trip; so it is taken to be if that differs from time to time."""
    if any(symbol.origin is E.Origin.LOOP for symbol in loop.trips.free()):
        return E.TRUE
    return E.ge(loop.trips, 2)


def loops_around(accesses: list[Access], own: tuple[Loop, ...]) -> list[Loop]:
    """The loops around accesses that do not make the tensor anew, innermost last."""
    found: dict[int, Loop] = {}
    for access in accesses:
        for loop in access.operation.loops:
            if loop not in own:
                found.setdefault(id(loop), loop)
    return list(found.values())


def age_of(access: Access, position: int, loop: Loop) -> int | None:
    """How many iterations before the access its tensor was made; None if that is not constant."""
    age = age_term(access, position, loop)
    return age.const if age is not None and age.is_const and age.const >= 0 else None


def age_term(access: Access, position: int, loop: Loop) -> Expr | None:
    """How many iterations before the access its tensor was made, if that is known.

    After the loop, the tensor of the last iteration has the age 0.
    """
    instance = access.view.instance
    inside = loop in access.operation.loops
    now = loop.index if inside else loop.trips - 1
    made = instance[position] if position < len(instance) else now if inside else None
    return None if made is None else now - made
