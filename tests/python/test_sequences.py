"""Lists, tuples, ranges and slices: CPython's behaviour, concrete and symbolic."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.python.operations import bounds, check, numbers
from tests.python.programs import same, same_for
from tests.python.support import SPAN, agrees, machine, program, run
from tests.sweeps import examples
from verifier.symbolic import expr as E
from verifier.symbolic.python.heap import ListBox, Many
from verifier.symbolic.python.inputs import LazyShape, Parameter
from verifier.symbolic.python.vm import VM

EXAMPLES = settings(max_examples=examples(75), deadline=None)

LIST_STEPS = [
    "a.pop()", "a.clear()", "a.reverse()", "a.copy()", "a.sort()", "len(a)", "bool(a)",
    "a.sort(key=str)", "a.sort(reverse=True)", "a.sort(key=str, reverse=True)", "a[:]",
    "sorted(a, key=str)", "list(reversed(a))", "tuple(a)", "a == a[:]", "a != list(a)", "a.nothing",
    "a.append()", "a.append(1, 2)", "a.pop('x')", "a.__len__()", "hash(a)", "a + 5", "a < [1, 2]",
    "a >= (1,)", "a is a", "[v for v in a]", "a.extend()",
]  # fmt: skip
TUPLE_STEPS = [
    "t < (1, 3)", "t >= (1, 'x')", "t[0] = 1", "del t[0]", "t.append(1)", "len(t)",
    "hash(t[:1]) == hash((1,))", "t[None]", "t['x']", "t[1.0]", "bool(t)",
]  # fmt: skip

ITERABLES = st.sampled_from(
    ["[]", "[7]", "(7, 8)", "'xy'", "range(3)", "range(5, 0, -2)", "{5: 1}", "{3}", "a", "5",
     "None", "(v for v in [1, 2])", "iter([4])", "map(str, [1])", "a[:2]", "[1, 2, 3, 4]",
     "zip([1], [2])"]
)  # fmt: skip
VALUES = st.sampled_from(["0", "1", "2", "7", "True", "1.0", "'x'", "None", "(1,)", "[1]"])


def list_operations() -> st.SearchStrategy[str]:
    return st.one_of(
        VALUES.map(lambda v: f"a.append({v})"),
        ITERABLES.map(lambda v: f"a.extend({v})"),
        st.tuples(numbers(), VALUES).map(lambda p: f"a.insert({p[0]}, {p[1]})"),
        numbers().map(lambda n: f"a.pop({n})"),
        st.sampled_from(LIST_STEPS),
        VALUES.map(lambda v: f"a.remove({v})"),
        VALUES.map(lambda v: f"a.index({v})"),
        VALUES.map(lambda v: f"a.count({v})"),
        VALUES.map(lambda v: f"{v} in a"),
        st.tuples(VALUES, numbers(), numbers()).map(lambda p: f"a.index({', '.join(p)})"),
        numbers().map(lambda n: f"a[{n}]"),
        st.tuples(numbers(), VALUES).map(lambda p: f"a[{p[0]}] = {p[1]}"),
        numbers().map(lambda n: f"del a[{n}]"),
        bounds().map(lambda b: f"a[{b}]"),
        bounds().map(lambda b: f"del a[{b}]"),
        st.tuples(bounds(), ITERABLES).map(lambda p: f"a[{p[0]}] = {p[1]}"),
        st.tuples(bounds(), numbers(-1, 3)).map(lambda p: f"a[{p[0]}] *= {p[1]}"),
        ITERABLES.map(lambda v: f"a += {v}"),
        ITERABLES.map(lambda v: f"a + {v}"),
        numbers(-1, 3).map(lambda n: f"a *= {n}"),
        numbers(-1, 3).map(lambda n: f"{n} * a"),
        ITERABLES.map(lambda v: f"list({v})"),
        ITERABLES.map(lambda v: f"a == {v}"),
        ITERABLES.map(lambda v: f"a < {v}"),
    )


class TestLists:
    @EXAMPLES
    @given(st.lists(list_operations(), min_size=1, max_size=8))
    def test_operations(self, operations: list[str]) -> None:
        check("a = [1, 2, 3]\nb = a", operations, "a, a is b")

    @EXAMPLES
    @given(st.lists(numbers(), max_size=6), bounds(), st.lists(numbers(), max_size=4))
    def test_assignment_to_slices(self, items: list[str], place: str, new: list[str]) -> None:
        setup = f"a = [{', '.join(items)}]"
        check(setup, [f"a[{place}] = [{', '.join(new)}]", f"del a[{place}]"], "a")

    @EXAMPLES
    @given(st.lists(st.sampled_from(["1", "2.5", "True", "0", "-3", "'a'", "(1, 2)", "(1,)"])))
    def test_sorting(self, items: list[str]) -> None:
        setup = f"a = [{', '.join(items)}]"
        check(setup, ["sorted(a)", "sorted(a, reverse=True)", "sorted(a, key=str)"], "a")

    def test_sorting_by_the_order_of_a_class(self) -> None:
        same(
            """
            class Size:
                def __init__(self, n):
                    self.n = n
                def __lt__(self, other):
                    return self.n // 10 < other.n // 10

            def run():
                items = [Size(n) for n in (25, 11, 27, 3, 14, 21)]
                up = [s.n for s in sorted(items)]
                items.sort(reverse=True)
                return up, [s.n for s in items]
            """
        )

    def test_a_loop_sees_what_it_changes(self) -> None:
        same(
            """
            def run():
                a, seen = [1, 2, 3, 4], []
                for x in a:
                    seen.append(x)
                    if x == 2:
                        a.remove(1)
                    if x == 4:
                        a.append(5)
                return a, seen
            """
        )

    def test_one_object_in_many_places(self) -> None:
        same(
            """
            def run():
                row = [0] * 2
                rows = [row] * 3
                rows[0][1] = 5
                other = [[0] for _ in range(2)]
                other[0].append(1)
                return rows, other, rows[0] is rows[2], other[0] is other[1]
            """
        )


class TestTuples:
    @EXAMPLES
    @given(
        st.lists(
            st.one_of(
                VALUES.map(lambda v: f"t.index({v})"),
                VALUES.map(lambda v: f"t.count({v})"),
                VALUES.map(lambda v: f"{v} in t"),
                bounds().map(lambda b: f"t[{b}]"),
                numbers().map(lambda n: f"t[{n}]"),
                numbers(-1, 3).map(lambda n: f"t * {n}"),
                ITERABLES.map(lambda v: f"tuple({v})"),
                ITERABLES.map(lambda v: f"t == {v}"),
                ITERABLES.map(lambda v: f"t + {v}"),
                st.sampled_from(TUPLE_STEPS),
            ),
            max_size=6,
        )
    )
    def test_operations(self, operations: list[str]) -> None:
        check("t = (1, 'x', 2.0)\na = [1]", operations, "t")


class TestRanges:
    @EXAMPLES
    @given(
        numbers(-6, 8),
        numbers(-6, 8),
        st.sampled_from(["1", "2", "3", "-1", "-2"]),
        bounds(),
        numbers(),
    )
    def test_operations(self, start: str, stop: str, step: str, place: str, n: str) -> None:
        setup = f"r = range({start}, {stop}, {step})"
        operations = [
            "list(r)", "len(r)", "bool(r)", "list(reversed(r))", f"list(r[{place}])", f"r[{place}]",
            f"r[{n}]", f"{n} in r", f"r.index({n})", f"r.count({n})", "r == range(0)", "'x' in r",
            f"r == range({n}, {stop}, {step})", "r.start, r.stop, r.step", "{r: 1}[r]", "r < r",
            f"{n}.0 in r", "r + r", "r[0] = 1", "r.nothing", "max(r, default=None)",
        ]  # fmt: skip
        check(setup, operations, "r")

    @pytest.mark.parametrize(
        "source",
        ["range(1.0)", "range('x')", "range(0, 3, 0)", "range()", "range(1, 2, 3, 4)",
         "range(None)", "range(True)", "range(stop=3)", "list(range(-2))"],
    )  # fmt: skip
    def test_construction(self, source: str) -> None:
        agrees(source, {})

    def test_symbolic(self) -> None:
        same_for(
            """
            def run(a, b, s):
                r = range(a, b, s)
                return (len(r), bool(r), 2 in r, r[0] if r else None, r[-1] if r else None,
                        len(r[1:]), len(r[:-1]), r == range(a, b, s), len(r[::-1]))
            """,
            a=range(0, 3),
            b=range(0, 6),
            s=range(1, 4),
        )


class TestSlices:
    @EXAMPLES
    @given(bounds(), st.integers(0, 6))
    def test_indices(self, place: str, length: int) -> None:
        class Probe:
            def __class_getitem__(cls, item: object) -> object:
                return item

        made = eval(f"Probe[{place}]", {"Probe": Probe})
        source = f"slice({made.start}, {made.stop}, {made.step})"
        agrees(f"{source}.indices({length})", {})
        agrees(f"list(range({length}))[{source}]", {})
        agrees(f"({source}.start, {source}.stop, {source}.step)", {})

    def test_errors(self) -> None:
        check(
            "a = [1, 2]",
            ["slice()", "slice(1, 2, 3, 4)", "slice(1).indices('x')", "slice(1).indices(-1)",
             "a[1.0:]", "a['x':]", "a[None:None:None]", "slice(1) == slice(1)", "slice(1).foo"],
            "a",
        )  # fmt: skip


class TestShapes:
    """``x.shape`` of a parameter whose rank nobody has said."""

    @staticmethod
    def shape(vm: VM) -> LazyShape:
        p = Parameter("x", SPAN)
        vm.inputs.parameters["x"] = p
        return LazyShape(p)

    @pytest.mark.parametrize(
        ("source", "shown", "assumed"),
        [
            ("len(s)", "x.rank", []),
            ("s[0]", "x.shape[0]", []),
            ("s[2]", "x.shape[2]", [""]),
            ("s[-3]", "x.shape[0]", ["x has rank 3"]),
            ("s == s", "True", []),
            ("s[:2]", "(x.shape[0], x.shape[1])", ["x has rank 2"]),
            ("(1,) + s", "(1, x.shape[0], x.shape[1])", ["x has rank 2"]),
            ("sum(s)", "x.shape[0] + x.shape[1]", ["x has rank 2"]),
            ("tuple(list(s))", "(x.shape[0], x.shape[1])", ["x has rank 2"]),
            ("isinstance(s, tuple)", "True", []),
            ("s == (3,)", "((x.rank + -1 == 0) and (x.shape[0] + -3 == 0))", []),
            ("next(reversed(s))", "x.shape[1]", ["x has rank 2"]),
        ],
    )
    def test_uses(self, source: str, shown: str, assumed: list[str]) -> None:
        vm = machine()
        outcome = run(vm, source, s=self.shape(vm))
        assert repr(outcome.value) == shown
        assert [a.text for a in vm.trace.assumptions] == assumed
        assert not outcome.skipped and not outcome.escapes

    def test_an_index_beyond_the_rank(self) -> None:
        vm = machine("def run(s):\n    if len(s) == 2:\n        return s[2]\n    return 0\n")
        outcome = run(vm, "run(s)", s=self.shape(vm))
        assert [str(e.guard) for e in outcome.escapes] == ["(x.rank + -2 == 0)"]


class TestSymbolicIndices:
    def test_items(self) -> None:
        same_for("def run(i):\n    return [10, 20, 30][i]", i=range(-5, 5))
        same_for("def run(i):\n    return (10, 20, 30)[i]", i=range(-5, 5))

    def test_stores(self) -> None:
        same_for(
            """
            def run(i):
                a = [1, 2, 3]
                a[i] = 7
                a[i] += 1
                return a
            """,
            i=range(-5, 5),
        )

    @pytest.mark.parametrize(
        "line", ["del a[i]", "a.insert(i, 9)", "a.append(a.pop(i))", "a[i:] = [9]", "a[:i] = []"]
    )
    def test_changes(self, line: str) -> None:
        shown = "len(a), a == [1, 2, 3], a[-1:]" if ":" in line else "a"
        text = f"def run(i):\n    a = [1, 2, 3]\n    {line}\n    return {shown}\n"
        same_for(text, i=range(-5, 5))

    def test_slices(self) -> None:
        same_for(
            """
            def run(i, j):
                a = [1, 2, 3]
                b = a[i:j]
                return len(b), 2 in b, bool(b), b == [2], b == a
            """,
            i=range(-4, 5),
            j=range(-4, 5),
        )

    def test_search(self) -> None:
        same_for(
            """
            def run(i):
                a = [1, i, 2, 1]
                return a.index(i), a.count(1), 3 in a, a == [1, 1, 2, 1], a < [1, 1, 2, 0]
            """,
            i=range(0, 4),
        )
        same_for("def run(i):\n    return [5, 6].index(i)", i=range(4, 8))
        same_for("def run(i):\n    a = [1, 2, 1]\n    a.remove(i)\n    return a", i=range(0, 4))

    def test_sorting_what_depends_on_the_inputs(self) -> None:
        vm = machine("def run(i):\n    a = [i, 2]\n    a.sort()\n    return a[1]\n")
        found = run(vm, "run(i)", i=E.symbol("i")).value
        assert isinstance(found, E.Expr)
        assert [E.evaluate(found, {"i": i}) for i in (1, 2, 3)] == [2, 2, 3]


class TestRuns:
    """Lists of symbolic length."""

    def test_basics(self) -> None:
        same_for(
            """
            def run(n):
                a = [2 * k for k in range(n)]
                b = list(range(n))
                c = [0] * n
                if n == 0:
                    return a == [], len(b), bool(c)
                return len(a), a[0], a[n - 1], a[-1], b[-1], c[n - 1], len(c), bool(a), len(a + b)
            """,
            n=range(0, 6),
        )

    def test_pieces(self) -> None:
        same_for(
            """
            def run(n):
                a = [2 * k for k in range(n)]
                b, c, d, e = a[1:], a[:-1], a[::-1], a[1:3]
                a.append(100)
                a.extend([1, 2])
                x = a.pop()
                a.reverse()
                return (len(b), len(c), len(d), len(e), b[0] if n > 1 else None,
                        c[-1] if n > 1 else None, d[0] if n else None, len(e), x, a[0], a[1],
                        a[2] if n else None, len(a), len(a * 2), len(a.copy()))
            """,
            n=range(0, 6),
        )

    def test_stores(self) -> None:
        same_for(
            """
            def run(n, i):
                a = [0] * n
                a[i] = 5
                return a[0], a[n - 1], len(a)
            """,
            n=range(1, 5),
            i=range(0, 5),
        )

    def test_items_on_some_paths(self) -> None:
        same_for(
            """
            def run(n):
                a = [1]
                if n > 1:
                    a.append(2)
                a.append(n)
                b = [x + 1 for x in a]
                return len(a), a[-1], a[1], 2 in a, a == [1, 2, 3], b[-1], len(b)
            """,
            n=range(0, 5),
        )

    def test_lists_are_equal(self) -> None:
        same_for(
            """
            def run(n):
                a = [k for k in range(n)]
                return a == [0, 1, 2], a == list(range(n)), a != [], a == (0, 1)
            """,
            n=range(0, 5),
        )

    @pytest.mark.parametrize("change", ["a.append(1)", "a[0] = 5", "del a[0]", "a.clear()"])
    @pytest.mark.parametrize("source", ["a", "enumerate(a)", "zip(a, range(n))", "reversed(a)"])
    def test_a_change_under_a_loop_is_not_followed(self, source: str, change: str) -> None:
        text = f"""
def run(n):
    a = [0 for _ in range(n)]
    for x in {source}:
        {change}
    return len(a)
"""
        assert run(machine(text), "run(n)", n=E.symbol("n", 1)).skipped

    def test_what_is_inside_is_kept_apart(self) -> None:
        vm = machine("def run(n):\n    return [[k] for k in range(n)]\n")
        outcome = run(vm, "run(n)", n=E.symbol("n", 0))
        box = vm.box(outcome.value)
        assert isinstance(box, ListBox) and isinstance(box.segments[0], Many)
        assert not outcome.skipped


def test_slices_are_compared_and_copied() -> None:
    program(
        """\
import copy
s = slice(1, [2], 3)
t = copy.deepcopy(s)
result = (copy.copy(s) is s, t == s, t is s, t.stop is s.stop, slice(1) < slice(2), s <= s, s < s)
"""
    )
