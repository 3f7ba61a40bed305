"""Facts made ready for use: conjunctions split, flags decided, equalities solved.

An equality that determines a symbol removes the symbol everywhere. Divisibility, ``M % 128 == 0``,
is the equality ``M == 128 * (M // 128)``: the quotient becomes a symbol of its own, so that ``M``
turns into ``128 * q`` and divisions of ``M`` fold. The result has the same models up to the removed
symbols, whose values are recovered by evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from verifier.symbolic import expr as E
from verifier.symbolic.expr import FALSE, TRUE, Bool, Expr, Sym

_MAX_ELIMINATIONS = 40

#: a symbol, its value, and what else an equality then says
_Solved = tuple[Sym, Expr, list[Bool]]


class Prepared(Struct):
    """``facts`` after substitution; ``removed`` maps removed symbols to what stands for them."""

    facts: tuple[Bool, ...]
    flags: dict[str, bool] = field(default_factory=dict)
    removed: dict[Sym, Expr] = field(default_factory=dict)
    substitution: E.Substitution | None = None
    contradictory: bool = False

    def apply(self, term: Bool) -> Bool:
        return term if self.substitution is None else self.substitution.bool(term)

    def value(self, term: Expr) -> Expr:
        """``term`` in the symbols that are left."""
        return term if self.substitution is None else self.substitution.expr(term)

    def complete(self, env: Mapping[str, int | bool]) -> dict[str, int | bool]:
        """``env`` with values for the removed symbols and decided flags.

        Raises:
            EvaluationError: a removed symbol's definition cannot be evaluated.
        """
        out = dict(env)
        out.update(self.flags)
        for sym, value in self.removed.items():
            out[sym.name] = E.evaluate(value, env)
        return out


def flatten(facts: Sequence[Bool]) -> list[Bool]:
    """The conjuncts of all facts, each once, in order."""
    seen: dict[int, Bool] = {}
    for fact in facts:
        for item in fact.args if fact.kind is E.BoolKind.AND else (fact,):
            if item is not TRUE:
                seen.setdefault(id(item), item)
    return list(seen.values())


def determines(fact: Bool) -> bool:
    """Whether a fact may remove a symbol or decide a flag."""
    if fact.kind in (E.BoolKind.EQ, E.BoolKind.VAR, E.BoolKind.NOT):
        return True
    return fact.kind is E.BoolKind.AND and any(determines(arg) for arg in fact.args)


class Preparation:
    """Prepares the facts of one kernel, whose sets differ in a few facts only.

    The same equalities are solved and put into the same facts again and again: what each step comes
    to is remembered.
    """

    def __init__(self) -> None:
        self._solved: dict[Bool, _Solved | None] = {}
        self._steps: dict[tuple[object, ...], E.Substitution] = {}

    def of(self, facts: Sequence[Bool]) -> Prepared:
        """The facts with their equalities solved and their flags decided."""
        current = flatten(facts)
        flags: dict[str, bool] = {}
        removed: dict[Sym, Expr] = {}
        for _ in range(_MAX_ELIMINATIONS):
            symbols: dict[Sym, Expr] = {}
            named: dict[str, Bool] = {}
            extra: list[Bool] = []
            used: Bool | None = None
            for fact in current:
                if fact.kind is E.BoolKind.VAR:
                    named[fact.name] = TRUE
                    flags[fact.name] = True
                elif fact.kind is E.BoolKind.NOT and fact.args[0].kind is E.BoolKind.VAR:
                    named[fact.args[0].name] = FALSE
                    flags[fact.args[0].name] = False
                elif fact.kind is E.BoolKind.EQ and not symbols:
                    solved = self._solution(fact)
                    if solved is not None:
                        sym, value, conditions = solved
                        symbols[sym] = value
                        extra = list(conditions)
                        used = fact
            if not symbols and not named:
                symbols = next(filter(None, map(_positive, current)), {})
            if not symbols and not named:
                break
            step = self._step(symbols, named)
            removed = {sym: step.expr(value) for sym, value in removed.items()}
            removed.update(symbols)
            for sym, value in symbols.items():
                if sym.lo is not None:
                    extra.append(E.ge(value, sym.lo))
                if sym.hi is not None:
                    extra.append(E.le(value, sym.hi))
            rest = [step.bool(fact) for fact in current if fact is not used]
            current = flatten([*rest, *extra])
            if FALSE in current:
                break
        substitution = None
        if removed or flags:
            substitution = self._step(removed, {k: E.truth(v) for k, v in flags.items()})
        return Prepared(tuple(current), flags, removed, substitution, FALSE in current)

    def _solution(self, fact: Bool) -> _Solved | None:
        if fact not in self._solved:
            self._solved[fact] = _solve(fact)
        return self._solved[fact]

    def _step(self, symbols: Mapping[Sym, Expr], named: Mapping[str, Bool]) -> E.Substitution:
        key = (*symbols.items(), *named.items())
        found = self._steps.get(key)
        if found is None:
            found = self._steps[key] = E.Substitution(symbols, named)
        return found


def _solve(fact: Bool) -> _Solved | None:
    """A symbol the equality determines, its value, and what else the equality then says."""
    assert fact.expr is not None
    expr = fact.expr
    best: tuple[int, Sym, int] | None = None
    for mono, coef in expr.terms:
        if len(mono) != 1 or coef not in (1, -1):
            continue
        sym = mono[0]
        if not isinstance(sym, Sym) or any(m is not mono and sym in m for m, _ in expr.terms):
            continue
        inside = [a for a in expr.atoms() if a is not sym and sym in E.atom_free(a)]
        if not all(isinstance(atom, E.Div) for atom in inside):
            continue
        if best is None or len(inside) < best[0]:
            best = (len(inside), sym, coef)
    if best is None:
        return None
    _, sym, coef = best
    value = expr - E.from_atom(sym) * coef
    quotients: list[tuple[Expr, E.Div]] = []
    for atom in expr.atoms():
        if isinstance(atom, E.Div) and sym in E.atom_free(atom):
            lo, hi = E.bounds(E.from_atom(atom))
            quotient = E.symbol(f"quotient~{atom.id}", lo, hi, origin=E.Origin.SOLVER)
            value = _replace_atom(value, atom, quotient)
            quotients.append((quotient, atom))
    if coef == 1:
        value = -value
    step = E.Substitution({sym: value})
    again = [step.expr(E.from_atom(atom)) for _, atom in quotients]
    if sym.origin is E.Origin.SOLVER and _turns_in_circles(again, [q for q, _ in quotients]):
        return None
    conditions = [E.eq(expr, q) for expr, (q, _) in zip(again, quotients, strict=True)]
    return sym, value, conditions


def _positive(fact: Bool) -> dict[Sym, Expr]:
    """A quotient of equalities solved before that a fact shows to be at least 1, as one that is.

    ``N % 128 == 0`` and ``N >= 1`` say that ``N // 128`` is at least 1; with the number of programs
    in its divisor, that a product with it is. What is chosen by the size of a quotient, such as
    ``min(128, N)``, is settled then.
    """
    if fact.kind is not E.BoolKind.LE or fact.expr is None or len(fact.expr.terms) != 1:
        return {}
    ((factors, coef),) = fact.expr.terms
    if fact.expr.const < 1 or coef > 0:
        return {}
    least = [E.bounds(E.from_atom(factor))[0] for factor in factors]
    if any(lo is None or lo < 0 for lo in least):
        return {}
    return {
        sym: E.symbol(f"{sym.name}+", 1, sym.hi, origin=E.Origin.SOLVER)
        for sym in factors
        if isinstance(sym, Sym) and sym.origin is E.Origin.SOLVER and sym.lo == 0
    }


def _turns_in_circles(again: Sequence[Expr], quotients: Sequence[Expr]) -> bool:
    """Whether a quotient would be known by a quotient of itself, and that by one again.

    ``s == (s // 2) * (s // 2)`` goes on like that forever, with bounds squared each time.
    """
    symbols = {sym for quotient in quotients for sym in quotient.free()}
    inside = (atom for expr in again for atom in expr.atoms() if not isinstance(atom, Sym))
    return any(not symbols.isdisjoint(E.atom_free(atom)) for atom in inside)


def _replace_atom(expr: Expr, atom: E.Atom, value: Expr) -> Expr:
    total = E.const(expr.const)
    for mono, coef in expr.terms:
        product = E.const(coef)
        for item in mono:
            product = product * (value if item is atom else E.from_atom(item))
        total = total + product
    return total
