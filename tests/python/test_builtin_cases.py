"""Built-in functions and numbers: small programs that agree with CPython."""

from __future__ import annotations

import pytest

from tests.python import support

PROGRAMS = [
    """
class A:
    def __index__(self):
        raise KeyError(1)


try:
    result = bytes(A())
except BaseException as e:
    result = type(e).__name__
""",
    """
class A:
    def __index__(self):
        raise TypeError(1)


try:
    result = bytes(A())
except BaseException as e:
    result = type(e).__name__
""",
    """
class A:
    def __index__(self):
        return 3


result = bytes(A())
""",
    """
class A:
    def __index__(self):
        return 3

    def __bytes__(self):
        return b"ab"


result = bytes(A())
""",
    """
class A:
    def __index__(self):
        raise TypeError

    def __iter__(self):
        return iter([1, 2])


result = bytes(A())
""",
    """
class A:
    def __index__(self):
        raise ValueError

    def __iter__(self):
        return iter([1, 2])


result = bytes(A())
""",
    """
class A:
    def __index__(self):
        return -1


result = bytes(A())
""",
    """
class A:
    def __index__(self):
        return "a"


result = bytes(A())
""",
    """
class A:
    def __index__(self):
        return 7


result = bytes([A(), 1, True])
""",
    """
class A:
    def __index__(self):
        return 300


result = bytes([A(), 1, True])
""",
    """
class A(list):
    def __iter__(self):
        return iter([1, 2])


result = bytes(A([4, 5]))
""",
    """
class A(list):
    pass


result = bytes(A([4, 5]))
""",
    """
class A(bytes):
    def __iter__(self):
        return iter([1, 2])


result = bytes(A(b"ab")) == b"ab"
""",
    """
class A(str):
    def __index__(self):
        return 3


try:
    result = bytes(A(b"ab"))
except TypeError as e:
    result = 3
""",
    """
class A(int):
    def __index__(self):
        return 3


result = bytes(A(5))
""",
    """
class A(str):
    def __bytes__(self):
        return b"ab"


result = bytes(A(b"ab"))
""",
    """
try:
    result = bytes("a")
except TypeError as e:
    result = str(e)
""",
    """
try:
    result = bytes(3.0)
except TypeError as e:
    result = str(e)
""",
    """
try:
    result = bytes([3.0])
except TypeError as e:
    result = str(e)
""",
    """
result = (
    bytes({3: 4, 7: 8}),
    bytes({1}),
    bytes(range(3)),
    bytes(x for x in (1, 2)),
    bytes(),
    bytes("a", "utf-8"),
    bytes((1, 2)),
)
""",
    """
class A:
    def __bytes__(self):
        return 3


try:
    result = bytes(A())
except TypeError as e:
    result = 1
""",
    """
try:
    result = (1 + 1j) // 0
except TypeError:
    result = 1
""",
    """
try:
    result = 1.0 % (0j)
except TypeError:
    result = 1
""",
    """
try:
    result = (1 + 1j) / 0
except ZeroDivisionError:
    result = 1
""",
    """
try:
    result = 3 / 0j
except ZeroDivisionError:
    result = 1
""",
    """
x = 3.0
try:
    x //= 1j
except TypeError:
    result = 1
""",
    """
class S(str):
    pass


result = (format(0, S("10")), format("a", S("3")), f"{1:{S('5')}}", "{:{}}".format(3, S("4")))
""",
    """
class A:
    def __format__(self, spec):
        return "x" + spec


class S(str):
    pass


result = (format(A(), S("10")), f"{A():abc}", format(A()))
""",
    """
class A:
    def __format__(self, spec):
        return 3


result = format(A(), "a")
""",
    """
result = format(object(), 3)
""",
    """
result = format(3, None)
""",
    """
class S(str):
    def __str__(self):
        return "q"

    def __format__(self, spec):
        return "z"


result = (f"{S('a')}", f"{1:{S('5')}}", format(S("b")), "%s" % S("b"))
""",
    """
from collections import Counter

result = list(Counter(iterable=42).items()), Counter(self=3)["self"], Counter(vm=4, span=3)["vm"]
""",
    """
from collections import Counter

c = Counter("ab")
c.update(iterable=3, self=4)
result = dict(c)
""",
    """
result = dict(iterable=4, self=3, mapping=7), dict(object=3)
""",
    """
from collections import OrderedDict, defaultdict

result = (
    dict(OrderedDict(iterable=4, self=3)),
    dict(defaultdict(int, factory=3, iterable=4, default_factory=8)),
)
""",
    """
d = {}
d.update(self=3, iterable=4, other=5, mapping=8)
result = d
""",
    """
result = "{self}{args}{text}{name}".format(self=3, args=4, text=5, name=7)
""",
    """
from functools import partial


def f(**kw):
    return kw


p = partial(f, func=3, function=4, self=7)
result = p(args=3)
""",
    """
result = sorted([1], iterable=3)
""",
    """
result = len(obj=[1])
""",
    """
from collections import Counter

c = Counter(a=-5, b=0, c=5, d=10, e=15, g=40)
result = (dict(+c), dict(-c))
""",
    """
from collections import Counter

c = Counter(a=-5, b=0, c=5)
d = c
c += Counter(a=7, b=-3)
result = (dict(c), d is c)
""",
    """
from collections import Counter

c = Counter(a=5, b=1, c=5)
c -= Counter(a=7, b=-3)
x = dict(c)
c |= Counter(q=3, b=9)
y = dict(c)
c &= Counter(q=1, b=4)
result = x, y, dict(c)
""",
    """
class S(set):
    def __init__(self, x=()):
        super().__init__(x)
        self.tag = 1


s = S([1])
result = [(type(y).__name__, hasattr(y, "tag")) for y in (s.copy(), s | {2}, s.union([4]))]
""",
    """
class S(set):
    pass


s = S([1])
t = s
t |= {3}
result = type(t).__name__, t is s, sorted(t)
""",
]


@pytest.mark.parametrize("source", PROGRAMS)
def test_as_cpython(source: str) -> None:
    support.program(source)
