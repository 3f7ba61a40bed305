"""The weakest condition on a kernel's inputs under which one obligation holds.

An obligation fails for some inputs where some iteration, element or point breaks it. Without these
(:mod:`verifier.solver.elimination`) what is left speaks of inputs and the grid alone, and its
negation is the condition: nothing weaker prevents the failure. Where they cannot be eliminated,
candidates are tried, which a proof shows to suffice; what is demanded of the last and the first
element may show them to be needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from verifier.solver.elimination import exists
from verifier.solver.query import Query
from verifier.solver.solver import Solver
from verifier.symbolic import expr as E
from verifier.symbolic.expr import FALSE, TRUE, Bool, Expr, Sym
from verifier.symbolic.memory.known import turns

#: candidates that are tried for one obligation
_TRIED = 24
#: names and operators of a condition that is still one to read, and where it divides by no number
_LEGIBLE, _BY_SIZES = 32, 12


class Weakest(Struct, frozen=True):
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
        needed = [clause for clause in clauses if not solver.follows(given, clause)]
        return Weakest(E.and_(*needed), exact)
    tried = _tried(goal, local, given, solver, exact=exact)
    return tried or _on_more_programs(goal, local, given, solver)


def _on_more_programs(
    goal: Bool, local: Sequence[Bool], given: tuple[Bool, ...], solver: Solver
) -> Weakest | None:
    """Along an axis of the grid, the numbers of programs with which ``goal`` holds: from the least
    on up to what the hardware has, or else those of which each is tried."""
    facts = (*given, *local)
    axes = {s: None for term in (goal, *facts) for s in term.free() if s.origin is E.Origin.GRID}
    for axis in axes:
        if axis.hi is None or axis.lo is None:
            continue
        count, counts = E.from_atom(axis), range(axis.lo, axis.hi + 1)

        def some(known: Sequence[Bool], condition: Bool) -> bool:
            return not solver.check(Query((*known, condition), FALSE)).proved

        def suffices(condition: Bool) -> bool:
            if not some(facts, condition):
                return False  # a launch is given that has another number
            return solver.check(Query((*facts, condition), goal)).proved

        if suffices(E.eq(count, axis.hi)):
            for least in counts:
                if suffices(E.ge(count, least)):
                    return Weakest(E.ge(count, least), False)
        single = {number: E.eq(count, number) for number in counts}
        right = [number for number, condition in single.items() if suffices(condition)]
        if right:  # and of fewer than it takes nothing is asked
            few = (n for n in counts if not some(facts, single[n]) and some(given, single[n]))
            right = sorted({*right, *few})
            if right == [*range(right[0], right[-1] + 1)]:
                return Weakest(E.and_(E.ge(count, right[0]), E.le(count, right[-1])), False)
            return Weakest(E.or_(*(single[number] for number in right)), False)
    return None


def of_inputs(demands: Iterable[Bool], solver: Solver) -> tuple[Bool, ...]:
    """What demands say of inputs and grid, those that are made in each iteration of loops too.

    What has no such form is left out, and so is what is said of a number that nobody knows: some
    number may meet it, whatever the inputs are. A demand that divides by zero demands nothing: it
    dies.
    """
    out: dict[Bool, None] = {}
    for demand in (part for said in demands for part in _as_evaluated(said)):
        if of_given(demand):
            out[demand] = None
            continue
        if any(symbol.origin in E.OPEN for symbol in demand.free()):
            continue
        found = _eliminated(E.not_(demand), (), solver)
        if found is not None:
            out.update((E.not_(case), None) for case in found)
    out.pop(TRUE, None)
    return tuple(out)


def _as_evaluated(said: Bool) -> Iterator[Bool]:
    """The parts of a demand, each for the inputs for which none before it divides by zero."""
    parts = said.args if said.kind is E.BoolKind.AND else (said,)
    undefined: dict[Bool, None] = {}
    for part in parts:
        undefined.update((E.eq(den, 0), None) for den in E.divisors((part,)))
        yield E.or_(*undefined, part)


def _eliminated(formula: Bool, given: tuple[Bool, ...], solver: Solver) -> list[Bool] | None:
    private = [s for s in formula.free() if s.origin not in E.GIVEN]
    return exists(formula, private, lambda factor: solver.follows(given, E.ge(factor, 1)))


def _without_excluded(clause: Bool, given: tuple[Bool, ...], solver: Solver) -> Bool:
    """The clause without the alternatives that no input has."""
    if clause.kind is not E.BoolKind.OR:
        return clause
    return E.or_(*(a for a in clause.args if not solver.follows(given, E.not_(a))))


# ------------------------------------------------------------------ where there is no formula


def _tried(
    goal: Bool, local: Sequence[Bool], given: tuple[Bool, ...], solver: Solver, *, exact: bool
) -> Weakest | None:
    """A condition that suffices, if there is one that is needed, too.

    What is demanded at a place that the inputs say is needed: of the last element, say. Where it
    implies a candidate, nothing weaker suffices; no more does it where it suffices itself.
    """
    found = _sufficient(goal, local, given, solver)
    if not exact:
        return None if found is None else Weakest(found, False)
    demands = [*_at_ends(goal, local, given, solver), *_in_turn(goal, local, given, solver)]
    if found is not None:
        demands += _at_model(goal, local, (*given, E.not_(found)), solver)
        if any(solver.check(Query((*given, demand), found)).proved for demand in demands):
            return Weakest(found, True)
    for demand in sorted(demands, key=_size):
        if _is_legible(demand) and _suffices(demand, goal, local, given, solver):
            return Weakest(demand, True)
    return None if found is None else Weakest(found, False)


def _sufficient(
    goal: Bool, local: Sequence[Bool], given: tuple[Bool, ...], solver: Solver
) -> Bool | None:
    """The first candidate that suffices, or a wider one that it implies and that does, too."""
    found: Bool | None = None
    for candidate in _candidates(goal, local, solver):
        if candidate is FALSE or candidate is TRUE or not of_given(candidate):
            continue
        if found is not None and not _narrower(found, candidate, solver):
            continue
        if _suffices(candidate, goal, local, given, solver):
            found = candidate
    return found


def _narrower(one: Bool, other: Bool, solver: Solver) -> bool:
    """Whether a condition implies another one, which does not imply it."""
    if not set(one.free()).issuperset(other.free()):
        return False  # multiples of one number, say, are not those of another one
    implied = solver.check(Query((one,), other)).proved
    return implied and not solver.check(Query((other,), one)).proved


def _suffices(
    candidate: Bool, goal: Bool, local: Sequence[Bool], given: tuple[Bool, ...], solver: Solver
) -> bool:
    """Whether some inputs meet a candidate, and none of these breaks the goal."""
    if not solver.check(Query((*given, *local, candidate), goal)).proved:
        return False
    return solver.check(Query((*given, candidate), FALSE)).refuted


def _at_ends(
    goal: Bool, local: Sequence[Bool], given: tuple[Bool, ...], solver: Solver
) -> Iterator[Bool]:
    """What is demanded of the last and of the first of all iterations, elements and points."""
    private = _private((goal, *local))
    for last in (True, False):
        values: dict[Sym, Expr] = {}
        for symbol in private:
            value = _upper(symbol, local) if last else E.const(symbol.lo or 0)
            if value is not None:
                values[symbol] = value
        for _ in private:  # a bound may speak of others
            at = E.Substitution(values)
            values = {symbol: at.expr(value) for symbol, value in values.items()}
        found = _demanded(goal, local, values)
        if found is not None:
            yield _without_known(found, given, solver)


def _in_turn(
    goal: Bool, local: Sequence[Bool], given: tuple[Bool, ...], solver: Solver
) -> Iterator[Bool]:
    """What is demanded of places that are taken in turn (``i % 2``), each where it comes first."""
    for symbol, count in dict.fromkeys(pair for term in (goal, *local) for pair in turns(term)):
        if symbol.origin not in E.GIVEN:
            found = [_demanded(goal, local, {symbol: E.const(rest)}) for rest in range(count)]
            stated = [part for part in found if part is not None]
            if stated:
                yield _without_known(E.and_(*stated), given, solver)


def _without_known(term: Bool, given: tuple[Bool, ...], solver: Solver) -> Bool:
    """A conjunction without what is known, or follows from the rest of it."""
    kept = list(term.args) if term.kind is E.BoolKind.AND else [term]
    for part in reversed(kept[:]):
        rest = [other for other in kept if other is not part]
        if solver.follows((*given, *rest), part):
            kept = rest
    return E.and_(*kept)


def _at_model(
    goal: Bool, local: Sequence[Bool], facts: tuple[Bool, ...], solver: Solver
) -> Iterator[Bool]:
    """What is demanded where a counterexample has its fault."""
    model = solver.check(Query((*facts, *local), goal)).model
    if model is not None:
        private = _private((goal, *local))
        values = {s: E.const(int(model[s.name])) for s in private if s.name in model}
        found = _demanded(goal, local, values)
        if found is not None:
            yield found


def _is_legible(demand: Bool) -> bool:
    """Whether somebody wants to read a condition, and the solver is done with it soon."""
    by_sizes = any(not quotient.den.is_const for quotient in E.divisions(demand))
    return _size(demand) <= (_BY_SIZES if by_sizes else _LEGIBLE)


def _size(term: Bool | Expr) -> int:
    """How many names and operators a formula takes, about."""
    if isinstance(term, Bool):
        own = 0 if term.expr is None else _size(term.expr)
        return own + sum(map(_size, term.args))
    return sum(1 + sum(map(_size, atom.children())) for mono, _ in term.terms for atom in mono)


def _private(terms: Sequence[Bool]) -> list[Sym]:
    return list(dict.fromkeys(s for t in terms for s in t.free() if s.origin not in E.GIVEN))


def _upper(symbol: Sym, local: Sequence[Bool]) -> Expr | None:
    """The last value of a symbol, by what bounds it first."""
    for fact in local:
        if fact.kind is E.BoolKind.LE and fact.expr is not None:
            rest = fact.expr - E.from_atom(symbol)
            if all(atom is not symbol for mono, _ in rest.terms for atom in mono):
                return -rest
    return None if symbol.hi is None else E.const(symbol.hi)


def _demanded(goal: Bool, local: Sequence[Bool], values: Mapping[Sym, Expr]) -> Bool | None:
    """What a goal comes to at a place that is there for the inputs at hand; None: for no number
    of them is it said where that is."""
    at = E.Substitution(dict(values))
    there = [at.bool(fact) for fact in local]
    for symbol, value in values.items():
        there += [E.ge(value, symbol.lo)] if symbol.lo is not None else []
        there += [E.le(value, symbol.hi)] if symbol.hi is not None else []
    found = E.implies(E.and_(*there), at.bool(goal))
    return found if found is not TRUE and found is not FALSE and of_given(found) else None


def _candidates(goal: Bool, local: Sequence[Bool], solver: Solver) -> Iterator[Bool]:
    """Conditions worth trying, the weaker ones first."""
    closed = solver.close(goal, tuple(local))
    if closed is not None:
        yield closed
    quotients = dict.fromkeys(_quotients((goal, *local)))
    # what is divided, without what is added to round it: the last part is a whole one
    whole = [E.eq(E.mod(q.num - q.num.const, q.den), 0) for q in quotients]
    single = dict.fromkeys((*whole, *(E.eq(E.mod(q.num, q.den), 0) for q in quotients)))
    sizes = [E.from_atom(s) for s in dict.fromkeys(_sizes((goal, *local)))]
    met = [_alone(e) for term in (goal, *local) for e in expressions(term)]
    pairs = [E.eq(a, b) for i, a in enumerate(sizes) for b in sizes[i + 1 :] if _held(a, b, met)]
    yield from (*single, *pairs)[:_TRIED]


def _alone(compared: Expr) -> frozenset[E.Atom]:
    """The symbols that are terms of a sum, not factors or parts of other terms."""
    return frozenset(mono[0] for mono, _ in compared.terms if len(mono) == 1)


def _held(a: Expr, b: Expr, met: Sequence[frozenset[E.Atom]]) -> bool:
    """Whether two sizes are held against each other, or both against one index: equality of others
    would be an accident."""
    with_a = [each for each in met if a.as_atom() in each]
    with_b = [each for each in met if b.as_atom() in each]
    return any(one is other or one & other for one in with_a for other in with_b)


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
