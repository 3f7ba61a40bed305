"""Names, deques, handlers and class methods: small programs that agree with CPython."""

from __future__ import annotations

import pytest

from tests.python import support

PROGRAMS = [
    """
from collections import deque

d = deque([1, 2, 3])
it = iter(d)
result = [next(it)]
d.append(3)
try:
    next(it)
except RuntimeError as e:
    result.append(e.args)
try:
    next(it)
except RuntimeError as e:
    result.append("again")
""",
    """
from collections import deque

d = deque([1, 2, 3])
it = iter(d)
d[0] = 7
result = list(it)
""",
    """
from collections import deque

d = deque([1, 2, 3])
it = reversed(d)
next(it)
d.pop()
try:
    next(it)
except RuntimeError as e:
    result = 3
""",
    """
from collections import deque

d = deque([1, 2, 3])
result = []
for change in (
    lambda: d.rotate(1),
    lambda: d.appendleft(3),
    lambda: d.remove(2),
    lambda: d.clear(),
    lambda: d.extend([]),
    lambda: d.extend([1]),
    lambda: d.insert(0, 4),
    lambda: d.reverse(),
    lambda: d.__setitem__(0, 9),
    lambda: d.index(9),
    lambda: d.count(1),
    lambda: d.rotate(0),
    lambda: d.popleft(),
):
    it = iter(d)
    change()
    try:
        result.append(next(it, None))
    except RuntimeError as e:
        result.append("changed")
""",
    """
from collections import deque

d = deque([1, 2, 3])
it = iter(d)
list(it)
d.append(1)
try:
    next(it)
except RuntimeError as e:
    result = 3
except StopIteration:
    result = 4
""",
    """
from collections import deque

d = deque([1, 2, 3])
it = reversed(d)
x = list(it)
d.append(1)
try:
    next(it)
except RuntimeError as e:
    result = 3
except StopIteration:
    result = x
""",
    """
from collections import deque

d = deque([1, 2, 3])
result = []
try:
    for x in d:
        result.append(x)
        d.append(1)
except RuntimeError as e:
    result.append("r")
""",
    """
from collections import deque

d = deque([1, 2, 3])
result = []
for x in d:
    result.append(x)
    if x == 2:
        d.append(1)
        break
""",
    """
from collections import deque

d = deque([1, 2, 3])
try:
    result = [d.pop() for x in d]
except RuntimeError:
    result = len(d)
""",
    """
from collections import deque

d = deque([1, 2, 3])
del d[0]
d += [4]
d *= 2
result = list(d), list(reversed(d)), sum(d), max(d), 3 in d, type(iter(d)).__name__
""",
    """
result = []
for bad in (
    42,
    (ValueError, 42),
    (ValueError, int),
    "x",
    None,
    [ValueError],
    ((ValueError,),),
    int,
    object,
):
    try:
        try:
            raise ValueError
        except bad:
            result.append("caught")
    except TypeError:
        result.append("t")
""",
    """
try:
    try:
        raise KeyError(1)
    except (ValueError, LookupError) as e:
        result = e.args
except TypeError:
    result = 2
""",
    """
try:
    try:
        pass
    except 42:
        pass
    result = 1
except TypeError:
    result = 2
""",
    """
class M(type):
    def __instancecheck__(cls, o):
        return True


class E(Exception):
    pass


try:
    try:
        raise E
    except ValueError:
        result = 1
    except ():
        result = 3
except E:
    result = 2
""",
    """
e = ValueError(3)
result = [hasattr(e, "__notes__")]
e.add_note("a")
try:
    e.add_note(3)
except TypeError:
    result.append("t")
result.append(e.__notes__)
""",
    r"""
class F(float):
    def __new__(cls, value):
        return float.__new__(cls, value + 1)


class B(bytes):
    pass


class I(int):
    pass


f = F.fromhex((1.5).hex())
b = B.fromhex("1a2B30")
i = I.from_bytes(b"ab", "big")
result = (
    type(f) is F,
    f == 2.5,
    type(b) is B,
    b == b"\x1a+0",
    type(i) is I,
    i + 0,
    type(float.fromhex("0x1")).__name__,
    type(I(3).from_bytes(b"a", "big")).__name__,
    type(True.from_bytes(b"a", "big")).__name__,
    bool.from_bytes(b"\0", "big"),
)
""",
    """
class D(dict):
    def __setitem__(self, k, v):
        super().__setitem__(k, (v, 1))


d = D.fromkeys("ab", 3)
result = type(d).__name__, d["a"], type(D().fromkeys("a")).__name__, type({}.fromkeys("a")).__name__
""",
    """
from collections import OrderedDict, defaultdict


class O(OrderedDict):
    pass


result = (
    type(O.fromkeys("ab")).__name__,
    list(OrderedDict.fromkeys("ba", 4).items()),
    type(defaultdict.fromkeys("a")).__name__,
    defaultdict.fromkeys("a").default_factory,
)
""",
    """
class A:
    def f(self):
        return __x


_A__x = 5
result = A().f()
""",
    """
__x = 7


class A:
    def f(self):
        return __x


try:
    result = A().f()
except NameError:
    result = 0
""",
    """
class A:
    def f(self):
        __x = 4

        def g():
            nonlocal __x
            __x += 1
            return __x

        return g(), [__x for __x in (1, 2)], __x


result = A().f()
""",
    """
def outer():
    __x = 3

    class A:
        def f(self):
            try:
                return __x
            except NameError:
                return "none"

    return A().f()


result = outer()
""",
    """
class A:
    __x = 4
    y = __x + 1

    def f(self, __p=3):
        return self.__x, __p


result = A.y, A().f(), A._A__x
""",
    """
class _B:
    def f(self):
        return __z


_B__z = 9
result = _B().f()
""",
]


@pytest.mark.parametrize("source", PROGRAMS)
def test_as_cpython(source: str) -> None:
    support.program(source)
