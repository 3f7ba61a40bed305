"""What Z3 does not find by itself of sizes that are cut into parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym


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
        for item in E.divisions(term)
        if not item.den.is_const and positive(item.den)
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


def by_tiles(
    facts: Sequence[Bool], goal: Bool, holds: Callable[[Bool], bool]
) -> tuple[list[Bool], Bool] | None:
    """The goal about two tasks that are not the same one, said of the row and the column of each.

    ``t`` is ``n*row + column`` with ``column < n``, and neither both rows nor both columns are the
    same. If that says the goal, so do the facts. None: there are no two such tasks.
    """
    quotients = [item for item in E.divisions(goal) if not item.den.is_const]
    for one, other in combinations(dict.fromkeys(quotients), 2):
        apart = one.num - other.num
        if one.den is not other.den or not holds(E.ge(one.den, 1)) or not _differ(apart, holds):
            continue
        first, second = _tile(one), _tile(other)
        if first is None or second is None or first[0] in other.num.free():
            continue
        at = {first[0]: first[1], second[0]: second[1]}
        put = E.Substitution(at, atoms={one: first[2], other: second[2]})
        known = [
            E.lt(first[3], one.den),
            E.lt(second[3], one.den),
            E.or_(E.ne(first[2], second[2]), E.ne(first[3], second[3])),
        ]
        own = {*one.num.free(), *other.num.free()} - {*one.den.free()}
        known += (fact for fact in map(put.bool, facts) if own.isdisjoint(fact.free()))
        return known, put.bool(goal)
    return None


def _tile(task: E.Div) -> tuple[Sym, Expr, Expr, Expr] | None:
    """A symbol in a task, and what it is in terms of the row and the column of the task."""
    inside = set(task.den.free())
    for symbol in task.num.free():
        if task.num.coefficient(symbol) == 1 and symbol not in inside:
            rest = task.num - E.from_atom(symbol)
            if symbol not in rest.free():
                row = E.fresh("row", None, None, E.Origin.POINT)
                column = E.fresh("column", 0, None, E.Origin.POINT)
                return symbol, row * task.den + column - rest, row, column
    return None


def _differ(apart: Expr, holds: Callable[[Bool], bool]) -> bool:
    """Whether a difference is never 0: what is less than a size, beside multiples of it."""
    for size in {atom for mono, _ in apart.terms if len(mono) > 1 for atom in mono}:
        rest = E.Expr.make({m: c for m, c in apart.terms if size not in m}, apart.const)
        whole = E.from_atom(size)
        for sign in (1, -1):
            if holds(E.ge(rest * sign, 1)) and holds(E.lt(rest * sign, whole)):
                return True
    return False
