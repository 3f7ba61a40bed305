"""Which tensors are live at once, and when."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from msgspec import Struct
from msgspec.structs import replace

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.memory.index import Index
from verifier.symbolic.memory.lifetime import Lifetime
from verifier.symbolic.memory.lives import exclusive
from verifier.symbolic.tensors import Loop, LoopKind
from verifier.symbolic.views.common import conjuncts

#: conditions under which tiles live on that are told apart at one point; more are thrown together
_TOLD_APART = 2


class Meeting(Struct, frozen=True):
    """Lifetimes that meet in one point.

    ``again``: when they do, of those that loops bring round again; ``held``: when each is there,
    besides; ``sure``: those of which that is certain. ``loops``: those that the point is in.
    """

    live: list[Lifetime]
    again: Bool
    held: list[Bool]
    sure: frozenset[int]
    loops: list[Loop]
    #: what is demanded there: some loops come round again, others run
    given: frozenset[int]

    @property
    def certain(self) -> Meeting:
        """Those of which it is certain that they are there."""
        found = [k for k, life in enumerate(self.live) if id(life) in self.sure]
        live, when = [self.live[k] for k in found], [self.held[k] for k in found]
        return replace(self, live=live, held=when)

    def within(self, other: Meeting) -> bool:
        """Whether all that meets here meets there, too, whenever it does here."""
        if other is self or not other.given <= self.given:
            return False
        there = {id(life): when for life, when in zip(other.live, other.held, strict=True)}
        return all(
            there.get(id(life)) in (E.TRUE, when)
            for life, when in zip(self.live, self.held, strict=True)
        )


def meetings(table: Index, lives: list[Lifetime]) -> list[Meeting]:
    """The maximal sets of lifetimes that meet in one point.

    What lives on only if a loop comes round again is in a set of its own, together with the rest.
    """
    found: dict[object, Meeting] = {}
    for place in lives:
        for point in sorted(place.begins):
            meeting = [
                (life, life.at(point), _held(table, life, point))
                for life in lives
                if life.start <= point <= life.end and not exclusive(life.path, place.path)
            ]
            meeting = [entry for entry in meeting if E.FALSE not in entry[1:]]
            for conditions in _choices([when for _, when, _ in meeting]):
                chosen = [entry for entry in meeting if entry[1] in (E.TRUE, *conditions)]
                if chosen:
                    made = _meeting(table, chosen, conditions, point)
                    key = frozenset(map(id, made.live)), made.given, tuple(map(id, made.held))
                    known = found.get(key)
                    if known is None or known.sure < made.sure:
                        found[key] = made
    return _maximal(list(found.values()))


def _maximal(found: list[Meeting]) -> list[Meeting]:
    kept: list[Meeting] = []
    for meeting in found:
        if not any(meeting.within(other) for other in kept):
            kept = [other for other in kept if not other.within(meeting)]
            kept.append(meeting)
    return kept


def _held(table: Index, life: Lifetime, point: int) -> Bool:
    """When a tensor is there at a point, as far as it is not known to be."""
    when = life.held(point)
    return E.TRUE if table.assumed(life.storage.order).decide(when) is True else when


def _meeting(
    table: Index,
    chosen: list[tuple[Lifetime, Bool, Bool]],
    conditions: tuple[Bool, ...],
    point: int,
) -> Meeting:
    live = [life for life, _, _ in chosen]
    again = E.and_(*conditions) if len(conditions) <= _TOLD_APART else E.or_(*conditions)
    given = set(map(id, conditions if len(conditions) <= _TOLD_APART else (again,)))
    loops = [loop for loop in _around(live) if _contains(table, loop, point)]
    known = table.assumed(point)
    runs = (E.ge(loop.trips, 1) for loop in loops)
    given.update(id(fact) for fact in runs if known.decide(fact) is not True)
    shared = set.intersection(*(set(conjuncts(when)) for _, _, when in chosen))
    given.update(map(id, shared - {E.TRUE}))
    sure = frozenset(id(life) for life in live if life.surely(point))
    return Meeting(live, again, [when for _, _, when in chosen], sure, loops, frozenset(given))


def _contains(table: Index, loop: Loop, point: int) -> bool:
    first, last = table.extent[id(loop)]
    return first <= point <= last


def _choices(conditions: list[Bool]) -> Iterable[tuple[Bool, ...]]:
    """Which of the conditions may be true together: any, or (where they are many) none or all."""
    distinct = tuple(dict.fromkeys(c for c in conditions if c is not E.TRUE))
    if len(distinct) > _TOLD_APART:
        return ((), distinct)
    return [
        chosen for count in range(len(distinct) + 1) for chosen in combinations(distinct, count)
    ]


def _around(live: list[Lifetime]) -> list[Loop]:
    """The loops that must be gone through for these tensors to be there."""
    loops = {id(loop): loop for life in live for loop in life.storage.loops}
    return [loop for loop in loops.values() if loop.kind is not LoopKind.GRID]


def chosen(life: Lifetime) -> E.Substitution:
    """The iteration that a tensor is of: the one named, or any if those of several live at once."""
    several = {together.loop.symbol for together in life.together}
    put: dict[E.Sym, Expr] = dict(life.made)
    for k, loop in enumerate(life.storage.loops):
        number = life.named[k] if life.named else None
        if number is not None:
            put[loop.symbol] = number
        elif loop.symbol in several and not life.touches:
            put[loop.symbol] = E.fresh(loop.name or "i", 0, loop.symbol.hi, E.Origin.POINT)
    return E.Substitution(put)
