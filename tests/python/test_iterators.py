"""Iterators: iter, next, enumerate, zip, map, filter, reversed, and ``itertools``."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.python.operations import check, numbers
from tests.python.programs import same, same_for
from tests.python.support import machine, run
from tests.sweeps import examples
from verifier.symbolic import expr as E
from verifier.symbolic.values import Opaque

EXAMPLES = settings(max_examples=examples(75), deadline=None)

STEPS = [
    "next(i)", "next(i, 'end')", "a.append(9)", "a.pop()", "a.insert(0, 8)", "list(i)", "next(e)",
    "next(z)", "next(r)", "next(r, 'end')", "next(m)", "next(f, 'end')", "2 in i", "a.clear()",
    "iter(i) is i", "next(g, 'end')", "i.__next__()", "next(d)", "h.pop('a', 0)", "len(i)",
    "bool(i)", "i[0]", "i == i", "list(r)",
]  # fmt: skip
ITERTOOLS_STEPS = [
    "next(c)", "next(s)", "next(p)", "next(a)", "next(b)", "next(g)[0]", "next(z)",
    "(lambda p: (p[0], next(p[1])))(next(g))", "next(w)", "next(y)", "list(a)", "source.append(4)",
    "next(n)", "list(s)", "next(x)", "list(g)[-1][0]", "list(b)",
]  # fmt: skip

SOURCES = st.sampled_from(
    ["[1, 2, 3]", "(4, 5)", "'ab'", "range(3)", "[]", "{'k': 1}", "{7}", "iter([1, 2])", "5",
     "(v for v in [1, 0, 2])", "map(abs, [-1, -2])", "enumerate('xy')", "zip([1], [2])", "b'ab'",
     "filter(None, [0, 3])", "reversed([1, 2])", "{'k': 1}.items()", "[(1, 2), (3, 4)]", "None",
     "count_to(3)", "Squares(3)", "Old(2)"]
)  # fmt: skip
SETUP = """
def count_to(n):
    k = 0
    while k < n:
        k += 1
        yield k
class Squares:
    def __init__(self, n):
        self.n, self.k = n, 0
    def __iter__(self):
        return self
    def __next__(self):
        if self.k == self.n:
            raise StopIteration
        self.k += 1
        return self.k * self.k
class Old:
    def __init__(self, n):
        self.n = n
    def __len__(self):
        return self.n
    def __getitem__(self, k):
        if k >= self.n:
            raise IndexError
        return k * 10
from itertools import accumulate, chain, combinations, combinations_with_replacement, compress
from itertools import count, cycle, dropwhile, filterfalse, groupby, islice, pairwise, permutations
from itertools import product, repeat, starmap, takewhile, tee, zip_longest
it = iter([1, 2, 3])
""".strip()


class TestBuiltins:
    @EXAMPLES
    @given(SOURCES, SOURCES, numbers(-2, 4))
    def test_made_of_any_source(self, a: str, b: str, n: str) -> None:
        steps = [
            f"list(iter({a}))", f"list(enumerate({a}))", f"list(enumerate({a}, {n}))",
            f"list(zip({a}, {b}))", f"list(zip({a}, {b}, strict=True))", f"list(map(str, {a}))",
            f"list(map(lambda x, y: (x, y), {a}, {b}))", f"list(filter(None, {a}))",
            f"list(reversed({a}))", f"next(iter({a}))", f"next(iter({a}), 'none')", f"next({a})",
            f"list(filter(lambda v: v != 1, {a}))", f"1 in iter({a})", f"[*{a}, *{b}]",
            f"tuple({a})", f"sum(1 for _ in {a})", f"max({a}, default=None)",
            f"sorted(map(str, {a}))", f"len({a})", f"dict(enumerate({a}))", f"list(zip({a}))",
            f"any({a})", f"all({a})",
        ]  # fmt: skip
        check(SETUP, steps, "0")

    @EXAMPLES
    @given(
        st.lists(
            st.sampled_from(STEPS),
            max_size=12,
        )
    )
    def test_they_are_lazy(self, steps: list[str]) -> None:
        setup = """
a = [1, 2, 3]
h = {'a': 1, 'b': 2}
i, e, z, r = iter(a), enumerate(a, 5), zip(a, 'xyz'), reversed(a)
m, f, g, d = map(str, a), filter(None, a), (v * 2 for v in a), iter(h)
""".strip()
        check(setup, steps, "a, list(i), list(e), list(m), list(f), list(g)")

    def test_errors(self) -> None:
        check(
            "a = [1]",
            ["iter(5)", "next(5)", "next([1])", "next(iter([]))", "enumerate()", "enumerate(5)",
             "zip(5)", "zip([1], strict=True, foo=1)", "map(str)", "map()", "filter(None)",
             "reversed(5)", "reversed({1})", "reversed(iter([]))", "enumerate([1], start='x')",
             "list(map(5, [1]))", "iter(5, 0)", "list(zip())", "list(reversed({'a': 1}))",
             "list(iter([1, 2, 0, 3].pop, 0))", "type(iter([])) is type(iter([1]))"],
            "a",
        )  # fmt: skip

    def test_a_zip_takes_what_it_takes(self) -> None:
        same(
            """
            def run():
                a, b = iter([1, 2, 3]), iter([4])
                x = list(zip(a, b))
                c, d = iter([1]), iter([4, 5, 6])
                y = list(zip(c, d))
                return x, list(a), y, list(d)
            """
        )

    def test_loops_over_one_iterator(self) -> None:
        same(
            """
            def run():
                it, out = iter(range(10)), []
                for x in it:
                    if x % 3 == 0:
                        out.append((x, next(it, None)))
                    if x == 7:
                        break
                else:
                    out.append('else')
                for x in it:
                    out.append(x)
                return out
            """
        )


class TestItertools:
    @EXAMPLES
    @given(SOURCES, SOURCES, numbers(-1, 4), numbers(-1, 4))
    def test_made_of_any_source(self, a: str, b: str, n: str, k: str) -> None:
        steps = [
            f"list(chain({a}, {b}))", f"list(chain.from_iterable([{a}, {b}]))",
            f"list(islice({a}, {n}))", f"list(islice({a}, {n}, None))",
            f"list(islice({a}, {k}, {n}, 2))", f"list(islice(cycle({a}), {n}))",
            f"list(accumulate({a}))", f"list(accumulate({a}, lambda x, y: (x, y)))",
            f"list(accumulate({a}, initial={n}))", f"list(product({a}, {b}))",
            f"list(product({a}, repeat={n}))", f"list(combinations({a}, {n}))",
            f"list(permutations({a}, {n}))", f"list(permutations({a}))",
            f"list(combinations_with_replacement({a}, {n}))",
            f"list(takewhile(lambda v: v != 2, {a}))", f"list(dropwhile(lambda v: v != 2, {a}))",
            f"list(starmap(lambda *v: v, {a}))", f"list(zip_longest({a}, {b}, fillvalue={n}))",
            f"list(pairwise({a}))", f"list(compress({a}, {b}))", f"list(filterfalse(None, {a}))",
            f"[(key, list(group)) for key, group in groupby({a})]",
            f"[(key, list(group)) for key, group in groupby({a}, key=str)]",
            f"[list(t) for t in tee({a})]", f"[list(t) for t in tee({a}, {n})]",
            f"list(islice(count({n}, {k}), 3))", f"list(repeat({a}, 0))",
            f"len(list(repeat(1, {n})))",
        ]  # fmt: skip
        check(SETUP, steps, "0")

    @EXAMPLES
    @given(
        st.lists(
            st.sampled_from(ITERTOOLS_STEPS),
            max_size=10,
        )
    )
    def test_they_are_lazy(self, steps: list[str]) -> None:
        setup = """
from itertools import accumulate, chain, count, cycle, groupby, islice, pairwise, takewhile, tee
from itertools import zip_longest
source = [1, 1, 2, 3]
c, s, p = chain(source, 'ab'), islice(source, 1, None, 2), pairwise(source)
a, b = tee(source)
g, z, w = groupby(source), zip_longest(source, 'x'), takewhile(lambda v: v < 3, source)
y, n, x = cycle(source), count(3), accumulate(source)
""".strip()
        check(setup, steps, "source, list(c), list(p), list(a), list(b)")

    @pytest.mark.skipif(sys.version_info < (3, 12), reason="new in Python 3.12")
    def test_batched(self) -> None:
        check(
            "from itertools import batched",
            ["list(batched('abcde', 2))", "list(batched([], 3))", "list(batched([1], 0))"],
            "0",
        )


class TestSymbolic:
    """What runs through a symbolic number of items is a loop of as many trips."""

    @pytest.mark.parametrize(
        "source",
        ["enumerate(range(n))", "enumerate(xs, 3)", "zip(xs, range(n))", "zip(xs, xs)",
         "zip(xs, [5, 6, 7])", "reversed(range(n))", "reversed(xs)", "iter(xs)", "iter(range(n))",
         "map(lambda v: v + 1, range(n))", "map(lambda v, w: v + w, xs, range(n))",
         "product(range(n), range(3))", "product(xs, [7, 8])", "chain([1], xs)", "repeat(4, n)",
         "islice(xs, 2)", "islice(xs, 1, None)", "pairwise(xs)", "(v * 2 for v in xs)",
         "xs[::-1]", "[*xs, 1]", "chain(xs, range(n))", "zip(range(n), xs, strict=True)",
         "enumerate(zip(xs, range(n)))", "list(enumerate(xs))", "tee(xs)[0]",
         "(pair for pair in enumerate(xs))"],
    )  # fmt: skip
    def test_a_loop(self, source: str) -> None:
        same_for(
            f"""
            from itertools import chain, islice, pairwise, product, repeat, tee

            def run(n):
                xs = [2 * k for k in range(n)]
                trips, last = 0, None
                for item in {source}:
                    trips += 1
                    last = item
                return trips, last
            """,
            n=range(0, 5),
        )

    def test_single_items(self) -> None:
        same_for(
            """
            def run(n):
                xs = [2 * k for k in range(n)]
                it = iter(xs)
                a = next(it)
                b = next(it, 'none')
                return a, b, next(reversed(xs)), next(enumerate(xs)), next(zip(xs, range(n)))
            """,
            n=range(0, 4),
        )

    def test_where_an_iterator_is_depends_on_the_path(self) -> None:
        same_for(
            """
            def run(i):
                it = iter([1, 2, 3])
                if i > 1:
                    next(it)
                if i > 2:
                    next(it)
                a = next(it)
                total = 0
                for x in it:
                    total = total * 10 + x
                return a, total, next(it, 'end')
            """,
            i=range(0, 5),
        )

    def test_items_on_some_paths(self) -> None:
        same_for(
            """
            def run(i):
                xs = [1, 2]
                if i > 1:
                    xs.append(3)
                pairs = list(zip(xs, 'abc'))
                kept = list(filter(lambda v: v != i, xs))
                return (len(pairs), len(kept), list(enumerate(xs))[-1],
                        next((x for x in xs if x > i), 'none'), sum(map(lambda v: v * v, xs)))
            """,
            i=range(0, 5),
        )

    def test_what_has_no_form_is_not_followed(self) -> None:
        for source in ("accumulate(range(n))", "takewhile(bool, range(n))", "groupby([0] * n)"):
            text = f"""
from itertools import accumulate, groupby, takewhile

def run(n):
    last = 0
    for item in {source}:
        last = item
    return last
"""
            assert run(machine(text), "run(n)", n=E.symbol("n", 0)).skipped

    def test_what_is_not_followed_has_any_number_of_items(self) -> None:
        for loop in ("zip(o, [1, 2])", "enumerate(o)", "map(abs, o)", "zip([3], iter(o))"):
            text = f"""
def run(o):
    trips = 0
    for item in {loop}:
        trips += 1
    return trips
"""
            vm = machine(text)
            outcome = run(vm, "run(o)", o=Opaque("the data"))
            assert not outcome.skipped
            assert isinstance(outcome.value, E.Expr) and not outcome.value.is_const
        text = "def run(o):\n    for x, y in zip(o, [[], []]):\n        y.append(x)\n"
        assert run(machine(text), "run(o)", o=Opaque("the data")).skipped

    def test_an_iterator_that_a_loop_runs_through_is_not_asked_meanwhile(self) -> None:
        text = """
def run(n):
    it = enumerate(range(n))
    for k, x in it:
        next(it)
    return k
"""
        assert run(machine(text), "run(n)", n=E.symbol("n", 0)).skipped


def test_sources_that_end_on_some_paths_before_others() -> None:
    same_for(
        """
        from itertools import chain, zip_longest

        def run(a, b):
            left = [a for _ in range(3) if a in (0, 2)]
            right = chain([b] if b > 1 else [], (4,))
            out = []
            for x, y in zip_longest(left, right, fillvalue=-1):
                out.append(10 * x + y)
            return out
        """,
        a=range(4),
        b=range(3),
    )


@pytest.mark.parametrize(
    "made",
    [
        "chain([b] if b > 1 else [])",
        "chain([b] if b > 1 else [], [8])",
        "chain.from_iterable([[b]] if b > 1 else [])",
        "pairwise([b, 2, 3] if b > 1 else [1])",
        "takewhile(lambda v: v < 2, [b, 1, b])",
        "map(lambda v, w: v + w, [1, 2, 3], [b] if b else [])",
        "starmap(lambda *v: sum(v), [(1, b)] if b else [(1, 2), (3,)])",
        "zip_longest([b] if b else [], (1, 2), fillvalue=b)",
    ],
)
def test_how_far_an_iterator_is_may_hang_on_the_path(made: str) -> None:
    same_for(
        f"""
        from itertools import *

        def run(b):
            c = {made}
            out = [next(c, -5)]
            if b == 2:
                out.append(next(c, -6))
            out.append(next(c, -7))
            out.extend(islice(c, 2))
            return out
        """,
        b=range(4),
    )


class TestGroupsThatDependOnThePath:
    @pytest.mark.parametrize(
        "result",
        [
            "len(list(next(groups)[1]))",
            "sum(next(groups)[1])",
            "next(groups)[0] + next(groups, (9, 0))[0]",
            "(list(next(groups)[1]) and 0) + next(groups, (9, 0))[0]",
            "sum(1 for _ in groups)",
            "[len(list(group)) for _, group in groups][0]",
        ],
    )
    def test_keys_that_may_be_equal(self, result: str) -> None:
        same_for(
            f"""
            from itertools import groupby

            def run(n):
                groups = groupby([n, 1])
                return {result}
            """,
            n=range(1, 4),
        )

    def test_many_conditions_are_not_followed(self) -> None:
        vm = machine("from itertools import groupby\n")
        a, b, c = (E.symbol(name, 1, 2) for name in "abc")
        source = "[len(list(group)) for _, group in groupby([a, b, c, 1])]"
        outcome = run(vm, source, a=a, b=b, c=c)
        assert outcome.skipped
        assert vm.steps < 1000


@pytest.mark.parametrize(
    "iterable", ["n", "None", "Counted()", "[n]", "(n,)", "{n: 1}", "Old()", "iter([n])", "abs"]
)
def test_a_generator_expression_takes_an_iterator_when_it_is_made(iterable: str) -> None:
    same_for(
        f"""
        class Counted:
            asked = 0

            def __iter__(self):
                Counted.asked += 1
                return iter([1, 2])

        class Old:
            def __getitem__(self, k):
                raise IndexError

        def run(n):
            made = (item for item in {iterable})
            return Counted.asked
        """,
        n=range(1, 3),
    )


def test_a_loop_over_entries_that_are_taken_out_ends() -> None:
    vm = machine("def run(d, n):\n    return [d.pop(k) for k in d if k == n]\n")
    n = E.symbol("n", 1, 2)
    outcome = run(vm, "run({1: 1, 2: 2}, n)", n=n)
    assert outcome.skipped
    assert vm.steps < 100
