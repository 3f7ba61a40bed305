"""Tuples whose length depends on the inputs: for each length what CPython makes of them."""

from __future__ import annotations

import pytest

from tests.python.programs import same_for
from tests.python.support import machine, run
from verifier.symbolic import expr as E
from verifier.symbolic.python.heap import TupleBox

MADE = "def made(n, start=0):\n    return tuple(start + 3 * k for k in range(n))\n"

WHAT = [
    "t", "len(t)", "bool(t)", "isinstance(t, tuple), isinstance(t, list), type(t) is tuple",
    "tuple(t) is t", "list(t)", "sum(t)", "[x + 1 for x in t]", "[x for x in reversed(t)]",
    "[(i, x) for i, x in enumerate(t)]", "(1, 2) + t", "t + (1, 2)", "t + t", "t[1:]",
    "t[:-1]", "t == tuple(t[:])", "t == (0, 3, 6)", "(0, 3) == t", "t != (0,)", "t == [0, 3, 6]",
    "[0, 3] == t", "t == made(n, 0)", "3 * t[:0]", "t[::-1]", "t is t, t is None",
    "t[n - 1] if n else None", "t[-1] if t else 0", "t[2]", "t + [1]", "[1] + t", "t + 1",
    "copy.copy(t) is t", "copy.deepcopy(t) is t", "list(t) == list(made(n))",
    "(0,) * n", "(1, 2) * n", "t.append(1)", "max(t) if n > 1 else 0",
]  # fmt: skip


@pytest.mark.parametrize("what", WHAT)
def test_they_are_what_cpython_makes_of_them(what: str) -> None:
    text = f"import copy\n{MADE}\ndef run(n):\n    t = made(n)\n    return {what}\n"
    same_for(text, n=range(0, 5))


def test_a_loop_over_one_is_a_loop_over_its_items() -> None:
    same_for(
        MADE
        + """
class Tile:
    def __init__(self, start, size):
        self.start, self.size = start, size

def tiles(total, step):
    out = []
    for k in range(-(-total // step)):
        out.append(Tile(k * step, min(step, total - k * step)))
    return tuple(out)

def run(n):
    covered = 0
    for tile in tiles(n, 3):
        covered += tile.size
    parts = tiles(n, 3)
    return covered, len(parts), [t.start for t in parts], parts[0].size if n else 0
""",
        n=range(0, 8),
    )


@pytest.mark.parametrize(
    "what", ["{t: 1}", "t.index(3)", "t.count(3)", "'%d' % t", "t < (1, 2)", "t in {1}"]
)
def test_what_has_no_model_is_not_followed(what: str) -> None:
    vm = machine(f"{MADE}\ndef run(n):\n    t = made(n)\n    return {what}\n")
    assert run(vm, "run(n)", n=E.symbol("n", 0)).skipped


@pytest.mark.parametrize("what", ["t is made(n)", "t is ()", "hash(t)"])
def test_what_cpython_may_see_in_two_ways_is_unknown(what: str) -> None:
    outcome = run(
        machine(f"{MADE}\ndef run(n):\n    t = made(n)\n    return {what}\n"),
        "run(n)",
        n=E.symbol("n", 0),
    )
    assert isinstance(outcome.value, (E.Bool, E.Expr))
    assert any(s.origin is E.Origin.HAVOC for s in outcome.value.free())


def test_it_has_a_box_of_its_own_only_where_its_length_is_open() -> None:
    vm = machine(MADE)
    assert isinstance(vm.box(run(vm, "made(n)", n=E.symbol("n", 0)).value), TupleBox)
    assert run(vm, "made(2)").value == (E.const(0), E.const(3))


def test_a_choice_of_numbers_of_repetitions_is_told_apart() -> None:
    same_for(
        """\
def run(n):
    count = 2 if n > 3 else 1
    items = [None] * count
    items[0] = n
    pair = (n, 5) * (3 if n == 2 else count)
    return tuple(items), len(items), pair, len(pair)
""",
        n=range(0, 8),
    )
