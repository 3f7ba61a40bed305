"""The tensors of a site, and how long those that can be told apart live."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.memory.index import Access, Index, Uses
from verifier.symbolic.memory.lifetime import (
    Lifetime,
    Named,
    Span,
    Together,
    age_term,
    all_visited,
    lifetime,
    loops_around,
    touch_of,
    turn_of,
)
from verifier.symbolic.memory.presence import Touch, Turn, in_any_trip
from verifier.symbolic.memory.stages import crosses, stage_of
from verifier.symbolic.tensors import Loop, LoopKind, Mark, Storage, StorageKind, View

#: tensors of so many iterations are told apart, if so many live at once
_OLDEST = 8


def lives(table: Index, uses: Uses) -> list[Lifetime]:
    """The lifetimes of the tensors of a site: those of any iteration, and each that is named."""
    groups: dict[Named, Uses] = {}
    for access in uses.all:
        part = groups.setdefault(_named(uses.storage, access), Uses(uses.storage))
        (part.writes if access in uses.writes else part.reads).append(access)
    handed = [name for name in groups if _hands_on(groups, name)]
    if handed:
        return _one_by_one(table, groups, handed) or _thrown_together(table, groups, handed)
    found = {named: _of_one_name(table, part, named) for named, part in groups.items()}
    return [_kept(table, life, found) for stages in found.values() for life in stages]


def _may_be(any_: Named, named: Named) -> bool:
    """Whether tensors of any iterations may be those of particular ones."""
    return any_ != named and all(n is None or n is m for n, m in zip(any_, named, strict=True))


def _hands_on(groups: Mapping[Named, Uses], name: Named) -> bool:
    """Whether what is done to a tensor by its number alone comes before others go through the list
    that it is in, behind the loop that made it: it lives until then."""
    first, last = _ends(groups[name])
    for other, uses in groups.items():
        begun, ended = _ends(uses)
        if not _may_be(other, name) or first >= begun or last >= ended or _begins_anew(uses):
            continue
        for loop, number, any_ in zip(uses.storage.loops, name, other, strict=True):
            if number is not any_ and any(loop not in each.operation.loops for each in uses.all):
                return True
    return False


def _begins_anew(uses: Uses) -> bool:
    """Whether each tensor is written from end to end before anything else is done to it."""
    head, *rest = uses.all
    around = head.operation.loops
    return (
        touch_of(head, head.order, E.TRUE, ()).whole
        and set(head.path) <= set(uses.storage.path)
        and not head.given
        and all(
            each.view.instance == head.view.instance
            and each.operation.loops[: len(around)] == around
            for each in rest
        )
    )


def _ends(uses: Uses) -> tuple[int, int]:
    orders = [access.order for access in uses.all]
    return min(orders), max(orders)


def _thrown_together(
    table: Index, groups: Mapping[Named, Uses], handed: Sequence[Named]
) -> list[Lifetime]:
    """The lifetimes where it is not followed when each of some tensors begins to live, and when it
    ends: as many as there are may live from the first use of one to the last."""
    names = {*handed, *(other for other in groups for name in handed if _may_be(other, name))}
    joined = Uses(next(iter(groups.values())).storage)
    for name in names:
        joined.writes += groups[name].writes
        joined.reads += groups[name].reads
    common = tuple(
        each[0] if all(n is each[0] for n in each) else None for each in zip(*names, strict=True)
    )
    whole = dataclasses.replace(lifetime(table, joined, common), certain=-1)
    found = {common: [whole]}
    for name, uses in groups.items():
        if name not in names:
            found.setdefault(name, []).extend(_of_one_name(table, uses, name))
    return [_kept(table, life, found) for stages in found.values() for life in stages]


def _one_by_one(
    table: Index, groups: Mapping[Named, Uses], handed: Sequence[Named]
) -> list[Lifetime]:
    """The lifetimes where each tensor of a list is written by its number, and then one loop reads
    them all: one after the other begins to live, and from the last one on all of them do.

    Nothing where that is not so.
    """
    storage = next(iter(groups.values())).storage
    others = [uses for name, uses in groups.items() if name not in handed]
    if len(storage.loops) != 1 or len(others) != 1 or others[0].writes:
        return []
    (loop,), (visits,) = storage.loops, others
    begun, _ = _ends(visits)
    around = loops_around(visits.all, storage.loops)
    if len(around) != 1 or loop.kind is LoopKind.GRID or not all_visited(visits.all, 0, loop):
        return []
    starts: dict[int, int] = {}
    for (number,) in handed:
        uses = groups[(number,)]
        writes = [w.order for w in uses.writes if set(w.path) <= set(storage.path) and not w.given]
        if number is None or not writes or any(a.operation.loops for a in uses.all):
            return []
        if min(writes) != _ends(uses)[0] or _ends(uses)[1] >= begun:
            return []
        starts[number.const] = min(writes)
    if loop.trips is not E.const(len(starts)) or set(starts) != set(range(len(starts))):
        return []
    full = max(starts.values())
    end = table.extent[id(around[0])][1]
    early = [
        Lifetime(
            storage,
            start,
            full - 1,
            E.const(1),
            start,
            full - 1,
            named=(E.const(number),),
            certain=full - 1,
        )
        for number, start in starts.items()
        if start < full
    ]
    together = (Together(loop, None),)
    whole = Lifetime(
        storage, full, end, loop.trips, full, end, together=together, named=(None,), certain=begun
    )
    return [*early, whole]


def _of_one_name(table: Index, uses: Uses, named: Named) -> list[Lifetime]:
    """The lifetimes of the tensors that accesses name alike: one for each age, where ages tell
    them apart."""
    found = _Ages.of(table, uses, named)
    return [lifetime(table, uses, named)] if found is None else found.lifetimes()


class _Aged(Struct, frozen=True):
    """An access, and how many iterations before it its tensor was made; behind the loop that makes
    them: how many before the last one. ``when``: the trips of loops within which it is so many."""

    access: Access
    age: int
    inside: bool
    when: Bool = E.TRUE


class _Ages(Struct, frozen=True):
    """The tensors of a site of which the one loop that makes them hands some to later iterations,
    or to what follows."""

    table: Index
    uses: Uses
    loop: Loop
    accesses: list[_Aged]
    turns: dict[int, Turn]

    @staticmethod
    def of(table: Index, uses: Uses, named: Named) -> _Ages | None:
        loops = uses.storage.loops
        if any(number is not None for number in named):
            return None
        handing: dict[int, list[_Aged]] = {}
        for position, loop in enumerate(loops):
            if loop.kind is LoopKind.GRID:
                continue
            known = [each for access in uses.all for each in _aged(access, position, loop)]
            if {id(each.access) for each in known} != set(map(id, uses.all)):
                return None
            if any(each.age or not each.inside for each in known):
                handing[position] = known
        if len(handing) != 1:
            return None
        ((position, accesses),) = handing.items()
        loop = loops[position]
        turns = {
            id(each): turn_of(table, uses, uses.all, each) for each in loops_around(uses.all, loops)
        }
        return _Ages(table, uses, loop, accesses, turns)

    def lifetimes(self) -> list[Lifetime]:
        oldest = max(each.age for each in self.accesses)
        behind = sorted({each.age for each in self.accesses if not each.inside})
        first, *later = map(self._during, range(oldest + 1))
        most = self._most(oldest)
        if most:
            first = dataclasses.replace(first, together=(Together(self.loop, most),))
        return [first, *later, *map(self._behind, behind)]

    def _most(self, oldest: int) -> int:
        """How many iterations lie at most between two that made tensors which live at once."""
        youngest = min(each.age for each in self.accesses)  # it lives from its first use on
        begun = min(each.access.order for each in self.accesses if each.age == youngest)
        used = max(each.access.order for each in self.accesses if each.age == oldest)
        return oldest - youngest if begun <= used else oldest - youngest - 1

    def _path(self, each: _Aged, index: Expr) -> Bool:
        """The branches that an access is in, beyond those of its tensor, in that trip."""
        made, own = self.uses.storage.path, self.loop.symbol
        path = (
            condition
            for condition in (*each.access.path, *each.access.given, each.when)
            if condition not in made or (each.age and own in condition.free())
        )
        return E.Substitution({own: index}).bool(E.and_(*path))

    def _around(self, each: _Aged) -> tuple[Turn, ...]:
        turns = (self.turns.get(id(loop)) for loop in each.access.operation.loops)
        return tuple(turn for turn in turns if turn is not None)

    def _elsewhere(self, each: _Aged, order: int, index: Expr, *facts: Bool) -> Touch:
        """An access that comes in another trip, or on the other side of the loop's end."""
        path = E.and_(self._path(each, index), *facts)
        touch = touch_of(each.access, order, in_any_trip(path, self._around(each)), ())
        elsewhere = order != each.access.order
        reads = touch.reads and not (elsewhere and self._renewed(each))
        return replace(touch, reads=reads, elsewhere=elsewhere)

    def _renewed(self, each: _Aged) -> bool:
        """Whether, since its tensor was made, a write may have come right before an access."""
        return any(
            (other.age, other.access.order) < (each.age, each.access.order)
            for other in self.accesses
            if other.inside and other.age and other.access in self.uses.writes
        )

    def _during(self, age: int) -> Lifetime:
        """The tensor of so many iterations ago, while the loop goes on."""
        first, last = self.table.extent[id(self.loop)]
        now, trips = self.loop.index, self.loop.trips
        touches: list[Touch] = []
        for each in self.accesses:
            order = each.access.order
            if not each.inside and each.age < age:
                continue  # it is one of a later iteration
            if not each.inside:
                meant = E.eq(now - age, trips - 1 - each.age)
                touches.append(self._elsewhere(each, order, now, meant))
            elif each.age == age:
                touches.append(
                    touch_of(each.access, order, self._path(each, now), self._around(each))
                )
            elif each.age < age:
                touches.append(self._elsewhere(each, first - 1, now - (age - each.age)))
            else:
                then = now + (each.age - age)
                touches.append(self._elsewhere(each, last + 1, then, E.lt(then, trips)))
        orders = [min(max(touch.order, first), last) for touch in touches]
        start, end = min(orders), max(orders)
        made = () if not age else ((self.loop.symbol, now - age),)
        needs = E.ge(now, age)
        return self._lifetime(start, end, touches, needs, made)

    def _behind(self, age: int) -> Lifetime:
        """The tensor of so many iterations before the last one, after the loop."""
        _, last = self.table.extent[id(self.loop)]
        trips = self.loop.trips
        touches: list[Touch] = []
        for each in self.accesses:
            if not each.inside and each.age == age:
                path = self._path(each, self.loop.index)
                order = each.access.order
                touches.append(touch_of(each.access, order, path, self._around(each)))
            elif each.inside and each.age <= age:
                then = trips - 1 - (age - each.age)
                touches.append(self._elsewhere(each, last + 1, then))
        end = max(touch.order for touch in touches)
        made = ((self.loop.symbol, trips - 1 - age),)
        return self._lifetime(last + 1, end, touches, E.gt(trips, age), made)

    def _lifetime(
        self,
        start: int,
        end: int,
        touches: Sequence[Touch],
        needs: Bool,
        made: tuple[tuple[E.Sym, Expr], ...],
    ) -> Lifetime:
        span = Span(start, end)
        for turn in {id(turn): turn for touch in touches for turn in touch.turns}.values():
            span.turn(turn)
        return Lifetime(
            self.uses.storage,
            span.start,
            span.end,
            E.const(1),
            start,
            end,
            widened=tuple(span.widened),
            named=(None,) * len(self.uses.storage.loops),
            touches=tuple(touches),
            needs=needs,
            made=made,
        )


def _aged(access: Access, position: int, loop: Loop) -> list[_Aged]:
    """An access with each age that it may have; nothing where these are not known to be a few."""
    age = age_term(access, position, loop)
    oldest = None if age is None else _at_most(_oldest(age, access, loop))
    if age is None or oldest is None or not 0 <= oldest <= _OLDEST:
        return []
    inside = loop in access.operation.loops
    whens = ((number, E.eq(age, number)) for number in range(oldest + 1))
    return [_Aged(access, number, inside, when) for number, when in whens if when is not E.FALSE]


def _oldest(age: Expr, access: Access, made: Loop) -> Expr:
    """The age where the loops around an access, but that which makes the tensors, make it most."""
    for loop in reversed(access.operation.loops):
        slope = next((coef for mono, coef in age.terms if mono == (loop.symbol,)), None)
        if slope is not None and loop is not made:
            end = E.const(0) if slope < 0 else loop.trips - 1
            age = age - slope * loop.index + slope * end
    return age


def _at_most(number: Expr) -> int | None:
    """An upper bound, also of a number less the larger one of several."""
    for mono, coef in number.terms:
        (atom, *more) = mono
        if isinstance(atom, E.Extremum) and not more:
            each = [_at_most(number - coef * E.from_atom(atom) + coef * arg) for arg in atom.args]
            known = [bound for bound in each if bound is not None]
            if (atom.kind == "max") == (coef < 0):
                return min(known, default=None)
            return max(known) if len(known) == len(each) else None
    return E.bounds(number)[1]


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
        other for named, stages in found.items() if _may_be(named, life.named) for other in stages
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
    return dataclasses.replace(
        life,
        start=start,
        first=own + 1,
        last=max(own, life.last),
        widened=(*life.widened, (later, start, life.end)),
    )


def pipelined(table: Index) -> dict[int, Loop]:
    """The loops whose iterations overlap, a stage each of loading, computing and storing (PPL)."""
    return {
        id(operation.loops[-1]): operation.loops[-1]
        for operation in table.trace.operations
        if operation.loops
        and operation.instruction is not None
        and Trait.PIPELINES in operation.instruction.traits
    }


def crosses_stages(uses: Uses, accesses: list[Access]) -> bool:
    """Whether accesses to a tensor are in several stages of a pipeline."""
    return crosses(
        [stage_of(access.operation.engine, writes=access in uses.writes) for access in accesses]
    )


def staged(table: Index, pipelines: dict[int, Loop], uses: Uses, life: Lifetime) -> Lifetime:
    """The lifetime in a pipeline: what is handed from stage to stage exists twice throughout, so
    that one can be filled while the other is used (PPL-B06)."""
    loop = next((x for x in uses.storage.loops if id(x) in pipelines), None)
    if loop is None or not crosses_stages(uses, uses.all):
        return life
    first, last = table.extent[id(loop)]
    start, end = min(life.start, first), max(life.end, last)
    certain = life.certain_to(end)
    return Lifetime(life.storage, start, end, life.copies * 2, start, end, certain=certain)


def _forwarded(table: Index) -> list[Uses]:
    """The uses of each tensor. A result that nothing takes before it is assigned whole to a tile is
    that tile: there is no copy between them."""
    found = {id(uses.storage): uses for uses in table.storages}
    for uses in table.storages:
        target = uses.storage.marks.get(Mark.FORWARDED)
        accesses = uses.all
        if not isinstance(target, View) or id(target.storage) not in found or len(accesses) < 2:
            continue
        made, assigned = (access.operation for access in accesses[:2])
        if made.loops != assigned.loops or all(v is not target for _, v in assigned.writes):
            continue
        joined = found[id(target.storage)]
        found[id(target.storage)] = Uses(
            joined.storage,
            [*joined.writes, *(replace(access, view=target) for access in uses.writes)],
            [*joined.reads, *(replace(access, view=target) for access in uses.reads)],
            joined.targets,
        )
        del found[id(uses.storage)]
    return list(found.values())


def lifetimes(table: Index, buffer: Buffer) -> list[Lifetime]:
    """The lifetimes of what the compiler places in a buffer, in order of their beginning."""
    pipelines = pipelined(table)
    found = [
        staged(table, pipelines, uses, life)
        for uses in _forwarded(table)
        if uses.storage.buffer is buffer
        and uses.storage.kind in (StorageKind.ALLOC, StorageKind.RESULT, StorageKind.CONSTANT)
        and uses.storage.address is None
        and not uses.storage.placed
        and Mark.COMPARED not in uses.storage.marks
        and (uses.reads or uses.writes)
        for life in lives(table, uses)
    ]
    return sorted(found, key=lambda life: (life.start, life.storage.order, life.storage.id))


def exclusive(a: tuple[Bool, ...], b: tuple[Bool, ...]) -> bool:
    """Whether two paths cannot both be taken, judged by their conditions alone."""
    held = {id(condition) for condition in a}
    return any(id(E.not_(condition)) in held for condition in b)
