"""Conditions that somebody can read where what is exact is too long to be told.

The bytes of a type that two others are promoted to are a table over all pairs of types. Where a
condition is too long because of such tables, each is replaced by a bound on it: what is said then
suffices, and more inputs than those may do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from verifier.engine.forms import conjuncts
from verifier.engine.weakest import Weakest
from verifier.solver.query import Query
from verifier.solver.solver import Solver
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Table
from verifier.symbolic.pretty import pretty

#: characters of a condition, and of a table in one, that are still read
_LONGEST: Final = 400
_LONGEST_TABLE: Final = 140
#: what stands in a text for what is not printed of a term, and how long that is taken to be
_CUT: Final = "..."
_BEYOND: Final = 1 << 20


def legible(found: Weakest, given: Sequence[Bool], solver: Solver) -> Weakest:
    """The condition as it is if it can be read; else one that suffices and can, if there is one."""
    told = [_told(clause, given, solver) for clause in conjuncts(found.condition)]
    return Weakest(E.and_(*(clause for clause, _ in told)), found.exact and all(s for _, s in told))


def _told(clause: Bool, given: Sequence[Bool], solver: Solver) -> tuple[Bool, bool]:
    """What stands for one of the conditions that have to hold at once, and whether it says no more
    than that."""
    if _length(clause) <= _LONGEST:
        return clause, True
    tables = [
        term
        for term in E.walk(clause)
        if isinstance(term, Table) and _length(E.from_atom(term)) > _LONGEST_TABLE
    ]
    best = clause, True
    rising = _rising(clause, set(tables))
    for bounds in (_of_equals, _largest) if tables else ():
        put: dict[E.Atom, Expr] = {}
        for table in tables:
            bound = next((b for b in bounds(table) if _is_bound(table, b, given, solver)), None)
            if bound is not None:
                put[table] = bound
        condition = E.Substitution({}, atoms=put).bool(rising)
        shorter = _length(condition) < _length(best[0])
        if shorter and _implies(condition, rising, put, given, solver):
            least = (_is_least(*each, given, solver) for each in put.items())
            best = condition, rising is clause and all(least)
        if _length(best[0]) <= _LONGEST:
            break
    return best


def _length(term: Bool | Expr) -> int:
    text = pretty(term)
    return _BEYOND + sum(1 for _ in E.walk(term)) if _CUT in text else len(text)


def _of_equals(table: Table) -> Iterator[Expr]:
    """Where types are all the same what the table says of that one, else the most that it says."""
    first, *others = E.atom_free(table)
    if others and all(symbol.domain is not None for symbol in (first, *others)):
        same = E.and_(*(E.eq(E.from_atom(first), E.from_atom(other)) for other in others))
        own = E.table(table.name, E.from_atom(first), dict(table.values))
        yield from (E.ite(same, own, most) for most in _largest(table))
    yield from _largest(table)


def _largest(table: Table) -> Iterator[Expr]:
    """Numbers that may be the largest one of a table, the least ones first."""
    yield from map(E.const, sorted({value for _, value in table.values}))


def _is_bound(table: Table, bound: Expr, given: Sequence[Bool], solver: Solver) -> bool:
    return solver.check(Query(tuple(given), E.le(E.from_atom(table), bound))).proved


def _is_least(table: E.Atom, bound: Expr, given: Sequence[Bool], solver: Solver) -> bool:
    return solver.check(Query(tuple(given), E.ge(E.from_atom(table), bound))).proved


def _implies(
    condition: Bool,
    wanted: Bool,
    put: dict[E.Atom, Expr],
    given: Sequence[Bool],
    solver: Solver,
) -> bool:
    """Whether a condition with bounds in the place of tables implies the one with the tables, for
    whatever they come to within their bounds."""
    if _rises(wanted, set(put)):
        return True
    some: dict[E.Atom, Expr] = {}
    facts: list[Bool] = []
    for table, bound in put.items():
        value = E.fresh("bytes", 0, None, E.Origin.POINT)
        some[table] = value
        facts.append(E.le(value, bound))
    goal = E.Substitution({}, atoms=some).bool(wanted)
    return solver.check(Query((*given, *facts, condition), goal)).proved


def _rising(clause: Bool, tables: AbstractSet[E.Atom]) -> Bool:
    """A condition without the alternatives that more in a table makes easier to meet."""
    parts = clause.args if clause.kind is E.BoolKind.OR else ()
    kept = [part for part in parts if _rises(part, tables)]
    return E.or_(*kept) if kept else clause


def _rises(clause: Bool, tables: AbstractSet[E.Atom]) -> bool:
    """Whether more in a table makes a condition harder to meet, plainly: sizes that are multiplied
    with it are bounded from above."""
    if clause.kind in (E.BoolKind.AND, E.BoolKind.OR):
        return all(_rises(part, tables) for part in clause.args)
    if clause.kind is not E.BoolKind.LE or clause.expr is None:
        return tables.isdisjoint(E.walk(clause))
    for mono, factor in clause.expr.terms:
        others = [atom for atom in mono if atom not in tables]
        if any(not tables.isdisjoint(E.walk(E.from_atom(atom))) for atom in others):
            return False
        low = [E.bounds(E.from_atom(atom))[0] for atom in mono]
        if len(others) < len(mono) and (factor < 0 or any(n is None or n < 0 for n in low)):
            return False
    return True
