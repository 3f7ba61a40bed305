"""Assignments at hand spare proofs that would fail, and change no answer."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sweeps import examples
from verifier.solver import Solver, terms
from verifier.solver.frames import Frame
from verifier.solver.query import Query
from verifier.solver.search import Search
from verifier.solver.witnesses import Witnesses
from verifier.symbolic import expr as E

from . import systems

relaxed = settings(
    max_examples=examples(80),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@relaxed
@given(st.data())
def test_what_they_say_is_true_somewhere_in_the_box(data: st.DataObject) -> None:
    systems.setup()
    facts = tuple(data.draw(st.lists(systems.formulas(), max_size=4)))
    goals = data.draw(st.lists(systems.formulas(), min_size=1, max_size=4))
    witnesses = Witnesses(Search())
    for goal in (*goals, *goals):
        holds, fails = witnesses.sides(facts, goal)
        assert not holds or systems.brute_force(facts, E.not_(goal)) is not None
        assert not fails or systems.brute_force(facts, goal) is not None
        witnesses.look(facts, goal)
        witnesses.look(facts, E.not_(goal))


@relaxed
@given(st.data())
def test_decisions_are_at_least_those_without_them(data: st.DataObject) -> None:
    """Cases that were worked out before may decide what a budget ends before; all is right."""
    systems.setup()
    facts = tuple(data.draw(st.lists(systems.formulas(), max_size=4)))
    goals = data.draw(st.lists(systems.formulas(), min_size=1, max_size=4))
    solver = Solver()
    for count in range(len(facts) + 1):
        for goal in goals:
            answer = solver.decide(facts[:count], goal)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Witnesses, "sides", lambda *_: (False, False))
                assert Solver().decide(facts[:count], goal) in (None, answer)
            if answer is not None:
                follows = goal if answer else E.not_(goal)
                assert systems.brute_force(facts[:count], follows) is None


@relaxed
@given(st.data())
def test_what_follows_is_what_is_decided_to_hold(data: st.DataObject) -> None:
    systems.setup()
    facts = tuple(data.draw(st.lists(systems.formulas(), max_size=4)))
    for goal in data.draw(st.lists(systems.formulas(), min_size=1, max_size=4)):
        assert Solver().follows(facts, goal) == (Solver().decide(facts, goal) is True)


@relaxed
@given(st.data())
def test_counterexamples_at_hand_are_some_of_each_question_they_answer(data: st.DataObject) -> None:
    systems.setup()
    facts = data.draw(st.lists(systems.formulas(), max_size=4))
    goals = data.draw(st.lists(systems.formulas(), min_size=1, max_size=4))
    solver = Solver()
    for count in range(len(facts) + 1):
        for goal in goals:
            told = tuple(reversed(facts[:count]))
            answer, alone = solver.check(Query(told, goal)), Solver().check(Query(told, goal))
            assert answer.kind is alone.kind
            if answer.model is not None:
                assert terms.holds(told, answer.model)
                assert not E.evaluate(goal, answer.model)


def test_a_known_counterexample_answers_without_another_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    systems.setup()
    m, n, s = map(systems.symbol, ("m", "n", "s"))
    solver = Solver()
    facts = tuple(E.ne(m, k) for k in range(3))
    goals = [E.le(m + n, k) for k in range(-4, 4)]
    assert all(solver.check(Query((*facts, E.eq(n, 3)), goal)).refuted for goal in goals)

    def searched(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(Search, "model", searched)
    monkeypatch.setattr("verifier.solver.solver.implied", lambda *_: False)
    for goal in goals:  # each by the one found for it, however many came after
        assert solver.check(Query((E.eq(n, 3), *reversed(facts)), goal)).refuted
    assert solver.check(Query((*facts, E.eq(s, 1)), E.le(m + n, 0))).refuted


def test_a_branch_that_is_open_costs_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, columns = E.symbol("x.shape[0]", 1), E.symbol("x.shape[1]", 1)
    other = E.symbol("y.shape[0]", 1)
    facts = (E.eq(rows, other), E.ge(columns, 200), E.bool_symbol("b"))
    solver = Solver()
    assert solver.decide(facts, E.ge(other, 1000)) is None

    def implied(*_: object) -> bool:
        raise AssertionError

    monkeypatch.setattr("verifier.solver.solver.implied", implied)
    assert solver.decide(facts, E.ge(rows, 1000)) is None
    assert solver.decide(facts, E.bool_symbol("b")) is True


def test_they_are_the_same_in_each_run() -> None:
    def told() -> list[tuple[bool, bool]]:
        systems.setup()
        witnesses = Witnesses(Search())
        m, n, s = map(systems.symbol, ("m", "n", "s"))
        out = []
        for k in range(4):
            facts = (E.eq(m + n, 5), E.ne(s, 0), E.le(s * m, k))
            for goal in (E.ge(m, k), E.eq(s, -k), E.eq(n % 2, 0)):
                witnesses.look(facts, goal)
                out.append(witnesses.sides(facts, goal))
        return out

    assert told() == told()


def test_searches_in_vain_become_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    systems.setup()
    m, n = map(systems.symbol, ("m", "n"))
    tried: list[object] = []

    def in_vain(_: Search, facts: object, *__: object) -> None:
        tried.append(facts)

    witnesses = Witnesses(Search())
    facts = (E.ge(m, 0),)
    assert witnesses.sides(facts, E.ge(m, 0)) == (True, False)
    monkeypatch.setattr(Search, "model", in_vain)
    for k in range(100):
        witnesses.look(facts, E.eq(m * n, 101 + k))
    assert 0 < len(tried) < 20


def test_cases_of_the_same_facts_are_distinguished_once(monkeypatch: pytest.MonkeyPatch) -> None:
    systems.setup()
    m, n, k = map(systems.symbol, ("m", "n", "s"))
    facts = (E.or_(E.ge(m, n), E.ge(k, n)), E.ne(m, k), E.le(m * k, 7))
    solver, copies, made = Solver(), Frame.copy, list[Frame]()

    def counted(frame: Frame) -> Frame:
        made.append(frame)
        return copies(frame)

    monkeypatch.setattr(Frame, "copy", counted)
    monkeypatch.setattr(Witnesses, "sides", lambda *_: (False, False))
    goal = E.le(m * n, k)
    assert solver.decide(facts, goal) is None
    first = len(made)
    assert first
    assert solver.decide(facts, E.not_(goal)) is None
    assert len(made) == first
