"""What demands of all trips say of particular ones: inputs that one trip excludes."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.engine import analyze_source
from verifier.engine.instances import EachTrip
from verifier.symbolic import expr as E


def size() -> E.Expr:
    return E.symbol("rows", lo=1, hi=9)


def excluded(at: E.Expr) -> E.Bool:
    """No trip below ``rows`` is number ``at``."""
    trip = E.symbol("trip", lo=0, origin=E.Origin.LOOP)
    return E.implies(E.lt(trip, size()), E.ne(trip, at))


@given(st.integers(-3, 12), st.integers(1, 9))
def test_instances_follow_from_the_demand(at: int, rows: int) -> None:
    """They hold wherever all trips satisfy the demand, and show the trip that does not."""
    demand = excluded(E.const(at))
    every = all(E.evaluate(demand, {"rows": rows, "trip": trip}) for trip in range(rows + 3))
    found = all(E.evaluate(one, {"rows": rows}) for one in EachTrip((demand,)).instances())
    assert found == every


def test_what_has_no_trip_has_no_instances() -> None:
    demand = E.le(size(), 4)
    assert EachTrip((demand,)).instances() == (demand,)


KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


def step(number):
    if number == {at}:
        raise RuntimeError
    return 5


@nki.jit
def kernel(x):
    rows, columns = x.shape
    assert columns == 24 and x.dtype == nl.float32 and rows <= 17
    total = 0
    for number in range(rows + 2):
        total += step(number)
    tile = nl.ndarray((17, 24), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile[0:rows, :], src=x)
    out = nl.ndarray((rows, 24), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile[0:rows, :])
    return out
"""


@pytest.mark.parametrize(("at", "rules"), [(2, {"no-admitted-input"}), (3, set()), (19, set())])
def test_a_trip_that_every_input_comes_to(at: int, rules: set[str]) -> None:
    result = analyze_source(KERNEL.format(at=at))
    assert {d.rule for d in result.diagnostics} == rules
    assert [k.status for k in result.kernels] == ["violated" if rules else "verified"]


@pytest.mark.parametrize("demand", ["pass", "assert program < 4", "assert 512 * program < 4096"])
def test_there_are_no_more_program_instances_than_the_grid_has(demand: str) -> None:
    text = f"""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    program = nl.program_id(0)
    {demand}
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out[program], src=x[program])
    return out
"""
    result = analyze_source(text)
    assert not result.errors
    assert "no-admitted-input" not in {d.rule for d in result.diagnostics}


PROGRAMS = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    rows, columns = x.shape
    program, count = nl.program_id(0), nl.num_programs(0)
    assert rows == 64 and columns == 24 * count and x.dtype == nl.float32
    assert {demand}
    tile = nl.ndarray((64, 24), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[:, nl.ds(program * 24, 24)])
    out = nl.ndarray((64, 24 * count), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out[:, nl.ds(program * 24, 24)], src=tile)
    return out
"""


@pytest.mark.parametrize(
    ("demand", "closed"), [("program >= 0", False), ("count == 1", False), ("program > 0", True)]
)
def test_programs_that_a_grid_has(demand: str, closed: bool) -> None:
    """The first program is always there, others need not be."""
    result = analyze_source(PROGRAMS.format(demand=demand))
    assert ("no-admitted-input" in {d.rule for d in result.diagnostics}) == closed
    assert closed or [k.status for k in result.kernels] == ["verified"]


TRIPS = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, n: int, m: int, flag: bool):
    assert x.shape == (96, 24) and x.dtype == nl.float32
    assert n >= 1 and m >= 1
{loops}
    tile = nl.ndarray(({rows}, 24), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile[0:96, :], src=x)
    out = nl.ndarray((96, 24), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile[0:96, :])
    return out
"""
BEHIND = [
    ("for i in range(n):\n    assert i <= 3", "n <= 4", "n <= 3"),
    ("for i in range(n):\n    if flag:\n        raise ValueError", "not flag", "n > 1"),
    (
        "for i in range(n):\n    for j in range(m):\n        assert i + j < 5",
        "n + m < 7",
        "n + m < 6",
    ),
    ("for i in range(n):\n    if i % 2:\n        continue\n    assert i < 6", "n <= 6", "n <= 5"),
    ("for i in range(n - 1, -1, -1):\n    assert 8 * i < m", "8 * n - 8 < m", "8 * n < m"),
    ("for i in range(0, n, 8):\n    assert i < 32", "n <= 32", "n <= 31"),
    ("i = 0\nwhile i < n:\n    assert i < 4\n    i += 1", "n <= 4", "n < 4"),
    ("for i in range(n - 1):\n    assert not flag", "n == 1 or not flag", "not flag"),
]


@pytest.mark.parametrize(("loops", "holds", "fails"), BEHIND)
def test_what_all_trips_demand_holds_behind_the_loop(loops: str, holds: str, fails: str) -> None:
    text = textwrap.indent(loops, "    ")
    for condition, status in ((holds, "verified"), (fails, "conditional")):
        rows = f"96 if {condition} else 129"
        result = analyze_source(TRIPS.format(loops=text, rows=rows))
        assert [k.status for k in result.kernels] == [status], condition


INSIDE = [
    ("in the trip itself", "assert i < 4", "96 if i < 4 else 129", "", True),
    ("before it", "", "96 if i < 4 else 129", "assert i < 4", False),
    ("in the first trip", "", "129 if i and flag else 96", "assert not flag", True),
    ("behind the first trip", "", "129 if i == 0 and flag else 96", "assert not flag", False),
    ("in all of a loop", "", "129 if i and m > 4 else 96", "for j in range(m): assert j < 4", True),
    ("of a later trip", "assert i < 4", "129 if n > 4 else 96", "", False),
]


@pytest.mark.parametrize(
    ("above", "rows", "below", "right"), [case[1:] for case in INSIDE], ids=[c[0] for c in INSIDE]
)
def test_what_trips_before_it_demand_holds_in_a_loop(
    above: str, rows: str, below: str, right: bool
) -> None:
    """A trip is only known to have been gone if it was gone before."""
    body = f"""\
for i in range(n):
    {above or "pass"}
    part = nl.ndarray(({rows}, 24), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=part[0:96, :], src=x)
    {below or "pass"}
"""
    text = TRIPS.format(loops=textwrap.indent(body, "    "), rows=96)
    (kernel,) = analyze_source(text).kernels
    assert (kernel.status == "verified") == right
    assert kernel.status in ("verified", "conditional", "violated")
