"""Classes, descriptors and views: small programs that agree with CPython."""

from __future__ import annotations

import pytest

from tests.python import support

PROGRAMS = [
    """
class C:
    def __eq__(self, o):
        raise RuntimeError


d1 = {1: C()}
d2 = {1: C()}
result = []
for f in (
    lambda: d1.items() == d2.items(),
    lambda: d1.items() != d2.items(),
    lambda: d1.items() <= d2.items(),
    lambda: d1.items() >= d2.items(),
):
    try:
        result.append(f())
    except RuntimeError:
        result.append("r")
result.append(d1.items() < d2.items())
""",
    """
d1 = {1: [1]}
d2 = {1: [1]}
result = (
    d1.items() == d2.items(),
    d1.items() <= d2.items(),
    d1.keys() == {1},
    {1} == d1.keys(),
    d1.keys() < {1, 2},
    {1, 2} > d1.keys(),
    {1, 3} > {1: 1, 2: 2}.keys(),
)
""",
    """
d1 = {1: [1]}
try:
    result = d1.items() == {(1, 2)}
except TypeError:
    result = "t"
""",
    """
d = {"a": 1, "b": 2}
e = {"b": 2, "c": 3}
result = (
    d.items() & e.items(),
    d.items() <= {("a", 1), ("b", 2), 3},
    d.items() == {("a", 1), ("b", 2)},
    d.keys() >= {"a"},
    d.keys() > {"a", "b"},
    d.items() < {("b", 2), ("a", 1), 4},
    d.keys() != e.keys(),
    d.values() == d.values(),
)
""",
    """
d = {1: [1]}
try:
    result = d.items() - {3}
except TypeError:
    result = "t"
""",
    """
d = {1: [1]}
try:
    result = d.items() | {3}
except TypeError:
    result = "t"
""",
    """
d = {1: 2, 3: 4}
result = (
    d.items().isdisjoint({(1, 2)}),
    d.items().isdisjoint([(1, 3)]),
    d.keys().isdisjoint([3]),
    sorted(d.items() ^ {(1, 2): 4}.keys()),
    d.keys() == d.items(),
)
""",
    """
class X:
    def __hash__(self):
        return 1

    def __eq__(self, o):
        return True


d = {1: X()}
result = d.items() == {1: 5}.items(), {1: 5}.items() >= d.items()
""",
    """
class A:
    def __str__(self):
        return "x"


class D:
    def __init__(self, name):
        self.name = name

    def __set__(self, obj, value):
        obj.__dict__[self.name] = value


d = D("a")


class X:
    a = d


x = X()
result = [x.a is d]
x.a = 42
result.append(x.a)
""",
    """
class D:
    def __delete__(self, obj):
        obj.__dict__.pop("a")


class X:
    a = D()


x = X()
x.__dict__["a"] = 4
result = [x.a]
del x.a
result.append(type(x.a).__name__)
try:
    x.a = 3
except AttributeError:
    result.append("no")
""",
    """
class A:
    pass


A.__qualname__ = "B.C"
A.__module__ = "q"
result = A.__qualname__, A.__module__
""",
    """
class A:
    pass


class B(A):
    pass


class S:
    __slots__ = ()


class T(S):
    pass


class I(int):
    pass


class E(Exception):
    pass


result = [
    [n in c.__dict__ for n in ("__dict__", "__weakref__", "__doc__", "__module__")]
    for c in (A, B, S, T, I, E)
]
""",
    """
class X(dict):
    __setattr__ = dict.__setitem__
    __neg__ = dict.copy


x = X()
x.y = 42
result = x["y"], -x == x, type(-x).__name__
""",
    """
class F:
    __repr__ = object.__str__


try:
    result = F() == 1
except RecursionError:
    result = 2
""",
    """
def getdoc(self):
    "abc"
    return 1


class A:
    x = property(getdoc)
    y = property(getdoc, doc="other")
    z = property(lambda self: 3)
    w = property(doc="only")

    @property
    def v(self):
        "own"
        return 1

    @v.setter
    def v(self, n):
        "setter"


result = (
    A.x.__doc__,
    A.y.__doc__,
    A.z.__doc__,
    A.w.__doc__,
    A.v.__doc__,
    A.y.getter(getdoc).__doc__,
    A.x.getter(lambda s: 1).__doc__,
    A.z.setter(getdoc).__doc__,
)
""",
    """
def getdoc(self):
    "abc"


p = property(getdoc)
q = property(p.fget, p.fset, doc="new")
r = q.setter(lambda s, v: None)
result = p.__doc__, q.__doc__, r.__doc__, property().__doc__
""",
]


@pytest.mark.parametrize("source", PROGRAMS)
def test_as_cpython(source: str) -> None:
    support.program(source)
