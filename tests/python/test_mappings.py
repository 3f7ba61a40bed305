"""Dictionaries, their views, and the dictionaries of ``collections``."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.python.operations import check, numbers
from tests.python.programs import same, same_for
from tests.python.support import machine, program, run
from tests.sweeps import examples
from verifier.symbolic import expr as E

EXAMPLES = settings(max_examples=examples(75), deadline=None)

DICT_STEPS = [
    "d.popitem()", "d.clear()", "list(d.copy())", "len(d)", "list(d)", "list(d.items())",
    "list(d.values())", "list(reversed(d))", "d.update(a=1, k=2)", "bool(d)", "list(d.keys())",
    "d.fromkeys('ab', 1)", "d.nothing", "d < d", "hash(d)", "d + d", "[v for v in d.values()]",
]  # fmt: skip
VIEW_STEPS = [
    "sorted(k & ['a', 'q'])", "sorted(k | {'q'})", "sorted(k - d.keys())", "len(k)",
    "sorted(k ^ 'ax')", "sorted(['z'] | k)", "k == {'a', 'b'}", "k <= {'a', 'b', 'c'}", "k > {'a'}",
    "'a' in k", "('a', 1) in i", "('a', 2) in i", "5 in i", "1 in v", "i == {('a', 1), ('b', 2)}",
    "k.isdisjoint('xyz')", "list(v)", "list(i)", "list(k)", "list(reversed(v))", "v == v",
    "v == d.values()", "k.nothing", "k + k", "k[0]", "hash(k)", "v & v", "d['c'] = 3", "del d['a']",
    "d.clear()", "bool(k)", "max(v, default=None)", "sorted(i - {('a', 1)})", "isinstance(k, set)",
]  # fmt: skip
COUNTER_STEPS = [
    "c['a']", "c['zz']", "c['a'] += 2", "c.update('ab')", "c.update({'a': 3})", "c.subtract('aab')",
    "c.update(x=4)", "c.most_common()", "c.most_common(1)", "sorted(c.elements())",
    "list((c + c).items())", "list((c - e).items())", "sorted((c & e).items())",
    "sorted((c | e).items())", "c == e", "c <= e", "c >= e", "'zz' in c", "del c['zz']",
    "sum(c.values())", "len(c)", "list(c)", "c.get('q')", "c == {'a': 3}", "c.fromkeys('a')",
    "c.pop('a')", "dict(c)",
]  # fmt: skip
DEQUE_STEPS = [
    "d.append(5)", "d.appendleft(6)", "d.pop()", "d.popleft()", "d.extend('ab')",
    "d.extendleft([7, 8])", "d.reverse()", "d.clear()", "len(d)", "list(d)", "d[0:1]", "d.maxlen",
    "list(d + d)", "d == deque([1, 2, 3])", "d.count(1)", "d.index(2)", "list(reversed(d))",
    "list(d.copy())", "d += [1]", "d.sort()", "bool(d)", "hash(d)", "d + [1]", "max(d, default=0)",
    "d < deque([2])",
]  # fmt: skip

KEYS = st.sampled_from(
    ["1", "2", "True", "1.0", "'a'", "'b'", "None", "(1, 2)", "(1, 'a')", "[1]", "b'a'",
     "frozenset([1])", "{}", "0.5", "...", "(1, [2])"]
)  # fmt: skip
VALUES = st.sampled_from(["0", "5", "'x'", "[]", "None"])
SOURCES = st.sampled_from(
    ["{}", "{'a': 9, 'z': 0}", "[('a', 7), (3, 4)]", "[(1, 2, 3)]", "[5]", "d", "dict(q=1)", "5",
     "zip('ab', [1, 2])", "((k, k) for k in 'xy')", "['ab']", "None", "list(d.items())", "{'ab'}",
     "''"]
)  # fmt: skip


def operations() -> st.SearchStrategy[list[str]]:
    one = st.one_of(
        KEYS.map(lambda k: f"d[{k}]"),
        KEYS.map(lambda k: f"{k} in d"),
        KEYS.map(lambda k: f"del d[{k}]"),
        st.tuples(KEYS, VALUES).map(lambda p: f"d[{p[0]}] = {p[1]}"),
        KEYS.map(lambda k: f"d.get({k})"),
        st.tuples(KEYS, VALUES).map(lambda p: f"d.get({p[0]}, {p[1]})"),
        st.tuples(KEYS, VALUES).map(lambda p: f"d.setdefault({p[0]}, {p[1]})"),
        KEYS.map(lambda k: f"d.pop({k})"),
        st.tuples(KEYS, VALUES).map(lambda p: f"d.pop({p[0]}, {p[1]})"),
        SOURCES.map(lambda s: f"d.update({s})"),
        SOURCES.map(lambda s: f"list(d | {s})"),
        SOURCES.map(lambda s: f"d |= {s}"),
        SOURCES.map(lambda s: f"d == {s}"),
        SOURCES.map(lambda s: f"list(dict({s}))"),
        st.tuples(KEYS, numbers()).map(lambda p: f"d[{p[0]}] += {p[1]}"),
        st.sampled_from(DICT_STEPS),
    )
    return st.lists(one, min_size=1, max_size=8)


class TestDictionaries:
    @EXAMPLES
    @given(operations())
    def test_operations(self, steps: list[str]) -> None:
        check("d = {'a': 1, 1: 2}", steps, "list(d.items())")

    def test_the_first_of_equal_keys_stays(self) -> None:
        same(
            """
            def run():
                d = {1: 'a', True: 'b', 1.0: 'c', 0.0: 'd', False: 'e'}
                d[(True, 2)] = 1
                d[(1, 2.0)] = 2
                return list(d.items())
            """
        )

    def test_construction(self) -> None:
        same(
            """
            def run():
                a = dict(x=1, y=2)
                b = dict([('x', 1)], x=5, z=3)
                c = {**a, 'x': 9, **{'y': 8}}
                def f(**kw):
                    return list(kw.items())
                return list(a), list(b.items()), list(c.items()), f(**a, q=0), dict(a) is a
            """
        )

    def test_keys_by_identity(self) -> None:
        same(
            """
            class Plain:
                pass

            def run():
                a, b = Plain(), Plain()
                d = {a: 1, b: 2, Plain: 3, len: 4, run: 5}
                d[a] += 10
                return d[a], d[b], d[Plain], d[len], d[run], Plain() in d, list(d)[0] is a
            """
        )

    def test_keys_that_are_equal_by_their_contents(self) -> None:
        same(
            """
            import enum
            from collections import namedtuple
            from dataclasses import dataclass

            @dataclass(frozen=True)
            class Frozen:
                x: int

            @dataclass
            class Mutable:
                x: int

            class Color(enum.Enum):
                RED = 1

            class Level(enum.IntEnum):
                LOW = 1

            Point = namedtuple("Point", "x y")

            def run():
                d = {Frozen(1): 'f', Color.RED: 'c', Level.LOW: 'l', Point(1, 2): 'p'}
                first = list(d)[2] is Level.LOW
                try:
                    d[Mutable(1)] = 1
                except TypeError:
                    first = (first, 'unhashable')
                return (d[Frozen(1)], d[Color.RED], d[1], d[Level.LOW], d[1, 2], d[Point(1, 2)],
                        Frozen(2) in d, first, len(d))
            """
        )

    @pytest.mark.parametrize(
        "change", ["d['x'] = 1", "del d['a']", "d.clear()", "d.pop('a')", "d.update(q=1)"]
    )
    def test_a_change_of_size_under_a_loop(self, change: str) -> None:
        same(f"def run():\n    d = {{'a': 1, 'b': 2}}\n    for k in d:\n        {change}\n")

    def test_other_changes_under_a_loop(self) -> None:
        same(
            """
            def run():
                d = {'a': 1, 'b': 2}
                for k, v in d.items():
                    d[k] = v + 1
                for k in list(d):
                    del d[k]
                    d[k + 'x'] = 0
                return list(d.items())
            """
        )


class TestViews:
    @EXAMPLES
    @given(
        st.lists(
            st.sampled_from(VIEW_STEPS),
            max_size=8,
        )
    )
    def test_operations(self, steps: list[str]) -> None:
        setup = "d = {'a': 1, 'b': 2}\nk, v, i = d.keys(), d.values(), d.items()"
        check(setup, steps, "list(i)")


class TestSymbolicKeys:
    def test_lookup(self) -> None:
        same_for("def run(i):\n    return {1: 'a', 2: 'b'}.get(i, 'none')", i=range(0, 4))
        same_for("def run(i):\n    return {1: 'a', 2: 'b'}[i]", i=range(0, 4))
        same_for("def run(i):\n    return {1: 'a', 'x': 'b', True: 'c'}[i]", i=range(0, 3))
        same_for("def run(i):\n    return i in {1: 'a', 2: 'b'}, {(1, 2): 5}[i, 2]", i=range(1, 2))
        same_for("def run(i, j):\n    return {(0, 1): 'a', (1, 1): 'b'}.get((i, j))",
                 i=range(0, 3), j=range(0, 3))  # fmt: skip

    def test_store(self) -> None:
        same_for(
            """
            def run(i):
                d = {1: 10, 2: 20}
                d[i] += 5
                d[i] = d[i] + 1
                x = d.pop(i)
                return x, len(d), 1 in d
            """,
            i=range(1, 3),
        )

    def test_a_new_symbolic_key_is_not_followed(self) -> None:
        vm = machine("def run(i):\n    d = {1: 2}\n    d[i] = 3\n    return d\n")
        assert run(vm, "run(i)", i=E.symbol("i")).skipped

    def test_keys_that_depend_on_the_path(self) -> None:
        same_for(
            """
            def run(i):
                d = {}
                k = 'a' if i > 1 else 'b'
                d[k] = i
                d.setdefault(k, 5)
                d['a' if i > 2 else 'c'] = 7
                return d.get('a'), d.get('b'), d.get('c'), len(d), d[k], k in d
            """,
            i=range(0, 5),
        )


class TestEntriesOnSomePaths:
    def test_lookups(self) -> None:
        same_for(
            """
            def run(i):
                d = {'k': 0}
                if i > 1:
                    d['a'] = 1
                if i > 2:
                    del d['a']
                return (d.get('a'), d.get('a', 7), 'a' in d, len(d), d == {'k': 0}, bool(d),
                        d.pop('a', 3), len(d), d | {'q': 1} == {'k': 0, 'q': 1})
            """,
            i=range(0, 5),
        )
        same_for(
            "def run(i):\n    d = {}\n    if i > 1:\n        d['a'] = 1\n    return d['a']",
            i=range(0, 4),
        )

    def test_loops(self) -> None:
        same_for(
            """
            def run(i):
                d = {'x': 1}
                if i > 1:
                    d['a'] = 2
                else:
                    d['b'] = 3
                d['c'] = 4
                keys, total = [], 0
                for k, v in d.items():
                    keys.append(k)
                    total += v
                return len(keys), keys[0], keys[-1], keys[1], total, sum(d.values()), list(d)[-1]
            """,
            i=range(0, 4),
        )

    def test_an_order_that_depends_on_the_path_is_not_followed(self) -> None:
        text = """
def run(i):
    d = {'a': 1, 'b': 2}
    if i > 1:
        del d['a']
    d['a'] = 3
    return list(d), len(d), d['a']
"""
        assert run(machine(text), "run(i)", i=E.symbol("i", 0, 5)).skipped
        text = text.replace("list(d)", "0")
        same_for(text, i=range(0, 4))


class TestCollections:
    @EXAMPLES
    @given(operations())
    def test_ordered(self, steps: list[str]) -> None:
        setup = "from collections import OrderedDict\nd = OrderedDict(a=1)\nd[1] = 2"
        more = ["d.move_to_end('a')", "d.move_to_end(1, last=False)", "d.move_to_end('nobody')",
                "d == OrderedDict([(1, 2), ('a', 1)])", "d.popitem(last=False)"]  # fmt: skip
        unlike = ("fromkeys",)
        steps = [s for s in steps if not any(word in s for word in unlike)]
        check(setup, [*steps, *more], "list(d.items())")

    @EXAMPLES
    @given(operations())
    def test_default(self, steps: list[str]) -> None:
        setup = "from collections import defaultdict\nd = defaultdict(list, a=1)\nd[1].append(2)"
        more = ["d['new']", "d['new'].append(1)", "d.default_factory is list", "'other' in d",
                "d.get('other')", "isinstance(d, dict)", "defaultdict(None)[1]",
                "type(d.copy()) is type(d)"]  # fmt: skip
        steps = [s for s in steps if "fromkeys" not in s]
        check(setup, [*steps, *more], "list(d.items())")

    @EXAMPLES
    @given(
        st.lists(
            st.sampled_from(COUNTER_STEPS),
            max_size=7,
        )
    )
    def test_counter(self, steps: list[str]) -> None:
        setup = "from collections import Counter\nc = Counter('abca')\ne = Counter(a=1, d=2)"
        check(setup, steps, "list(c.items())")

    @EXAMPLES
    @given(
        st.sampled_from(["None", "2", "3", "0"]),
        st.lists(
            st.one_of(
                numbers().map(lambda n: f"d.rotate({n})"),
                numbers().map(lambda n: f"d[{n}]"),
                numbers().map(lambda n: f"d[{n}] = 9"),
                numbers().map(lambda n: f"del d[{n}]"),
                numbers().map(lambda n: f"d.insert({n}, 8)"),
                numbers().map(lambda n: f"d.remove({n})"),
                numbers().map(lambda n: f"{n} in d"),
                numbers(0, 3).map(lambda n: f"d *= {n}"),
                st.sampled_from(DEQUE_STEPS),
            ),
            max_size=8,
        ),
    )
    def test_deque(self, limit: str, steps: list[str]) -> None:
        setup = f"from collections import deque\nd = deque([1, 2, 3], {limit})"
        check(setup, steps, "list(d), d.maxlen")

    def test_symbolic(self) -> None:
        same_for(
            """
            from collections import Counter, defaultdict, deque

            def run(i):
                c = Counter('aab')
                c['a'] += i
                groups = defaultdict(list)
                if i > 1:
                    groups['big'].append(i)
                groups['all'].append(i)
                d = deque([1, 2, 3], maxlen=3)
                d.append(i)
                return c['a'], c['z'], len(groups), groups['all'], d.popleft(), d[-1], len(d)
            """,
            i=range(0, 4),
        )


def test_mappings_and_counters_of_the_programs_own() -> None:
    program(
        """\
class R(dict):
    def keys(self): return reversed(list(dict.keys(self)))
    __iter__ = keys
class M:
    def keys(self): return ["x", "y"]
    def __getitem__(self, k): return k * 2
d = R([("a", 1), ("b", 2)])
e = {}
e.update(M())
result = (list(dict(d).items()), e, dict(M(), z=1))
"""
    )
    program(
        """\
from collections import Counter, defaultdict
c = Counter(a=2, b=None)
d = Counter("abca")
d.update({"a": 1})
d.subtract(b=1)
result = [dict(c), dict(d)]
try:
    defaultdict({})
except TypeError:
    result.append("TypeError")
"""
    )
