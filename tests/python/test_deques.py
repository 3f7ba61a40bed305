"""``collections``: operations on deques, counters and dictionaries, one after the other."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.python.operations import check
from tests.python.programs import same, same_for
from tests.sweeps import examples

DEQUE = st.sampled_from(
    [
        "d.append(1)", "d.appendleft(2)", "d.pop()", "d.popleft()", "d.extend([3, 4])",
        "d.extendleft((5, 6))", "d.rotate(1)", "d.rotate(-2)", "d.rotate()", "d.insert(1, 7)",
        "d.remove(1)", "d.reverse()", "d.clear()", "d.index(3)", "d.count(1)", "d[0]", "d[-1]",
        "d[5]", "d[0] = 8", "del d[0]", "len(d)", "1 in d", "list(reversed(d))", "list(d.copy())",
        "d == deque([1])", "list(d + deque([9]))", "list(d * 2)", "d += [1]", "d.maxlen", "d[0:1]",
        "bool(d)", "sorted(d)", "d < deque([2])",
    ]
)  # fmt: skip
COUNTER = st.sampled_from(
    [
        "c['a']", "c['z']", "c['a'] += 2", "c['b'] -= 3", "c.update('ab')", "c.update({'a': 2})",
        "c.subtract('ac')", "c.most_common(1)", "list(c.elements())", "c.pop('a')", "del c['a']",
        "sorted(c.items())", "sum(c.values())", "dict(c + Counter('a'))", "dict(c - Counter('ab'))",
        "dict(c & Counter('aab'))", "dict(c | Counter('aab'))", "'a' in c", "len(c)", "dict(+c)",
        "c == Counter('ab')", "c.clear()", "c.total() if hasattr(c, 'total') else 0",
    ]
)  # fmt: skip
DICTS = st.sampled_from(
    [
        "d['a']", "d['z']", "d['a'] = 1", "d['b'] = 2", "del d['a']", "d.pop('a')", "d.popitem()",
        "d.get('q', 5)", "d.setdefault('b', 7)", "d.update(a=3)", "list(d)", "list(d.items())",
        "'a' in d", "len(d)", "dict(d)", "list(d | {'c': 9})", "d == {'a': 1}", "d.clear()",
        "list(d.copy().items())", "d.move_to_end('a')", "d.move_to_end('a', last=False)",
        "d.popitem(last=False)", "list(reversed(d))", "d.default_factory",
    ]
)  # fmt: skip
IMPORT = "from collections import deque, Counter, OrderedDict, defaultdict"


@settings(deadline=None, max_examples=examples(50))
@given(
    st.sampled_from(["", "[1, 2, 3]", "[1, 2], 2", "'ab', 0", "range(5), 3"]),
    st.lists(DEQUE, max_size=5),
)
def test_deques(start: str, operations: list[str]) -> None:
    check(f"{IMPORT}\nd = deque({start})", operations, "list(d)")


@settings(deadline=None, max_examples=examples(50))
@given(st.sampled_from(["", "'aab'", "{'a': 2, 'b': -1}", "a=1"]), st.lists(COUNTER, max_size=6))
def test_counters(start: str, operations: list[str]) -> None:
    check(f"{IMPORT}\nc = Counter({start})", operations, "sorted(c.items())")


@settings(deadline=None, max_examples=examples(50))
@given(
    st.sampled_from(
        ["OrderedDict()", "OrderedDict(a=1, b=2)", "defaultdict(int)", "defaultdict(None, a=1)"]
    ),
    st.lists(DICTS, max_size=6),
)
def test_dictionaries_with_something_more(start: str, operations: list[str]) -> None:
    if "default" in start or "OrderedDict" in start:
        operations = [o for o in operations if ".default_factory" not in o or "None" in start]
    check(f"{IMPORT}\nd = {start}", operations, "list(d.items())")


def test_a_deque_of_limited_length_drops_the_other_end() -> None:
    same("""
        from collections import deque
        def run():
            d = deque([1, 2, 3], maxlen=3)
            d.append(4)
            out = list(d)
            d.appendleft(0)
            d.extend([7, 8])
            try:
                d.insert(0, 1)
            except IndexError:
                out.append("full")
            return out, list(d), d.maxlen
    """)


def test_a_factory_is_called_for_what_is_missing_only() -> None:
    same("""
        from collections import defaultdict
        def run():
            log = []
            def make():
                log.append(len(log))
                return [len(log)]
            d = defaultdict(make)
            d["a"].append(1)
            d["a"].append(2)
            return dict(d), log, "b" in d, d.get("b"), log
    """)


def test_items_by_path() -> None:
    program = """
        from collections import Counter, defaultdict, deque
        def run(n):
            d, c, q = defaultdict(int), Counter(), deque([5, 6, 7])
            d[n] += 1
            if n > 1:
                c["a"] += n
                q.popleft()
            return d[2], c["a"], q[0], len(q)
    """
    same_for(program, n=range(4))
