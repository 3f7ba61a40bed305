"""Makes a counterexample small, in a fixed order, so that the same one is shown every time.

Loops that go, but fewest trips, then each input in the order of its creation (1, else a value up to
16, else the first of the kernel-friendly 128, 129, 512, 513, else the least), flags false, and last
the indices of loops and axes. Whether there is a smaller one is answered by bounds and by repair
where they can; the number of other questions, which Z3 is asked, is the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from verifier.solver import polynomial as P
from verifier.solver import terms
from verifier.solver.query import Model, Query, Z3Kind
from verifier.solver.ranges import FactSet, Prover
from verifier.solver.search import Repair, Search, flag_key
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym

if TYPE_CHECKING:
    from verifier.solver.z3backend import Backend, Session

_KERNEL_FRIENDLY = (128, 129, 512, 513)
_SMALL = 16
_EVERYDAY = 1024
_QUESTIONS = 12
_GIVEN_UP = 7  # what a question that Z3 gives up on counts for, besides itself
_RLIMIT = 20_000
_STEPS = 40  # of a proof that nothing is smaller
_REPAIRED = 150  # facts looked at for something smaller


def minimized(
    search: Search,
    backend: Callable[[], Backend],
    ready: FactSet,
    query: Query,
    model: Model,
    trips: Sequence[Expr] = (),
) -> Model:
    """The smallest counterexample of ``query`` found; ``model`` itself if nothing is smaller.

    ``ready``: the facts of the query. ``backend`` is asked for where nothing else helps.
    """
    every = [*query.facts, query.goal]
    syms = terms.symbols(every)
    known = {sym.id for sym in syms}
    counted = [t for t in trips if all(sym.id in known for sym in t.free()) and not t.is_const]
    facts = [*query.facts, E.not_(query.goal)]
    repair = search.repair(facts)
    if repair is None:
        return model
    repair.start(model)
    shrink = _Shrink(search, repair, backend, _Least(ready, query.goal), facts)
    inputs = [sym for sym in syms if sym.origin in E.GIVEN]
    if counted:
        gone = shrink.gone(counted, inputs)
        total = E.const(0)
        for trip in counted:
            total = total + E.maximum(trip, 0)
        shrink.least(total, gone)
    for sym in inputs:
        shrink.input(sym)
    for name in sorted({name: None for term in every for name in term.flags()}):
        shrink.flag(name)
    for sym in syms:
        if sym.origin not in E.GIVEN:
            shrink.index(sym)
    found = {**model, **shrink.model}
    return found if _refutes(query, found) else model


def _refutes(query: Query, model: Model) -> bool:
    try:
        return terms.holds(query.facts, model) and not E.evaluate(query.goal, model)
    except E.EvaluationError:
        return False


class _Least:
    """What terms are at least, by the bounds that facts set: it costs less than a question."""

    def __init__(self, ready: FactSet, goal: Bool) -> None:
        self._prepared = ready.prepared
        self._frame = ready.frame.copy()
        self.keep(E.not_(goal))

    def keep(self, condition: Bool) -> None:
        self._frame.assume([self._prepared.apply(condition)])
        self._frame.propagate()

    def of(self, term: Expr) -> int | None:
        low, _ = self._frame.interval(P.from_expr(self._prepared.value(term)))
        return low

    def exclude(self, condition: Bool) -> bool:
        """Whether the facts are known to exclude a condition."""
        return Prover(_STEPS).prove(self._frame, E.not_(self._prepared.apply(condition)))


class _Shrink:
    """A model and the questions that make it smaller, each keeping what was reached before."""

    def __init__(
        self,
        search: Search,
        repair: Repair,
        backend: Callable[[], Backend],
        bounds: _Least,
        facts: list[Bool],
    ) -> None:
        self._facts = facts
        self._repair = repair
        self._search = search
        self._backend = backend
        self._session: Session | None = None
        self._bounds = bounds
        self._left = _QUESTIONS

    @property
    def model(self) -> Model:
        return self._repair.model()

    def gone(self, trips: Sequence[Expr], inputs: Sequence[Sym]) -> int:
        """Have loops go through at least once, as many of them as may; how many do.

        A loop that is left at once is rather no counterexample, but if others need inputs that are
        far larger.
        """
        sizes = map(E.from_atom, inputs)
        here = [E.le(size, max(_EVERYDAY, self._bounds.of(size) or 0)) for size in sizes]
        try:
            if self._prefer(E.and_(*(E.ge(count, 1) for count in trips), *here), self._ask):
                return len(trips)
            each = (E.and_(E.ge(count, 1), *here) for count in trips)
            return sum(self._prefer(one, self._cheaply) for one in each)
        except (ZeroDivisionError, KeyError, RecursionError):
            return 0

    def _prefer(self, condition: Bool, ask: Callable[[Bool], bool | None]) -> bool:
        """Whether a condition holds from now on: it does where it may."""
        holds = self._search.test(condition)(self._repair.values)
        if not holds and ask(condition) is not True:
            return False
        self._repair.keep(condition)
        self._keep(condition)
        return True

    def input(self, sym: Sym) -> None:
        term = E.from_atom(sym)
        low = sym.lo if sym.lo is not None else (0 if self._value(term) >= 0 else None)
        if sym.domain is not None or low is None:
            self._least_or_keep(term, low)
            return
        first = max(low, 1) if sym.hi is None or sym.hi >= 1 else low
        least = self._value(term) > first and not self._may_be_less(term)
        if self._value(term) == first or (not least and self._try(E.eq(term, first))):
            self._fix(sym)
            return
        if not least and low < first:  # nothing is rather no counterexample
            if self._value(term) > first or self._try(E.gt(term, first)):
                self._above(term, first)
                low = first + 1
        if not least and self._value(term) > _SMALL:
            self._try(E.le(term, _SMALL))
        if self._value(term) > _SMALL:
            for value in _KERNEL_FRIENDLY:
                possible = not least or value >= self._value(term)
                if possible and (self._value(term) == value or self._try(E.eq(term, value))):
                    self._fix(sym)
                    return
        self._least_or_keep(term, self._value(term) if least else low)

    def index(self, sym: Sym) -> None:
        term = E.from_atom(sym)
        self._least_or_keep(term, sym.lo if sym.lo is not None else 0)

    def flag(self, name: str) -> None:
        flag, key = E.bool_symbol(name), flag_key(name)
        if self._repair.values[key]:
            self._try(E.not_(flag))
        self._repair.fixed.add(key)
        self._keep(flag if self._repair.values[key] else E.not_(flag))

    def least(self, term: Expr, low: int) -> None:
        """Make ``term`` as small as it gets, at least ``low``, and keep it at most that."""
        try:
            self._descend(term, low)
            most = E.le(term, self._value(term))
        except (ZeroDivisionError, KeyError, RecursionError):
            return
        self._repair.keep(most)
        self._keep(most)

    def _above(self, term: Expr, low: int) -> None:
        more = E.gt(term, low)
        self._repair.keep(more)
        self._keep(more)

    def _least_or_keep(self, term: Expr, low: int | None) -> None:
        if low is not None:
            self._descend(term, low)
        (sym,) = term.free()
        self._fix(sym)

    def _descend(self, term: Expr, low: int) -> None:
        """Bisection between ``low`` and the current value; the ends are tried first.

        Most often there is nothing less, which one question settles.
        """
        if self._value(term) <= low or not self._may_be_less(term) or self._try(E.le(term, low)):
            return
        low += 1
        while low < self._value(term):
            middle = (low + self._value(term)) // 2
            if middle >= self._value(term):
                return
            if not self._try(E.le(term, middle)):
                low = middle + 1
            if self._left <= 0:
                return

    def _may_be_less(self, term: Expr) -> bool:
        """Whether ``term`` may be less than it is; it is less then, if the question is settled."""
        low = self._bounds.of(term)
        if low is not None and low >= self._value(term):
            return False
        return self._ask(E.le(term, self._value(term) - 1)) is not False

    def _value(self, term: Expr) -> int:
        return self._search.value(term)(self._repair.values)

    def _fix(self, sym: Sym) -> None:
        """Leave a symbol as it is."""
        self._repair.fixed.add(sym.id)
        self._keep(E.eq(E.from_atom(sym), self._repair.values[sym.id]))

    def _keep(self, condition: Bool) -> None:
        self._facts.append(condition)
        self._bounds.keep(condition)
        if self._session is not None:
            self._session.add(condition)

    def _try(self, condition: Bool) -> bool:
        """Whether a model satisfies ``condition`` too; it becomes the model then."""
        return self._ask(condition) is True

    def _cheaply(self, condition: Bool) -> bool | None:
        """The same, as far as it costs no question."""
        if self._guess(condition):
            return True
        if self._bounds.exclude(condition):
            return False
        return True if self._repair.meet(condition, _REPAIRED) else None

    def _ask(self, condition: Bool) -> bool | None:
        """Whether there is such a model, which becomes the model then; None: nobody knows."""
        found = self._cheaply(condition)
        if found is not None or self._left <= 0:
            return found
        self._left -= 1
        if self._session is None:
            self._session = self._backend().session(self._facts, _RLIMIT)
        with self._session.scope():
            self._session.add(condition)
            outcome = self._session.check()
        if outcome.kind in (Z3Kind.BUDGET, Z3Kind.UNKNOWN):
            self._left -= _GIVEN_UP
        if outcome.env is None:
            return False if outcome.kind is Z3Kind.UNSAT else None
        return True if self._repair.take(outcome.env) else None

    def _guess(self, condition: Bool) -> bool:
        """The model with one symbol changed so that ``condition`` holds, if that still refutes.

        Most inputs matter little to one question, and this asks nobody.
        """
        if condition.kind not in (E.BoolKind.EQ, E.BoolKind.LE) or condition.expr is None:
            return False
        limit = condition.expr
        sym = next(iter(limit.atoms()))
        if not isinstance(sym, Sym) or limit != E.from_atom(sym) + limit.const:
            return False
        return self._repair.change(sym.id, -limit.const)
