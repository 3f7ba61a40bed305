"""What depends on a few inputs of few values each, and loops of few trips, are told apart."""

from __future__ import annotations

import pytest

from tests.python.support import machine, program_for, run
from verifier.symbolic import expr as E

ORDERED = """
class C:
    def __init__(self, p, q):
        self.p, self.q = p, q

    def __lt__(self, other):
        return self.p < other.p

items = [C(n, 1), C(3, 2), C(m, 3)]
items.sort(reverse=True)
result = [item.q for item in items]
"""

FEW_INPUTS = {
    "a key": "d = {1: 2}\nd[n] = 9\nd[m] = d.get(m, 0) + 2\nresult = sum(d.values())",
    "a default": "d = {}\nfor k in (n, 3):\n    d.setdefault(k, []).append(m)\nresult = d[3]",
    "an element": "s = {1, n}\ns.add(m)\ns.discard(3)\nresult = sum(s)",
    "a pair in a set": "result = (n, m) in {(1, 2), (3, m)}",
    "a text": "result = f'{n}-{m * 5:03d}' + str(n > m) + '%d' % n",
    "a sort": "a = [n, 3, m, 2]\na.sort()\nresult = a",
    "a sort of pairs": "result = sorted([(n, 3), (2, m), (m, 2)], reverse=True)",
    "a sort by a key": "result = sorted([1, 2, 3], key=lambda v: (v * n) % 3)",
    "a sort of the program's own": ORDERED,
}

FEW_TRIPS = {
    "a value carried on": "result = 0\nfor i in range(n):\n    result = 10 - result * i + i % 3",
    "nested": """
result = 0
for i in range(n):
    for j in range(i):
        result = 10 - result * i + j % 3
""",
    "an early end": """
result = 0
for i in range(n):
    if i == m:
        break
    result = 10 - result * i + i % 3
""",
}

FEW_ITEMS = {
    "sorted": "result = sorted([i * 5 % 3 for i in range(n)])",
    "sort": "a = [i * 5 % 3 for i in range(n)]\na.sort()\nresult = a",
    "max": "result = max(i * 5 % 3 for i in range(n + 1))",
    "no max": "result = max([i * 5 % 3 for i in range(n)])",
    "a set": "result = len(set([i * 5 % 3 for i in range(n)]))",
    "index": "result = [i % 3 for i in range(n + 1)].index(m % 2)",
    "remove": "a = [i % 3 for i in range(n)]\na.remove(1)\nresult = a",
    "count": "result = [i % 3 for i in range(n)].count(m)",
    "in": "result = m in [i * 5 % 3 for i in range(n)]",
    "a run in a list": "result = [[2 for q in range(n + 1)], [1]]",
}


@pytest.mark.parametrize("source", FEW_INPUTS.values(), ids=FEW_INPUTS)
def test_few_inputs(source: str) -> None:
    program_for(source, {"n": range(0, 4), "m": range(1, 6)})


@pytest.mark.parametrize("source", FEW_TRIPS.values(), ids=FEW_TRIPS)
def test_few_trips(source: str) -> None:
    program_for(source, {"n": range(0, 6), "m": range(0, 4)})


@pytest.mark.parametrize("source", FEW_ITEMS.values(), ids=FEW_ITEMS)
def test_few_items(source: str) -> None:
    program_for(source, {"n": range(0, 4), "m": range(1, 6)})


def test_many_values_are_not_followed() -> None:
    assert run(machine(), "{1, n}", n=E.symbol("n", 0, 1000)).skipped
