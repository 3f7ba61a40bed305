"""Sorting, grouping and iterators that share another one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.python.programs import same, same_for, unknown
from tests.python.support import agrees

ITEMS = st.lists(st.one_of(st.integers(-3, 3), st.floats(-2, 2), st.booleans()), max_size=7)
MIXED = st.lists(st.one_of(st.integers(-3, 3), st.sampled_from(["a", "b", None])), max_size=4)
KEYS = st.sampled_from(
    ["None", "lambda x: -x", "lambda x: x % 2", "str", "lambda x: (x > 0, str(x))"]
)


@given(ITEMS, KEYS, st.booleans())
def test_sorted_and_stable(items: list[object], key: str, reverse: bool) -> None:
    agrees(f"sorted(x, key={key}, reverse=r)", {"x": items, "r": reverse})
    agrees(f"(lambda y: (y.sort(key={key}, reverse=r), y)[1])(list(x))", {"x": items, "r": reverse})


@given(MIXED)
def test_what_cannot_be_sorted(items: list[object]) -> None:
    agrees("sorted(x)", {"x": items})
    agrees("(min(x), max(x))", {"x": items})


@given(st.lists(st.integers(0, 2), max_size=6), st.sampled_from(["None", "lambda v: v > 0"]))
def test_groups(items: list[int], key: str) -> None:
    text = "import itertools\n"
    agrees(f"[(k, list(g)) for k, g in itertools.groupby(x, {key})]", {"x": items}, text)
    agrees(f"[k for k, g in itertools.groupby(x, {key})]", {"x": items}, text)
    agrees(f"[list(g) for k, g in list(itertools.groupby(x, {key}))]", {"x": items}, text)


PROGRAMS = {
    "by `<` alone, in CPython's order": """
class A:
    def __init__(self, x): self.x = x
    def __lt__(self, other):
        log.append((self.x, other.x))
        return self.x < other.x
log = []
def run(): return [a.x for a in sorted([A(3), A(1), A(2)])], log
""",
    "a key is asked once for each item": """
def run():
    log = []
    def key(x):
        log.append(x)
        return -x
    return sorted([2, 3, 1], key=key), log
""",
    "an error while sorting": """
def run():
    items = [3, "a", 1]
    try:
        items.sort()
    except TypeError:
        return "type", len(items)
""",
    "equal ones, backwards": """
class A:
    def __init__(self, x): self.x = x
    def __lt__(self, other):
        log.append((self.x, other.x))
        return self.x // 2 < other.x // 2
log = []
def run(): return [a.x for a in sorted(map(A, [4, 2, 3, 5, 0, 1]), reverse=True)], log
""",
    "a comparison that raises": """
class A:
    def __init__(self, x): self.x = x
    def __lt__(self, other):
        log.append((self.x, other.x))
        if other.x == 2: raise KeyError
        return self.x < other.x
log = []
def run():
    try:
        return sorted([A(3), A(1), A(2), A(0)])
    except KeyError:
        return log
""",
    "tee": """
import itertools
def run():
    source = iter([1, 2, 3])
    a, b = itertools.tee(source)
    out = [next(a), next(a), next(b)]
    return out, list(a), list(b), list(source)
""",
    "a group is over when the next one begins": """
import itertools
def run():
    groups = itertools.groupby("aabb")
    k, first = next(groups)
    j, second = next(groups)
    return k, list(first), j, list(second)
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(PROGRAMS[name])


def test_a_list_that_is_changed_while_it_is_sorted_is_not_followed() -> None:
    unknown("""
        def run():
            items = [3, 1, 2]
            items.sort(key=lambda x: items.append(x) or x)
    """)


def test_the_order_of_symbols() -> None:
    program = """
        def run(n, m):
            a, b, c = sorted([n, m, 2])
            return a, b, c, sorted([n, m], reverse=True)[0], sorted([(n, 1), (m, 0)])[0][1]
    """
    same_for(program, n=range(4), m=range(4))
