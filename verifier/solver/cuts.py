"""What Z3 does not find by itself of sizes that are cut into parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr


def parts_of_equal_size(atom: E.Div) -> Bool | None:
    """How many whole parts there are where ``a`` is cut into ``n`` parts of ``ceil(a / n)`` each.

    ``atom`` is ``a // ceil(a / n)``: all ``n`` are whole, or all but the last one, unless there are
    more parts than elements in one. In between, products of three unknown numbers take part. None:
    the quotient is no such one.
    """
    count = _parts(atom.num, atom.den)
    if count is None:
        return None
    whole, last = E.from_atom(atom), count - 1
    return E.or_(
        E.lt(atom.num, 1),
        E.lt(count, 1),
        E.lt(atom.den, count),
        E.and_(E.eq(whole, count), E.eq(atom.num, atom.den * count)),
        E.and_(E.eq(whole, last), E.eq(atom.den * whole, atom.den * last)),
    )


def _parts(size: Expr, rounded: Expr) -> Expr | None:
    """The number by which ``size`` was divided, if the quotient, rounded up, is ``rounded``.

    That is ``-(-size // n)``, or ``(size - 1) // n + 1``, whatever the author wrote.
    """
    down, up = (-rounded).as_atom(), (rounded - 1).as_atom()
    if isinstance(down, E.Div) and down.num is -size:
        return down.den
    if isinstance(up, E.Div) and up.num is size - 1:
        return up.den
    return None


def of_tasks(facts: Sequence[Bool], goal: Bool, holds: Callable[[Bool], bool]) -> list[Bool]:
    """What facts say of the tiles of a task: of ``t // n`` where ``t < m*n``, that it is below
    ``m``.

    Bounds on quotients are bounds on what is divided, and the other way round: of tasks that are
    dealt out in turn, ``round < ceil((m*n - core) / cores)`` says ``core + cores*round < m*n``.
    Each is implied by the facts. ``holds``: whether they imply that a divisor is positive.
    """
    divisors: dict[Expr, bool] = {}

    def positive(divisor: Expr) -> bool:
        if divisor not in divisors:
            low, _ = E.bounds(divisor)
            divisors[divisor] = (low is not None and low >= 1) or holds(E.ge(divisor, 1))
        return divisors[divisor]

    quotients = {
        item: None
        for term in (*facts, goal)
        for item in E.walk(term)
        if isinstance(item, E.Div) and not item.den.is_const and positive(item.den)
    }
    found: dict[Bool, None] = {}
    bounds = [fact for fact in facts if fact.kind is E.BoolKind.LE]
    bounds += [more for fact in bounds for more in _multiplied(fact, positive)] if quotients else []
    for quotient in quotients:
        for bound in bounds:
            assert bound.expr is not None
            count = E.exact_quotient(quotient.num + 1 - bound.expr, quotient.den)
            if count is None or quotient in count.atoms():
                continue
            below = E.lt(E.from_atom(quotient), count)
            found[below] = None
            found.update(dict.fromkeys(_multiplied(below, positive)))
    return [fact for fact in found if fact is not E.TRUE and fact not in facts]


def _multiplied(fact: Bool, positive: Callable[[Expr], bool]) -> Iterator[Bool]:
    """A bound on a quotient as one on what is divided; one on a minimum as one on each part."""
    if fact.kind is not E.BoolKind.LE or fact.expr is None:
        return
    for mono, coef in fact.expr.terms:
        (atom, *others) = mono
        rest = fact.expr - E.from_atom(atom) * coef
        found: list[Bool] = []
        if others or abs(coef) != 1:
            continue
        if isinstance(atom, E.Extremum) and (atom.kind == "max") == (coef > 0):
            found = [E.le(rest + part * coef, 0) for part in atom.args]
        elif isinstance(atom, E.Div) and positive(atom.den):
            # quotient <= -rest, or rest <= quotient
            above = E.le(atom.num + (rest - 1) * atom.den + 1, 0)
            found = [above if coef > 0 else E.le(rest * atom.den, atom.num)]
        yield from (each for each in found if each.kind is E.BoolKind.LE)
