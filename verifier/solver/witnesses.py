"""Inputs that are at hand: a question that they answer needs no proof.

Most conditions that a kernel branches on are not settled by what is known, and a proof that fails
costs most. So some assignments are kept; those that meet all facts of a path show at once what does
not follow from them. They never settle a condition: that takes a proof. Where one is missing it is
made of another one by repair (:mod:`verifier.solver.search`), within a budget. Deterministic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from verifier.solver import terms
from verifier.solver.search import Search
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Sym

#: assignments that are kept, the latest used last
_MOST = 32
#: facts looked at on the way to one near by, and to one that may be far away
_NEAR, _FAR = 100, 1000
#: searches at most that are left out after one was in vain
_PAUSE = 31
#: counterexamples that are kept, the latest used last
_SHOWN = 48
#: fact sets whose assignments are remembered
_REMEMBERED = 512
#: sizes of inputs, by the number of the assignment
_SIZES = (1, 128, 512, 2)


class _Assignment(E.Evaluation):
    """Values of all symbols there are; one without a value gets the usual one when it is met."""

    def __init__(self, number: int, values: dict[Sym, int], flags: dict[str, bool]) -> None:
        super().__init__({})
        self.number = number
        self.values = values
        self.flags = flags
        #: facts that it is known to meet, and to break
        self._meets: set[Bool] = set()
        self._breaks: set[Bool] = set()

    def symbol(self, sym: Sym) -> int:
        found = self.values.get(sym)
        if found is None:
            size = _SIZES[self.number % len(_SIZES)] if sym.origin is E.Origin.INPUT else 0
            found = self.values[sym] = _within(sym, size)
        return found

    def flag(self, name: str) -> bool:
        return self.flags.setdefault(name, bool(self.number % 2))

    def holds(self, term: Bool) -> bool | None:
        """Whether a formula is true; None where it has no value."""
        try:
            return bool(self.of(term))
        except (E.EvaluationError, RecursionError):
            return None

    def meets(self, facts: frozenset[Bool]) -> bool:
        """Whether all of them are true."""
        if not self._breaks.isdisjoint(facts):
            return False
        for fact in facts - self._meets:
            if not self.holds(fact):
                self._breaks.add(fact)
                return False
            self._meets.add(fact)
        return True

    def repaired(self, search: Search, facts: tuple[Bool, ...], budget: int) -> _Assignment | None:
        """This one with a few values changed so that it meets the facts."""
        symbols = terms.symbols(facts)
        names = {name: None for fact in facts for name in fact.flags()}
        start: dict[str, int | bool] = {s.name: self.symbol(s) for s in symbols}
        start.update((name, self.flag(name)) for name in names)
        model = search.model(facts, (start,), budget)
        if model is None:
            return None
        values = {symbol: int(model.get(symbol.name, start[symbol.name])) for symbol in symbols}
        flags = {name: bool(model.get(name, start[name])) for name in names}
        return _Assignment(self.number, {**self.values, **values}, {**self.flags, **flags})


def _within(sym: Sym, value: int) -> int:
    if sym.lo is not None:
        value = max(value, sym.lo)
    return value if sym.hi is None else min(value, sym.hi)


class _Patience:
    """Whether a kind of search is worth another try: ever more rarely while all are in vain."""

    def __init__(self) -> None:
        self._asked = self._pause = 0

    def is_due(self) -> bool:
        self._asked += 1
        return self._asked >= self._pause

    def learn(self, *, found: bool) -> None:
        """What came of a try."""
        self._asked = 0
        self._pause = 0 if found else min(2 * self._pause + 1, _PAUSE)


class Witnesses:
    """The assignments of one kernel."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._pool = [_Assignment(number, {}, {}) for number in range(len(_SIZES))]
        self._mending, self._looking = _Patience(), _Patience()
        self._found: dict[tuple[Bool, ...], list[_Assignment]] = {}
        #: what refuted something, or met facts that had to be met
        self._shown: list[_Assignment] = []

    def remember(self, symbols: Iterable[Sym], env: Mapping[str, int | bool]) -> None:
        """Keep values that answered one question: they often answer others."""
        values = {symbol: int(env[symbol.name]) for symbol in symbols if symbol.name in env}
        flags = {name: value for name, value in env.items() if isinstance(value, bool)}
        self._shown = [*self._shown[1 - _SHOWN :], _Assignment(0, values, flags)]

    def refuting(self, facts: Sequence[Bool], goal: Bool) -> E.Evaluation | None:
        """Values that are at hand which meet the facts and break a goal."""
        wanted = frozenset(facts)
        for position in range(len(self._shown) - 1, -1, -1):
            one = self._shown[position]
            if one.holds(goal) is False and one.meets(wanted):
                self._shown.append(self._shown.pop(position))
                return one
        return None

    def all_refuting(self, facts: Sequence[Bool], goal: Bool) -> list[E.Evaluation]:
        """All values at hand that meet the facts and break a goal, the latest ones first."""
        wanted = frozenset(facts)
        shown = reversed(self._shown)
        return [one for one in shown if one.holds(goal) is False and one.meets(wanted)]

    def sides(self, facts: tuple[Bool, ...], condition: Bool) -> tuple[bool, bool]:
        """Whether a condition holds for one that meets the facts, and whether it fails for one."""
        seen: set[bool | None] = set()
        for one in reversed(self._admitted(facts)):
            seen.add(one.holds(condition))
            if True in seen and False in seen:
                break
        return True in seen, False in seen

    def look(self, facts: tuple[Bool, ...], goal: Bool) -> None:
        """Look for one that meets the facts and a goal, near to those that meet the facts.

        A search costs several times what a proof does that fails.
        """
        admitted = self._admitted(facts)
        if not admitted or not self._looking.is_due():
            return
        near = (one.repaired(self._search, (*facts, goal), _NEAR) for one in admitted[-2:])
        found = next((one for one in near if one is not None), None)
        self._looking.learn(found=found is not None)
        if found is not None:
            self._keep(found)
            admitted.append(found)

    def _keep(self, one: _Assignment) -> None:
        if len(self._pool) >= _MOST:
            del self._pool[len(_SIZES)]
        self._pool.append(one)

    def _admitted(self, facts: tuple[Bool, ...]) -> list[_Assignment]:
        found = self._found.get(facts)
        if found is None:
            if len(self._found) >= _REMEMBERED:
                self._found.clear()
            wanted = frozenset(facts)
            found = [one for one in self._pool if one.meets(wanted)]
            if not found:
                found = self._mended(facts)
            self._found[facts] = found
        return found

    def _mended(self, facts: tuple[Bool, ...]) -> list[_Assignment]:
        """One that meets the facts, made of the one that breaks the fewest of them."""
        if not self._mending.is_due():
            return []
        broken = [sum(not one.holds(fact) for fact in facts) for one in self._pool]
        found = self._pool[broken.index(min(broken))].repaired(self._search, facts, _FAR)
        self._mending.learn(found=found is not None)
        if found is None:
            return []
        self._keep(found)
        return [found]


__all__ = ["Witnesses"]
