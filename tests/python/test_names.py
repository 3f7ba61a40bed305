"""Names and scopes, functions and their arguments, assignment and comprehensions."""

from __future__ import annotations

import pytest

from tests.python.support import program, program_for

CONCRETE = {
    "nonlocal": """
def outer():
    n = 1
    def bump():
        nonlocal n
        n += 2
        return n
    bump(); bump()
    return n
result = outer()
""",
    "late binding": """
def make():
    fs = [lambda: i for i in range(3)]
    return [f() for f in fs]
result = make()
""",
    "bound at definition": """
def make():
    fs = []
    for i in range(3):
        def f(k=i):
            return k
        fs.append(f)
    return [f() for f in fs]
result = make()
""",
    "local before assignment": """
x = 1
def f():
    y = x
    x = 2
    return y
result = f()
""",
    "a class's names are not its methods'": """
def f():
    v = 1
    class C:
        v = 2
        w = [v for _ in range(2)]
        def m(self):
            return v
    return (C.v, C.w, C().m())
result = f()
""",
    "walrus in a comprehension": """
def f():
    total = [y := x * 2 for x in range(3)]
    return total, y
result = f()
""",
    "del and again": """
def f():
    a = 1
    del a
    return a
result = f()
""",
    "arguments": """
def f(a, b=2, /, c=3, *rest, d, e=5, **more):
    return (a, b, c, rest, d, e, sorted(more.items()))
result = (f(1, d=4), f(1, 9, 8, 7, 6, d=0, z=1, y=2), f(*(1, 2), **{"d": 3, "b": 4}))
""",
    "a missing argument": """
def f(a, *, b):
    return a
result = f(1)
""",
    "a shared default": """
def f(x, seen=[]):
    seen.append(x)
    return seen
f(1)
result = f(2)
""",
    "unpacking": """
a, *b, (c, d) = [1, 2, 3, (4, 5)]
[e, f] = "xy"
result = (a, b, c, d, e, f)
""",
    "unpacking too few": """
a, b, c = (1, 2)
result = a
""",
    "chained assignment and aliasing": """
a = b = []
a.append(1)
b += [2]
b = b + [3]
result = (a, b)
""",
    "nested comprehensions": """
result = ([(x, y) for x in range(3) if x for y in range(x)],
          {x: x * x for x in (1, 2)}, sorted({x % 2 for x in range(5)}),
          sum(x for x in range(4)), list(y for x in [[1], [2, 3]] for y in x))
""",
    "a generator": """
def g(n):
    got = yield n
    for i in range(n):
        yield i
    return 9
def h():
    r = yield from g(2)
    yield r
result = (list(h()), next(g(5)))
""",
    "a decorator": """
def twice(f):
    def g(*a):
        return f(*a) * 2
    return g
@twice
def h(x):
    return x + 1
result = h(3)
""",
    "recursion": """
def fact(n):
    return 1 if n < 2 else n * fact(n - 1)
result = fact(6)
""",
}

SYMBOLIC = {
    "short circuit": """
result = n > 0 and 12 // n
""",
    "a chain": """
result = 0 < n <= 3 != 2
""",
    "conditional": """
result = "big" if n > 2 else "small" if n > 0 else None
""",
    "bound on some paths": """
if n > 2:
    value = n
result = value
""",
    "an alias by path": """
a, b = [1], [2]
c = a if n > 2 else b
c.append(n)
result = (a, b)
""",
    "None by path": """
item = None if n < 2 else n
result = item + 1 if item is not None else 0
""",
}


@pytest.mark.parametrize("name", CONCRETE)
def test_names_are_cpythons(name: str) -> None:
    program(CONCRETE[name])


@pytest.mark.parametrize("name", SYMBOLIC)
def test_names_that_depend_on_an_input(name: str) -> None:
    program_for(SYMBOLIC[name], {"n": range(0, 6)})
