"""Questions that tiled kernels give rise to: the cheap tier proves them, Z3 agrees."""

# ruff: noqa: N806 - sizes carry the names that kernels give them

from __future__ import annotations

import pytest

from tests.solver.crossing import cross_check
from verifier.solver import Query, Solver
from verifier.solver.query import Tier
from verifier.symbolic import expr as E

Case = tuple[list[E.Bool], E.Bool]


def cases() -> dict[str, Case]:
    """By name: facts and a goal that follows from them."""
    K, M, N, T, n = (E.symbol(name, 1) for name in ("K", "M", "N", "T", "n"))
    B, S, H, W, C = (E.symbol(name, 1) for name in ("B", "S", "H", "W", "C"))
    kh, stride = E.symbol("kh", 1, 11), E.symbol("stride", 1, 4)
    i, j, k, b, s = (E.symbol(name, 0, origin=E.Origin.LOOP) for name in ("i", "j", "k", "b", "s"))
    t, x, y = (E.symbol(name, 0, origin=E.Origin.AXIS) for name in ("t", "x", "y"))
    code = E.symbol("dtype", 0, 11, domain=tuple("abcdefghijkl"))
    size = E.table("itemsize", code, {c: (1, 2, 4, 8)[c % 4] for c in range(12)})
    flag = E.bool_symbol("flag")
    outputs = (H - kh) // stride + 1
    lt, le, ge, eq, ne = E.lt, E.le, E.ge, E.eq, E.ne
    edge = E.minimum(128, n - 128 * i)
    ragged = E.minimum(512, N - 512 * j)
    return {
        "last row of a whole tile": ([lt(k, K // 128), eq(K % 128, 0)], lt(128 * k + 127, K)),
        "ragged tile ends in bounds": ([lt(i, E.ceildiv(n, 128))], le(128 * i + edge, n)),
        "ragged tile is not empty": ([lt(i, E.ceildiv(n, 128))], ge(edge, 1)),
        "element of a tile": ([lt(t, 128), lt(k, K // 128)], lt(128 * k + t, K)),
        "element of a ragged tile": ([lt(j, 9), lt(t, ragged)], lt(512 * j + t, N)),
        "flattened index": ([lt(b, B), lt(s, S)], lt(b * S + s, B * S)),
        "three flattened": ([lt(i, C), lt(x, H), lt(y, W)], lt((i * H + x) * W + y, C * H * W)),
        "tile of symbolic size": ([lt(k, K // T)], le(k * T + T, K)),
        "tile of capped size": (
            [lt(i, N // E.minimum(512, N))],
            le(i * E.minimum(512, N) + E.minimum(512, N), N),
        ),
        "nested symbolic tiles": (
            [eq(M % (128 * T), 0), lt(i, M // (128 * T)), lt(j, T)],
            le(128 * T * i + 128 * j + 128, M),
        ),
        "nested tiles of a divisible size": (
            [lt(k, K // T), lt(j, T // 128), eq(T % 128, 0)],
            le(k * T + j * 128 + 128, K),
        ),
        "three levels": (
            [lt(i, M // T // 128), lt(j, T), lt(t, 128)],
            lt(128 * (i * T + j) + t, M),
        ),
        "quotient of a flattened index": ([lt(i, M * N)], lt(i // N, M)),
        "remainder of a flattened index": ([lt(i, M * N)], lt(i % N, N)),
        "window": ([ge(H, kh), lt(i, outputs), lt(j, kh)], lt(i * stride + j, H)),
        "weaker divisibility": ([eq(M % 128, 0), eq(N, M)], eq(N % 32, 0)),
        "divisible and positive": ([eq(K % 128, 0)], ge(K, 128)),
        "sum of dtypes": (
            [E.or_(eq(code, 1), eq(code, 5))],
            E.or_(*(eq(code, c) for c in (1, 5, 7))),
        ),
        "bytes": ([E.or_(eq(code, 1), eq(code, 5)), le(N, 8192)], le(N * size, 16384)),
        "either fact": ([E.or_(le(N, 64), le(N, 100))], le(N, 128)),
        "not one": ([ne(N, 1)], ge(N, 2)),
        "conditional size": ([lt(t, E.ite(lt(k, 4), 64, 128))], lt(t, 128)),
        "conditional in the goal": ([lt(t, 4)], le(E.ite(lt(k, 4), 64, 128) + t, 131)),
        "flag decides": ([flag, E.implies(flag, le(M, 3))], le(M, 4)),
        "maximum bounds its parts": ([le(E.maximum(M, N), 128)], le(N, 128)),
        "product equal to a size": ([eq(M, H * W), lt(x, H), lt(y, W)], lt(x * W + y, M)),
        "square": ([le(N, 16)], le(N * N, 256)),
    }


NAMES = sorted(cases())


@pytest.mark.parametrize("name", NAMES)
def test_the_cheap_tiers_prove(name: str) -> None:
    facts, goal = cases()[name]
    answer = Solver().check(Query(tuple(facts), goal))
    assert answer.proved and answer.tier in (Tier.FOLD, Tier.RANGE)


@pytest.mark.parametrize("name", NAMES)
def test_z3_agrees(name: str) -> None:
    facts, goal = cases()[name]
    assert cross_check(Query(tuple(facts), goal)) is None


@pytest.mark.parametrize("name", NAMES)
def test_without_the_facts_it_does_not_follow(name: str) -> None:
    facts, goal = cases()[name]
    solver = Solver()
    answers = [
        solver.check(Query(tuple(f for f in facts if f is not left_out), goal))
        for left_out in facts
    ]
    assert any(answer.refuted for answer in answers) or name in WITHOUT_FACTS
    for answer in answers:
        if answer.refuted:
            assert answer.model is not None
            assert not E.evaluate(goal, answer.model)


#: goals that hold for more reasons than one
WITHOUT_FACTS = ("remainder of a flattened index", "ragged tile ends in bounds")
