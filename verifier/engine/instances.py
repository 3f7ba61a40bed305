"""What a demand that is made in each trip of a loop says of particular trips.

A condition over the number of a trip is demanded of all trips. The solver asks for some integers
that satisfy it, any trip among them; that an input is excluded by *one* trip shows in instances.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym

#: instances of one condition: trips where its parts change, for each of the loops around it
_MOST = 16


def instances(conditions: Iterable[Bool]) -> tuple[Bool, ...]:
    """What the conditions say of the first trips of loops, and of those where they change."""
    found: dict[Bool, None] = {}
    for condition in conditions:
        found.update(dict.fromkeys(_instances(condition)))
    return tuple(found)


def _instances(condition: Bool) -> list[Bool]:
    made = [condition]
    for trip in (s for s in condition.free() if s.origin == "loop"):
        made = [one for old in made for one in _of_trip(old, trip)][:_MOST]
    return [one for one in made if one is not condition and one is not E.TRUE]


def _of_trip(condition: Bool, trip: Sym) -> Iterator[Bool]:
    for place in dict.fromkeys((E.const(0), *_changes(condition, trip))):
        within = [] if trip.lo is None else [E.ge(place, trip.lo)]
        within += [] if trip.hi is None else [E.le(place, trip.hi)]
        yield E.implies(E.and_(*within), E.Substitution({trip: place}).bool(condition))


def _changes(condition: Bool, trip: Sym) -> Iterator[Expr]:
    """The trips at which a comparison in a condition becomes true or false."""
    if condition.expr is not None:
        factor = condition.expr.coefficient(trip)
        rest = condition.expr - E.from_atom(trip) * factor
        if abs(factor) == 1 and trip not in rest.free():
            at = -rest * factor
            yield from (at, at - 1, at + 1)
    for part in condition.args:
        yield from _changes(part, trip)
