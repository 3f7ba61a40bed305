"""Functions with some of their arguments given: partial, itemgetter."""

from __future__ import annotations

import pytest

from tests.python.programs import same

HEAD = """
import functools, operator
from functools import partial
def tryit(f):
    try: return f()
    except Exception as e: return type(e).__name__
def several(*fs): return [tryit(f) for f in fs]
def f(*a, **k): return a, k
"""

PROGRAMS = {
    "parts": """
def run():
    p = partial(f, 1, x=2)
    q = partial(p, 3, x=4, y=5)
    return (p.args, p.keywords, q.args, q.keywords, q.func is f, p(9), q(9, z=1),
        p.keywords is p.keywords)
""",
    "keywords that are changed": """
def run():
    p = partial(f, 1, x=2)
    p.keywords["y"] = 3
    q = partial(p, z=4)
    p.keywords["x"] = 9
    return p(), q(), p.keywords, q.keywords
""",
    "attributes": """
def run():
    p = partial(f, 1)
    p.note = 7
    q = partial(p, 2)
    r = p.note, q.func is p, q.args, q()
    del p.note
    def drop(): del p.note
    def put(): p.func = 3
    return r, hasattr(p, "note"), tryit(drop), tryit(put), tryit(lambda: p.nothing)
""",
    "what is refused": """
def run(): return several(lambda: partial(), lambda: partial(3), lambda: partial(None),
        lambda: partial(len)([1]), lambda: isinstance(partial(len), partial),
        lambda: callable(partial(len)), lambda: partial(dict, a=1)(b=2))
""",
    "a class that derives from partial": """
class P(partial):
    extra = 3
    def twice(self, *a): return self(*a), self(*a)
def run():
    p = P(f, 1, x=2)
    p.note = 5
    return (p(3), p.args, p.keywords, p.extra, p.twice(4), p.note, isinstance(p, partial),
        p.func is f)
""",
    "calls of such a class": """
class P(partial): pass
class Q(partial):
    def __call__(self, *a): return "own", super().__call__(*a)
def run(): return Q(f, 1)(2), partial(P(f, 1), 2)(3), P(P(f, 1), 2)(3)
""",
    "partial functions of such instances": """
class P(partial): pass
def run():
    inner = P(f, 1)
    flat = P(inner, x=True)
    inner.note = 3
    deep = P(inner, x=True)
    return flat.func is f, flat.args, flat.keywords, deep.func is inner, deep.args, flat(), deep()
""",
    "getters": """
def run():
    g = operator.itemgetter(1)
    h = operator.attrgetter("x")
    def put(): g.a = 1
    return (type(g) is operator.itemgetter, isinstance(g, partial), tryit(lambda: g.func),
        tryit(put), g([1, 2]), tryit(lambda: h.args), isinstance(h, operator.attrgetter))
""",
    "in classes": """
class C:
    m = partial(f, 1)
    def n(self): return partial(self.k, 2)
    def k(self, *a): return a
def run(): return C().m(2), C().n()(3), C.m(4)
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(HEAD + PROGRAMS[name])
