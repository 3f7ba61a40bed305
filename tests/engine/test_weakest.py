"""Conditions that are said to be needed are: without them something fails, with them nothing."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.solver import systems
from tests.sweeps import examples
from verifier.engine import analyze_file, weakest
from verifier.report.model import FileRequest
from verifier.solver.solver import Solver
from verifier.symbolic import expr as E
from verifier.symbolic.pretty import pretty

relaxed = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
_PRIVATE = ("i", "t")


def _holds_everywhere(demand: E.Bool, outer: Mapping[str, int | bool]) -> bool:
    ranges = [range(systems.BOX[n][0], systems.BOX[n][1] + 1) for n in _PRIVATE]
    return all(
        bool(E.evaluate(demand, {**outer, **dict(zip(_PRIVATE, values, strict=True))}))
        for values in itertools.product(*ranges)
    )


@relaxed
@given(st.data())
def test_what_is_found_without_a_formula_suffices_and_is_needed_where_it_says_so(
    data: st.DataObject,
) -> None:
    systems.setup()
    goal = data.draw(systems.formulas())
    local = data.draw(st.lists(systems.formulas(), max_size=2))
    inner = {s.name for term in (goal, *local) for s in term.free() if s.origin not in E.GIVEN}
    if not inner <= {*_PRIVATE}:
        return
    found = weakest._tried(goal, local, (), Solver(), exact=True)
    if found is None:
        return
    demand = E.implies(E.and_(*local), goal)
    names = [n for n in systems.BOX if n not in _PRIVATE]
    ranges = [range(systems.BOX[n][0], systems.BOX[n][1] + 1) for n in names]
    for values in itertools.product(*ranges):
        for flag in (False, True):
            outer: dict[str, int | bool] = {**dict(zip(names, values, strict=True)), "flag": flag}
            right = _holds_everywhere(demand, outer)
            said = bool(E.evaluate(found.condition, outer))
            assert right or not said
            assert said == right or not found.exact


def _blocks(block: int, part: int, least: int) -> tuple[E.Bool, E.Bool]:
    """Columns of blocks of a size, of which whole parts are written; the size is at least that."""
    E.fresh_context()
    size = E.symbol("B", 1)
    index = E.fresh("i", 0, None, E.Origin.LOOP)
    column = E.fresh("t", 0, None, E.Origin.AXIS)
    within = (E.lt(index, E.ceildiv(size, block)), E.lt(column, E.minimum(block, size)))
    written = E.lt(column, E.floordiv(size, part) * part)
    return E.implies(E.and_(*within), written), E.ge(size, least)


@pytest.mark.parametrize(
    ("block", "part", "least", "text"),
    [
        # columns of one block and one more would do, too, and so would those of whole blocks
        (512, 128, 128, "B % 128 == 0"),
        (96, 24, 24, "B % 24 == 0"),
        # neither number is a multiple of the other one
        (96, 36, 36, "B % 36 == 0"),
        (64, 64, 1, "B % 64 == 0"),
    ],
)
def test_of_candidates_that_suffice_the_wider_one_is_taken(
    block: int, part: int, least: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Solver, "close", lambda *_: None)  # no such condition is at hand
    goal, given = _blocks(block, part, least)
    found = weakest._sufficient(goal, (), (given,), Solver())
    assert found is not None and pretty(found) == text


def test_of_a_quotient_that_is_rounded_up_the_whole_is_tried_first() -> None:
    E.fresh_context()
    size = E.symbol("B", 1)
    goal = E.le(E.ceildiv(size, 512), 7)
    first, *rest = weakest._candidates(goal, (), Solver())
    tried = [pretty(candidate) for candidate in (first, *rest)]
    assert tried.index("B % 512 == 0") < tried.index("B % 512 == 1")


def test_what_is_demanded_of_a_number_that_nobody_knows_is_not_demanded_of_inputs() -> None:
    E.fresh_context()
    size, unknown = E.symbol("B", 1), E.fresh("h", 0)
    index = E.fresh("i", 0, None, E.Origin.LOOP)
    demands = (
        E.le(unknown, size),
        E.and_(E.le(size, 64), E.ge(unknown, 3)),
        E.implies(E.lt(index, 4), E.lt(index, size)),
    )
    found = weakest.of_inputs(demands, Solver())
    assert {pretty(condition) for condition in found} == {"B <= 64", "B >= 4"}


HEAD = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
"""
FLAT = """\
    B, S, H = x.shape
    assert H == 56
    out = nl.ndarray((B, S, H), dtype=x.dtype, buffer=nl.shared_hbm)
    flat, into = x.reshape((B * S, H)), out.reshape((B * S, H))
    for i in range(B * S // 96):
        t = nl.ndarray((96, H), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=flat[i * 96 : i * 96 + 96, :])
        nisa.dma_copy(dst=into[i * 96 : i * 96 + 96, :], src=t)
    return out
"""
PARTS = """\
    R, C = x.shape
    assert R <= 96 and 5 <= C and C <= 6000
    out = nl.ndarray((R, C), dtype=x.dtype, buffer=nl.shared_hbm)
    width = {width}
    for k in range(5):
        t = nl.ndarray((R, width), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x[:, k * width : k * width + width])
        nisa.dma_copy(dst=out[:, k * width : k * width + width], src=t)
    return out
"""


#: what the first of several programs does alone
FIRST = """\
    R, C = x.shape
    assert R == 72 and C <= 500
    out = nl.ndarray((R, C), dtype=x.dtype, buffer=nl.shared_hbm)
    start = nl.program_id(0) * 72
    t = nl.ndarray((72, C), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x[start : start + 72])
    nisa.dma_copy(dst=out[start : start + 72], src=t)
    return out
"""


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (FLAT, "B*S % 96 == 0"),
        (PARTS.format(width="C // 5"), "C % 5 == 0"),
        (FIRST, "num_programs(0) == 1"),
    ],
)
def test_a_dropped_tail_is_needed(body: str, text: str, tmp_path: Path) -> None:
    """What is demanded of the last element says so."""
    path = tmp_path / "k.py"
    path.write_text(HEAD + body, encoding="utf-8")
    (kernel,) = analyze_file(FileRequest(path=str(path))).kernels
    assert kernel.precondition is not None
    assert (kernel.precondition.text, kernel.precondition.exact) == (text, True)


#: five shares, rounded to the nearest
SHARES = """\
import okk


# tilelint: contract (N: 1..1000, x: fp32[N, 24, 4, 4], y: fp32[N, 24, 4, 4])
@okk.kernel
def shares(N: int, x: okk.SystemAddr, y: okk.SystemAddr):
    okk.initialize()
    each = round(N / 5)
    for p in range(5):
        n = min(each, N - p * each)
        if n > 0:
            shape = okk.dim4(n, 24, 4, 4)
            okk.gdma_32bit_cpy_S2L(0, x + p * each * 24 * 16 * 4, shape, None, None)
            okk.gdma_32bit_cpy_L2S(y + p * each * 24 * 16 * 4, 0, shape, None, None)
    okk.poll()
"""


def test_the_condition_is_not_stronger_than_what_the_last_element_demands(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(SHARES, encoding="utf-8")
    (kernel,) = analyze_file(FileRequest(path=str(path))).kernels
    condition = kernel.precondition
    assert condition is not None and condition.exact
    for size in range(1, 1001):
        assert eval(condition.text, {"N": size}) == (5 * round(size / 5) >= size)


@pytest.mark.parametrize(
    ("parts", "least", "text"), [(5, 1, "n <= 5"), (5, 3, "n >= 3 and n <= 5"), (5, 6, "")]
)
def test_one_program_has_no_race_with_another(parts: int, least: int, text: str) -> None:
    """Programs that take one part of five each, and those after them the same parts again."""
    E.fresh_context()
    count = E.symbol("n", 1, 9, E.Origin.GRID)
    one, other = (E.fresh("p", 0, 8, E.Origin.HAVOC) for _ in range(2))
    apart = E.ne(E.mod(one, parts), E.mod(other, parts))
    local = [E.lt(other, count), E.lt(one, other)]
    found = weakest._on_more_programs(apart, local, (E.ge(count, least),), Solver())
    assert ("" if found is None else pretty(found.condition)) == text
