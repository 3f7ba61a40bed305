"""Answers, counterexamples, preconditions and what may be called refuted."""

# ruff: noqa: N806 - sizes carry the names that kernels give them

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from verifier.solver import Query, Solver
from verifier.solver.prepare import Preparation
from verifier.solver.query import AnswerKind, Tier, Z3Kind
from verifier.solver.search import Repair, Search
from verifier.solver.z3backend import Backend, Outcome, Session
from verifier.symbolic import expr as E

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    E.fresh_context()


def refute(facts: list[E.Bool], goal: E.Bool, trips: tuple[E.Expr, ...] = ()) -> dict[str, object]:
    solver = Solver()
    query = Query(tuple(facts), goal)
    answer = solver.check(query)
    assert answer.refuted, answer
    assert answer.model is not None
    return dict(solver.minimize(query, answer.model, trips))


@pytest.mark.parametrize("before", [1, 93])
def test_what_z3_is_told_does_not_hang_on_the_symbols_that_were_made_before(before: int) -> None:
    """What it finds within its budget hangs on names."""

    def told() -> str:
        n, k = E.fresh("n", 1), E.fresh("k", 1)
        facts = [E.ge(E.floordiv(n, k), 2), E.or_(E.bool_symbol("wide"), E.le(k, 8))]
        session = Backend().session(facts, 1000, facts)
        return str(session._solver.sexpr())

    first = told()
    E.fresh_context()
    for _ in range(before):
        E.fresh("other")
    assert told() == first


def test_nothing_of_something_is_no_counterexample_if_another_exists() -> None:
    E.fresh_context()
    a, b = E.symbol("a", 0), E.symbol("b", 0)
    query = Query((E.ge(a, 1),), E.eq(a * b, 1))
    assert dict(Solver().minimize(query, {"a": 1, "b": 0})) == {"a": 1, "b": 2}
    assert dict(Solver().minimize(query, {"a": 7, "b": 9})) == {"a": 1, "b": 2}
    only = Query((E.le(b, 1),), E.ge(b, 1))
    assert dict(Solver().minimize(only, {"a": 5, "b": 0}))["b"] == 0


def test_counterexample_is_the_smallest_kernel_friendly_one() -> None:
    K, N, B = E.symbol("K", 1), E.symbol("N", 1), E.symbol("B", 1)
    k, t = E.symbol("k", 0, origin=E.Origin.LOOP), E.symbol("t", 0, origin=E.Origin.AXIS)
    facts = [E.eq(K % 128, 0), E.lt(k, K // 128), E.lt(t, 128), E.ge(B, 2)]
    found = refute(facts, E.or_(E.le(N, 512), E.lt(B, 2)), (K // 128,))
    assert found == {"B": 2, "K": 128, "N": 513, "k": 0, "t": 0}


def test_that_nothing_is_smaller_takes_one_question_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[object] = []
    check = Session.check

    def counted(session: Session) -> Outcome:
        asked.append(session)
        return check(session)

    monkeypatch.setattr(Session, "check", counted)
    n, m = E.symbol("n", 1), E.symbol("m", 1)
    query = Query((E.ge(n, 100_000), E.ge(m, n)), E.FALSE)
    found = Solver().minimize(query, {"n": 100_000, "m": 100_000})
    assert found == {"n": 100_000, "m": 100_000}
    assert asked == []  # bounds say so
    found = Solver().minimize(Query((E.ge(n * n, 1_000_000),), E.FALSE), {"n": 1000})
    assert found == {"n": 1000}
    assert len(asked) == 1


def test_what_bounds_and_repair_tell_z3_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(Session, "check", asked)
    n, m = E.symbol("n", 1), E.symbol("m", 1)
    trips = E.ceildiv(n, 128)
    facts = (E.ge(n, m), E.ge(m, 7), E.or_(E.le(m, 40), E.bool_symbol("b")))
    found = Solver().minimize(Query(facts, E.FALSE), {"n": 900, "m": 900, "b": True}, (trips,))
    assert found == {"n": 7, "m": 7, "b": False}


def test_alternatives_that_matter_are_told() -> None:
    K, N = E.symbol("K", 1, 4096), E.symbol("N", 1, 4096)
    either = E.or_(E.le(K, 7), E.ge(N, 9))
    backend = Backend()
    assert backend.check([either, E.ge(K, 8), E.le(N, 8)]).kind is Z3Kind.UNSAT
    found = backend.check([either, E.ge(K, 8)])
    assert found.env is not None
    assert found.env["N"] >= 9
    session = backend.session([either, E.ge(K, 8)], 400_000)
    with session.scope():
        session.add(E.or_(E.le(N, 8), E.le(K, 7)))
        assert session.check().kind is Z3Kind.UNSAT
    found = session.check()
    assert found.env is not None
    assert found.env["N"] >= 9


def test_alternatives_that_stood_in_the_way_of_the_search_are_told_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[object] = []
    told = Session._check

    def counted(session: Session) -> Outcome:
        asked.append(session)
        return told(session)

    monkeypatch.setattr(Session, "_check", counted)
    K, N, M = E.symbol("K", 1, 4096), E.symbol("N", 1, 4096), E.symbol("M", 1, 4096)
    facts = [E.ge(K, 8), E.le(N, 8), E.or_(E.le(M, 2), E.ge(N, 2))]
    either = E.or_(E.le(K, 7), E.ge(N, 9))
    search = Search()
    assert search.model([*facts, either]) is None
    assert either in search.resisted
    assert facts[-1] not in search.resisted  # it held all the time
    assert Backend().check([*facts, either], search.resisted).kind is Z3Kind.UNSAT
    assert len(asked) == 1


def test_a_model_of_a_part_is_mended_before_z3_is_told_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[object] = []
    told = Session._check

    def counted(session: Session) -> Outcome:
        asked.append(session)
        return told(session)

    monkeypatch.setattr(Session, "_check", counted)
    K, N, M = E.symbol("K", 1, 4096), E.symbol("N", 1, 4096), E.symbol("M", 1, 4096)
    facts = [E.eq(K * N, 3 * 4091), E.ge(K, N), E.or_(E.eq(M, K), E.eq(M, N)), E.ge(M, 3)]
    search = Search()
    found = Backend().check(facts, mended=lambda near: search.model(facts, (near,), 200))
    assert found.env is not None and E.evaluate(E.and_(*facts), found.env)
    assert len(asked) == 1


def test_fewest_trips_come_before_small_sizes() -> None:
    n, tile = E.symbol("n", 1), E.symbol("tile", 1, 64)
    i = E.symbol("i", 0, origin=E.Origin.LOOP)
    trips = E.ceildiv(n, tile)
    found = refute([E.lt(i, trips), E.ge(n, 40)], E.FALSE, (trips,))
    assert found == {"n": 40, "tile": 40, "i": 0}


def test_the_smallest_of_all_counterexamples_at_hand_is_the_one_to_begin_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[dict[str, int | bool]] = []

    def shown(*arguments: Any) -> object:
        begun.append(arguments[4])
        return arguments[4]

    monkeypatch.setattr("verifier.solver.solver.minimized", shown)
    n, step = E.symbol("n", 1), E.symbol("step", 0)
    solver, trips = Solver(), (E.ceildiv(n, 128), n // step)  # one of them without a value
    for least in (700, 300, 900):
        solver.check(Query((E.ge(n, least), E.le(n, least + 9)), E.FALSE))
    query = Query((E.ge(n, 200), E.ge(step, 0)), E.FALSE)
    assert solver.minimize(query, {"n": 5000, "step": 0}, trips)["n"] == 300
    assert begun[-1]["step"] == 0


def test_flags_and_dtypes_prefer_the_first() -> None:
    code = E.symbol("dtype", 0, 3, domain=("a", "b", "c", "d"))
    flag, other = E.bool_symbol("flag"), E.bool_symbol("other")
    found = refute([E.or_(E.ge(code, 1), flag)], E.and_(flag, other))
    assert found == {"dtype": 0, "flag": True, "other": False}


def test_models_name_every_symbol_also_free_ones() -> None:
    M, N = E.symbol("M", 1), E.symbol("N", 3)
    assert refute([E.le(N, 5)], E.le(M, 128)) == {"M": 129, "N": 3}


def test_contradictory_facts_prove_everything_also_about_others() -> None:
    a, b, c = E.symbol("a", 1), E.symbol("b", 1), E.symbol("c", 1)
    facts = (E.eq(a * a, 2 * b), E.eq(a % 2, 1))
    assert Solver().check(Query(facts, E.le(c, 3))).proved
    assert Solver().check(Query(facts, E.FALSE)).proved


def test_satisfiable_gives_a_model() -> None:
    a = E.symbol("a", 1)
    answer = Solver().check(Query((E.eq(a % 7, 3), E.gt(a, 20)), E.FALSE))
    assert answer.refuted
    assert answer.model is not None
    assert int(answer.model["a"]) % 7 == 3


def test_inexact_goals_are_proved_but_not_refuted() -> None:
    n = E.symbol("n", 1)
    solver = Solver()
    assert solver.check(Query((E.le(n, 2),), E.le(n, 2), exact=False)).proved
    answer = solver.check(Query((), E.le(n, 2), exact=False, reason="the bank is not known"))
    assert (answer.kind, answer.reason) == (AnswerKind.UNKNOWN, "the bank is not known")


def test_over_approximated_values_refute_nothing() -> None:
    n, h = E.symbol("n", 1), E.symbol("h", 0, 100, E.Origin.HAVOC)
    answer = Solver().check(Query((E.lt(h, 50),), E.le(n, h)))
    assert answer.kind is AnswerKind.UNKNOWN
    assert "h" in answer.reason


def test_over_approximated_values_that_do_not_matter_do_not_hinder() -> None:
    n, h = E.symbol("n", 1), E.symbol("h", 0, 100, E.Origin.HAVOC)
    solver = Solver()
    assert solver.check(Query((E.lt(h, 50),), E.le(n, 3))).refuted
    query = Query((), E.le(n, h))
    answer = solver.check(query)  # n = 101 breaks it for every h
    assert answer.model is not None
    assert solver.minimize(query, answer.model) == {"n": 128, "h": 0}
    assert solver.check(Query((), E.le(h, 100))).proved


def test_an_equality_does_not_hide_an_over_approximated_value() -> None:
    n, h = E.symbol("n", 1), E.symbol("h", 0, 100, E.Origin.HAVOC)
    answer = Solver().check(Query((E.eq(h, 3 * n),), E.le(n, 2)))
    assert answer.kind is AnswerKind.UNKNOWN


def test_division_by_zero_is_no_counterexample() -> None:
    n, d = E.symbol("n", 1), E.symbol("d", 0)
    solver = Solver()
    assert solver.check(Query((), E.le((n // d) * d, n))).proved
    answer = solver.check(Query((), E.le(n // d, 3)))
    assert answer.refuted
    assert answer.model is not None
    assert answer.model["d"] != 0


def test_a_size_that_is_a_product_of_its_own_quotients_stays_within_its_bounds() -> None:
    size = E.symbol("size", 1, 100)
    half = size // 2
    square = E.eq(size, half * half)
    answer = Solver().check(Query((square,), E.eq(size, 4)))
    assert not answer.refuted
    left = Preparation().of([square])
    assert all((sym.hi or 0) <= 2500 for fact in left.facts for sym in fact.free())


def test_negative_divisors_round_down() -> None:
    n = E.symbol("n", -20, 20)
    d = E.symbol("d", -5, -1)
    solver = Solver()
    assert solver.check(Query((), E.le(d * (n // d), n - d))).proved
    assert solver.check(Query((), E.ge(d * (n // d), n))).proved


def test_guarded_division_keeps_the_guarded_case() -> None:
    n, d = E.symbol("n", 1), E.symbol("d", 0)
    value = E.ite(E.eq(d, 0), 5, n // d)
    answer = Solver().check(Query((E.eq(value, 5), E.le(n, 4)), E.ge(d, 1)))
    assert answer.refuted
    assert answer.model is not None
    assert answer.model["d"] == 0


def test_an_alternative_without_a_value_leaves_the_others() -> None:
    n, d, rank = E.symbol("n", 0), E.symbol("d", 0), E.symbol("rank", 1, 8)
    facts = (E.or_(E.le((n - 1) // d, 4), E.eq(rank, 3)),)
    answer = Solver().check(Query(facts, E.ne(d, 0)))
    assert answer.refuted
    assert answer.model is not None
    assert (answer.model["d"], answer.model["rank"]) == (0, 3)


def test_undecided_is_said_within_the_budget() -> None:
    a, b = E.symbol("a", 1), E.symbol("b", 1)
    answer = Solver(rlimit=20_000).check(Query((E.eq(a * a, 2 * b * b),), E.FALSE))
    assert answer.kind is AnswerKind.OUT_OF_BUDGET
    assert answer.reason


def test_after_the_deadline_only_cheap_answers() -> None:
    n, t = E.symbol("n", 1), E.symbol("t", 0, origin=E.Origin.AXIS)
    solver = Solver(deadline=0.0)
    assert solver.check(Query((E.lt(t, n),), E.lt(t, n + 1))).proved
    assert solver.check(Query((), E.le(n, 3))).kind is AnswerKind.OUT_OF_BUDGET


def test_close_gives_a_precondition_on_inputs() -> None:
    N, M, g = E.symbol("N", 1), E.symbol("M", 1), E.symbol("g", 1, origin=E.Origin.GRID)
    p, i = E.symbol("p", 0, origin=E.Origin.LOOP), E.symbol("i", 0, origin=E.Origin.LOOP)
    t = E.symbol("t", 0, origin=E.Origin.AXIS)
    solver = Solver()
    facts = (E.lt(p, g), E.lt(t, 128))
    assert solver.close(E.lt(128 * p + t, N), facts) is E.le(128 * g, N)
    assert solver.close(E.le(M, 128), facts) is E.le(M, 128)
    tiles = (E.lt(i, E.ceildiv(M, 128)),)
    assert solver.close(E.le(E.minimum(128, M - 128 * i), 64), tiles) is E.le(M, 64)
    assert solver.close(E.le(t, N), ()) is None  # nothing bounds t


def test_decide_uses_cheap_means_only() -> None:
    n, k = E.symbol("n", 1), E.symbol("k", 0, origin=E.Origin.LOOP)
    solver = Solver()
    facts = (E.lt(k, n // 128),)
    assert solver.decide(facts, E.ge(n, 128)) is True
    assert solver.decide(facts, E.lt(n, 128)) is False
    assert solver.decide(facts, E.ge(n, 129)) is None
    assert solver.statistics.z3_times == []


def test_statistics_count_by_tier() -> None:
    n = E.symbol("n", 1)
    solver = Solver()
    query = Query((E.le(n, 5),), E.le(n, 3))
    assert solver.check(query) is solver.check(query)
    solver.check(Query((E.le(n, 5),), E.le(n, 7)))
    solver.check(Query((E.eq(n, 5),), E.le(n, 7)))
    solver.check(Query((E.le(n * n, 15),), E.le(n, 3)))
    statistics = solver.statistics
    assert (statistics.queries, statistics.remembered) == (5, 1)
    assert statistics.by_tier == dict.fromkeys(Tier, 1)
    assert statistics.by_kind[AnswerKind.REFUTED] == 1
    assert len(statistics.z3_times) >= 1


def test_search_finds_models_of_products() -> None:
    a, b = E.symbol("a", 2), E.symbol("b", 2)
    i = E.symbol("i", 0, origin=E.Origin.LOOP)
    env = Search().model([E.eq(a * b, 384), E.lt(i, a // 3), E.ge(i, 1), E.gt(b, a)])
    assert env is not None
    assert int(env["a"]) * int(env["b"]) == 384
    assert 1 <= env["i"] < env["a"] // 3
    assert env["b"] > env["a"]
    assert Search().model([E.eq(a * b, 7), E.gt(a, 1), E.gt(b, 1)]) is None


def test_search_starts_where_it_is_told_and_repairs_what_leans_on_it() -> None:
    n, u, b = E.symbol("n", 1), E.symbol("u", 1), E.symbol("b", 1)
    facts = [E.le(n, u), E.le(n, b), E.gt(n * 4, 212_992), E.or_(E.le(u, 7), E.eq(u % 128, 0))]
    env = Search().model(facts, ({"u": 300, "b": 70_000},))
    assert env is not None
    assert E.evaluate(E.and_(*facts), env)
    assert env["b"] == 70_000


def test_search_leaves_terms_that_are_nested_too_deeply() -> None:
    term = E.symbol("x", 1)
    for level in range(1, 2000):
        turn = level % 2  # what is said of a term grows with its symbols
        term = E.maximum(E.symbol(f"y{turn}", 1), term // 3 + E.symbol(f"z{turn}", 0))
    assert Search().model([E.ge(term, 5)]) is None


def test_search_goes_through_shared_parts_once() -> None:
    # written out, the last term has 2 ** 60 parts
    term = E.symbol("x", 1)
    for level in range(1, 61):
        least = E.minimum(term, E.symbol(f"y{level}", 1) + 3)
        term = E.maximum(least // 2 + 1, least - term // 3)
    found = Search().model([E.ge(term, 1)])
    assert found is not None and E.evaluate(E.ge(term, 1), found)


COMMON = """
from verifier.symbolic import expr as E
from verifier.solver import Query, Solver
K, N, B, S = (E.symbol(n, 1) for n in ("K", "N", "B", "S"))
k, j = (E.symbol(n, 0, origin=E.Origin.LOOP) for n in ("k", "j"))
f, g = E.bool_symbol("f"), E.bool_symbol("g")
solver = Solver()
"""


def run(code: str, seed: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", COMMON + code],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_the_same_answer_whatever_the_hash_seed() -> None:
    code = """
goals = (E.le(128 * k + N, K), E.le(B * S, 1000), E.or_(f, E.le(N * K, B + 70)), E.ne(B, S + 3))
for goal in goals:
    query = Query((E.lt(k, K // 128), E.lt(j, B), E.or_(g, E.eq(S % 3, 1)), E.ne(N, B)), goal)
    answer = solver.check(query)
    print(answer.kind.value, answer.tier, answer.model, solver.close(goal, query.facts))
    if answer.model:
        print(solver.minimize(query, answer.model, (K // 128, B)))
"""
    outputs = {run(code, seed) for seed in ("0", "1", "4242")}
    assert len(outputs) == 1
    assert "refuted" in outputs.pop()


def test_cheap_answers_do_not_load_z3() -> None:
    code = """
import sys
print(solver.check(Query((E.lt(k, K // 128),), E.le(128 * k + 128, K))).proved, "z3" in sys.modules)
"""
    assert run(code, "0").split() == ["True", "False"]


def test_a_refutation_hangs_on_whether_its_place_is_reached() -> None:
    n, h = E.symbol("n", 0, 2), E.symbol("h", 0, 1, E.Origin.HAVOC)
    reached, goal = E.eq(h, 1), E.ge(n, 1)
    assert Solver().check(Query((reached,), goal)).refuted
    answer = Solver().check(Query((reached,), goal, way=(reached,)))
    assert answer.kind is AnswerKind.UNKNOWN and answer.unknown == ("h",)
    known = E.le(n, 1)
    assert Solver().check(Query((known,), goal, way=(known,))).refuted


def test_the_last_search_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> Outcome:
        return Outcome(Z3Kind.UNKNOWN)

    looked = 0
    holds = Repair._holds

    def counted(repair: Repair, position: int) -> bool:
        nonlocal looked
        looked += 1
        return holds(repair, position)

    monkeypatch.setattr(Backend, "check", unknown)
    monkeypatch.setattr(Repair, "_holds", counted)
    a, b = E.symbol("a", 2), E.symbol("b", 2)
    answer = Solver().check(Query((E.eq(a * b, 4_294_967_291),), E.FALSE))  # a prime
    assert answer.kind is AnswerKind.UNKNOWN
    assert 1 < looked < 20_000
