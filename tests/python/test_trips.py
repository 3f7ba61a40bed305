"""Generic trips: loops of any length, against CPython's own trips for each length."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.python.support import (
    UNKNOWN,
    assignments,
    at,
    execute,
    machine,
    program_for,
    right_or_unknown,
)
from tests.sweeps import examples
from verifier.symbolic import expr as E
from verifier.symbolic.trace import LedgerKind

#: what a trip may do: numbers, places that pass values around, lists
STEPS = (
    "a += 2",
    "a -= b",
    "a += i",
    "b = a",
    "b = i + 1",
    "a, b = b, a",
    "a, b, c = b, c, a",
    "c = 3 - c",
    "c = b + 1",
    "last = i",
    "piece = min(rest, 3)",
    "piece = min(2, rest)",
    "rest -= piece",
    "taken += piece",
    "xs.append(i)",
    "xs.append(a)",
    "ys[0] = i",
    "ys[1], ys[0] = ys[0], a",
    "ys[0] += 1",
    "zs = xs",
    "zs = []",
    "zs.append(i)",
    "d['k'] = i",
    "d['k'] += 2",
    "if i > 1: a += 1",
    "if m > 1: b += 3",
    "if i == 2: c = a",
    "for j in range(i): a += 1",
    "for j in range(2): xs.append(j)",
    "if a > 6: break",
    "if i == 1: continue",
)
HEAD = """
a, b, c, last, rest, taken, piece = 1, 5, 0, -1, m * 3 + 1, 0, 0
xs, ys, d = [], [7, 8], {'k': 1}
zs = []
"""
SHOWN = "result = (a, b, c, last, rest, taken, piece, len(xs), ys[0], ys[1], d['k'], len(zs))"
RANGES = {"n": range(5), "m": range(4)}


def text(steps: list[str]) -> str:
    body = "\n".join(f"    {step}" for step in steps)
    return f"{HEAD}\nfor i in range(n):\n{body}\n{SHOWN}\n"


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=5), st.booleans())
def test_what_is_said_of_any_loop_is_right(steps: list[str], few: bool) -> None:
    right_or_unknown(text(steps), RANGES, few)


#: loops that have a closed form, of which nothing may be lost
CLOSED = {
    "a sum": ["a += 2", "b -= a * 0 + 1"],
    "a rest and its pieces": ["piece = min(rest, 3)", "rest -= piece", "taken += piece"],
    "two places": ["a, b = b, a"],
    "three places": ["a, b, c = b, c, a"],
    "what the trip before left": ["b = c", "c = i + 4"],
    "what another place left": ["b = a", "a += 2", "last = rest", "rest -= min(rest, 3)"],
    "a list": ["xs.append(i)", "xs.append(a)"],
    "a list of runs": ["for j in range(2): xs.append(j)"],
    "items of a list": ["ys[0] = i", "ys[1] = a"],
    "an entry of a dictionary": ["d['k'] += 2"],
    "a branch on what is outside": ["if m > 1: b += 3"],
    "a list of its own in each trip": ["zs = []", "zs.append(i)"],
    "early ends": ["a += 1", "if m == 2: continue", "b += 2"],
}


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms(name: str) -> None:
    program_for(text(CLOSED[name]), RANGES)


@pytest.mark.parametrize(
    "name", sorted(set(CLOSED) - {"a branch on what is outside", "early ends"})
)
def test_closed_forms_of_loops_of_any_length(name: str) -> None:
    vm = machine()
    source = text(CLOSED[name])
    outcome = execute(vm, source, n=E.symbol("n", 0), m=E.symbol("m", 0))
    assert not outcome.skipped and not vm.trace.ledger
    for env in assignments(RANGES):
        place: dict[str, object] = dict(env)
        exec(source, place)
        assert at(vm, outcome.value, env) == place["result"], env


#: equal contents do not make one object of two
ALIASES = {
    "another list from the second trip on": """
xs, zs = [], []
for i in range(n):
    zs.append(i)
    zs = xs
result = (len(xs), len(zs))
""",
    "one of two lists": """
a, b = [], []
c = a
for i in range(n):
    if i == 1: c = b
c.append(1)
result = (len(a), len(b))
""",
    "two lists in a tuple": """
p, q = [], []
t = (p, q)
for i in range(n):
    t = (t[1], t[0])
t[0].append(3)
result = (len(p), len(q))
""",
    "a new list in an attribute": """
class A: pass
a = A()
b = a.x = []
for i in range(n):
    a.x = []
b.append(7)
result = (len(a.x), len(b))
""",
    "a list in a list": """
xs = []
for i in range(n):
    xs = [xs]
result = len(xs)
""",
}


@pytest.mark.parametrize("name", ALIASES)
def test_objects_are_told_apart(name: str) -> None:
    program_for(ALIASES[name], {"n": range(5)})


def test_what_has_no_closed_form_is_unknown_and_listed() -> None:
    vm = machine()
    outcome = execute(vm, text(["a = a * a + i"]), n=E.symbol("n", 0, 40), m=E.symbol("m", 0, 3))
    assert isinstance(outcome.value, tuple)
    assert at(vm, outcome.value[0], {"n": 3, "m": 0}) is UNKNOWN
    assert at(vm, outcome.value[1], {"n": 3, "m": 0}) == 5  # the others are not touched
    assert any(entry.kind is LedgerKind.HAVOC for entry in vm.trace.ledger)


def test_a_loop_of_constant_length_is_unrolled_for_what_has_no_closed_form() -> None:
    program_for(text(["a = a * 2 + b"]).replace("range(n)", "range(6)"), RANGES)


def test_a_loop_without_trips_leaves_everything() -> None:
    program_for(text(["a = 0", "xs.append(1)", "last = 9"]).replace("range(n)", "range(0)"), RANGES)


def test_the_target_after_the_loop() -> None:
    source = "i = 'before'\nfor i in range(n): pass\nresult = i\n"
    program_for(source, {"n": range(5)})


def test_an_error_in_some_trip() -> None:
    source = "result = 0\nfor i in range(n):\n    result += 12 // (3 - i)\n"
    vm = machine()
    outcome = execute(vm, source, n=E.symbol("n", 0, 6))
    raised = {
        n: any(E.evaluate(E.and_(e.guard), {"n": n, "i": 3}) for e in outcome.escapes)
        for n in range(7)
    }
    assert raised == {n: n > 3 for n in range(7)}
