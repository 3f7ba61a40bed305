"""The weakest condition on a kernel's inputs under which one obligation holds.

An obligation fails for some inputs where some iteration, element or point breaks it. Without these
(:mod:`verifier.solver.elimination`) what is left speaks of inputs and the grid alone, and its
negation is the condition: nothing weaker prevents the failure. Where they cannot be eliminated,
candidates are tried, which a proof shows to suffice and nothing shows to be needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from verifier.records import dataclass
from verifier.solver.elimination import exists
from verifier.solver.query import Query
from verifier.solver.solver import Solver
from verifier.solver.terms import divisors
from verifier.symbolic import expr as E
from verifier.symbolic.expr import FALSE, TRUE, Bool, Expr, Sym

#: candidates that are tried for one obligation
_TRIED = 24


@dataclass(frozen=True, slots=True)
class Weakest:
    """A condition on inputs and grid that suffices; ``exact``: without it, it fails."""

    condition: Bool
    exact: bool


def of_given(term: Bool) -> bool:
    """Whether a formula speaks of inputs and the grid alone."""
    return all(s.origin in E.GIVEN for s in term.free())


def weakest(
    goal: Bool, local: Sequence[Bool], base: Sequence[Bool], solver: Solver, *, followed: bool
) -> Weakest | None:
    """The condition under which ``goal`` holds wherever the ``local`` facts do.

    ``base`` is what is demanded of the inputs (:func:`of_inputs`). ``followed``: a failure that is
    shown is one, it hangs on no value that is not known.
    """
    given = tuple(base)
    broken = E.and_(*local, E.not_(goal))
    exact = followed and not any(s.origin in E.OPEN for s in broken.free())
    found = _eliminated(broken, given, solver)
    if found is not None:
        clauses = [_without_excluded(E.not_(case), given, solver) for case in found]
        needed = [clause for clause in clauses if solver.decide(given, clause) is not True]
        return Weakest(E.and_(*needed), exact)
    for candidate in _candidates(goal, local, solver):
        if candidate is FALSE or candidate is TRUE or not of_given(candidate):
            continue
        facts = (*base, *local, candidate)
        if not solver.check(Query(facts, goal)).proved:
            continue
        if solver.check(Query((*given, candidate), FALSE)).refuted:
            return Weakest(candidate, False)
    return _on_more_programs(goal, (*given, *local), solver)


def _on_more_programs(goal: Bool, facts: Sequence[Bool], solver: Solver) -> Weakest | None:
    """Along an axis of the grid, the numbers of programs with which ``goal`` holds: from the least
    on up to what the hardware has, or else one by one."""
    axes = {s: None for term in (goal, *facts) for s in term.free() if s.origin is E.Origin.GRID}
    for axis in axes:
        if axis.hi is None or axis.lo is None:
            continue
        count, counts = E.from_atom(axis), range(axis.lo, axis.hi + 1)

        def suffices(condition: Bool) -> bool:
            if solver.check(Query((*facts, condition), FALSE)).proved:
                return False  # a launch is given that has another number
            return solver.check(Query((*facts, condition), goal)).proved

        if suffices(E.eq(count, axis.hi)):
            for least in counts:
                if suffices(E.ge(count, least)):
                    return Weakest(E.ge(count, least), False)
        single = [E.eq(count, number) for number in counts]
        found = [condition for condition in single if suffices(condition)]
        if found:
            return Weakest(E.or_(*found), False)
    return None


def of_inputs(demands: Iterable[Bool], solver: Solver) -> tuple[Bool, ...]:
    """What demands say of inputs and grid, those that are made in each iteration of loops too.

    What has no such form is left out. A demand that divides by zero demands nothing: it dies.
    """
    out: dict[Bool, None] = {}
    for said in demands:
        demand = E.or_(*(E.eq(den, 0) for den in divisors((said,))), said)
        if of_given(demand):
            out[demand] = None
            continue
        found = _eliminated(E.not_(demand), (), solver)
        if found is not None:
            out.update((E.not_(case), None) for case in found)
    out.pop(TRUE, None)
    return tuple(out)


def _eliminated(formula: Bool, given: tuple[Bool, ...], solver: Solver) -> list[Bool] | None:
    private = [s for s in formula.free() if s.origin not in E.GIVEN]
    return exists(formula, private, lambda factor: solver.decide(given, E.ge(factor, 1)) is True)


def _without_excluded(clause: Bool, given: tuple[Bool, ...], solver: Solver) -> Bool:
    """The clause without the alternatives that no input has."""
    if clause.kind is not E.BoolKind.OR:
        return clause
    return E.or_(*(a for a in clause.args if solver.decide(given, E.not_(a)) is not True))


# ------------------------------------------------------------------ where there is no formula


def _candidates(goal: Bool, local: Sequence[Bool], solver: Solver) -> Iterator[Bool]:
    """Conditions worth trying, the weaker ones first."""
    closed = solver.close(goal, tuple(local))
    if closed is not None:
        yield closed
    quotients = dict.fromkeys(_quotients((goal, *local)))
    single = [E.eq(E.mod(q.num, q.den), 0) for q in quotients]
    sizes = [E.from_atom(s) for s in dict.fromkeys(_sizes((goal, *local)))]
    pairs = [E.eq(a, b) for i, a in enumerate(sizes) for b in sizes[i + 1 :]]
    yield from (*single, *pairs)[:_TRIED]


def _quotients(terms: Sequence[Bool]) -> Iterator[E.Div]:
    for term in terms:
        for expr in expressions(term):
            for atom in expr.atoms():
                if isinstance(atom, E.Div) and all(s.origin in E.GIVEN for s in E.atom_free(atom)):
                    yield atom


def _sizes(terms: Sequence[Bool]) -> Iterator[Sym]:
    for term in terms:
        for symbol in term.free():
            if symbol.origin is E.Origin.INPUT and symbol.domain is None:
                yield symbol


def expressions(term: Bool) -> Iterator[Expr]:
    """What is compared with zero in a formula."""
    if term.expr is not None:
        yield term.expr
    for part in term.args:
        yield from expressions(part)
