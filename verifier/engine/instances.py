"""What a demand that is made in each trip of a loop says of particular trips.

A condition over the number of a trip is demanded of all trips. The solver asks for some integers
that satisfy it, any trip among them; that an input is excluded by *one* trip shows in instances.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from verifier.solver.query import Model, Query
from verifier.solver.solver import Solver
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym

#: instances of one condition: trips where its parts change, for each of the loops around it
_MOST = 16

#: symbols that stand for the same value in each trip, and those that number the trips
_SAME = (E.Origin.INPUT, E.Origin.GRID, E.Origin.LOOP)


class EachTrip(Struct, frozen=True):
    """Conditions that hold for all values of the loop indices in them but the ``fixed`` ones."""

    conditions: tuple[Bool, ...]
    fixed: frozenset[Sym] = frozenset()

    def instances(self) -> tuple[Bool, ...]:
        """What they say of the first trips of loops, and of those where they change."""
        found: dict[Bool, None] = {}
        for condition in self.conditions:
            made = [condition]
            for trip in self._trips(condition):
                made = [one for old in made for one in _of_trip(old, trip)][:_MOST]
            found.update((one, None) for one in made if one is not E.TRUE)
        return tuple(found)

    def broken(self, solver: Solver, model: Model) -> Bool | None:
        """What one of them says of a trip that breaks it, for the values of a model."""
        flags = {name: E.TRUE if value else E.FALSE for name, value in model.items()}
        for condition in self.conditions:
            trips = self._trips(condition)
            given = {
                s: E.const(int(model[s.name]))
                for s in condition.free()
                if s.name in model and s not in trips
            }
            rest = E.Substitution(given, flags).bool(condition)
            answer = solver.check(Query((), rest)) if trips else None
            if answer is not None and answer.refuted and answer.model is not None:
                found = {s: E.const(int(answer.model.get(s.name, 0))) for s in trips}
                return E.Substitution(found).bool(condition)
        return None

    def _trips(self, condition: Bool) -> list[Sym]:
        """The indices to replace: none where another trip would have other unknown values."""
        if any(s.origin not in _SAME for s in condition.free()):
            return []
        return [s for s in condition.free() if s.origin is E.Origin.LOOP and s not in self.fixed]


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
