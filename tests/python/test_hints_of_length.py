"""``operator.length_hint``: how many items there may be."""

from __future__ import annotations

import pytest

from tests.python.programs import same

HEAD = """
import itertools, collections
from operator import length_hint
def tryit(f):
    try: return f()
    except Exception as e: return type(e).__name__
def several(*fs): return [tryit(f) for f in fs]
class A:
    def __len__(self): return 4
class B:
    def __length_hint__(self): return 7
class C:
    def __length_hint__(self): return NotImplemented
class D:
    def __len__(self): raise TypeError
    def __length_hint__(self): return 2
class E:
    def __length_hint__(self): return "a"
class F:
    def __length_hint__(self): return -1
class G:
    def __length_hint__(self): raise TypeError
class H:
    def __len__(self): return -1
"""

PROGRAMS = {
    "instances": """
def run(): return several(*[lambda c=c: length_hint(c(), 9) for c in (A, B, C, D, E, F, G, H)])
""",
    "values and iterators": """
def run(): return several(lambda: length_hint([1, 2]),
        lambda: length_hint(iter([1, 2])), lambda: length_hint(reversed([1, 2, 3])),
        lambda: length_hint(iter((1,))), lambda: length_hint(iter("abc")),
        lambda: length_hint(iter(range(5))), lambda: length_hint({1: 2}),
        lambda: length_hint(iter({1: 2})), lambda: length_hint({1: 2}.items()),
        lambda: length_hint(iter({1, 2})), lambda: length_hint(reversed({1: 2})),
        lambda: length_hint(itertools.repeat(1, 4)),
        lambda: length_hint(map(str, [1])), lambda: length_hint(k for k in "a"),
        lambda: length_hint(3, 5), lambda: length_hint(None))
""",
    "iterators that go on": """
def run():
    out = []
    for make in (list, tuple, str, dict.fromkeys, collections.deque):
        it = iter(make("abc"))
        for k in range(5):
            out.append(length_hint(it))
            next(it, None)
    return out
""",
    "what changes meanwhile": """
def run():
    l = [1, 2, 3]
    it = iter(l); r = reversed(l)
    next(it); next(r)
    l.append(4)
    a = length_hint(it), length_hint(r)
    del l[:]
    b = length_hint(it), length_hint(r)
    d = {1: 2, 3: 4}
    k = iter(d); next(k)
    d[5] = 6
    return a, b, length_hint(k), list(it), tryit(lambda: list(k))
""",
    "arguments and attributes": """
def run(): return several(lambda: length_hint([], 1.0), lambda: length_hint([], "a"),
        lambda: length_hint(), lambda: length_hint([], True),
        lambda: hasattr(iter([]), "__length_hint__"),
        lambda: hasattr(map(str, []), "__length_hint__"),
        lambda: hasattr(zip(), "__length_hint__"), lambda: iter([1]).__length_hint__(),
        lambda: hasattr((k for k in ""), "__length_hint__"))
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(HEAD + PROGRAMS[name])
