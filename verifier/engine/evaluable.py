"""Conditions as Python evaluates them, from left to right: what excludes a zero stands before the
division by it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from verifier.solver.query import Model, Query
from verifier.solver.solver import Solver
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr

Facts = tuple[Bool, ...]


def in_order(
    conditions: Sequence[Bool], known: Sequence[Bool], solver: Solver
) -> Iterator[tuple[int, Bool]]:
    """The conditions and their positions, each where it has a value if those before it hold.

    What has none anywhere is false there. ``known`` is what holds before all.
    """
    left, facts = dict(enumerate(conditions)), tuple(known)
    while left:
        values = ((k, _evaluated(c, facts, solver)) for k, c in left.items())
        chosen, found = next(((k, c) for k, c in values if c is not None), (min(left), None))
        condition = found if found is not None else _guarded(left[chosen])
        del left[chosen]
        yield chosen, condition
        facts = (*facts, condition)


def has_value(condition: Bool, facts: Facts, solver: Solver) -> bool:
    """Whether no inputs with ``facts`` make a condition divide by zero, in some order of it."""
    return not E.divisors((condition,)) or _evaluated(condition, facts, solver) is not None


def is_met(condition: Bool, model: Model) -> bool | None:
    """Whether some numbers meet a condition, its parts evaluated in any order; None: they are not
    all that it speaks of. What divides by zero is not met."""
    if condition.kind in E.JUNCTIONS:
        parts = [is_met(part, model) for part in condition.args]
        decided = condition.kind is E.BoolKind.OR
        if decided in parts:
            return decided
        return None if None in parts else not decided
    names = (*(symbol.name for symbol in condition.free()), *condition.flags())
    if any(name not in model for name in names):
        return None
    try:
        return bool(E.evaluate(condition, model))
    except E.EvaluationError:
        return False


def _guarded(condition: Bool) -> Bool:
    """A condition that is false where it had no value."""
    zeros = (den for den, given in _divisions(condition, ()) if not given)
    return E.and_(*dict.fromkeys(E.ne(den, 0) for den in zeros), condition)


def _evaluated(condition: Bool, facts: Facts, solver: Solver) -> Bool | None:
    """A condition with its parts in an order in which it can be evaluated; None: there is none."""
    if condition.kind not in E.JUNCTIONS:
        for den, given in _divisions(condition, ()):
            if not solver.check(Query((*facts, *given), E.ne(den, 0))).proved:
                return None
        return condition
    left, out = list(condition.args), []
    while left:
        for part in left:
            found = _evaluated(part, facts, solver)
            if found is not None:
                break
        else:
            return None
        left.remove(part)
        out.append(found)
        facts = (*facts, part if condition.kind is E.BoolKind.AND else E.not_(part))
    if all(new is old for new, old in zip(out, condition.args, strict=True)):
        return condition
    return E.and_(*out) if condition.kind is E.BoolKind.AND else E.or_(*out)


def _divisions(term: Bool | Expr, given: Facts) -> Iterator[tuple[Expr, Facts]]:
    """The divisors that may be zero, each with what holds where it is divided by."""
    if isinstance(term, Bool):
        if term.expr is not None:
            yield from _divisions(term.expr, given)
        for part in term.args:
            yield from _divisions(part, given)
        return
    for atom in term.atoms():
        if isinstance(atom, E.Div):
            if E.divisors((E.eq(E.from_atom(atom), 0),)):
                yield atom.den, given
            yield from _divisions(atom.num, given)
            yield from _divisions(atom.den, given)
        elif isinstance(atom, E.Ite):
            yield from _divisions(atom.test, given)
            yield from _divisions(atom.then, (*given, atom.test))
            yield from _divisions(atom.other, (*given, E.not_(atom.test)))
        else:
            for inner in atom.children():
                yield from _divisions(inner, given)
