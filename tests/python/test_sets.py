"""Sets and frozen sets: CPython's behaviour, also where elements are there on some paths only."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.python.operations import check
from tests.python.programs import same, same_for
from tests.python.support import machine, run
from tests.sweeps import examples
from verifier.symbolic import expr as E

EXAMPLES = settings(max_examples=examples(75), deadline=None)

SET_STEPS = [
    "s.clear()", "s.copy()", "len(s)", "bool(s)", "s[0]", "s.nothing", "s + s", "s.add()",
    "s is s.copy()", "t.copy() is t", "t.add(1)", "t | s", "type(s | t) is type(t | s)",
    "{t: 1}[frozenset([3, 1])]", "hash(s)", "set([1]) in {frozenset([1])}", "t == {1, 3}",
    "{v * 2 for v in [1, 2, 1]}", "{*[1, 2], 3}",
]  # fmt: skip

VALUES = st.sampled_from(["0", "1", "2", "7", "True", "1.0", "'x'", "None", "(1, 2)", "[1]", "{}"])
SOURCES = st.sampled_from(
    ["{1, 2}", "set()", "[2, 9]", "'xy'", "range(3)", "{7: 1}", "frozenset([1, 'x'])", "s", "5",
     "[[1]]", "(v for v in [1, 5])", "{1: 2}.keys()", "{1: 2}.items()", "None"]
)  # fmt: skip
NAMES = [
    "union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset",
    "isdisjoint", "update", "intersection_update", "difference_update",
    "symmetric_difference_update",
]  # fmt: skip


def operations() -> st.SearchStrategy[list[str]]:
    one = st.one_of(
        VALUES.map(lambda v: f"s.add({v})"),
        VALUES.map(lambda v: f"s.discard({v})"),
        VALUES.map(lambda v: f"s.remove({v})"),
        VALUES.map(lambda v: f"{v} in s"),
        st.tuples(st.sampled_from(NAMES), SOURCES).map(lambda p: f"s.{p[0]}({p[1]})"),
        st.tuples(SOURCES, SOURCES).map(lambda p: f"s.union({p[0]}, {p[1]})"),
        st.tuples(st.sampled_from("&|-^"), SOURCES).map(lambda p: f"s {p[0]} {p[1]}"),
        st.tuples(st.sampled_from("&|-^"), SOURCES).map(lambda p: f"{p[1]} {p[0]} s"),
        st.tuples(st.sampled_from("&|-^"), SOURCES).map(lambda p: f"s {p[0]}= {p[1]}"),
        st.tuples(st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), SOURCES).map(
            lambda p: f"s {p[0]} {p[1]}"
        ),
        SOURCES.map(lambda v: f"set({v})"),
        SOURCES.map(lambda v: f"frozenset({v})"),
        st.sampled_from(SET_STEPS),
    )
    return st.lists(one, min_size=1, max_size=8)


class TestOperations:
    @EXAMPLES
    @given(operations())
    def test_operations(self, steps: list[str]) -> None:
        check("s = {1, 2, 3}\nt = frozenset([1, 3])", steps, "s, t")

    def test_the_last_one_is_popped(self) -> None:
        check("s = {'x'}", ["s.pop()", "s.pop()", "len(s)"], "s")

    def test_equal_elements_of_other_types(self) -> None:
        same(
            """
            def run():
                a = {1} | {True}
                b = {1} & {True}
                c = {True, 1.0, 1}
                d = {1, 2} & {True}
                return [[type(v).__name__ for v in x] for x in (a, b, c, d)]
            """
        )


class TestOrder:
    @EXAMPLES
    @given(st.lists(st.integers(0, 40), max_size=20), st.lists(st.integers(0, 40), max_size=6))
    def test_small_numbers(self, items: list[int], dropped: list[int]) -> None:
        """Where the machine tells an order, it is CPython's."""
        text = f"""
def run():
    s = set({items})
    for x in {dropped}:
        s.discard(x)
    s |= set({dropped[:2]})
    return list(s), [v for v in s], sorted(s), sum(s), max(s, default=0), len(s)
"""
        outcome = run(machine(text), "run()")
        place: dict[str, object] = {}
        exec(text, place)
        if not outcome.skipped:
            assert outcome.host == eval("run()", place)

    def test_what_needs_no_order(self) -> None:
        same(
            """
            def run():
                s = {'b', 'a', 'c'}
                n = {1000, -1, 5}
                return (sorted(s), min(s), max(n), sum(n), any(s), all(n), set(s) == s, len(s),
                        frozenset(n) == n, sorted(n, reverse=True), {*s} == s, list({'only'}))
            """
        )

    @pytest.mark.parametrize(
        "source",
        ["list({'a', 'b'})", "tuple({1000, 5})", "[v for v in {'x', 'y'}]", "{-1, 1}.pop()",
         "sum({0.5, 1.5, 1e300})", "sorted({'a', 'b'}, key=len)", "','.join({'a', 'b'})",
         "next(iter({'a', 'b'}))", "dict.fromkeys({'a', 'b'})"],
    )  # fmt: skip
    def test_other_orders_are_not_followed(self, source: str) -> None:
        assert run(machine(), source).skipped

    @pytest.mark.parametrize("change", ["s.add(9)", "s.discard(1)", "s.clear()"])
    def test_a_change_of_size_under_a_loop(self, change: str) -> None:
        same(f"def run():\n    s = {{1, 2}}\n    for k in s:\n        {change}\n")


class TestSymbolic:
    def test_elements_on_some_paths(self) -> None:
        same_for(
            """
            def run(i):
                s = {1, 2}
                if i > 1:
                    s.add(3)
                if i > 2:
                    s.discard(1)
                t = s | {9}
                total = 0
                for v in s:
                    total = total * 10 + v
                return (len(s), 3 in s, s == {1, 2}, s <= {1, 2, 3}, sum(s), len(t), len(s & {3}),
                        len(s ^ {3}), bool(s - {1, 2}), total, s.isdisjoint({3}))
            """,
            i=range(0, 5),
        )

    def test_a_symbolic_element(self) -> None:
        same_for("def run(i):\n    return i in {1, 3}, i in set(), i in {(1, 2)}", i=range(0, 5))
        same_for(
            "def run(i):\n    s = {1, 2}\n    s.add(i)\n    s.remove(i)\n    return len(s), 1 in s",
            i=range(1, 3),
        )
        for call in ("s.remove(i)", "s.discard(i)"):
            text = f"def run(i):\n    s = {{1, 2}}\n    {call}\n    return len(s), s == {{1}}\n"
            same_for(text, i=range(0, 4))
        vm = machine("def run(i):\n    return {1, i}\n")
        assert run(vm, "run(i)", i=E.symbol("i")).skipped

    def test_a_set_of_a_run(self) -> None:
        same_for(
            "def run(n):\n    return len(set([7 for _ in range(n)])), len(set([0] * n))",
            n=range(0, 4),
        )
        vm = machine("def run(n):\n    return set([k for k in range(n)])\n")
        assert run(vm, "run(n)", n=E.symbol("n", 0)).skipped
