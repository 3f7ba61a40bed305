"""Inputs that are at hand: a question that two of them answer differently needs no proof.

Most conditions that a kernel branches on are not settled by what is known, and a proof that fails
costs most. So some assignments are kept; those that meet all facts of a path show at once what does
not follow from them. They never settle a condition: that takes a proof. Where one is missing it is
made of another one by changing a few values, within a budget. Deterministic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym

#: assignments that are kept, the latest used last
_MOST = 32
#: values that are tried at each step to another one
_TRIES = 20
#: steps to one near by, and to one that may be far away
_NEAR, _FAR = 4, 40
#: fact sets at most for which none is looked for after one was not found
_PAUSE = 31
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

    def changed(self, what: Sym | str, value: int) -> _Assignment:
        """This one with another value of a symbol or a flag."""
        if isinstance(what, str):
            return _Assignment(self.number, self.values, {**self.flags, what: bool(value)})
        return _Assignment(self.number, {**self.values, what: value}, self.flags)


def _within(sym: Sym, value: int) -> int:
    if sym.lo is not None:
        value = max(value, sym.lo)
    return value if sym.hi is None else min(value, sym.hi)


class Witnesses:
    """The assignments of one kernel."""

    def __init__(self) -> None:
        self._pool = [_Assignment(number, {}, {}) for number in range(len(_SIZES))]
        self._asked = self._pause = 0
        self._found: dict[tuple[Bool, ...], list[_Assignment]] = {}

    def sides(self, facts: tuple[Bool, ...], condition: Bool) -> tuple[bool, bool]:
        """Whether a condition holds for one that meets the facts, and whether it fails for one."""
        seen: set[bool | None] = set()
        for one in reversed(self._admitted(facts)):
            seen.add(one.holds(condition))
            if True in seen and False in seen:
                break
        return True in seen, False in seen

    def look(self, facts: tuple[Bool, ...], goal: Bool) -> None:
        """Look for one that meets the facts and a goal, near to those that meet the facts."""
        admitted = self._admitted(facts)
        for one in admitted[-2:]:
            found = _walk(one, (*facts, goal), _NEAR)
            if found is not None:
                self._keep(found)
                admitted.append(found)
                return

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
        """One that meets the facts, made of the one that breaks the fewest of them.

        Where that has failed again and again it is tried ever more rarely.
        """
        self._asked += 1
        if self._asked < self._pause:
            return []
        broken = [sum(not one.holds(fact) for fact in facts) for one in self._pool]
        found = _walk(self._pool[broken.index(min(broken))], facts, _FAR)
        self._asked = 0
        if found is None:
            self._pause = min(2 * self._pause + 1, _PAUSE)
            return []
        self._pause = 0
        self._keep(found)
        return [found]


def _walk(start: _Assignment, facts: Sequence[Bool], steps: int) -> _Assignment | None:
    """One that meets the facts, by changing a value at a time, each time the best of a few.

    ``facts`` may be broken at the start; a value that was changed is left alone.
    """
    conjuncts = [part for fact in facts for part in _parts(fact)]
    changed: set[Sym | str] = set()
    now = start
    for _ in range(steps):
        broken = [part for part in conjuncts if not now.holds(part)]
        if not broken:
            return now
        best: tuple[int, _Assignment, Sym | str] | None = None
        for what, value in islice(_proposals(broken[0], now), _TRIES):
            if what in changed:
                continue
            other = now.changed(what, value)
            if not other.holds(broken[0]):
                continue
            worse = sum(_speaks(part, what) and not other.holds(part) for part in conjuncts)
            if best is None or worse < best[0]:
                best = worse, other, what
            if worse == 0:
                break
        if best is None:
            return None
        now = best[1]
        changed.add(best[2])
    return None


def _parts(fact: Bool) -> tuple[Bool, ...]:
    return fact.args if fact.kind is E.BoolKind.AND else (fact,)


def _speaks(term: Bool, what: Sym | str) -> bool:
    return what in term.flags() if isinstance(what, str) else what in term.free()


def _proposals(
    term: Bool, now: _Assignment, wanted: bool = True
) -> Iterator[tuple[Sym | str, int]]:
    """Single changes that may give a formula the value that is wanted."""
    if term.kind is E.BoolKind.NOT:
        yield from _proposals(term.args[0], now, not wanted)
    elif term.kind is E.BoolKind.VAR:
        yield term.name, int(wanted)
    elif term.expr is not None:
        for sym in term.expr.free():
            for value in _values(term.expr, sym, now):
                yield sym, value
        for name in term.flags():
            yield name, not now.flag(name)
    else:
        for arg in term.args:
            if now.holds(arg) is not wanted:
                yield from _proposals(arg, now, wanted)


def _values(expr: Expr, sym: Sym, now: _Assignment) -> list[int]:
    """Values of a symbol at which a comparison of an expression with zero may turn."""
    value = now.symbol(sym)
    out: dict[int, None] = {}
    slope = _slope(expr, sym, now)
    if slope:
        try:
            total = int(now.of(expr))
        except E.EvaluationError:
            return []
        at = value - total // slope  # where the expression is about zero
        out.update(dict.fromkeys((at, at - 1, at + 1)))
    elif sym.domain is not None:
        out.update(dict.fromkeys(range(len(sym.domain))))
    else:
        out.update(dict.fromkeys((2 * value, value // 2, value + 1, 1, 128)))
    out.pop(value, None)
    return [v for v in out if _within(sym, v) == v]


def _slope(expr: Expr, sym: Sym, now: _Assignment) -> int:
    """How fast an expression grows with a symbol; 0 if it is not linear in it."""
    slope = 0
    for mono, coef in expr.terms:
        inside = [atom for atom in mono if sym in E.atom_free(atom)]
        if not inside:
            continue
        if len(inside) > 1 or inside[0] is not sym:
            return 0
        product = coef
        for atom in mono:
            if atom is not sym:
                product *= now.atom(atom)
        slope += product
    return slope


__all__ = ["Witnesses"]
