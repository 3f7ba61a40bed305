"""Discharging obligations: proved, violated (always or sometimes), or unknown with the reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from msgspec import Struct, field
from msgspec.structs import replace

from verifier.engine import unknowns
from verifier.engine.forms import conjuncts, entails, plainly
from verifier.engine.gathering import Verdict, VerdictKind, gathered
from verifier.engine.instances import EachTrip
from verifier.engine.legible import legible
from verifier.engine.obligations import Obligation, known_at, known_of_trips, simplify
from verifier.engine.promises import promised
from verifier.engine.weakest import Weakest, of_given, of_inputs, weakest
from verifier.rulebase import On, infers_dtypes
from verifier.solver.query import Answer, AnswerKind, Model, Query, Tier
from verifier.solver.solver import Solver
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.pretty import pretty
from verifier.symbolic.python.entry import Run
from verifier.symbolic.trace import LATE, SAID, Assumption, AssumptionKind, LedgerKind
from verifier.symbolic.views.common import numbers_said

#: symbols of iterations and elements: one of them suffices for a violation
_CHOSEN = (E.Origin.LOOP, E.Origin.AXIS, E.Origin.POINT)
_NOT_FOLLOWED = "an assertion of the kernel that may exclude it is not followed"
_NOT_REACHED = "the rest of the kernel, which may exclude it, is not reached"
#: inputs tried that one iteration of some loop excludes
_BROKEN = 8


def _demands(assumptions: Sequence[Assumption]) -> list[Bool]:
    """What is demanded of the inputs, in each iteration and each program of the grid.

    That a program's index lies in the grid is no demand: it says which programs there are.
    """
    there = E.and_(*(a.condition for a in assumptions if a.kind is AssumptionKind.GRID))
    demands = [a.condition for a in assumptions if a.kind is not AssumptionKind.GRID]
    programs = set(there.free())
    return [
        d if programs.isdisjoint(d.free()) or of_given(d) else E.implies(there, d) for d in demands
    ]


def _without_advice(
    verdicts: list[Verdict], admits: Callable[[Sequence[Bool]], bool]
) -> list[Verdict]:
    """What goes wrong silently without its condition, where the same is undecided elsewhere, or no
    input meets what it needs in all places: who asserts the condition leaves a fault of which
    nobody is told, for all that is known."""

    def matter(verdict: Verdict) -> tuple[str, str]:
        return verdict.obligation.rule.id, verdict.obligation.check.text

    silent = [verdict for verdict in verdicts if verdict.obligation.rule.silent]
    left = {matter(v) for v in silent if v.kind is VerdictKind.UNKNOWN}
    needed: dict[tuple[str, str], list[Bool]] = {}
    for verdict in silent:
        if verdict.kind is VerdictKind.SOMETIMES and verdict.precondition is not None:
            needed.setdefault(matter(verdict), []).append(verdict.precondition)
    left.update(of for of, each in needed.items() if len(each) > 1 and not admits(each))
    if not left:
        return verdicts
    return [
        replace(verdict, precondition=None, exact=False)
        if verdict.kind is VerdictKind.SOMETIMES and matter(verdict) in left
        else verdict
        for verdict in verdicts
    ]


def _told_by(required: Bool, values: Sequence[tuple[str, Expr]]) -> tuple[tuple[str, Expr], ...]:
    """The values that a violation tells: not the places of which nothing is demanded."""
    known = set(required.free())
    return tuple(
        (name, value)
        for name, value in values
        if all(symbol in known or symbol.origin in E.GIVEN for symbol in value.free())
    )


def _undecided(obligation: Obligation) -> Verdict:
    """The verdict of an obligation for which no time is left."""
    if obligation.check.predicate is E.TRUE:
        return Verdict(obligation, VerdictKind.PROVED, Tier.FOLD)
    return Verdict(obligation, VerdictKind.UNKNOWN, Tier.FOLD, reason=LATE)


class Discharge(Struct):
    """All verdicts of one run, and what was inferred on the way."""

    verdicts: list[Verdict] = field(default_factory=list)
    inferred: list[Assumption] = field(default_factory=list)
    #: what was assumed of what only the device knows
    runtime: list[str] = field(default_factory=list)


class Discharger:
    """Discharges the obligations of one run in program order.

    After a violation its precondition is taken for granted, so that one missing assertion is
    reported once, where it matters first. What is only warned of happens all the same: its
    precondition is taken for granted of other warnings alone.
    """

    def __init__(self, run: Run, solver: Solver) -> None:
        self.run = run
        self.solver = solver
        self._learned: list[Bool] = []
        #: the same, of warnings
        self._warned: list[Bool] = []
        #: where the compiler or the trace rejects inputs, and what they lack
        self._rejected: list[tuple[Span, Bool]] = []
        self._inferred: list[Assumption] = []
        self._runtime: list[str] = []
        #: what the kernel and its contract demand of the inputs
        self.admitted = of_inputs(_demands(run.trace.assumptions), solver)
        #: how many programs there are, where the kernel says it: then that is no question of
        #: the launch
        numbers = numbers_said(self.admitted).items()
        self._programs = E.Substitution({s: n for s, n in numbers if s.origin is E.Origin.GRID})
        #: the dtypes of which a contract says something
        self._declared = frozenset(
            symbol
            for a in run.trace.assumptions
            if a.kind is AssumptionKind.CONTRACT
            for symbol in a.condition.free()
            if symbol.domain is not None
        )
        #: the dtypes that the kernel itself lists: each of these it means to take
        self._listed = frozenset(
            symbol
            for a in run.trace.assumptions
            if a.kind is AssumptionKind.ASSERT
            for part in conjuncts(a.condition)
            if (symbol := _listing(part)) is not None
        )
        #: the trip counts of loops, by what says which trips there are
        self._trips = {loop.within: loop.trips for o in run.trace.operations for loop in o.loops}
        #: which programs there are
        self._there = tuple(
            a.condition for a in run.trace.assumptions if a.kind is AssumptionKind.GRID
        )
        #: what follows a statement without a model may be another kernel altogether
        self._skipped = min(
            (e.order for e in run.trace.ledger if e.kind is LedgerKind.SKIPPED), default=None
        )
        #: what may exclude inputs, though nobody knows which
        gaps = [
            (e.order, e.message if e.kind is LedgerKind.DEMAND else _NOT_FOLLOWED)
            for e in run.trace.ledger
            if e.kind in (LedgerKind.ASSUMPTION, LedgerKind.DEMAND)
        ]
        gaps += [
            (a.order, _NOT_FOLLOWED)
            for a in run.trace.assumptions
            if a.kind is AssumptionKind.ASSERT
            and any(s.origin in E.OPEN for s in a.condition.free())
        ]
        if run.ended is not None:
            gaps.append((0, _NOT_REACHED))
        self._first_gap = min(gaps, default=None)

    # -- the whole run ---------------------------------------------------------------

    def discharge(
        self,
        obligations: list[Obligation],
        within: AbstractContextManager[None] | None = None,
        surely: AbstractContextManager[None] | None = None,
    ) -> Discharge:
        """The verdicts of all obligations. Of those that ``within`` has cut off only the proofs are
        looked for that cost least, as far as ``surely`` lets that come; the others are not decided.
        """
        out = Discharge()
        proved: set[tuple[int, ...]] = set()
        with within or nullcontext():
            for obligation in obligations:
                out.verdicts.append(self._one(obligation, proved))
        rest = obligations[len(out.verdicts) :]
        if rest:
            found: list[Verdict] = []
            with surely or nullcontext():
                for obligation in rest:
                    found.append(self._surely(obligation, proved))
            out.verdicts += found
            rest = rest[len(found) :]
        every = gathered([*out.verdicts, *map(_undecided, rest)])
        out.verdicts = _without_advice(every, self._admits)
        out.inferred, out.runtime = self._inferred, self._runtime
        return out

    def smallest(self, verdict: Verdict) -> Verdict:
        """The verdict with its counterexample minimised."""
        if verdict.query is None or verdict.model is None:
            return verdict
        trips = verdict.obligation.trips or self.run.trips()
        model = self.solver.minimize(verdict.query, verdict.model, trips)
        demands = self._of_trips(verdict.obligation)
        if demands.broken(self.solver, model) is not None:
            return verdict
        return replace(verdict, model=model)

    def _facts(self, obligation: Obligation) -> tuple[Bool, ...]:
        local = obligation.local_facts
        trace = self.run.trace
        known = known_at((*trace.assumptions, *trace.survived), obligation)
        extra = (*self._learned_for(obligation), *(a.condition for a in self._inferred))
        return (*simplify((*known, *extra), local), *dict.fromkeys(local))

    def _of_trips(self, obligation: Obligation) -> EachTrip:
        """What is demanded in other trips, and which of those before Python has come through."""
        trace = self.run.trace
        through = [each for each in trace.survived if each.order < obligation.order]
        return known_of_trips((*trace.assumptions, *through), obligation)

    def _one(self, obligation: Obligation, proved: set[tuple[int, ...]]) -> Verdict:
        check = obligation.check
        if check.predicate is E.TRUE:
            return Verdict(obligation, VerdictKind.PROVED, Tier.FOLD)
        facts = self._facts(obligation)
        key = (id(check.predicate), *(id(f) for f in facts))
        if key in proved:
            return Verdict(obligation, VerdictKind.PROVED, Tier.FOLD)
        answer = self.solver.check(self._query(obligation, facts))
        if answer.kind is AnswerKind.OUT_OF_BUDGET and check.enough is not E.FALSE:
            answer = self._of_one(obligation, facts, answer)
        if answer.proved:
            proved.add(key)
        elif answer.refuted:
            facts, answer = self._in_all_trips(obligation, facts, answer)
        if answer.proved:
            return Verdict(obligation, VerdictKind.PROVED, answer.tier)
        infer = infers_dtypes(obligation.rule) and self._of_open_dtypes(check.predicate)
        demanded = self._infer(obligation, facts) if infer else None
        if demanded is not None:
            condition, exact = demanded.condition, demanded.exact
            return Verdict(
                obligation, VerdictKind.PROVED, answer.tier, precondition=condition, exact=exact
            )
        if answer.refuted and answer.model is not None:
            return self._violation(obligation, facts, answer.tier)
        if check.required is not E.TRUE:
            found = self._required(obligation, facts)
            if found.kind.violated:
                return found
        if check.runtime:
            self._runtime.append(check.runtime)
            return Verdict(obligation, VerdictKind.PROVED, answer.tier)
        reason = answer.reason or "the solver's budget is used up"
        if answer.unknown:
            reason += f": {unknowns.said(answer.unknown, self.run.trace.ledger, check.span)}"
        return Verdict(obligation, VerdictKind.UNKNOWN, answer.tier, reason=reason)

    def _of_one(self, obligation: Obligation, facts: tuple[Bool, ...], answer: Answer) -> Answer:
        """The proof of one alternative of a predicate if there is one, else what is known."""
        query = replace(self._query(obligation, facts), goal=obligation.check.enough)
        alone = self.solver.check(query)
        return alone if alone.proved else answer

    def _surely(self, obligation: Obligation, proved: set[tuple[int, ...]]) -> Verdict:
        """The proof of an obligation if it costs next to nothing; else it is not decided."""
        predicate = obligation.check.predicate
        facts = () if predicate is E.TRUE else self._facts(obligation)
        tier = None
        if predicate is E.TRUE or (id(predicate), *(id(f) for f in facts)) in proved:
            tier = Tier.FOLD
        elif self.solver.surely(facts, predicate):
            tier = Tier.RANGE
        if tier is None:
            return _undecided(obligation)
        return Verdict(obligation, VerdictKind.PROVED, tier)

    def _required(self, obligation: Obligation, facts: tuple[Bool, ...]) -> Verdict:
        """The verdict on what is demanded for certain, where the predicate is stronger.

        A condition on the inputs that excludes its violation has to suffice for the predicate.
        """
        check = obligation.check
        needed = replace(
            check,
            predicate=check.required,
            required=E.TRUE,
            enough=E.FALSE,
            values=_told_by(check.required, check.values),
            exact=True,
            reason="",
        )
        found = self._one(replace(obligation, check=needed), set())
        condition = found.precondition
        if condition is None or found.kind is VerdictKind.PROVED:
            return found
        if self.solver.check(Query((*facts, condition), check.predicate)).proved:
            return found
        more = self._weakest(obligation)  # beside what has been learned here
        enough = None if more is None else E.and_(condition, more.condition)
        return replace(found, precondition=enough, exact=False)

    def _in_all_trips(
        self, obligation: Obligation, facts: tuple[Bool, ...], answer: Answer
    ) -> tuple[tuple[Bool, ...], Answer]:
        """A refutation by inputs that what is demanded in each trip of a loop does not exclude."""
        demands = self._of_trips(obligation)
        told = demands.instances()
        for _ in range(_BROKEN if told else 0):
            facts = (*facts, *simplify(told, obligation.local_facts))
            answer = self.solver.check(self._query(obligation, facts))
            if not answer.refuted or answer.model is None:
                return facts, answer
            found = demands.broken(self.solver, answer.model)
            if found is None:
                return facts, answer
            told = (found,)
        if told:
            reason = "what is demanded in the iterations of a loop may exclude it"
            answer = replace(answer, kind=AnswerKind.UNKNOWN, model=None, reason=reason)
        return facts, answer

    @staticmethod
    def _query(obligation: Obligation, facts: tuple[Bool, ...]) -> Query:
        check = obligation.check
        return Query(facts, check.predicate, check.exact, check.reason, obligation.local_facts)

    # -- dtypes that the kernel needs without saying so ------------------------------

    def _of_open_dtypes(self, predicate: Bool) -> bool:
        """Whether it is about dtypes of inputs of which nobody says which there are."""
        symbols = predicate.free()
        if len(symbols) == 1 and symbols[0] in self._listed:
            return False
        return bool(symbols) and all(
            s.domain is not None and s.origin is E.Origin.INPUT and s not in self._declared
            for s in symbols
        )

    def _infer(self, obligation: Obligation, facts: tuple[Bool, ...]) -> Weakest | None:
        """Take a dtype demand as a precondition, unless nothing admitted can meet it."""
        predicate = obligation.check.predicate
        if not self.solver.check(Query((*facts, predicate), E.FALSE)).refuted:
            return None
        found = self._weakest(obligation)
        if found is None:
            found = Weakest(E.implies(E.and_(*obligation.path), predicate), False)
        self._inferred.append(
            Assumption(
                found.condition, pretty(predicate), obligation.check.span, AssumptionKind.INFERRED
            )
        )
        return found

    # -- violations ------------------------------------------------------------------

    def _violation(self, obligation: Obligation, facts: tuple[Bool, ...], tier: Tier) -> Verdict:
        query = self._query(obligation, facts)
        answer = self.solver.check(query)
        assert answer.model is not None
        if self._skipped is not None and obligation.order > self._skipped:
            reason = "a statement that is not followed stands before it"
            return Verdict(obligation, VerdictKind.UNKNOWN, tier, reason=reason)
        unshown = self._unshown(obligation)
        if unshown:
            return Verdict(obligation, VerdictKind.UNKNOWN, tier, reason=unshown)
        always = self._always(obligation, answer.model)
        needed = self._needed(obligation)
        said = not obligation.rule.learns
        gap = self._first_gap
        if not always and gap is not None and obligation.order >= gap[0]:
            return Verdict(obligation, VerdictKind.UNKNOWN, tier, reason=gap[1])
        found = None if always else self._weakest(obligation)
        if found is not None and self._never_runs(found.condition, obligation):
            found, said = None, True
        if found is not None and self._evades(found, obligation):
            reason = "the sizes that meet it are not found"
            return Verdict(obligation, VerdictKind.UNKNOWN, tier, reason=reason)
        if found is not None and not said:
            said = self._meant(found.condition, obligation)
        if found is not None and found.exact and obligation.rule.learns:
            self._learn(found.condition, obligation)
        if found is not None and not (obligation.mild or obligation.rule.silent):
            self._rejected.append((obligation.check.span, found.condition))
        if found is not None:
            types = (a.condition for a in self._inferred)
            found = legible(found, (*self.admitted, *types), self.solver)
        return Verdict(
            obligation,
            VerdictKind.ALWAYS if always else VerdictKind.SOMETIMES,
            tier,
            answer.model,
            said,
            None if found is None else found.condition,
            found is not None and found.exact,
            query=query,
            needed=needed,
        )

    def _learned_for(self, obligation: Obligation) -> tuple[Bool, ...]:
        """What is taken for granted after the violations before; and that an operand is not
        rejected, of what follows from it."""
        learned = (*self._learned, *(self._warned if obligation.mild else ()))
        places = obligation.check.follows
        loud = [c for at, c in self._rejected if any(place.holds(at) for place in places)]
        if not loud or not self._admits(loud):
            return learned
        return (*learned, *loud) if self._admits((*learned, *loud)) else tuple(loud)

    def _learn(self, condition: Bool, obligation: Obligation) -> None:
        """Go on with what is needed here, unless no input meets that: it would prove all else."""
        if not self._admits((*self._learned_for(obligation), condition)):
            return
        known = self._warned if obligation.mild else self._learned
        # each fact costs all questions behind it: of limits on one sum the least one is enough
        left = (part for said in known for part in conjuncts(said) if not entails(condition, part))
        known[:] = [*left, condition]
        if self._warned and not self._admits((*self._learned, *self._warned)):
            self._warned.clear()

    def _admits(self, conditions: Sequence[Bool]) -> bool:
        """Whether some input meets them."""
        return self.solver.check(Query((*self.admitted, *conditions), E.FALSE)).refuted

    def _meant(self, condition: Bool, obligation: Obligation) -> bool:
        """Whether the kernel or its contract asserts what the condition implies: less of the same.

        What follows from the assertions anyhow is not what is missing.
        """
        rule = obligation.rule
        # what memory holds in the end, and in which order, no limit speaks of
        limits = not (rule.silent and rule.on is On.TRACE)
        demands = (a.condition for a in self.run.trace.assumptions if a.kind in SAID)
        said = [part for demand in demands for part in conjuncts(plainly(demand))]
        wanted = list(conjuncts(plainly(condition)))
        return any(
            promised(part, said, limits=limits)
            and not self._follows(part, [*wanted[:position], *wanted[position + 1 :]])
            for position, part in enumerate(wanted)
        )

    def _follows(self, part: Bool, others: Sequence[Bool]) -> bool:
        """Whether what is asserted and the other conditions say it anyhow."""
        return self.solver.check(Query((*self.admitted, *others), part)).proved

    def _weakest(self, obligation: Obligation) -> Weakest | None:
        """The condition on the inputs under which an obligation holds, beside what is learned."""
        goal = self._programs.bool(obligation.check.predicate)
        facts = (*self._there, *obligation.local_facts)
        local = tuple(map(self._programs.bool, facts))
        base = (*simplify(self.admitted, local), *self._learned_for(obligation))
        return weakest(goal, local, base, self.solver, followed=obligation.check.exact)

    def _never_runs(self, condition: Bool, obligation: Obligation) -> bool:
        """Whether a loop around an obligation has no iteration then: it fails where it matters."""
        given = (self._trips[f] for f in obligation.check.given if f in self._trips)
        idle = E.or_(*(E.le(trips, 0) for trips in (*obligation.trips, *given)))
        # of a kernel that admits nothing as far as it is followed nothing is known to matter
        return self._follows(idle, (condition,)) and self._admits(())

    def _evades(self, found: Weakest, obligation: Obligation) -> bool:
        """Whether all that is found for a limit is that a loop does not run, and more may do."""
        rule = obligation.rule
        if found.exact or rule.silent or rule.on is not On.TRACE:
            return False
        idle = (E.le(trips, 0) for trips in dict.fromkeys(self._trips.values()))
        given = (*self.admitted, found.condition)
        return any(
            self.solver.follows(given, fact) and not self.solver.follows(self.admitted, fact)
            for fact in idle
        )

    def _unshown(self, obligation: Obligation) -> str:
        """Why a failure that no size can mend may come of a rank that nothing suggests.

        A tensor of another rank may be what the kernel takes: its text does not say.
        """
        if obligation.check.predicate is not E.FALSE or not obligation.rule.of_rank:
            return ""
        for name, p in self.run.inputs.parameters.items():
            for guess in p.guesses:
                if not guess.shown and guess.order < obligation.order:
                    return f"nothing says that {name} has rank {guess.rank}, which is assumed"
        return ""

    @staticmethod
    def _hidden(symbol: Sym) -> bool:
        return symbol.origin not in E.GIVEN

    def _inner(self, term: Bool) -> bool:
        return any(self._hidden(s) for s in term.free())

    def _always(self, obligation: Obligation, model: Model) -> bool:
        """Whether every admitted input gets here and fails, in one and the same iteration.

        Iterations and elements are chosen (the first one, else the counterexample's); unknown
        values are not, the failure has to be there for all of them.
        """
        predicate, local = obligation.check.predicate, obligation.local_facts
        base = simplify(known_at(self.run.trace.assumptions, obligation), ())
        inner = {s for term in (predicate, *local) for s in term.free() if self._hidden(s)}
        chosen = {s for s in inner if s.origin in _CHOSEN}
        over = inner - chosen
        premises = [fact for fact in local if over.intersection(fact.free())]
        claims = [fact for fact in local if not over.intersection(fact.free())]
        claims.append(E.not_(predicate))
        claims += [fact for fact in self._there if chosen.intersection(fact.free())]
        first = {s: E.const(max(s.lo or 0, 0)) for s in chosen}
        shown = {s: E.const(int(model[s.name])) for s in chosen if s.name in model}
        for choice in (first, {**first, **shown})[: 2 if chosen else 1]:
            at = E.Substitution(choice)
            facts = (*base, *(at.bool(fact) for fact in premises))
            if all(self.solver.check(Query(facts, at.bool(c))).proved for c in claims):
                return True
        return False

    def _needed(self, obligation: Obligation) -> frozenset[str]:
        """Inputs whose values the violation depends on."""
        symbols: dict[str, Sym] = {}
        terms = [obligation.check.predicate, *obligation.path]
        if not any(s.origin in E.GIVEN for term in terms for s in term.free()):
            terms.extend(obligation.check.given)
        for term in terms:
            symbols.update((s.name, s) for s in term.free())
        for trips in obligation.trips:
            if any(s.origin is E.Origin.LOOP for term in terms for s in term.free()):
                symbols.update((s.name, s) for s in trips.free())
        flags = set(obligation.check.predicate.variables())
        return frozenset(n for n, s in symbols.items() if s.origin in E.GIVEN) | flags


def _listing(condition: Bool) -> Sym | None:
    """The dtype of which a condition lists those that are taken: ``x.dtype in (a, b)``."""
    parts = condition.args if condition.kind is E.BoolKind.OR else (condition,)
    symbols = condition.free()
    if len(symbols) != 1 or symbols[0].domain is None:
        return None
    return symbols[0] if all(part.kind is E.BoolKind.EQ for part in parts) else None
