"""What ``functools`` makes that remembers or wraps: variants of one another."""

from __future__ import annotations

import pytest

from tests.python.programs import same, unknown

HEAD = """
import functools
from functools import lru_cache, cache, cached_property, wraps, update_wrapper, cmp_to_key
"""

PROGRAMS = {
    "values that are equal and of several types": """
log=[]
@lru_cache(maxsize=2)
def f(x):
    log.append(x)
    return x
def run():
    out=[f(1),f(1.0),f(True),f(1),f(2),f(3)]
    i=f.cache_info()
    return out, log, i.hits, i.misses, i.currsize, tuple(i), i.maxsize, f.cache_parameters()
""",
    "a cache that asks for types": """
log=[]
@lru_cache(typed=True)
def f(x, k=0):
    log.append(x)
    return [x]
def run():
    a=f(1); b=f(1.0); c=f(1)
    return a is c, a is b, log, f.cache_info().hits, f.cache_parameters()
""",
    "keywords and tuples as keys": """
log=[]
@lru_cache
def f(*a, **k):
    log.append((a,k))
    return len(log)
def run():
    out=[f(1,x=2),f(1,x=2),f((1,),(('x',2),)),f(x=1,y=2),f(y=2,x=1),f(),f(),f(()),f(("x",))]
    return out, f.cache_info()[:2]
""",
    "a cache that keeps nothing": """
@lru_cache(maxsize=-3)
def f(x): return 1
def run():
    f([]); f([])
    i = f.cache_info()
    f.cache_clear()
    return tuple(i), tuple(f.cache_info()), f.cache_parameters()
""",
    "a wrong limit": """
def run():
    @lru_cache(maxsize="x")
    def f(x): return 1
""",
    "a recursive function with a small cache": """
@lru_cache(maxsize=2)
def fib(n): return n if n<2 else fib(n-1)+fib(n-2)
def run():
    r=fib(12); i=fib.cache_info()
    return r, tuple(i)
""",
    "a recursive function": """
@cache
def fib(n): return n if n<2 else fib(n-1)+fib(n-2)
def run():
    r=fib(12); i=fib.cache_info()
    return r, tuple(i), i == (10, 13, None, 13), i.hits
""",
    "a limit that is a truth value": """
@lru_cache(maxsize=True)
def f(n): return n
def run():
    f(1); f(2)
    return tuple(f.cache_info())
""",
    "a call that raises": """
@cache
def f(n):
    if n: raise ValueError
    return n
def run():
    for k in (1,1,0,0):
        try: f(k)
        except ValueError: pass
    return tuple(f.cache_info())
""",
    "wrapping with nothing taken over": """
def run():
    def f(): "doc"
    f.x=1
    def g(): pass
    g.y=2
    update_wrapper(g, f, ())
    return g.__name__, g.x, g.y, g.__wrapped__ is f, g.__doc__
""",
    "wrapping with a choice": """
def run():
    def f(): "doc"
    f.x=1
    def g(): pass
    update_wrapper(g, f, ('__name__','x','nothing'), ())
    return g.__name__, g.x, g.__doc__
""",
    "wrapping without the dictionary": """
def run():
    def f(): "doc"
    f.x=1
    @wraps(f, updated=())
    def g(): pass
    return g.__name__, hasattr(g,'x'), g.__doc__
""",
    "a key that is not hashable": """
def run():
    k = cmp_to_key(lambda a,b: a-b)
    try: hash(k(1))
    except TypeError: return 'no', {1: 2}
""",
    "a list that is not hashable": """
class L(list): pass
def run():
    try: hash(L())
    except TypeError: pass
    try: {L(): 1}
    except TypeError: pass
    L.__hash__ is None
    return L.__hash__ is None, L().__hash__ is None
""",
    "a dictionary with a hash": """
class L(dict):
    def __hash__(self): return 3
def run():
    return hash(L())
""",
    "a cached property that is assigned to": """
class P:
    @cached_property
    def a(self): return [1]
    @property
    def b(self): return 2
def run():
    p=P()
    q = p.a is p.a
    p.a = 5
    return q, p.a, p.b
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(HEAD + PROGRAMS[name])


def test_an_error_in_set_name() -> None:
    """It is another error before Python 3.12."""
    unknown("""
class D:
    def __set_name__(self, owner, name): raise ValueError
def run():
    try:
        class C:
            a = D()
    except RuntimeError:
        return 1
""")
    unknown("""
import functools
def run():
    class C:
        @functools.cached_property
        def a(self): return 1
        b = a
""")
