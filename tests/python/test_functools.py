"""``functools``, ``copy`` and ``contextlib``."""

from __future__ import annotations

import pytest

from tests.python.programs import same, same_for, unknown

HEAD = """
import contextlib
import copy
import functools
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from functools import (
    cache, cached_property, cmp_to_key, lru_cache, partial, reduce, total_ordering, wraps,
)
"""

PROGRAMS = {
    "partial": """
def f(a, b, c=3, **rest): return (a, b, c, rest)
def run():
    g = partial(f, 1, c=5)
    h = partial(g, 2, d=4)
    class K:
        m = partial(f, 0)
    return g(2), h(), h(c=9), g.func is f, g.args, K().m(1), partial(max, 3)(1, 5)
""",
    "partial with too many": """
def f(a): return a
def run():
    return partial(f, 1)(2)
""",
    "reduce": """
def run():
    return (reduce(lambda a, b: a * b, [1, 2, 3, 4]), reduce(lambda a, b: a + b, (), 7),
            reduce(lambda a, b: a + [b], (x for x in range(3)), []), reduce(max, [3, 9, 2]))
""",
    "reduce of nothing": """
def run():
    return reduce(lambda a, b: a, [])
""",
    "wraps": """
def logged(f):
    @wraps(f)
    def inner(*args, **kw):
        inner.calls = getattr(inner, "calls", 0) + 1
        return f(*args, **kw) * 10
    return inner
@logged
def add(a, b=1):
    "Adds."
    return a + b
def run():
    return add(1), add(1, b=3), add.__name__, add.__doc__, add.__wrapped__(1), add.calls
""",
    "a decorator with arguments on a method": """
def times(n):
    def wrap(f):
        @functools.wraps(f)
        def inner(self, *args):
            return [f(self, *args) for _ in range(n)]
        return inner
    return wrap
class C:
    def __init__(self, v): self.v = v
    @times(2)
    def get(self, k): return self.v + k
def run():
    return C(3).get(4), C.get.__name__
""",
    "caches": """
log = []
@lru_cache(maxsize=None)
def f(n, k=0):
    log.append((n, k))
    return [n]
@cache
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
@lru_cache
def g(x): return (x,)
class C:
    @lru_cache(maxsize=8)
    def m(self, n):
        log.append(n)
        return n * 2
def run():
    c = C()
    out = [
        f(1) is f(1), f(1) is f(1, k=0), f(1, 0) is f(1), fib(15), g(2) is g(2), c.m(3),
        c.m(3), f.__name__,
    ]
    f.cache_clear()
    f(1)
    return out, log
""",
    "a cache with an unhashable argument": """
@cache
def f(x): return 1
def run():
    return f([])
""",
    "cached properties": """
class C:
    def __init__(self): self.n = 0
    @cached_property
    def v(self):
        self.n += 1
        return [self.n]
def run():
    c = C()
    a, b = c.v, c.v
    del c.v
    return a is b, c.v, c.n, "v" in c.__dict__
""",
    "total ordering": """
@total_ordering
class P:
    def __init__(self, n): self.n = n
    def __eq__(self, o): return self.n == o.n
    def __lt__(self, o): return self.n < o.n
@total_ordering
class Q:
    def __init__(self, n): self.n = n
    def __eq__(self, o): return self.n == o.n
    def __ge__(self, o): return self.n >= o.n
def run():
    return [(C(a) < C(b), C(a) <= C(b), C(a) > C(b), C(a) >= C(b)) for C in (P, Q)
            for a in (1, 2) for b in (1, 2)]
""",
    "total ordering of nothing": """
def run():
    @total_ordering
    class P: pass
""",
    "cmp_to_key": """
def by(a, b): return (a % 10) - (b % 10)
def run():
    return sorted([31, 12, 53, 20], key=cmp_to_key(by)), max([31, 12, 53], key=cmp_to_key(by))
""",
    "copies": """
class N:
    def __init__(self, v): self.v, self.kids = v, []
class H:
    def __init__(self): self.n = 0
    def __copy__(self):
        made = H()
        made.n = self.n + 1
        return made
    def __deepcopy__(self, memo): return "deep"
def run():
    a = N(1)
    b = N(2)
    a.kids = [b, b, a]
    c, d = copy.copy(a), copy.deepcopy(a)
    x = [[1], {"k": [2]}]
    y, z = copy.copy(x), copy.deepcopy(x)
    x[0].append(9)
    return (c.kids is a.kids, c is a, d.kids[0] is d.kids[1], d.kids[2] is d, d.kids[0] is b,
            d.kids[0].v,
            y, z, copy.copy(H()).n, copy.deepcopy([H()]), copy.deepcopy((1, "a")))
""",
    "context managers of generators": """
log = []
@contextmanager
def opened(name):
    log.append("in " + name)
    try:
        yield name * 2
    except KeyError:
        log.append("caught")
    finally:
        log.append("out " + name)
class C:
    @contextmanager
    def scope(self, n):
        self.depth = n
        yield self
        self.depth = 0
def run():
    with opened("a") as x:
        log.append(x)
    with opened("b"):
        raise KeyError("k")
    try:
        with opened("c"):
            raise ValueError("v")
    except ValueError as e:
        log.append(str(e))
    c = C()
    with c.scope(3) as d:
        log.append(d.depth)
    for k in range(3):
        with opened(str(k)):
            if k == 1: break
    log.append(early())
    return log, c.depth
def early():
    with opened("r"):
        return "returned"
""",
    "a generator that does not stop": """
@contextmanager
def bad():
    yield 1
    yield 2
def run():
    with bad():
        pass
""",
    "a generator that does not yield": """
@contextmanager
def bad():
    if False: yield
def run():
    with bad():
        pass
""",
    "small managers": """
class R:
    closed = False
    def close(self): self.closed = True
def run():
    out = []
    with nullcontext(5) as x, nullcontext() as y:
        out += [x, y]
    with suppress(KeyError, IndexError):
        out.append([][0])
    r = R()
    with closing(r) as same:
        out.append(same is r)
    out.append(r.closed)
    with suppress(KeyError):
        raise ValueError("x")
""",
    "exit stacks": """
class M:
    def __init__(self, log, n, swallow=False): self.log, self.n, self.swallow = log, n, swallow
    def __enter__(self):
        self.log.append(("in", self.n))
        return self.n
    def __exit__(self, kind, value, trace):
        self.log.append(("out", self.n, kind is not None))
        return self.swallow
def run():
    log = []
    with ExitStack() as stack:
        for n in range(2):
            log.append(stack.enter_context(M(log, n)))
        stack.callback(log.append, "called")
    with ExitStack() as stack:
        stack.enter_context(M(log, 5))
        stack.enter_context(M(log, 6, True))
        stack.push(M(log, 7))
        raise ValueError("x")
    with ExitStack() as stack:
        stack.enter_context(M(log, 8))
        kept = stack.pop_all()
    log.append("kept")
    kept.close()
    return log
""",
    "decorators that are classes": """
class Count:
    def __init__(self, f): self.f, self.n = f, 0
    def __call__(self, *args):
        self.n += 1
        return self.f(*args)
@Count
def add(a, b): return a + b
def run():
    return add(1, 2), add(3, 4), add.n
""",
    "partial nested keywords order": """
from functools import partial
def f(*a, **k): return a, k
def run():
    p = partial(partial(f, 1, x=1), 2, y=2, x=3)
    return p(3, z=4), p.args, p.func is f
""",
    "wraps class": """
import functools
def deco(cls):
    class W(cls):
        def extra(self): return 1
    return W
@deco
class A:
    def f(self): return 2
def run(): return A().f() + A().extra()
""",
    "lru on recursion with dict": """
import functools
calls = []
@functools.lru_cache(maxsize=None)
def grid(m, n):
    calls.append((m, n))
    if m == 1 or n == 1: return 1
    return grid(m - 1, n) + grid(m, n - 1)
def run(): return grid(4, 4), len(calls)
""",
    "lru limited": """
import functools
calls = []
@functools.lru_cache(maxsize=2)
def f(n):
    calls.append(n)
    return n
def run():
    f(1); f(2); f(1)
    return len(calls)
""",
    "cached property with setter like": """
import functools
class A:
    @functools.cached_property
    def v(self): return object()
def run():
    a, b = A(), A()
    first = a.v
    a.v = 3
    return first is not b.v, a.v, b.v is b.v
""",
    "contextmanager as decorator-less nested": """
from contextlib import contextmanager
log = []
@contextmanager
def a(n):
    log.append(("in", n))
    try: yield n
    finally: log.append(("out", n))
def run():
    with a(1) as x, a(2) as y:
        log.append(x + y)
        with a(3): pass
    try:
        with a(4):
            with a(5):
                1 / 0
    except ZeroDivisionError: log.append("zde")
    return log
""",
    "contextmanager swallowing and return": """
from contextlib import contextmanager
@contextmanager
def quiet():
    try: yield
    except (KeyError, IndexError): pass
def f(k):
    with quiet():
        if k == 0: return "ret"
        if k == 1: raise KeyError
        if k == 2: [][1]
        if k == 3: raise ValueError("v")
    return "after"
def run():
    out = []
    for k in range(5):
        try: out.append(f(k))
        except ValueError as e: out.append(str(e))
    return out
""",
    "exit replaced exception": """
class M:
    def __enter__(self): return self
    def __exit__(self, *a): raise KeyError("from exit")
def run():
    try:
        with M(): raise ValueError
    except KeyError as e: return e.args
""",
    "enter raises": """
class M:
    def __enter__(self): raise ValueError("e")
    def __exit__(self, *a): return True
def run():
    try:
        with M(): pass
    except ValueError: return "ok"
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(HEAD + PROGRAMS[name])


def test_reduce_over_an_unknown_number_of_items() -> None:
    same_for(
        HEAD + "def run(n): return reduce(lambda a, b: a + 2, range(n), 3)",
        n=range(5),
    )


def test_a_cache_of_what_depends_on_the_inputs() -> None:
    same_for(
        HEAD
        + """
@lru_cache(maxsize=None)
def half(n): return n // 2
def run(a, b):
    return half(a) + half(b) + half(a)
""",
        a=range(4),
        b=range(4),
    )


def test_partial_on_symbols() -> None:
    same_for(
        HEAD
        + """
def f(a, b): return a * 10 + b
def run(a, b):
    g = partial(f, a) if a > b else partial(f, b=b)
    return g(1) if a <= b else g(b)
""",
        a=range(3),
        b=range(3),
    )


def test_what_is_not_followed() -> None:
    unknown(HEAD + "@functools.singledispatch\ndef f(x): return 1\ndef run(): return f(3)")
