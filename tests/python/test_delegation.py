"""What ``yield from`` gives back, and how ``%`` writes instances."""

from __future__ import annotations

import pytest

from tests.python.programs import same

HEAD = """
from collections import namedtuple
def tryit(f):
    try: return f()
    except Exception as e: return type(e).__name__
def several(*fs): return [tryit(f) for f in fs]
class It:
    def __init__(self, n): self.n = n
    def __iter__(self): return self
    def __next__(self):
        self.n -= 1
        if self.n < 0: raise StopIteration(42)
        return self.n
class Own:
    def __iter__(self):
        yield 1
        return 7
class Old:
    def __getitem__(self, k):
        if k > 2: raise IndexError
        return k
class Via:
    def __iter__(self): return It(2)
class Lst:
    def __iter__(self): return iter([1, 2])
def g(x):
    r = yield from x
    yield ("r", r)
"""

PROGRAMS = {
    "results of iterators": """
def run(): return ([list(g(x)) for x in (It(3), It(0), Own(), Old(), Via(), Lst(), [1], "ab",
        range(2), {1: 2}, (k for k in "xy"))])
""",
    "errors": """
class E:
    def __iter__(self): return self
    def __next__(self): raise ValueError
def run(): return several(lambda: list(g(E())), lambda: list(g(3)), lambda: list(g(None)))
""",
    "no iterator": """
class N:
    def __iter__(self): return 3
def run(): return several(lambda: list(g(N())))
""",
    "through several": """
def run():
    def inner():
        yield 1
        return 5
    def outer():
        r = yield from Wrap()
        return r
    class Wrap:
        def __iter__(self): return inner()
    def top():
        v = yield from outer()
        yield v
    return list(top())
""",
    "instances in a format": """
class S(str):
    def __str__(self): return "own"
class R(str):
    def __repr__(self): return "rep"
class P(str): pass
class I(int): pass
NT = namedtuple("NT", "a b")
class D(dict): pass
def run(): return several(lambda: "%s" % P("x"), lambda: "%d" % I(3),
        lambda: "%s %s" % NT(1, 2), lambda: "%(a)s" % D(a=1),
        lambda: "%s" % (P("a"),) if False else 1, lambda: "%s" % NT(1, 2),
        lambda: "%5.1f" % I(2))
""",
    "places in a format": """
def run(): return several(lambda: "{9223372036854775808}".format(1),
        lambda: "{9223372036854775807}".format(1),
        lambda: "{0[99999999999999999999999]}".format([1]),
        lambda: "{0[1]}".format([1, 2]), lambda: "{0[5]}".format([1]), lambda: "{1}".format(1))
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(HEAD + PROGRAMS[name])
