"""``for`` and ``while``: exact trips, generic trips, what they carry, and the ways out."""

from __future__ import annotations

import pytest

from tests.python.support import execute, machine, program, program_for
from verifier.symbolic.python import whiles

CONCRETE = {
    "continue and else": """
result = []
for i in range(7):
    if i % 3 == 1:
        continue
    result.append(i)
else:
    result.append("end")
""",
    "break skips else": """
result = 0
for i in range(9):
    result += i
    if i == 4:
        break
else:
    result = -1
""",
    "break in an inner loop": """
result = []
for i in range(3):
    for j in range(5):
        if j > i:
            break
        result.append((i, j))
    else:
        result.append(None)
""",
    "a list that grows while it is run through": """
result = [1]
for x in result:
    if len(result) < 6:
        result.append(x + 1)
""",
    "lists of each trip are their own": """
result = []
for i in range(3):
    result.append([])
result[1].append(5)
""",
    "rebound in some trips only": """
best = None
for i in range(6):
    if i % 4 == 1:
        best = i
result = best
""",
    "while with else": """
n, result = 11, []
while n > 1:
    n = n // 2
    result.append(n)
else:
    result.append("end")
""",
    "while, over a list that shrinks for long": """
left, result = list(range(300)), 0
while left:
    result += left.pop()
""",
    "while with break": """
n = result = 0
while True:
    n += 3
    if n > 10:
        break
    if n == 6:
        continue
    result += n
""",
    "for over unpacked pairs": """
result = 0
for k, (a, *rest) in enumerate([(1, 2, 3), (4, 5)]):
    result += k * a + len(rest)
""",
    "the target after the loop": """
for i in range(4):
    pass
result = i
""",
    "the target of an empty loop": """
for i in range(0):
    pass
result = i
""",
    "nested lists by index": """
result = [[0] * 3 for _ in range(2)]
for i in range(2):
    for j in range(3):
        result[i][j] += i * 3 + j
""",
}

SYMBOLIC = {
    "a counter": """
total = 4
for i in range(n):
    total += 3
result = total
""",
    "what is left": """
left, taken = n, 0
for i in range((n + 1) // 2):
    piece = min(left, 2)
    left -= piece
    taken += piece
result = (left, taken)
""",
    "the trip before": """
last = -1
for i in range(n):
    last = i * i
result = last
""",
    "a list, by index": """
items = []
for i in range(n):
    items.append(i * 2 + 1)
result = items[n - 1] if n > 0 else None
""",
    "a rotation": """
a, b, c = 1, 2, 3
for i in range(n):
    a, b, c = b, c, a
result = (a, b, c)
""",
    "while, in closed form": """
i = 0
while i < n:
    i += 3
result = i
""",
    "halving": """
steps, m = 0, n
while m > 1:
    m //= 2
    steps += 1
result = steps
""",
    "early return out of a loop": """
def first(limit):
    for i in range(4):
        if i * i >= limit:
            return i
    return -1
result = first(n)
""",
    "break on a condition": """
result = 0
for i in range(5):
    if i == n:
        break
    result += 10
else:
    result += 1
""",
    "functions share what is around them": """
def made(n):
    t, functions = 2, []
    for i in range(n + 1):
        def one(p, k=i):
            return p * k + i + t
        functions.append(one)
    t = 5
    return functions[0](2)
result = made(n)
""",
    "a list that grows is kept in another": """
a, b = [], []
for i in range(n):
    a.append(i)
    b.append(a)
result = sum(len(e) for e in b)
""",
    "a flag set in some trip": """
seen = False
for i in range(4):
    if i == n:
        seen = True
result = seen
""",
}


@pytest.mark.parametrize("name", CONCRETE)
def test_concrete_loops_are_cpythons(name: str) -> None:
    program(CONCRETE[name])


@pytest.mark.parametrize("name", SYMBOLIC)
def test_symbolic_loops_are_right_for_every_number_of_trips(name: str) -> None:
    program_for(SYMBOLIC[name], {"n": range(0, 6)})


@pytest.mark.parametrize(
    ("loop", "trips"),
    [
        ("while go > 2:\n    n = n + 1", whiles.ENDLESS),
        ("while go > 2:\n    n = n + 1\n    if n < 0:\n        break", whiles.LIMIT),
        ("while go > 2:\n    n = n + 1\n    go = 3", whiles.LIMIT),
    ],
)
def test_a_loop_that_nothing_in_it_ends_is_left_soon(
    loop: str, trips: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, trip = [0], whiles._While.trip

    def counted(self: whiles._While) -> None:
        gone[0] += 1
        trip(self)

    monkeypatch.setattr(whiles._While, "trip", counted)
    monkeypatch.setattr(whiles, "LIMIT", 2 * whiles.ENDLESS)
    vm = machine()
    outcome = execute(vm, f"go, n = 3, 0\n{loop}\n")
    assert gone[0] == min(trips, 2 * whiles.ENDLESS)
    assert any("a while loop runs more than" in entry.message for entry in outcome.skipped)
