"""Containers of collections and classes that derive from them: programs that agree with CPython."""

from __future__ import annotations

import pytest

from tests.python import support

PROGRAMS = [
    """
from collections import Counter


class C(Counter):
    def __init__(self, *a, **k):
        super().__init__(*a, **k)
        self.x = 1


c = C("abb")
d = c.copy()
result = type(d).__name__, type(d) == type(c), dict(d), type(c + c).__name__, type(+c).__name__, d.x
""",
    """
from collections import OrderedDict, defaultdict, deque


class O(OrderedDict):
    pass


class D(defaultdict):
    pass


class Q(deque):
    pass


d = D(int, a=1)
result = [
    type(x).__name__
    for x in (
        O(a=1).copy(),
        d.copy(),
        Q([1]).copy(),
        Q([1]) + Q([2]),
        Q([1]) * 2,
        2 * Q([1]),
        O(a=1) | {"b": 1},
        d | {"b": 1},
        {"b": 1} | d,
        {"z": 1} | O(a=1),
        O.fromkeys("ab"),
        D.fromkeys("ab"),
        Q([1]) + deque([2]),
        deque([1]) + Q([2]),
    )
]
""",
    """
from collections import defaultdict, OrderedDict


class D(defaultdict):
    pass


class O(OrderedDict):
    def __init__(self, *a, **k):
        super().__init__(*a, **k)
        self.tag = 5


d = D(int, a=1) | {"b": 2}
o = O(a=1) | {"b": 2}
o2 = O(a=1, c=4).copy()
result = (
    dict(d),
    d["zz"],
    d.default_factory is int,
    list(o.items()),
    o.tag,
    list(o2.items()),
    o2.tag,
)
""",
    """
from collections import deque


class Q(deque):
    pass


q = Q([1, 2, 3], 2)
result = [list(q), list(q.copy()), q.copy().maxlen, list(q + Q([7])), (q + q).maxlen, list(q * 2)]
try:
    q + [1]
except TypeError:
    result.append("t")
q += [9]
result.append((type(q).__name__, list(q)))
""",
    """
import copy
from collections import deque, defaultdict, OrderedDict, Counter

d = deque([[1]], 5)
e = copy.copy(d)
f = copy.copy(defaultdict(list, a=[1]))
g = copy.copy(OrderedDict(a=1))
h = copy.copy(Counter("aab"))
result = (
    [type(x).__name__ for x in (e, f, g, h)],
    e[0] is d[0],
    e.maxlen,
    f["a"],
    f["q"],
    dict(g),
    h["a"],
    e == d,
    e is d,
)
""",
    """
from collections import OrderedDict


class O(OrderedDict):
    pass


o = O(a=1)
try:
    o | [1]
except TypeError:
    result = 1
""",
    """
from collections import Counter, OrderedDict, defaultdict


class C(Counter):
    pass


class O(OrderedDict):
    pass


class D(dict):
    pass


result = (
    Counter(C("aab"))["a"],
    dict(O(a=1)),
    dict(D(a=1)),
    dict(C("aa")) == {"a": 2},
    C("a") == Counter("a"),
    O(a=1) == {"a": 1},
    OrderedDict(C("bb"))["b"],
    {**O(q=1)},
    {"z": 1} | D(a=1),
    defaultdict(int, O(w=1))["w"],
)
c = Counter("a")
c.update(C("aab"))
result = result, c["a"]
""",
    """
from collections import namedtuple
from typing import NamedTuple

P = namedtuple("P", "x y")
Q = namedtuple("Q", "x")


class N(NamedTuple):
    a: int
    b: int = 3


class M(NamedTuple):
    "own"

    a: int


class S(P):
    pass


result = P.__doc__, Q.__doc__, N.__doc__, M.__doc__, P.x.__doc__, N.b.__doc__, S.__doc__
""",
    """
from collections import namedtuple

P = namedtuple("P", "x y")
p = P(1, 2)
result = []
try:
    p.z = 3
except AttributeError:
    result.append("a")
try:
    p.x = 3
except AttributeError:
    result.append("b")


class S(P):
    pass


s = S(1, 2)
s.z = 4


class T(P):
    __slots__ = ()


try:
    T(1, 2).z = 4
except AttributeError:
    result.append("c")
result.append((s.z, hasattr(p, "__dict__"), hasattr(s, "__dict__"), P.__slots__))
""",
    """
from typing import NamedTuple


class N(NamedTuple):
    a: int


try:
    N(1).q = 3
    result = 1
except AttributeError:
    result = 2
""",
    """
from collections import deque

d = deque("abcab")
result = [d.index("b"), d.index("b", 2), d.index("c", 1, 4), d.count("a"), d.index("a", -2)]
for f in (lambda: d.index("z"), lambda: d.index("a", 1, 3), lambda: d.remove("z")):
    try:
        f()
    except ValueError:
        result.append("v")
d.remove("b")
result.append(list(d))
""",
    """
from collections import deque


class X(deque):
    pass


d = X()


def bad(cls, *a, **k):
    return [42]


X.__new__ = bad
result = []
for f in (lambda: d * 42, lambda: d + deque([1]), lambda: d.copy()):
    try:
        f()
        result.append("ok")
    except TypeError:
        result.append("t")
""",
]


@pytest.mark.parametrize("source", PROGRAMS)
def test_as_cpython(source: str) -> None:
    support.program(source)
