"""The tiers against each other and against trying every value."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.solver.crossing import cross_check
from tests.sweeps import examples
from verifier.solver import Query, Solver
from verifier.solver.prepare import Preparation
from verifier.solver.query import AnswerKind
from verifier.solver.ranges import FactCache, implied
from verifier.symbolic import expr as E

from . import systems

relaxed = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@relaxed
@given(st.data())
def test_every_answer_agrees_with_trying_every_value(data: st.DataObject) -> None:
    systems.setup()
    facts = tuple(data.draw(st.lists(systems.formulas(), max_size=4)))
    goal = data.draw(systems.formulas())
    expected = systems.brute_force(facts, goal)
    answer = Solver().check(Query(facts, goal))
    if expected is None:
        assert answer.kind is not AnswerKind.REFUTED
    else:
        assert answer.kind is not AnswerKind.PROVED
    if answer.refuted:
        assert answer.model is not None
        assert all(E.evaluate(fact, answer.model) for fact in facts)
        assert not E.evaluate(goal, answer.model)
    assert answer.kind in (AnswerKind.PROVED, AnswerKind.REFUTED)


@relaxed
@given(st.data())
def test_the_cheap_tier_never_contradicts_z3(data: st.DataObject) -> None:
    systems.setup()
    facts = tuple(data.draw(st.lists(systems.formulas(), max_size=4)))
    goal = data.draw(systems.formulas())
    assert cross_check(Query(facts, goal)) is None


@relaxed
@given(st.data())
def test_the_cheap_tier_never_contradicts_the_box(data: st.DataObject) -> None:
    systems.setup()
    facts = tuple(data.draw(st.lists(systems.formulas(), max_size=4)))
    goal = data.draw(systems.formulas())
    cache = FactCache()
    for count in range(len(facts) + 1):  # fact sets that grow, as on a path
        prefix = facts[:count]
        if implied(cache.get(prefix), goal):
            assert systems.brute_force(prefix, goal) is None


@relaxed
@given(st.data())
def test_minimised_counterexamples_still_refute(data: st.DataObject) -> None:
    systems.setup()
    facts = tuple(data.draw(st.lists(systems.formulas(), max_size=3)))
    goal = data.draw(systems.formulas())
    solver = Solver()
    query = Query(facts, goal)
    answer = solver.check(query)
    if not answer.refuted or answer.model is None:
        return
    small = solver.minimize(query, answer.model, (systems.symbol("m"),))
    assert all(E.evaluate(fact, small) for fact in facts)
    assert not E.evaluate(goal, small)
    if "m" in small:
        assert int(small["m"]) <= int(answer.model["m"])


@relaxed
@given(st.data())
def test_a_closed_precondition_implies_the_goal(data: st.DataObject) -> None:
    systems.setup()
    facts = tuple(data.draw(st.lists(systems.formulas(), max_size=3)))
    goal = data.draw(systems.formulas())
    closed = Solver().close(goal, facts)
    if closed is None:
        return
    assert all(sym.origin in E.GIVEN for sym in closed.free())
    assert systems.brute_force((*facts, closed), goal) is None


@relaxed
@given(st.data())
def test_decisions_agree_with_trying_every_value(data: st.DataObject) -> None:
    systems.setup()
    facts = tuple(data.draw(st.lists(systems.formulas(), max_size=3)))
    condition = data.draw(systems.formulas())
    decision = Solver().decide(facts, condition)
    if decision is not None:
        settled = condition if decision else E.not_(condition)
        assert systems.brute_force(facts, settled) is None


@relaxed
@given(st.data())
def test_facts_are_prepared_alike_whatever_was_prepared_before(data: st.DataObject) -> None:
    systems.setup()
    facts = data.draw(st.lists(systems.formulas(), min_size=1, max_size=5))
    m, n, s = map(systems.symbol, ("m", "n", "s"))
    facts += [E.eq(m % 3, 0), E.eq(n, m + s), E.bool_symbol("f")]
    shared = Preparation()
    for left_out in range(len(facts)):
        some = [fact for position, fact in enumerate(facts) if position != left_out]
        prepared, alone = shared.of(some), Preparation().of(some)
        assert (prepared.facts, prepared.removed) == (alone.facts, alone.removed)
        assert (prepared.flags, prepared.contradictory) == (alone.flags, alone.contradictory)
        assert [prepared.apply(fact) for fact in facts] == [alone.apply(fact) for fact in facts]
