"""The cheap tiers against Z3."""

from __future__ import annotations

from verifier.solver import Query, terms
from verifier.solver.query import Z3Kind
from verifier.solver.ranges import FactCache, implied
from verifier.solver.terms import default
from verifier.solver.z3backend import Backend
from verifier.symbolic import expr as E


def cross_check(query: Query, rlimit: int = 4_000_000) -> str | None:
    """A description of how the cheap tiers contradict Z3 on a query, or None if they don't."""
    ready = FactCache().get(query.facts)
    goal = ready.prepared.apply(query.goal)
    cheap = ready.prepared.contradictory or goal is E.TRUE or implied(ready, query.goal)
    outcome = Backend(rlimit).check([*query.facts, E.not_(query.goal)])
    if outcome.kind is Z3Kind.SAT and cheap:
        assert outcome.env is not None
        env = {**{s.name: default(s) for s in terms.symbols(query.facts)}, **outcome.env}
        try:
            if terms.holds(query.facts, env) and not E.evaluate(query.goal, env):
                return f"proved cheaply, but refuted by {dict(sorted(env.items()))}"
        except E.EvaluationError:
            return None
    return None
