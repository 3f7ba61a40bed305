"""Comprehensions: their scopes, their loops and conditions, of any length."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.python.programs import same, same_for
from tests.python.support import agrees, agrees_for

ITERABLES = ["range(3)", "[3, 1, 2]", "'ab'", "(x for x in (1, 2))", "{5: 'a', 6: 'b'}"]
ELEMENTS = ["x", "(x, y)", "str(x)", "[x, y]", "x if y else 0", "len(str(x))"]
CONDITIONS = ["", "if x", "if y if x", "if str(x) > str(y)", "if not y"]


@given(
    st.sampled_from(ITERABLES),
    st.sampled_from(ITERABLES),
    st.sampled_from(ELEMENTS),
    st.sampled_from(CONDITIONS),
    st.sampled_from(["[{}]", "list({})", "tuple({})", "sorted(map(str, ({})))", "[*({})]"]),
)
def test_two_loops(first: str, second: str, element: str, condition: str, kind: str) -> None:
    agrees(kind.format(f"{element} for x in {first} for y in {second} {condition}"), {})


@given(
    st.sampled_from(["k + n", "(k, n)", "k * 2", "n", "k // 2 if k else m"]),
    st.sampled_from(["", "if m > 1", "if n > 2 if m"]),
    st.sampled_from(["range(n)", "range(m, n)", "range(n, 0, -1)", "range(0, n, 2)"]),
)
def test_any_number_of_items(element: str, condition: str, iterable: str) -> None:
    ranges = {"n": range(5), "m": range(3)}
    agrees_for(f"[{element} for k in {iterable} {condition}]", ranges)


@pytest.mark.parametrize(
    "source",
    [
        "len([j for k in range(n) for j in range(m)])",
        "sum(k for k in range(n))",
        "sum([j for k in range(n) for j in range(2)])",
        "len([k for k in range(n) if k != m])",
        "sum([k for k in range(n) if not k == m])",
        "len([k for k in range(n) if k < m])",
        "len([k for k in range(0, 7 * n, 2) if k + 2 <= n])",
        "sum([k for k in range(m, n) if n - k > 1])",
        "len([k for k in range(n) if k >= m])",
        "len([k for k in range(n, -1, -1) if k > m])",
        "len([(j, k) for j in range(m) for k in range(n) if k <= j])",
        "len({k for k in range(n) if k < m and k < 2})",
        "len([k for k in range(n) if k < m or k == 2])",
        "[[j + k for j in range(2)] for k in range(n)][m][1]",
        "any(k > m for k in range(n))",
        "max([k * 2 for k in range(n)], default=-1)",
        "{k: k + m for k in range(3)}[n]",
        "n in {k * 2 for k in range(3)}",
    ],
)
def test_what_becomes_of_them(source: str) -> None:
    agrees_for(source, {"n": range(5), "m": range(3)}, known=False)


PROGRAMS = {
    "the first iterable is evaluated outside": """
class A:
    xs = [1, 2]
    ys = [x for x in xs]
    try:
        zs = [y for x in xs for y in xs]
    except NameError:
        zs = None
def run(): return A.ys, A.zs
""",
    "the target is its own": """
def run():
    x = "outer"
    made = [x for x in range(3)]
    return x, made
""",
    "a walrus binds outside": """
def run():
    made = [(last := x) for x in range(3)]
    return last, made
""",
    "functions see the last item": """
def run():
    made = [lambda: x for x in range(3)]
    return [f() for f in made], [f() for f in [lambda x=x: x for x in range(3)]]
""",
    "the order of evaluation": """
def run():
    log = []
    def note(x):
        log.append(x)
        return x
    made = {note(k): note(v) for k in note((1, 2)) for v in note((3,)) if note(k)}
    return log, made
""",
    "a later key wins": """
def run(): return list({k % 2: k for k in range(5)}.items())
""",
    "a generator expression is lazy": """
def run():
    log = []
    def note(x):
        log.append(x)
        return x
    made = (note(x) for x in note([1, 2, 3]))
    log.append("made")
    next(made)
    return log, list(made), log
""",
    "an error in the middle": """
def run():
    out = []
    try:
        [out.append(1 // x) for x in (1, 2, 0, 3)]
    except ZeroDivisionError:
        return out
""",
    "unpacking and items": """
def run():
    d = {}
    return [a + b for a, (b, *_) in [(1, (2, 3)), (4, [5])]], [0 for d["k"] in (1, 2)], d
""",
    "in a class, methods see it": """
class A:
    n = 3
    xs = [k for k in range(n)]
    def get(self): return [x + self.n for x in self.xs]
def run(): return A().get()
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(PROGRAMS[name])


def test_items_are_objects_of_their_own() -> None:
    source = """
        def run(n):
            rows = [[k] for k in range(3)]
            rows[n].append(7)
            return len(rows[0]), len(rows[1]), len(rows[2])
    """
    same_for(source, n=range(3))
