"""The solver: the cheapest means first, Z3 as the authority."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from verifier.solver import terms
from verifier.solver.closing import closed, closed_over
from verifier.solver.cuts import by_tiles, of_tasks
from verifier.solver.minimize import minimized
from verifier.solver.prepare import Prepared, flatten
from verifier.solver.query import Answer, AnswerKind, Model, Query, Tier, Z3Kind
from verifier.solver.ranges import FactCache, FactSet, implied
from verifier.solver.search import Search
from verifier.solver.witnesses import Witnesses
from verifier.symbolic import expr as E
from verifier.symbolic.expr import FALSE, TRUE, Bool, Expr, Sym
from verifier.symbolic.trace import LATE

if TYPE_CHECKING:
    from verifier.solver.z3backend import Backend

_FIRST_STEPS = 15  # of a proof, before a counterexample is looked for
_DECIDE_STEPS = 60
_SEARCHED = 400  # facts looked at before Z3 is asked
_MENDED = 200  # and to mend a model of Z3's of a part of them
_LAST = 15_000  # and where Z3 does not know
_EVERYDAY = 1024  # a model with larger numbers may be far from the smallest one
_MEANT = {Z3Kind.SAT: AnswerKind.REFUTED, Z3Kind.UNSAT: AnswerKind.PROVED}


class Statistics(Struct):
    """Counts for ``--statistics``; ``z3_times`` are seconds, one entry per question to Z3."""

    queries: int = 0
    remembered: int = 0
    by_tier: Counter[Tier] = field(default_factory=Counter)
    by_kind: Counter[AnswerKind] = field(default_factory=Counter)
    z3_times: list[float] = field(default_factory=list)


class Solver:
    """Answers the questions of one kernel.

    ``rlimit`` bounds the work of Z3 on one query, deterministically. ``deadline`` (seconds of the
    process's time from construction, None for no limit) limits all queries together: after it only
    the cheap tiers answer. Use one per kernel: answers depend on the queries before, never on other
    kernels.
    """

    def __init__(self, rlimit: int = 400_000, deadline: float | None = None) -> None:
        self.statistics = Statistics()
        self._rlimit = rlimit
        self._end = None if deadline is None else time.process_time() + deadline
        self._facts = FactCache()
        self._memo: dict[Query, Answer] = {}
        self._decided: dict[tuple[tuple[Bool, ...], Bool], bool | None] = {}
        self._implied: dict[tuple[tuple[Bool, ...], Bool], bool] = {}
        self._backend: Backend | None = None
        self._search = Search()
        self._witnesses = Witnesses(self._search)
        #: the last ones by what they refuted, in the symbols of prepared facts
        self._latest: dict[Bool, Mapping[str, int | bool]] = {}
        #: refutations that hold for every over-approximated value: where they do
        self._worst: dict[Query, Bool] = {}

    def release(self) -> None:
        """Let go of Z3, whose megabytes would else wait for the collector of cycles."""
        self._backend = None

    # -- questions -------------------------------------------------------------------

    def check(self, query: Query) -> Answer:
        """Whether the facts imply the goal. A refuting model is checked on plain integers.

        With the goal ``FALSE``: ``refuted`` if some integers satisfy the facts.
        """
        return self._asked(query, cheaply=True)

    def _asked(self, query: Query, *, cheaply: bool) -> Answer:
        """``cheaply``: whether proofs by bounds are looked for before Z3 is asked."""
        found = self._memo.get(query)
        self.statistics.queries += 1
        if found is not None:
            self.statistics.remembered += 1
            return found
        started = time.perf_counter()
        answer = self._answer(query, cheaply)
        answer = replace(answer, time=time.perf_counter() - started)
        self._memo[query] = answer
        self.statistics.by_tier[answer.tier] += 1
        self.statistics.by_kind[answer.kind] += 1
        return answer

    def refute(self, query: Query) -> Answer:
        """As :meth:`check`, for what is expected to be refuted: no cheap proof is looked for."""
        return self._asked(query, cheaply=False)

    def decide(self, facts: tuple[Bool, ...], condition: Bool) -> bool | None:
        """Whether the facts settle a condition, by the cheap tiers only; None: they don't."""
        if condition is TRUE or condition is FALSE:
            return condition is TRUE
        key = (facts, condition)
        if key not in self._decided:
            self._decided[key] = self._settled(facts, condition)
        return self._decided[key]

    def _settled(self, facts: tuple[Bool, ...], condition: Bool) -> bool | None:
        witnesses = self._witnesses
        holds, fails = witnesses.sides(facts, condition)
        if holds and fails:
            return None
        if condition in facts or E.not_(condition) in facts:
            return condition in facts
        ready = self._facts.get(facts)
        if not fails and implied(ready, condition, _DECIDE_STEPS):
            return True
        if not holds and implied(ready, E.not_(condition), _DECIDE_STEPS):
            return False
        if not fails:
            witnesses.look(facts, E.not_(condition))
        if not holds:
            witnesses.look(facts, condition)
        return None

    def follows(self, facts: tuple[Bool, ...], condition: Bool) -> bool:
        """Whether :meth:`decide` finds that the facts imply a condition; what excludes it is not
        asked for."""
        if condition is TRUE or condition is FALSE:
            return condition is TRUE
        key = (facts, condition)
        if key not in self._implied:
            self._implied[key] = self._proves(facts, condition)
        return self._implied[key]

    def _proves(self, facts: tuple[Bool, ...], condition: Bool) -> bool:
        _, fails = self._witnesses.sides(facts, condition)
        if fails or E.not_(condition) in facts:
            return condition in facts
        return condition in facts or implied(self._facts.get(facts), condition, _DECIDE_STEPS)

    def surely(self, facts: tuple[Bool, ...], goal: Bool) -> bool:
        """Whether the facts imply a goal, by a short proof by bounds; False: nobody knows."""
        return implied(self._facts.get(facts), goal, _FIRST_STEPS)

    def close(self, goal: Bool, facts: tuple[Bool, ...]) -> Bool | None:
        """A simple condition on inputs and grid alone that, with the facts, implies ``goal``."""
        return closed(goal, facts)

    def minimize(self, query: Query, model: Model, trips: Sequence[Expr] = ()) -> Model:
        """The smallest counterexample found within a fixed budget, starting from ``model``.

        Fewest trips (the sum of ``trips``) first, then inputs in their order, flags, and at last
        indices of loops and axes.
        """
        if not self._in_time():
            return model
        worst = self._worst.get(query)
        if worst is not None:  # stay where over-approximated values do not matter
            query = Query((*query.facts, worst), query.goal)
        ready = self._facts.get(query.facts)
        if _size(model, trips)[1] > _EVERYDAY:  # to look at all costs more than it saves else
            every = [*query.facts, query.goal]
            shown = self._witnesses.all_refuting(query.facts, query.goal)
            known: list[Model] = [model, *(_values(one, every) for one in shown)]
            first = min(known, key=lambda one: _size(one, trips))
            model = {**model, **first}
        return minimized(self._search, self._z3, ready, query, model, trips)

    # -- tiers -----------------------------------------------------------------------

    def _answer(self, query: Query, cheaply: bool) -> Answer:
        if query.goal is TRUE:
            return Answer(AnswerKind.PROVED, Tier.FOLD)
        ready = self._facts.get(query.facts)
        goal = ready.prepared.apply(query.goal)
        if goal is TRUE or ready.prepared.contradictory:
            return Answer(AnswerKind.PROVED, Tier.FOLD)
        known = self._recall(query)
        if known is not None:
            return self._admissible(query, Answer(AnswerKind.REFUTED, Tier.SEARCH, known))
        if cheaply and implied(ready, query.goal, _FIRST_STEPS):
            return Answer(AnswerKind.PROVED, Tier.RANGE)
        if not self._in_time():
            if implied(ready, query.goal):
                return Answer(AnswerKind.PROVED, Tier.RANGE)
            return Answer(AnswerKind.OUT_OF_BUDGET, Tier.RANGE, reason=LATE)
        if cheaply and self._of_tasks(query):
            return Answer(AnswerKind.PROVED, Tier.RANGE)
        answer = self._authority(query, ready, goal, cheaply=cheaply)
        return self._admissible(query, answer)

    def _of_tasks(self, query: Query) -> bool:
        """Whether a goal holds by what the facts say of quotients by sizes."""
        facts = flatten(query.facts)

        def holds(fact: Bool) -> bool:
            return self.surely(query.facts, fact)

        more = of_tasks(facts, query.goal, holds)
        if more and implied(self._facts.get((*query.facts, *more)), query.goal):
            return True
        tiles = by_tiles(facts, query.goal, holds)
        return (
            tiles is not None and self._asked(Query(tuple(tiles[0]), tiles[1]), cheaply=True).proved
        )

    def _in_time(self) -> bool:
        return self._end is None or time.process_time() < self._end

    def _z3(self) -> Backend:
        if self._backend is None:
            from verifier.solver.z3backend import Backend

            self._backend = Backend(self._rlimit, self._end)
            self.statistics.z3_times = self._backend.times
        return self._backend

    def _authority(
        self, query: Query, ready: FactSet, goal: Bool, *, cheaply: bool = False
    ) -> Answer:
        """A short search for a model, a proof by bounds if one is wanted, Z3 on the prepared facts,
        then a long search."""
        prepared = ready.prepared
        negated = E.not_(goal)
        near = prepared.facts if goal is FALSE else terms.connected(prepared.facts, goal)
        relevant = [*near, negated]
        chosen = {id(fact) for fact in near}
        others = tuple(fact for fact in prepared.facts if id(fact) not in chosen)
        latest = self._latest.get(query.goal) or next(reversed(self._latest.values()), {})
        env = self._search.model(relevant, ({}, latest), _SEARCHED)
        if env is not None:
            apart = self._rest(others)
            model = self._completed(query, prepared, {**(apart.model or {}), **env})
            if model is not None:
                return Answer(AnswerKind.REFUTED, Tier.SEARCH, model)
        resisted = self._search.resisted
        if cheaply and implied(ready, query.goal):
            return Answer(AnswerKind.PROVED, Tier.RANGE)
        backend = self._z3()
        outcome = backend.check(
            relevant,
            resisted,
            lambda near: self._search.model(relevant, (near,), _MENDED),
        )
        if outcome.kind is Z3Kind.UNSAT or self._rest(others).proved:  # they contradict each other
            return Answer(AnswerKind.PROVED, Tier.Z3)
        rest = self._rest(others).model or {}
        if outcome.env is not None:
            model = self._completed(query, prepared, {**rest, **outcome.env})
            if model is not None:
                return Answer(AnswerKind.REFUTED, Tier.Z3, model)
            zero = [E.ne(den, 0) for den in E.divisors([*query.facts, query.goal, *relevant])]
            if zero:
                outcome = backend.check([*relevant, *map(prepared.apply, zero)])
                if outcome.kind is Z3Kind.UNSAT and not terms.guarded_divisor(
                    [*query.facts, query.goal]
                ):
                    return Answer(AnswerKind.PROVED, Tier.Z3)
                if outcome.kind is Z3Kind.UNSAT:
                    outcome = backend.check(list(map(terms.defined, relevant)))
                if outcome.env is not None:
                    model = self._completed(query, prepared, {**rest, **outcome.env})
                    if model is not None:
                        return Answer(AnswerKind.REFUTED, Tier.Z3, model)
        env = self._search.model(relevant, ({},), _LAST)
        if env is not None:
            model = self._completed(query, prepared, {**rest, **env})
            if model is not None:
                return Answer(AnswerKind.REFUTED, Tier.SEARCH, model)
        if outcome.kind is Z3Kind.BUDGET:
            return Answer(
                AnswerKind.OUT_OF_BUDGET, Tier.Z3, reason="the budget for one question is used up"
            )
        return Answer(
            AnswerKind.UNKNOWN, Tier.Z3, reason=outcome.reason or "no model could be confirmed"
        )

    def _recall(self, query: Query) -> Model | None:
        """An earlier counterexample that is one of this query too."""
        found = self._witnesses.refuting(query.facts, query.goal)
        return None if found is None else _values(found, [*query.facts, query.goal])

    def _completed(
        self, query: Query, prepared: Prepared, env: Mapping[str, int | bool]
    ) -> Model | None:
        """A model of all facts that refutes the goal, checked; None if ``env`` gives none."""
        self._latest.pop(query.goal, None)
        self._latest[query.goal] = env
        full: dict[str, int | bool] = dict(env)
        every = [*query.facts, query.goal]
        for sym in terms.symbols([*prepared.facts, *every]):
            if sym not in prepared.removed:
                full.setdefault(sym.name, terms.default(sym))
        for value in prepared.removed.values():
            for sym in value.free():
                full.setdefault(sym.name, terms.default(sym))
        for term in every:
            for name in term.flags():
                full.setdefault(name, False)
        try:
            model = prepared.complete(full)
            if not terms.holds(query.facts, model) or E.evaluate(query.goal, model):
                return None
        except E.EvaluationError:
            return None
        named = terms.symbols(every)
        if not terms.within_bounds(named, model):
            return None
        wanted = {sym.name for sym in named}
        wanted.update(name for term in every for name in term.flags())
        self._witnesses.remember(terms.symbols([*prepared.facts, *every]), model)
        return {name: model[name] for name in sorted(wanted)}

    def _rest(self, facts: tuple[Bool, ...]) -> Answer:
        """Values for facts that have nothing to do with the goal."""
        if not facts:
            return Answer(AnswerKind.REFUTED, Tier.FOLD, {})
        query = Query(facts, FALSE, exact=False)
        found = self._memo.get(query)
        if found is None:
            kind = AnswerKind.REFUTED
            known = self._witnesses.refuting(facts, FALSE)
            env: Mapping[str, int | bool] | None = (
                self._search.model(facts) if known is None else _values(known, facts)
            )
            if env is None:
                outcome = self._z3().check(facts)
                env = outcome.env
                kind = _MEANT.get(outcome.kind, AnswerKind.UNKNOWN)
            if known is None and env is not None:
                self._witnesses.remember(terms.symbols(facts), env)
            found = self._memo[query] = Answer(kind, Tier.Z3, env)
        return found

    # -- what may be called refuted ----------------------------------------------------

    def _admissible(self, query: Query, answer: Answer) -> Answer:
        if not answer.refuted or answer.model is None:
            return answer
        if not query.exact:
            reason = query.reason or "the predicate is stronger than what the hardware demands"
            return Answer(AnswerKind.UNKNOWN, answer.tier, reason=reason)
        if query.goal is FALSE:
            related: Sequence[Bool] = query.facts
        else:
            related = terms.connected(query.facts, query.goal, *filter(_is_open, query.way))
        over = [s for s in terms.symbols([*related, query.goal]) if s.origin in E.OPEN]
        if not over:
            return answer
        robust = self._robust(query, related, over)
        if robust is not None:
            return robust
        return Answer(
            AnswerKind.UNKNOWN,
            answer.tier,
            reason="it depends on values that are not known",
            unknown=tuple(sym.name for sym in over),
        )

    def _robust(self, query: Query, related: Sequence[Bool], over: Sequence[Sym]) -> Answer | None:
        """A refutation that holds whatever the over-approximated values are, if one is found."""
        free = {sym.id for sym in over}
        touched = [fact for fact in related if any(sym.id in free for sym in fact.free())]
        worst = closed_over(E.and_(*touched, E.not_(query.goal)), over)
        if worst is None:
            return None
        narrowed = Query((*query.facts, worst), query.goal)
        ready = self._facts.get(narrowed.facts)
        answer = self._authority(narrowed, ready, ready.prepared.apply(query.goal))
        if answer.model is None or not self._for_every_value(
            related, query.goal, over, answer.model
        ):
            return None
        self._worst[query] = worst
        return answer

    def _for_every_value(
        self, facts: Sequence[Bool], goal: Bool, over: Sequence[Sym], model: Model
    ) -> bool:
        """Whether, all else as in the model, every over-approximated value breaks the goal."""
        free = {sym.id for sym in over}
        fixed = {
            sym: E.const(int(model[sym.name]))
            for sym in terms.symbols([*facts, goal])
            if sym.id not in free
        }
        flags = {name: E.truth(bool(model[name])) for t in [*facts, goal] for name in t.flags()}
        step = E.Substitution(fixed, flags)
        broken = E.and_(*(step.bool(fact) for fact in facts), E.not_(step.bool(goal)))
        if broken is TRUE:
            return True
        return self._z3().check([E.not_(broken)]).kind is Z3Kind.UNSAT


def _values(found: E.Evaluation, every: Sequence[Bool]) -> Model:
    """The values of all symbols and flags of some terms, by name."""
    model: dict[str, int | bool] = {s.name: found.symbol(s) for s in terms.symbols(every)}
    model.update((name, found.flag(name)) for term in every for name in term.flags())
    return dict(sorted(model.items()))


def _size(model: Model, trips: Sequence[Expr]) -> tuple[int, int, int]:
    """What makes one model smaller than another one: fewer trips, then less."""
    total = 0
    for count in trips:
        with suppress(E.EvaluationError):
            total += max(E.evaluate(count, model), 0)
    values = [abs(int(value)) for value in model.values()]
    return total, max(values, default=0), sum(values)


def _is_open(fact: Bool) -> bool:
    """Whether a fact hangs on values that are not known."""
    return any(symbol.origin in E.OPEN for symbol in fact.free())


__all__ = ["Answer", "Query", "Solver", "Statistics"]
