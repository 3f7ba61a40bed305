"""What holds where an access happens, as far as it can be used without a solver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Div, Expr, Ite, Sym, Table
from verifier.symbolic.tensors import Axis, Loop
from verifier.symbolic.views.common import conjuncts

#: places that are taken in turn: so many are told apart, of so many indices
MOST_TURNS: Final = 8
_MOST_INDICES: Final = 2


class Known:
    """Facts by identity, and bounds of symbols.

    A loop that is gone through has a positive trip count: ``range(tiles)`` makes ``tiles``
    positive, ``range(n // width)`` makes ``width`` positive if ``n`` is.
    """

    def __init__(self, facts: Iterable[Bool] = (), loops: Sequence[Loop] = ()) -> None:
        self._held: set[int] = set()
        self._low: dict[Sym, int] = {}
        self._high: dict[Sym, int] = {}
        self._shifted: E.Substitution | None = None
        for fact in facts:
            for part in conjuncts(fact):
                self._held.add(id(part))
                self._learn(part)
        for loop in loops:
            self._iterates(loop)

    def _learn(self, fact: Bool) -> None:
        if fact.kind in (E.BoolKind.EQ, E.BoolKind.NE):
            self._first_in_turn(fact)
        if fact.kind is not E.BoolKind.LE or fact.expr is None or len(fact.expr.terms) != 1:
            return
        (mono, coef) = fact.expr.terms[0]
        if len(mono) == 1 and isinstance(mono[0], Sym):
            if coef == -1:
                self._bound(mono[0], fact.expr.const)
            elif coef == 1:
                self._bound_above(mono[0], -fact.expr.const)

    def _first_in_turn(self, fact: Bool) -> None:
        """Learn from what is said of a remainder: of ``i % 2 != 0`` that ``i`` is not 0."""
        turn = None if fact.expr is None else _remainder(fact.expr)
        if turn is None:
            return
        symbol, added, count, rest = turn
        low = self._low.get(symbol, symbol.lo)
        if low is not None:
            beyond = (rest - low - added) % count
            if fact.kind is E.BoolKind.EQ:
                self._bound(symbol, low + beyond)
            elif not beyond:
                self._bound(symbol, low + 1)

    def _bound_above(self, symbol: Sym, high: int) -> None:
        best = min(high, self._high.get(symbol, high))
        if (symbol.hi is None or symbol.hi > best) and self._high.get(symbol) != best:
            self._high[symbol] = best
            self._shifted = None

    def _bound(self, symbol: Sym, low: int) -> None:
        best = max(low, self._low.get(symbol, low))
        if (symbol.lo is None or symbol.lo < best) and self._low.get(symbol) != best:
            self._low[symbol] = best
            self._shifted = None

    def _iterates(self, loop: Loop) -> None:
        self._held.add(id(E.ge(loop.trips, 1)))
        self._positive(loop.trips)

    def _positive(self, term: Expr) -> None:
        """Learn from ``term >= 1``: of ``c*s`` and of quotients of something positive."""
        if len(term.terms) != 1 or term.const > 0:
            return
        (mono, coef) = term.terms[0]
        if len(mono) != 1 or coef < 0:
            return
        atom = mono[0]
        if isinstance(atom, Sym):
            self._bound(atom, 1)
        elif isinstance(atom, Div):
            low, _ = E.bounds(atom.num)
            if low is not None and low >= 1:
                self._positive(atom.den)

    def also(self, facts: Iterable[Bool], loops: Sequence[Loop]) -> Known:
        """What is known, besides, where these facts hold, inside these loops."""
        out = self.inside(loops)
        for fact in facts:
            for part in conjuncts(fact):
                out._held.add(id(part))
                out._learn(part)
        return out

    def inside(self, loops: Sequence[Loop], axes: Sequence[Axis] = ()) -> Known:
        """What is known, besides, where these loops and axes have at least one index."""
        out = Known()
        out._held, out._low, out._shifted = set(self._held), dict(self._low), self._shifted
        out._high = dict(self._high)
        for loop in loops:
            out._iterates(loop)
        for axis in axes:
            out._positive(axis.size)
        return out

    def decide(self, condition: Bool) -> bool | None:
        """True when the condition is among the facts or follows from the bounds."""
        return True if all(self._holds(part) for part in conjuncts(condition)) else None

    def decide_in_turn(self, condition: Bool, left: int = _MOST_INDICES) -> bool | None:
        """As :meth:`decide`, of what is taken in turn (``i % 2``): of each remainder by itself."""
        found = self.decide(condition)
        turn = next(turns(condition), None) if left else None
        if found is not None or turn is None:
            return found
        symbol, count = turn
        rounds = E.fresh(symbol.name, 0 if symbol.lo == 0 else None, None, symbol.origin)
        puts = (E.Substitution({symbol: rounds * count + rest}) for rest in range(count))
        all_ = all(self.decide_in_turn(put.bool(condition), left - 1) is True for put in puts)
        return True if all_ else None

    def _holds(self, part: Bool) -> bool:
        if part is E.TRUE or id(part) in self._held:
            return True
        if part.kind is E.BoolKind.OR:
            return any(self.decide(arg) is True for arg in part.args)
        if self._some(part):
            return True
        if not self._low and not self._high:
            return False
        return self._by_bounds().bool(part) is E.TRUE

    def _some(self, part: Bool) -> bool:
        """Whether it says ``n // width >= 1`` where ``n`` is known to be a multiple of it."""
        if part.kind is not E.BoolKind.LE or part.expr is None or part.expr.const != 1:
            return False
        if len(part.expr.terms) != 1 or part.expr.terms[0][1] != -1:
            return False
        (atom, *others) = part.expr.terms[0][0]
        if others or not isinstance(atom, Div) or not atom.den.is_const or atom.den.const < 1:
            return False
        if id(E.eq(E.mod(atom.num, atom.den), 0)) not in self._held:
            return False
        low, _ = E.bounds(self._by_bounds().expr(atom.num))
        return low is not None and low >= 1

    def _by_bounds(self) -> E.Substitution:
        if self._shifted is None:
            better: dict[Sym, Expr] = {}
            for symbol in {**self._low, **self._high}:
                low, high = self._low.get(symbol, symbol.lo), self._high.get(symbol, symbol.hi)
                if low is None or high is None or low <= high:
                    name = f"{low} <= {symbol.name} <= {high}"
                    better[symbol] = E.symbol(name, low, high, symbol.origin)
            self._shifted = E.Substitution(better)
        return self._shifted

    def most(self, term: Expr) -> int | None:
        """A number that a term does not exceed."""
        return E.bounds(self._by_bounds().expr(term))[1]


def _remainder(zero: Expr) -> tuple[Sym, int, int, int] | None:
    """Of ``(symbol + added) % count - rest``, or that turned round, these four."""
    for sign in (1, -1):
        terms = {mono[0]: coef * sign for mono, coef in zero.terms if len(mono) == 1}
        symbol = next((atom for atom in terms if isinstance(atom, Sym)), None)
        quotient = next((atom for atom in terms if isinstance(atom, Div)), None)
        if len(zero.terms) != 2 or symbol is None or quotient is None or terms[symbol] != 1:
            continue
        added, count = quotient.num - E.from_atom(symbol), quotient.den
        if added.is_const and count.is_const and terms[quotient] == -count.const < 0:
            return symbol, added.const, count.const, added.const - zero.const * sign
    return None


def turns(condition: Bool) -> Iterator[tuple[Sym, int]]:
    """Symbols that are divided by a small number, and that number."""
    for arg in condition.args:
        yield from turns(arg)
    if condition.expr is not None:
        yield from _divided(condition.expr)


def _divided(term: Expr) -> Iterator[tuple[Sym, int]]:
    for atom in term.atoms():
        if isinstance(atom, Div) and atom.den.is_const and 2 <= atom.den.const <= MOST_TURNS:
            for symbol in atom.num.free():
                if isinstance(symbol, Sym) and atom.num.coefficient(symbol):
                    yield symbol, atom.den.const
        elif isinstance(atom, (Ite, Table)):  # picked from a list
            for child in atom.children():
                yield from turns(child) if isinstance(child, Bool) else _divided(child)
