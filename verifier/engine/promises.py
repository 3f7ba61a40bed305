"""What a kernel's assertions promise of its inputs: less than is needed is a fault of its own.

An assertion that bounds a number, says what divides it or lists its values says which of them the
kernel takes: ``assert K <= 256``, ``K % 64 == 0`` and ``K in (64, 256)`` alike. Where one of these
breaks a condition on the same number, the kernel meant to exclude what it admits. An assertion that
says nothing of the number leaves a precondition that nobody has stated.
"""

from __future__ import annotations

from collections.abc import Iterable

from verifier.engine.forms import conjuncts, divisibility
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym


def promised(wanted: Bool, said: Iterable[Bool], *, limits: bool) -> bool:
    """Whether what is said is about what is wanted: less of the same.

    ``limits``: whether upper bounds are. They say nothing of elements that are left out, a limit is
    no promise of how much is covered; a list of values is.
    """
    parts = list(said)
    if _promised(wanted, parts, limits):
        return True
    put = _in_fewer_words(parts)
    return bool(put) and _promised(_put(put, wanted), [_put(put, part) for part in parts], limits)


def _promised(wanted: Bool, parts: list[Bool], limits: bool) -> bool:
    listed = {symbol for part in parts if (symbol := _listed(part)) is not None}
    if listed and listed.issuperset(wanted.free()):
        return bool(wanted.free())
    return (limits or not _is_limit(wanted)) and any(_alike(wanted, part) for part in parts)


def _in_fewer_words(parts: list[Bool]) -> list[E.Substitution]:
    """What numbers are by the equalities that are said, one after the other: what is said of one
    of two equal numbers is said of both, and what is said with a number that is one value is said
    with that. Sizes stay rather than other numbers of the caller's."""
    found: list[E.Substitution] = []
    for part in parts:
        equal = _put(found, part)
        if equal.kind is not E.BoolKind.EQ or equal.expr is None:
            continue
        solved = [s for s in equal.free() if _is_solvable(equal.expr, s)]
        if solved:
            symbol = min(solved, key=lambda s: (_is_size(s), s.name))
            factor = equal.expr.coefficient(symbol)
            rest = equal.expr - E.from_atom(symbol) * factor
            found.append(E.Substitution({symbol: rest * -factor}))
    return found


def _is_solvable(expr: Expr, symbol: Sym) -> bool:
    factor = expr.coefficient(symbol)
    return abs(factor) == 1 and symbol not in (expr - E.from_atom(symbol) * factor).free()


def _put(steps: list[E.Substitution], condition: Bool) -> Bool:
    for step in steps:
        condition = step.bool(condition)
    return condition


def _alike(wanted: Bool, said: Bool) -> bool:
    """Whether they bound the same from the same side, or say of the same what divides it."""
    if said.kind is E.BoolKind.OR:
        return all(any(_alike(wanted, one) for one in conjuncts(way)) for way in said.args)
    if wanted.kind is E.BoolKind.NE and wanted.expr is not None and E.bounds(wanted.expr)[0] == 0:
        wanted = E.ge(wanted.expr, 1)  # what is never negative is not zero where it is positive
    first, second = divisibility(wanted), divisibility(said)
    if first is not None or second is not None:
        return first is not None and second is not None and first[0] is second[0]
    if _bounds_number(wanted, said):
        return True
    if wanted.kind is not E.BoolKind.LE or wanted.expr is None or said.expr is None:
        return False
    if said.kind is E.BoolKind.EQ:
        return wanted.expr.terms in (said.expr.terms, (-said.expr).terms)
    return said.kind is E.BoolKind.LE and wanted.expr.terms == said.expr.terms


def _bounds_number(wanted: Bool, said: Bool) -> bool:
    """Whether a number that is wanted to be no further than a limit is bounded on that side by
    sizes: ``step < x.shape[0]`` says which steps the kernel takes. Of two sizes it says less."""
    if said.kind is not E.BoolKind.LE or said.expr is None or wanted.expr is None:
        return False
    symbol = _only(wanted.expr)
    if symbol is None or wanted.kind not in (E.BoolKind.LE, E.BoolKind.EQ):
        return False
    if not all(_is_size(other) for other in said.free() if other is not symbol):
        return False
    needed, bounded = (expr.coefficient(symbol) for expr in (wanted.expr, said.expr))
    return needed * bounded > 0 or (wanted.kind is E.BoolKind.EQ and bounded != 0)


def _only(expr: Expr) -> Sym | None:
    """The number of the caller's that a term has and nothing beside it; sizes are none."""
    atoms = [*expr.atoms()]
    if len(atoms) != 1 or len(expr.terms) != 1 or not isinstance(atoms[0], Sym):
        return None
    plain = atoms[0].origin is E.Origin.INPUT and atoms[0].domain is None
    return atoms[0] if plain and not _is_size(atoms[0]) else None


def _is_size(symbol: Sym) -> bool:
    return ".shape[" in symbol.name


def _listed(said: Bool) -> Sym | None:
    """The input of which an assertion lists the values: ``K in (64, 256)``."""
    if said.kind is not E.BoolKind.OR:
        return None
    found = {_valued(way) for way in said.args}
    return found.pop() if len(found) == 1 else None


def _valued(said: Bool) -> Sym | None:
    """The input of which a condition says the value."""
    if said.kind is not E.BoolKind.EQ or said.expr is None:
        return None
    atoms = [*said.expr.atoms()]
    return atoms[0] if len(atoms) == 1 and isinstance(atoms[0], Sym) else None


def _is_limit(term: Bool) -> bool:
    """Whether it bounds a sum of sizes from above."""
    expr = term.expr
    return (
        term.kind is E.BoolKind.LE
        and expr is not None
        and all(factor > 0 for _, factor in expr.terms)
    )


__all__ = ["promised"]
